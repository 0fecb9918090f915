// SPDX-License-Identifier: GPL-2.0
/* Find out whether memory is persistent, and write CPU caches back to it. */
#include "persist.h"

#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kconfig.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "mem.h"

/**
 * smr_persist_supported() - can this kernel write caches back to persistent memory?
 *
 * Return: true if it can.
 */
bool smr_persist_supported(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API);
}

static bool run_is_persistent(const struct smr_map *map)
{
	return region_intersects(virt_to_phys(map->addr), map->len,
				 IORESOURCE_MEM, IORES_DESC_PERSISTENT_MEMORY) ==
	       REGION_INTERSECTS;
}

/**
 * smr_mem_is_persistent() - is all of a memory persistent?
 * @mem: of a kind whose pages are always present
 *
 * Context: process, may sleep.
 * Return: true if it is.
 */
bool smr_mem_is_persistent(struct smr_mem *mem)
{
	struct smr_map map;
	bool persistent;
	u64 off;

	if (!smr_persist_supported())
		return false;
	for (off = 0; off < mem->size; off += map.len) {
		if (mem->ops->map(mem, off, mem->size - off, false, &map))
			return false;
		persistent = run_is_persistent(&map);
		if (mem->ops->unmap)
			mem->ops->unmap(mem, &map);
		if (!persistent)
			return false;
		cond_resched();
	}
	return true;
}

/**
 * smr_span_persist() - write caches of a part of a span back to persistent memory
 * @span: of memory for which smr_mem_is_persistent() was true
 * @off: first byte, from the start of the span
 * @len: bytes; @off + @len is within the span
 *
 * Context: any but hard interrupts.
 * Return: 0 or -EFAULT.
 */
int smr_span_persist(const struct smr_span *span, u64 off, size_t len)
{
	struct smr_mem *mem = span->mem;
	struct smr_map map;

	for (; len; off += map.len, len -= map.len) {
		if (mem->ops->map(mem, span->off + off, len, false, &map))
			return -EFAULT;
		arch_wb_cache_pmem(map.addr, map.len);
		if (mem->ops->unmap)
			mem->ops->unmap(mem, &map);
	}
	/* Order the write-back before the stores of the response. */
	wmb();
	return 0;
}
