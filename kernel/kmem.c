// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own memory. A device that does no DMA is given the kernel's
 * virtual addresses of it (ib_uses_virt_dma()), of which there are two kinds:
 *
 *  - linear: all of the linear mapping, which is what the DMA keys open;
 *  - blocks: a list of blocks, which each fast registration replaces.
 */
#include "kmem.h"

#include <linux/container_of.h>
#include <linux/minmax.h>
#include <linux/slab.h>

static struct smr_kmem *to_kmem(struct smr_mem *mem)
{
	return container_of(mem, struct smr_kmem, mem);
}

/*
 * The range has holes, and also contains memory outside the linear mapping. So each page is
 * checked.
 */
static int linear_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	void *addr = (void *)(unsigned long)(smr_kmem_linear_start() + off);

	if (!virt_addr_valid(addr))
		return -EFAULT;
	map->addr = addr;
	map->len = min(len, PAGE_SIZE - offset_in_page(addr));
	return 0;
}

/* softmr does not own this memory: nothing to free. */
static void linear_release(struct smr_mem *mem)
{
}

static const struct smr_mem_ops linear_ops = {
	.name = "kernel",
	.map = linear_map,
	.release = linear_release,
};

/* Initialize the memory of the kernel's linear mapping. */
void smr_kmem_init_linear(struct smr_kmem *kmem)
{
	smr_mem_init(&kmem->mem, &linear_ops,
		     ULONG_MAX - smr_kmem_linear_start());
}

static int blocks_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	const struct smr_kblocks *b = &to_kmem(mem)->used;
	u64 pos = off + b->lead, size = 1ULL << b->shift;
	u64 in = pos & (size - 1);

	map->addr = (void *)(unsigned long)(b->addrs[pos >> b->shift] + in);
	map->len = min_t(u64, len, size - in);
	return 0;
}

static void blocks_release(struct smr_mem *mem)
{
	smr_kmem_free_blocks(to_kmem(mem));
}

static const struct smr_mem_ops blocks_ops = {
	.name = "kernel",
	.map = blocks_map,
	.release = blocks_release,
};

/*
 * Initialize memory that is a list of blocks, empty at first. @max_blocks: maximum length of a
 * list. It is not in use: its key opens no span before smr_kmem_use().
 */
int smr_kmem_init_blocks(struct smr_kmem *kmem, u32 max_blocks)
{
	u64 *addrs;

	/* Two lists: one is filled while the other may be in use. */
	addrs = kvcalloc(max_blocks, 2 * sizeof(*addrs), GFP_KERNEL);
	if (!addrs)
		return -ENOMEM;
	kmem->max_blocks = max_blocks;
	kmem->staged.addrs = addrs;
	kmem->used.addrs = addrs + max_blocks;
	smr_mem_init(&kmem->mem, &blocks_ops, 0);
	return 0;
}

void smr_kmem_free_blocks(struct smr_kmem *kmem)
{
	kvfree(min(kmem->staged.addrs, kmem->used.addrs));
}

/*
 * Begin a new list; the one in use is not touched. @shift: the size of a block, as a power of two.
 * The owner fills in the other fields of @kmem->staged.
 */
void smr_kmem_stage(struct smr_kmem *kmem, u8 shift)
{
	kmem->staged.nr = 0;
	kmem->staged.shift = shift;
}

/*
 * Add a block to the new list. @addr: kernel virtual address of the block. Returns 0, or -ENOMEM if
 * the list is full.
 */
int smr_kmem_stage_block(struct smr_kmem *kmem, u64 addr)
{
	if (kmem->staged.nr == kmem->max_blocks)
		return -ENOMEM;
	kmem->staged.addrs[kmem->staged.nr++] = addr;
	return 0;
}

/*
 * Put the new list into use. @kmem: the memory; its key's references are dead, and the last is
 * dropped. Context: any; between smr_key_update_begin() and _end() of its key.
 */
void smr_kmem_use(struct smr_kmem *kmem)
{
	swap(kmem->staged, kmem->used);
	kmem->mem.size = kmem->used.size;
}
