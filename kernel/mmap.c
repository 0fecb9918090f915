// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory that processes map. It is charged to the pool of a user or of a device, and to
 * the memory cgroup of the process that asks for it.
 *
 * A process may still map the memory of a destroyed object. Each mapping holds references on
 * the pages, and the memory cgroup is charged until the last reference is dropped. The pool must
 * stay charged until then, too, or a process could allocate without limit by creating, mapping
 * and destroying objects. softmr is not notified when a mapping ends: vm_operations would pin
 * the module as long as any process maps a ring. So the memory is put in a list, which is
 * searched for unmapped memory when the pool is exhausted. A provider unmaps memory soon after
 * its object is destroyed, so most entries can be freed when the next one is added.
 */
#include "mmap.h"

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/cleanup.h"
#include "compat/mm.h"

/* When memory is added to the list, this many other entries are checked. */
#define REAP	2

static struct smr_mmap *to_smr_mmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct smr_mmap, entry);
}

/*
 * It cannot be mapped again. A transient reference of another user on a page makes it look
 * mapped, which does no harm.
 */
static bool is_mapped(const struct smr_mmap *m)
{
	size_t off;

	for (off = 0; off < m->size; off += PAGE_SIZE) {
		if (page_count(vmalloc_to_page(m->mem + off)) > 1)
			return true;
	}
	return false;
}

static void release(struct smr_mmap *m)
{
	smr_pool_uncharge(m->pool, &m->charge);
	vfree(m->mem);
	kfree(m);
}

/* Free all entries that are not mapped. */
static void reap(struct smr_pool *pool)
{
	struct smr_mmap *m, *next;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry_safe(m, next, &pool->mmap, node) {
		if (!is_mapped(m)) {
			list_del(&m->node);
			release(m);
		}
		cond_resched();
	}
}

/* Check only the oldest entries of the list. */
static void reap_some(struct smr_pool *pool)
{
	struct smr_mmap *m;
	int i;

	lockdep_assert_held(&pool->lock);
	for (i = 0; i < REAP && !list_empty(&pool->mmap); i++) {
		m = list_first_entry(&pool->mmap, struct smr_mmap, node);
		if (is_mapped(m)) {
			list_move_tail(&m->node, &pool->mmap);
		} else {
			list_del(&m->node);
			release(m);
		}
	}
}

/**
 * smr_mmap_charge() - charge memory of an object that processes map to a pool
 * @pool: the pool
 * @size: bytes
 * @charge: filled in
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM: the pool is exhausted, or RLIMIT_MEMLOCK too small.
 */
int smr_mmap_charge(struct smr_pool *pool, size_t size, struct smr_charge *charge)
{
	guard(mutex)(&pool->lock);
	if (size > pool->max - pool->used)
		reap(pool);
	return smr_pool_charge(pool, size, charge);
}

/**
 * smr_mmap_uncharge() - the reverse of smr_mmap_charge()
 * @pool: the pool
 * @charge: the charge
 *
 * Context: process, may sleep.
 */
void smr_mmap_uncharge(struct smr_pool *pool, struct smr_charge *charge)
{
	guard(mutex)(&pool->lock);
	smr_pool_uncharge(pool, charge);
}

/**
 * smr_mmap_alloc() - allocate memory that processes can map
 * @pool: the pool it is charged to; outlives @uctx
 * @uctx: the context whose process maps it
 * @size: bytes, whole pages
 *
 * Context: process, may sleep.
 * Return: the memory; end it with smr_mmap_free(). Or an ERR_PTR: -ENOMEM, also if the pool is
 *	exhausted or RLIMIT_MEMLOCK is too small.
 */
struct smr_mmap *smr_mmap_alloc(struct smr_pool *pool,
				struct ib_ucontext *uctx, size_t size)
{
	struct smr_mmap *m;
	int ret;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->pool = pool;
	m->size = size;
	ret = smr_mmap_charge(pool, size, &m->charge);
	if (ret)
		goto free;
	ret = -ENOMEM;
	m->mem = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!m->mem)
		goto uncharge;
	ret = rdma_user_mmap_entry_insert(uctx, &m->entry, size);
	if (!ret)
		return m;
	vfree(m->mem);
uncharge:
	smr_mmap_uncharge(pool, &m->charge);
free:
	kfree(m);
	return ERR_PTR(ret);
}

/**
 * smr_mmap_free() - release the memory of a destroyed object
 * @m: the memory
 *
 * It cannot be mapped again. A process that already maps it keeps the pages until it unmaps
 * them, and they stay charged until then.
 *
 * Context: process, may sleep.
 */
void smr_mmap_free(struct smr_mmap *m)
{
	rdma_user_mmap_entry_remove(&m->entry);
}

/**
 * smr_mmap_unmapped() - ib_device_ops.mmap_free: free memory as soon as it is not mapped
 * @entry: has lost its last reference, and cannot be mapped again
 *
 * Context: process, may sleep.
 */
void smr_mmap_unmapped(struct rdma_user_mmap_entry *entry)
{
	struct smr_mmap *m = to_smr_mmap(entry);
	struct smr_pool *pool = m->pool;

	guard(mutex)(&pool->lock);
	reap_some(pool);
	if (is_mapped(m))
		list_add_tail(&m->node, &pool->mmap);
	else
		release(m);
}

/**
 * smr_mmap_fini() - free a pool's list; all objects of the pool are destroyed
 * @pool: the pool
 *
 * Processes that map memory of it keep the pages.
 *
 * Context: process, may sleep.
 */
void smr_mmap_fini(struct smr_pool *pool)
{
	struct smr_mmap *m, *next;

	guard(mutex)(&pool->lock);
	list_for_each_entry_safe(m, next, &pool->mmap, node)
		release(m);
	WARN_ON_ONCE(pool->used);
}

/* Each mapping holds references on the pages, so no other reference is needed. */
static int insert_pages(struct vm_area_struct *vma, void *mem)
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
 * smr_mmap_map() - ib_device_ops.mmap: map memory into the calling process
 * @uctx: the caller's context
 * @vma: the area to fill; its offset and size select the memory: see struct smr_ring_info
 *
 * Context: process, with the mmap lock held for writing.
 * Return: 0, -EINVAL (no such memory, another size, or a private mapping),
 * -ENOMEM.
 */
int smr_mmap_map(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int ret;

	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	ret = insert_pages(vma, to_smr_mmap(entry)->mem);
	rdma_user_mmap_entry_put(entry);
	return ret;
}
