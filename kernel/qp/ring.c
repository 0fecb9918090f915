// SPDX-License-Identifier: GPL-2.0
/* The memory of rings: allocating, mapping and freeing it. */
#include "qp/ring.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"

/**
 * struct smr_ring_mem - memory of a ring that a process can map
 * @entry: the core's part, which counts the references
 * @mem: the memory
 */
struct smr_ring_mem {
	struct rdma_user_mmap_entry entry;
	void *mem;
};

static struct smr_ring_mem *to_ring_mem(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct smr_ring_mem, entry);
}

/* Set depth, stride and size. -EINVAL: more than the ABI can say. */
static int ring_set_size(struct smr_ring *ring, u32 depth, u32 stride)
{
	size_t size;

	if (!depth || depth > INT_MAX / 2 + 1)
		return -EINVAL;
	ring->depth = roundup_pow_of_two(depth);
	ring->stride = stride;
	size = size_add(size_mul(ring->depth, stride),
			sizeof(struct smr_ring_hdr));
	if (size > INT_MAX - PAGE_SIZE)
		return -EINVAL;
	ring->size = PAGE_ALIGN(size);
	return 0;
}

/**
 * smr_ring_mmap_insert() - let a process map memory
 * @uctx: the process's context
 * @mem: from vmalloc(); it belongs to the entry if this succeeds
 * @size: bytes, whole pages
 * @entry: set to the entry. rdma_user_mmap_entry_remove() ends it, and the memory is
 *	freed when no process maps it any more
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_ring_mmap_insert(struct ib_ucontext *uctx, void *mem, size_t size,
			 struct rdma_user_mmap_entry **entry)
{
	struct smr_ring_mem *rm;
	int ret;

	rm = kzalloc(sizeof(*rm), GFP_KERNEL_ACCOUNT);
	if (!rm)
		return -ENOMEM;
	rm->mem = mem;
	ret = rdma_user_mmap_entry_insert(uctx, &rm->entry, size);
	if (ret) {
		kfree(rm);
		return ret;
	}
	*entry = &rm->entry;
	return 0;
}

static void ring_fill_info(const struct smr_ring *ring,
			   struct smr_ring_info *info)
{
	info->mmap_offset = rdma_user_mmap_get_offset(ring->entry);
	info->mmap_size = ring->size;
	info->depth = ring->depth;
	info->stride = ring->stride;
}

/**
 * smr_ring_create() - make an empty ring
 * @ring: the ring
 * @uctx: whose process will map it; NULL for a kernel consumer's
 * @depth: entries wanted; rounded up to a power of two
 * @stride: bytes from one entry to the next, a multiple of 8
 * @info: mmap_offset, mmap_size, depth and stride are set if there is a @uctx
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (no depth, or too large), -ENOMEM.
 */
int smr_ring_create(struct smr_ring *ring, struct ib_ucontext *uctx,
		    u32 depth, u32 stride, struct smr_ring_info *info)
{
	int ret;

	ret = ring_set_size(ring, depth, stride);
	if (ret)
		return ret;
	ring->idx = 0;
	ring->entry = NULL;
	ring->hdr = __vmalloc(ring->size, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
			      __GFP_NOWARN);
	if (!ring->hdr)
		return -ENOMEM;
	if (!uctx)
		return 0;

	ret = smr_ring_mmap_insert(uctx, ring->hdr, ring->size, &ring->entry);
	if (ret) {
		vfree(ring->hdr);
		ring->hdr = NULL;
		return ret;
	}
	ring_fill_info(ring, info);
	return 0;
}

/**
 * smr_ring_destroy() - end a ring
 * @ring: the ring, or one that was never made; nobody uses it any more
 *
 * A process that still maps it keeps the pages, until it unmaps them.
 *
 * Context: process, may sleep.
 */
void smr_ring_destroy(struct smr_ring *ring)
{
	if (ring->entry)
		rdma_user_mmap_entry_remove(ring->entry);
	else
		vfree(ring->hdr);
	ring->hdr = NULL;
	ring->entry = NULL;
}

/**
 * smr_ring_reset() - empty a ring and set its indices to 0
 * @ring: the ring
 *
 * The process does the same on its side, or has corrupted its own ring.
 *
 * Context: the owner of @ring->idx.
 */
void smr_ring_reset(struct smr_ring *ring)
{
	ring->idx = 0;
	WRITE_ONCE(ring->hdr->prod, 0);
	WRITE_ONCE(ring->hdr->cons, 0);
	WRITE_ONCE(ring->hdr->flags, 0);
}

/* Each mapping holds references on the pages, so no other reference is needed. */
static int ring_insert_pages(struct vm_area_struct *vma, void *mem)
{
	unsigned long addr;
	int ret;

	for (addr = vma->vm_start; addr < vma->vm_end; addr += PAGE_SIZE) {
		ret = vm_insert_page(vma, addr, vmalloc_to_page(mem));
		if (ret)
			return ret;
		mem += PAGE_SIZE;
	}
	return 0;
}

/**
 * smr_ring_mmap() - map a ring into the calling process
 * @uctx: the caller's context
 * @vma: where; its offset and size say which ring: see struct smr_ring_info
 *
 * Context: process, with the mmap lock held for writing.
 * Return: 0, -EINVAL (no such ring, another size, or a private mapping),
 * -ENOMEM.
 */
int smr_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int ret;

	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	ret = ring_insert_pages(vma, to_ring_mem(entry)->mem);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/**
 * smr_ring_mmap_free() - ib_device_ops.mmap_free of rings
 * @entry: has lost its last reference
 */
void smr_ring_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct smr_ring_mem *rm = to_ring_mem(entry);

	vfree(rm->mem);
	kfree(rm);
}
