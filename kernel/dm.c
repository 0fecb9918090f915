// SPDX-License-Identifier: GPL-2.0
#include "dm.h"

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem.h"
#include "qp/ring.h"

/**
 * struct dm_mem - the part of a piece of device memory that a region opens
 * @mem: the common part
 * @addr: the first byte
 */
struct dm_mem {
	struct smr_mem mem;
	void *addr;
};

/* In one piece, always there, and writable. */
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
	kfree_rcu(container_of(mem, struct dm_mem, mem), mem.rcu);
}

static const struct smr_mem_ops dm_ops = {
	.any_access = true,
	.map = dm_map,
	.release = dm_release,
};

/**
 * smr_dm_mem() - the memory behind a region of device memory
 * @dm: the piece
 * @off: first byte; the core has checked the range
 * @length: bytes
 *
 * Context: process, may sleep.
 * Return: the memory, or an ERR_PTR: -ENOMEM.
 */
struct smr_mem *smr_dm_mem(struct smr_dm *dm, u64 off, u64 length)
{
	struct dm_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->addr = dm->addr + off;
	smr_mem_init(&mem->mem, &dm_ops, length);
	return &mem->mem;
}

/**
 * smr_dm_store_init() - set up a device's memory
 * @store: the store
 */
void smr_dm_store_init(struct smr_dm_store *store)
{
	atomic_set(&store->left, SMR_DM_SIZE);
}

static bool store_take(struct smr_dm_store *store, size_t size)
{
	int left = atomic_read(&store->left);

	do {
		if (size > left)
			return false;
	} while (!atomic_try_cmpxchg(&store->left, &left, left - (int)size));
	return true;
}

static int dm_make(struct smr_dm *dm, struct ib_ucontext *uctx)
{
	int ret;

	dm->addr = __vmalloc(dm->size, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
			     __GFP_NOWARN);
	if (!dm->addr)
		return -ENOMEM;
	ret = smr_ring_mmap_insert(uctx, dm->addr, dm->size, &dm->entry);
	if (ret)
		vfree(dm->addr);
	return ret;
}

/**
 * smr_dm_alloc() - allocate device memory
 * @store: where from
 * @uctx: whose process maps it
 * @attr: how much; each piece begins with a page
 *
 * Context: process, may sleep.
 * Return: the memory, all zeros; or an ERR_PTR: -EINVAL (no length, or an
 * alignment of more than a page), -ENOMEM (also: the store has not that much left).
 */
struct smr_dm *smr_dm_alloc(struct smr_dm_store *store,
			    struct ib_ucontext *uctx,
			    const struct ib_dm_alloc_attr *attr)
{
	struct smr_dm *dm;
	int ret = -ENOMEM;

	if (!attr->length || attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	if (attr->length > SMR_DM_SIZE)
		return ERR_PTR(-ENOMEM);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->store = store;
	dm->size = PAGE_ALIGN(attr->length);
	if (!store_take(store, dm->size))
		goto free_dm;
	ret = dm_make(dm, uctx);
	if (ret)
		goto give_back;
	return dm;

give_back:
	atomic_add(dm->size, &store->left);
free_dm:
	kfree(dm);
	return ERR_PTR(ret);
}

/**
 * smr_dm_free() - end a piece of device memory
 * @dm: the piece; no region is on it
 *
 * A process that still maps it keeps the pages, until it unmaps them.
 *
 * Context: process, may sleep.
 */
void smr_dm_free(struct smr_dm *dm)
{
	rdma_user_mmap_entry_remove(dm->entry);
	atomic_add(dm->size, &dm->store->left);
	kfree(dm);
}
