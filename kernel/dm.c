// SPDX-License-Identifier: GPL-2.0
/* Allocate device memory, and create memory regions of it. */
#include "dm.h"

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mem.h"
#include "mmap.h"
#include "ucontext.h"
#include "why.h"

/**
 * struct dm_mem - the part of an allocation of device memory that a region covers
 * @mem: the common part
 * @addr: the first byte
 */
struct dm_mem {
	struct smr_mem mem;
	void *addr;
};

/* Device memory is contiguous, always present, and writable. */
static int dm_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		  struct smr_map *map)
{
	struct dm_mem *dm = container_of(mem, struct dm_mem, mem);

	map->addr = dm->addr + off;
	map->len = len;
	return 0;
}

static void dm_release(struct smr_mem *mem)
{
	kfree(container_of(mem, struct dm_mem, mem));
}

static const struct smr_mem_ops dm_ops = {
	.name = "device",
	.any_access = true,
	.map = dm_map,
	.release = dm_release,
};

/*
 * The memory behind a region of device memory. @off: first byte; the core has checked the range.
 * Returns the memory, or an ERR_PTR: -ENOMEM.
 */
struct smr_mem *smr_dm_mem(struct smr_dm *dm, u64 off, u64 length)
{
	struct dm_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->addr = dm->mmap->mem + off;
	smr_mem_init(&mem->mem, &dm_ops, length);
	return &mem->mem;
}

/* Set up a device's memory. */
void smr_dm_store_init(struct smr_dm_store *store)
{
	smr_pool_init(&store->pool, SMR_DM_SIZE, false);
}

/* End a device's memory. @store: the store; all of it is free. */
void smr_dm_store_fini(struct smr_dm_store *store)
{
	smr_mmap_fini(&store->pool);
}

/*
 * Allocate device memory. @store: the store to allocate from. @uctx: the context whose process maps
 * it. @attr: length and alignment; each allocation begins at a page. Returns the memory, all zeros;
 * or an ERR_PTR: -EINVAL (no length, or an alignment of more than a page), -ENOMEM (also if the
 * store has less left).
 */
struct smr_dm *smr_dm_alloc(struct smr_dm_store *store,
			    struct ib_ucontext *uctx,
			    const struct ib_dm_alloc_attr *attr)
{
	struct smr_why_log *log = smr_uctx_whys(uctx);
	struct smr_mmap *m;
	struct smr_dm *dm;

	if (!attr->length)
		return smr_why_ptr(log, DM_NO_LENGTH);
	if (attr->alignment > PAGE_SHIFT)
		return smr_why_ptr(log, DM_ALIGN, attr->alignment, PAGE_SHIFT);
	if (attr->length > SMR_DM_SIZE)
		return smr_why_ptr(log, DM_FULL, attr->length, SMR_DM_SIZE);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm)
		return smr_why_ptr(log, NO_MEMORY);
	m = smr_mmap_alloc(&store->pool, uctx, PAGE_ALIGN(attr->length));
	if (IS_ERR(m)) {
		kfree(dm);
		return smr_why_ptr(log, DM_FULL, attr->length, SMR_DM_SIZE);
	}
	dm->mmap = m;
	return dm;
}

/*
 * Free an allocation of device memory. @dm: the allocation; no region covers any of it. A process
 * that still maps it keeps the pages until it unmaps them. Until then the store counts them as
 * used.
 */
void smr_dm_free(struct smr_dm *dm)
{
	smr_mmap_free(dm->mmap);
	kfree(dm);
}
