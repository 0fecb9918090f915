// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: memory that follows the page tables of the process, and is not pinned.
 *
 * The address range is a sparse table of chunks, created at their first access; odp_chunk.c
 * describes how a chunk follows the page tables. Empty chunks are freed. So the size of the
 * table is in proportion to the memory in use, not to the range.
 *
 * Locks:
 *	odp->mutex -> mmap_lock (for lockdep only: odp_watch() has registered the first notifier
 *		of the mm, which takes it, without the mutex)
 *	odp->mutex -> chunk->lock
 */
#include "odp.h"

#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat/cleanup.h"
#include "fault.h"
#include "mem.h"
#include "odp_chunk.h"

/* Chunks that may be empty */
#define CHUNK_EMPTY	XA_MARK_0

/**
 * struct smr_odp - memory that is paged on demand
 * @mem: the common part
 * @start: the address of the first byte
 * @writable: may be written to
 * @process: the process that registered it
 * @faults: executes its faults, a reference
 * @stats: the counters of its device, a reference: a fault may outlive the device
 * @chunks: chunk_index() -> struct smr_chunk; RCU for readers
 * @mutex: serialises the creation and destruction of chunks; guards chunk->users
 * @misses: number of copies that met a missing page
 * @reap: frees empty chunks. It owns no reference: release waits for it.
 *
 * @misses is counted in any context. The others are constant.
 */
struct smr_odp {
	struct smr_mem mem;
	u64 start;
	bool writable;
	struct pid *process;
	struct smr_faults *faults;
	struct smr_stats *stats;
	struct xarray chunks;
	/* see above */
	struct mutex mutex;
	atomic64_t misses;
	struct work_struct reap;
};

static struct smr_odp *to_odp(struct smr_mem *mem)
{
	return container_of(mem, struct smr_odp, mem);
}

/* Counted from the region's first chunk: an xarray looks up small indices faster. */
static unsigned long chunk_index(const struct smr_odp *odp, u64 addr)
{
	return (addr >> SMR_CHUNK_SHIFT) - (odp->start >> SMR_CHUNK_SHIFT);
}

/* A chunk may have become empty: queue the work that frees it. */
static void chunk_offer(struct smr_chunk *c)
{
	struct smr_odp *odp = c->table;

	xa_set_mark(&odp->chunks, chunk_index(odp, c->addr), CHUNK_EMPTY);
	schedule_work(&odp->reap);
}

/* The caller holds a mmget() reference on odp->mem.mm. Charged to the active memcg. */
static struct smr_chunk *chunk_make(struct smr_odp *odp, unsigned long index)
{
	u64 begin = (odp->start & ~(SMR_CHUNK_SIZE - 1)) +
		    ((u64)index << SMR_CHUNK_SHIFT);
	u64 last = min(begin + (SMR_CHUNK_SIZE - 1),
		       odp->start + (odp->mem.size - 1));
	struct smr_chunk *c;
	u32 npages;
	int ret;

	lockdep_assert_held(&odp->mutex);
	begin = max(begin, odp->start & PAGE_MASK);
	npages = PHYS_PFN(last) - PHYS_PFN(begin) + 1;
	ret = smr_faults_charge(odp->faults, smr_chunk_bytes(npages));
	if (ret)
		return ERR_PTR(ret);
	c = smr_chunk_create(odp->mem.mm, begin, npages, odp->writable,
			     chunk_offer, odp, odp->stats);
	if (IS_ERR(c)) {
		ret = PTR_ERR(c);
		goto uncharge;
	}
	ret = xa_err(xa_store(&odp->chunks, index, c, GFP_KERNEL_ACCOUNT));
	if (!ret)
		return c;
	smr_chunk_destroy(c);
uncharge:
	smr_faults_uncharge(odp->faults, smr_chunk_bytes(npages));
	return ERR_PTR(ret);
}

/* Charged to the owner's memcg, even if another process needs the chunk first. */
static struct smr_chunk *chunk_create(struct smr_odp *odp, unsigned long index)
{
	struct mem_cgroup *owner = get_mem_cgroup_from_mm(odp->mem.mm);
	struct mem_cgroup *before = set_active_memcg(owner);
	struct smr_chunk *c = chunk_make(odp, index);

	set_active_memcg(before);
	mem_cgroup_put(owner);
	return c;
}

/* The last @empty callback may still be running; it marks nothing after this. */
static void chunk_end(struct smr_odp *odp, struct smr_chunk *c)
{
	lockdep_assert_held(&odp->mutex);
	xa_erase(&odp->chunks, chunk_index(odp, c->addr));
	smr_faults_uncharge(odp->faults, smr_chunk_bytes(c->npages));
	smr_chunk_destroy(c);
}

static void odp_reap(struct work_struct *work)
{
	struct smr_odp *odp = container_of(work, struct smr_odp, reap);
	struct smr_chunk *c;
	unsigned long index;

	guard(mutex)(&odp->mutex);
	xa_for_each_marked(&odp->chunks, index, c, CHUNK_EMPTY) {
		/* Clear the mark first: an invalidation from now on sets it again. */
		xa_clear_mark(&odp->chunks, index, CHUNK_EMPTY);
		if (!c->users && smr_chunk_kill_if_empty(c))
			chunk_end(odp, c);
		cond_resched();
	}
}

/* The holder of the mutex may wait for invalidations, so an @at_once caller only tries it. */
static struct smr_chunk *chunk_get(struct smr_odp *odp, unsigned long index,
				   bool at_once)
{
	struct smr_chunk *c;

	if (!at_once)
		mutex_lock(&odp->mutex);
	else if (!mutex_trylock(&odp->mutex))
		return ERR_PTR(-EAGAIN);
	c = xa_load(&odp->chunks, index);
	if (!c)
		c = chunk_create(odp, index);
	if (!IS_ERR(c))
		c->users++;
	mutex_unlock(&odp->mutex);
	return c;
}

static void chunk_put(struct smr_odp *odp, struct smr_chunk *c)
{
	guard(mutex)(&odp->mutex);
	/* The reaper skips chunks in use, and a chunk that never had a page is not marked. */
	if (!--c->users && smr_chunk_kill_if_empty(c))
		chunk_end(odp, c);
}

static struct smr_chunk *chunk_find(struct smr_odp *odp, u64 addr)
{
	return xa_load(&odp->chunks, chunk_index(odp, addr));
}

static int count_map(struct smr_odp *odp, int ret)
{
	smr_stat_inc(odp->stats, ret ? SMR_CNT_ODP_MISSES : SMR_CNT_ODP_HITS);
	if (ret)
		atomic64_inc(&odp->misses);
	return ret;
}

static int odp_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		   struct smr_map *map)
{
	struct smr_odp *odp = to_odp(mem);
	u64 addr = odp->start + off;
	struct smr_chunk *c;

	guard(rcu)();
	c = chunk_find(odp, addr);
	if (!c)
		return count_map(odp, SMR_PAGE_MISSING);
	return count_map(odp, smr_chunk_map(c, addr, len, write, map));
}

static int odp_trymap(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map)
{
	struct smr_odp *odp = to_odp(mem);
	u64 addr = odp->start + off;
	struct smr_chunk *c;
	int ret;

	guard(rcu)();
	c = chunk_find(odp, addr);
	if (!c)
		return count_map(odp, SMR_PAGE_MISSING);
	ret = smr_chunk_trymap(c, addr, len, write, map);
	/* -EBUSY is neither a hit nor a miss: the caller will map it in another way. */
	return ret == -EBUSY ? ret : count_map(odp, ret);
}

static bool odp_next(struct smr_mem *mem, size_t len, bool write,
		     struct smr_map *map)
{
	return smr_chunk_map_next(map->cookie, len, write, map);
}

static void odp_unmap(struct smr_mem *mem, struct smr_map *map)
{
	smr_chunk_unmap(map->cookie);
}

/*
 * Bring in pages of the chunk of @addr, and advance @addr. The caller holds a mmget() reference
 * on odp->mem.mm.
 */
static int odp_fault_chunk(struct smr_odp *odp, const struct smr_populate *how,
			   u64 *addr, u64 last)
{
	u64 end = min(last, *addr | (SMR_CHUNK_SIZE - 1));
	struct smr_chunk *c = chunk_get(odp, chunk_index(odp, *addr),
					how->at_once);
	int ret;

	if (IS_ERR(c))
		return PTR_ERR(c);
	ret = smr_chunk_fault(c, how, addr, end);
	chunk_put(odp, c);
	return ret;
}

/* The first mapped address at or after @addr; or an address beyond @last. */
static u64 next_mapped(struct mm_struct *mm, u64 addr, u64 last)
{
	struct vm_area_struct *vma;
	u64 next = last + 1;

	mmap_read_lock(mm);
	vma = find_vma_intersection(mm, addr, last + 1);
	if (vma)
		next = max_t(u64, addr, vma->vm_start);
	mmap_read_unlock(mm);
	return next;
}

/*
 * Does the process still exist? Faults and prefetches also hold mmget() references, and must
 * not keep the mm alive for each other.
 */
static bool odp_process_lives(const struct smr_odp *odp)
{
	struct task_struct *process, *thread;

	guard(rcu)();
	process = pid_task(odp->process, PIDTYPE_TGID);
	if (!process)
		return false;
	for_each_thread(process, thread)
		if (READ_ONCE(thread->mm) == odp->mem.mm)
			return true;
	return false;
}

static bool nothing_invalidate(struct mmu_interval_notifier *notifier,
			       const struct mmu_notifier_range *range,
			       unsigned long seq)
{
	return true;
}

static const struct mmu_interval_notifier_ops nothing_ops = {
	.invalidate = nothing_invalidate,
};

/*
 * The first notifier of a mm takes the mmap_lock, which another thread may hold while it waits
 * for a page. So a worker registers that notifier before it takes odp->mutex, and no verb does.
 */
static int odp_watch(struct smr_odp *odp)
{
	struct mmu_interval_notifier first;
	int ret;

	if (READ_ONCE(odp->faults->watched))
		return 0;
	ret = mmu_interval_notifier_insert(&first, odp->mem.mm, 0, PAGE_SIZE,
					   &nothing_ops);
	if (ret)
		return ret;
	mmu_interval_notifier_remove(&first);
	WRITE_ONCE(odp->faults->watched, true);
	return 0;
}

/* Bring in pages of the first chunk, and advance @addr. */
static int odp_populate_some(struct smr_odp *odp,
			     const struct smr_populate *how, u64 *addr,
			     u64 last)
{
	struct mm_struct *mm = odp->mem.mm;
	int ret = 0;
	u64 next;

	if (!odp_process_lives(odp) || !mmget_not_zero(mm))
		return -EFAULT;
	next = next_mapped(mm, *addr, last);
	if (how->want == SMR_WANT_PRESENT)
		*addr = next;
	/*
	 * Skip holes, so that repeated requests for one do not create and destroy a chunk each
	 * time.
	 */
	if (next > *addr)
		ret = -EFAULT;
	else if (*addr <= last)
		ret = odp_watch(odp) ?: odp_fault_chunk(odp, how, addr, last);
	mmput(mm);
	return ret;
}

/* For an @at_once caller, which uses its own mm. */
static int odp_populate_here(struct smr_odp *odp,
			     const struct smr_populate *how, u64 addr,
			     u64 last)
{
	int ret = 0;

	if (odp->mem.mm != current->mm || !READ_ONCE(odp->faults->watched))
		return -EAGAIN;
	while (!ret && addr <= last)
		ret = odp_fault_chunk(odp, how, &addr, last);
	return ret;
}

/* The pages may be gone again when this returns. */
static int odp_fault(struct smr_mem *mem, const struct smr_populate *how,
		     u64 off, u64 len)
{
	struct smr_odp *odp = to_odp(mem);
	u64 addr = odp->start + off, last = addr + (len - 1);
	bool lost = false;
	int ret = 0;

	if (how->want == SMR_WANT_WRITE && !odp->writable)
		return -EFAULT;
	if (last >= odp->mem.mm->task_size)
		return -EFAULT;
	if (how->at_once)
		return odp_populate_here(odp, how, addr, last);
	while (!ret && addr <= last && !READ_ONCE(*how->stop)) {
		ret = odp_populate_some(odp, how, &addr, last);
		if (ret == -EAGAIN) {
			lost = true;
			ret = 0;
		}
	}
	/* Only a prefetch gets -EAGAIN: a QP retries its copy, and begins another fault. */
	return ret ?: lost && how->advice ? -EAGAIN : 0;
}

static struct smr_faults *odp_faults(const struct smr_mem *mem)
{
	return container_of(mem, const struct smr_odp, mem)->faults;
}

static void odp_look(struct smr_mem *mem, struct smr_mem_look *look)
{
	struct smr_odp *odp = to_odp(mem);
	struct smr_chunk *c;
	unsigned long index;

	look->present = 0;
	look->faults = atomic64_read(&odp->misses);
	guard(rcu)();
	xa_for_each(&odp->chunks, index, c) {
		/* For reports: a slightly old value is good enough. */
		look->present += (u64)data_race(READ_ONCE(c->nr_valid)) << PAGE_SHIFT;
	}
}

static void odp_release(struct smr_mem *mem)
{
	struct smr_odp *odp = to_odp(mem);
	struct smr_chunk *c;
	unsigned long index;

	scoped_guard(mutex, &odp->mutex) {
		xa_for_each(&odp->chunks, index, c) {
			chunk_end(odp, c);
			cond_resched();
		}
	}
	/* Without chunks the work is not queued again. */
	cancel_work_sync(&odp->reap);
	xa_destroy(&odp->chunks);
	mmdrop(odp->mem.mm);
	put_pid(odp->process);
	smr_faults_put(odp->faults);
	smr_stats_put(odp->stats);
	kfree(odp);
}

static const struct smr_mem_ops odp_ops = {
	.name = "on-demand",
	.map = odp_map,
	.trymap = odp_trymap,
	.next = odp_next,
	.unmap = odp_unmap,
	.fault = odp_fault,
	.faults = odp_faults,
	.release = odp_release,
	.look = odp_look,
};

static struct smr_mem *odp_create(struct smr_stats *stats, u64 start,
				  u64 length, bool writable)
{
	struct smr_faults *faults;
	struct smr_odp *odp;

	faults = smr_faults_get();
	if (IS_ERR(faults))
		return ERR_CAST(faults);
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp) {
		smr_faults_put(faults);
		return ERR_PTR(-ENOMEM);
	}
	smr_mem_init(&odp->mem, &odp_ops, length);
	odp->start = start;
	odp->writable = writable;
	odp->faults = faults;
	odp->stats = smr_stats_get(stats);
	xa_init_flags(&odp->chunks, XA_FLAGS_ACCOUNT);
	mutex_init(&odp->mutex);
	INIT_WORK(&odp->reap, odp_reap);
	odp->mem.mm = current->mm;
	mmgrab(current->mm);
	odp->process = get_task_pid(current, PIDTYPE_TGID);
	return &odp->mem;
}

/*
 * Create on-demand memory of a range of the calling process. @stats: counters of its device.
 * @length: bytes; 0 creates an empty memory. @writable: may be written to. The range need not be
 * mapped yet. Returns the memory, or an ERR_PTR: -EINVAL (the range wraps), -ENOMEM.
 */
struct smr_mem *smr_odp_create(struct smr_stats *stats, u64 start, u64 length,
			       bool writable)
{
	u64 end;

	/*
	 * On arm64 a pointer may carry a tag in its top byte, and no mapping is found at a
	 * tagged address (Documentation/arch/arm64/tagged-address-abi.rst).
	 */
	start = untagged_addr(start);
	if (check_add_overflow(start, length, &end))
		return ERR_PTR(-EINVAL);
	return odp_create(stats, start, length, writable);
}

/*
 * Create on-demand memory of all of the calling process. @stats: counters of its device. @writable:
 * may be written to. Its offsets are the process's addresses. Returns the memory, or
 * ERR_PTR(-ENOMEM).
 */
struct smr_mem *smr_odp_create_implicit(struct smr_stats *stats, bool writable)
{
	return odp_create(stats, 0, U64_MAX, writable);
}
