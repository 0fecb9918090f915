// SPDX-License-Identifier: GPL-2.0
/*
 * Chunks: pages of a process, tracked by an MMU interval notifier.
 *
 * A chunk has an entry for each of its pages, and a notifier that the mm calls before the page
 * tables of its range change. A page may be accessed only while its entry is valid and
 * chunk->lock is held: the notifier takes that lock to make the entry invalid, and the mm does
 * not free the page before the notifier returns.
 *
 * Any number of CPUs copy at once: they hold the lock for reading. With BHs off, readers pass a
 * waiting writer (kernel/locking/qrwlock.c). With a continuous stream of readers, a process
 * that unmaps its memory would wait for ever. So new readers yield to waiting writers.
 *
 * Entries become valid in process context: read the notifier's sequence number, fault in
 * missing pages, let hmm_range_fault() find them, take the lock, and begin again if the number
 * has changed. It changes only under that lock.
 *
 * Pages that were written to are marked dirty when their entry becomes invalid. File systems
 * may take any lock for that, so it is not done with chunk->lock held, which softirq takes, but
 * with chunk->drop_lock. If two notifiers run at once, the second waits for drop_lock until the
 * first is done with the pages, since the mm may reuse them when the second returns.
 *
 * Locks:
 *	chunk->drop_lock -> chunk->lock
 *	chunk->drop_lock -> locks that folio_mark_dirty() takes
 * The notifier runs within reclaim, and with the mmap_lock or locks of the reverse map held. It
 * takes only spinlocks, so it also works where blocking is not allowed.
 */
#include "odp_chunk.h"

#include <linux/bottom_half.h>
#include <linux/fs.h>
#include <linux/hmm.h>
#include <linux/magic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/processor.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "compat/cleanup.h"
#include "compat/mm.h"
#include "mem.h"

/* A map disables BHs. This much is copied in a few microseconds. */
#define MAP_MAX		SZ_64K

/* An entry: a page frame number and these flags. 0: no page. */
#define ENTRY_VALID	BIT_ULL(0)
#define ENTRY_WRITE	BIT_ULL(1)
#define ENTRY_DIRTY	BIT_ULL(2)
#define ENTRY_PFN_SHIFT	3

/* Maximum loop iterations in which a map yields to writers. */
#define GIVE_WAY	1000

/* Up to this many pages, the array of PFNs is on the stack. */
#define FEW_PAGES	4

/* After nine tries, a range of 512 pages has been halved to one page. */
#define FAULT_TRIES	32

static struct page *entry_page(u64 entry)
{
	return pfn_to_page(entry >> ENTRY_PFN_SHIFT);
}

/* Exclude all maps of the chunk. */
static void chunk_lock(struct smr_chunk *c)
{
	atomic_inc(&c->writers);
	write_lock_bh(&c->lock);
	/* Kept, for chunk_unlock(); this tells sparse. */
	__release(&c->lock);
}

static void chunk_unlock(struct smr_chunk *c)
{
	/* Locked by chunk_lock(); this tells sparse. */
	__acquire(&c->lock);
	write_unlock_bh(&c->lock);
	atomic_dec(&c->writers);
}

/*
 * Yield to writers. The number of iterations is limited, so that a series of writers cannot
 * keep a softirq here. On PREEMPT_RT a waiting writer stops new readers.
 */
static void chunk_give_way(const struct smr_chunk *c)
{
	int turns;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	for (turns = 0; turns < GIVE_WAY && atomic_read(&c->writers); turns++)
		cpu_relax();
}

DEFINE_LOCK_GUARD_1(chunk, struct smr_chunk, chunk_lock(_T->lock),
		    chunk_unlock(_T->lock))

/*
 * Make entries invalid. chunk_mark_dirty() handles the pages that were written. Returns the
 * number that were valid.
 */
static u32 chunk_retire(struct smr_chunk *c, u32 first, u32 end)
{
	u32 i, nr = 0;
	u64 entry;

	lockdep_assert_held_write(&c->lock);
	for (i = first; i < end; i++) {
		entry = c->entries[i];
		if (!(entry & ENTRY_VALID))
			continue;
		nr++;
		if (entry & ENTRY_DIRTY)
			c->entries[i] = entry & ~(ENTRY_VALID | ENTRY_WRITE);
		else
			c->entries[i] = 0;
	}
	c->nr_valid -= nr;
	return nr;
}

/* The mm holds these pages at least until drop_lock is released. */
static void chunk_mark_dirty(struct smr_chunk *c, u32 first, u32 end)
{
	u64 entry;
	u32 i;

	lockdep_assert_held(&c->drop_lock);
	for (i = first; i < end; i++) {
		entry = READ_ONCE(c->entries[i]);
		if ((entry & (ENTRY_VALID | ENTRY_DIRTY)) != ENTRY_DIRTY)
			continue;
		folio_mark_dirty(page_folio(entry_page(entry)));
		WRITE_ONCE(c->entries[i], 0);
	}
}

static bool chunk_invalidate(struct mmu_interval_notifier *notifier,
			     const struct mmu_notifier_range *range,
			     unsigned long seq)
{
	struct smr_chunk *c = container_of(notifier, struct smr_chunk,
					   notifier);
	u64 from = max_t(u64, range->start, c->addr) - c->addr;
	u64 to = min_t(u64, range->end - c->addr, PFN_PHYS(c->npages));
	u32 first = PHYS_PFN(from), end = PFN_UP(to);
	bool empty;
	u32 nr;

	scoped_guard(spinlock, &c->drop_lock) {
		scoped_guard(chunk, c) {
			mmu_interval_set_seq(notifier, seq);
			nr = chunk_retire(c, first, end);
			empty = !c->nr_valid;
		}
		chunk_mark_dirty(c, first, end);
	}
	smr_stat_add(c->stats, SMR_CNT_ODP_INVALIDATIONS, nr);
	if (empty)
		c->empty(c);
	return true;
}

static const struct mmu_interval_notifier_ops chunk_notifier_ops = {
	.invalidate = chunk_invalidate,
};

static void chunk_free(struct smr_chunk *c)
{
	kfree(c->entries);
	kfree_rcu(c, rcu);
}

/*
 * Make a chunk without valid entries. @mm: owner of the pages; the caller has a mmget() reference.
 * @addr: address of the first page. @npages: number of pages, all in the same aligned
 * SMR_CHUNK_SIZE. @writable: they may be written to. @stats: its counters; must outlive the chunk.
 * Context: process; may take the mmap_lock. Returns the chunk, end it with smr_chunk_destroy(); or
 * ERR_PTR(-ENOMEM) or another error of mmu_interval_notifier_insert().
 */
struct smr_chunk *smr_chunk_create(struct mm_struct *mm, u64 addr, u32 npages,
				   bool writable,
				   void (*empty)(struct smr_chunk *c),
				   void *table, struct smr_stats *stats)
{
	struct smr_chunk *c;
	int ret = -ENOMEM;

	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		return ERR_PTR(ret);
	c->addr = addr;
	c->npages = npages;
	c->writable = writable;
	c->empty = empty;
	c->table = table;
	c->stats = stats;
	spin_lock_init(&c->drop_lock);
	rwlock_init(&c->lock);
	c->entries = kcalloc(npages, sizeof(*c->entries), GFP_KERNEL_ACCOUNT);
	if (!c->entries)
		goto free_chunk;
	ret = mmu_interval_notifier_insert(&c->notifier, mm, addr,
					   PFN_PHYS(npages),
					   &chunk_notifier_ops);
	if (ret)
		goto free_chunk;
	smr_stat_inc(stats, SMR_CNT_ODP_CHUNKS);
	return c;

free_chunk:
	chunk_free(c);
	return ERR_PTR(ret);
}

/* Drop all entries, as the notifier would. The notifier is still registered. */
static void chunk_drop(struct smr_chunk *c)
{
	guard(spinlock)(&c->drop_lock);
	scoped_guard(chunk, c) {
		chunk_retire(c, 0, c->npages);
		c->dead = true;
	}
	chunk_mark_dirty(c, 0, c->npages);
}

/*
 * Free a chunk. @c: the chunk; no fault is running, and new look-ups do not find it. Freed after an
 * RCU grace period. Waits for the notifier, and so for @c->empty.
 */
void smr_chunk_destroy(struct smr_chunk *c)
{
	chunk_drop(c);
	mmu_interval_notifier_remove(&c->notifier);
	smr_stat_add(c->stats, SMR_CNT_ODP_CHUNKS, -1);
	chunk_free(c);
}

/*
 * Mark a chunk dead, if it has no valid entry. @c: the chunk; no fault of it is running. Returns
 * true if it is dead: no new map of it can begin.
 */
bool smr_chunk_kill_if_empty(struct smr_chunk *c)
{
	guard(chunk)(c);
	c->dead = !c->nr_valid;
	return c->dead;
}

/* The flags that an entry needs for an access. */
static u64 entry_needed(bool write)
{
	return ENTRY_VALID | (write ? ENTRY_WRITE : 0);
}

/* Another writer that maps the same page may store the same value. */
static void entry_dirty(struct smr_chunk *c, u32 i, u64 entry)
{
	if (!(entry & ENTRY_DIRTY))
		WRITE_ONCE(c->entries[i], entry | ENTRY_DIRTY);
}

/* Map physically contiguous pages of a chunk. */
static int chunk_map(struct smr_chunk *c, u64 addr, size_t len, bool write,
		     struct smr_map *map)
{
	u32 i = PHYS_PFN(addr - c->addr);
	u64 first = READ_ONCE(c->entries[i]);
	u64 need = entry_needed(write);
	u64 next = first, entry;
	size_t room;

	lockdep_assert_held_read(&c->lock);
	if ((first & need) != need)
		return SMR_PAGE_MISSING;
	/* The page has a memory error, and the mm has not unmapped it yet. */
	if (smr_mem_is_bad(entry_page(first)))
		return -EFAULT;
	if (write)
		entry_dirty(c, i, first);
	room = PAGE_SIZE - offset_in_page(addr);
	for (; room < len && ++i < c->npages; room += PAGE_SIZE) {
		entry = READ_ONCE(c->entries[i]);
		next = (next | ENTRY_DIRTY) + BIT_ULL(ENTRY_PFN_SHIFT);
		/* The same rights, and the physically next page */
		if ((entry | ENTRY_DIRTY) != next ||
		    smr_mem_is_bad(entry_page(next)))
			break;
		if (write)
			entry_dirty(c, i, entry);
	}
	map->addr = page_address(entry_page(first)) + offset_in_page(addr);
	map->len = min(len, room);
	map->next = addr + map->len;
	return 0;
}

/* Called with the lock held; keeps it on success, and releases it on error. */
static int chunk_map_or_unlock(struct smr_chunk *c, u64 addr, size_t len,
			       bool write, struct smr_map *map)
{
	int ret = SMR_PAGE_MISSING;

	if (!c->dead)
		ret = chunk_map(c, addr, min_t(size_t, len, MAP_MAX), write,
				map);
	if (ret) {
		smr_chunk_unmap(c);
		return ret;
	}
	map->left = MAP_MAX - map->len;
	map->cookie = c;
	return 0;
}

/*
 * Map pages of a chunk. @c: the chunk, found in an RCU section. @addr: first byte, in the chunk.
 * @write: the pages will be written to. @map: filled in; ends with smr_chunk_unmap(). Context: any;
 * BHs are off until the end of the map. Returns 0; SMR_PAGE_MISSING: smr_chunk_fault() may help; or
 * -EFAULT: the page has a memory error.
 */
int smr_chunk_map(struct smr_chunk *c, u64 addr, size_t len, bool write,
		  struct smr_map *map)
{
	chunk_give_way(c);
	/* Kept, for smr_chunk_unmap(); this tells sparse. */
	read_lock_bh(&c->lock);
	__release(&c->lock);
	return chunk_map_or_unlock(c, addr, len, write, map);
}

/*
 * smr_chunk_map() for a caller that holds another map, of any chunk. @c: the chunk, found in an RCU
 * section. @addr: first byte, in the chunk. @write: the pages will be written to. @map: filled in;
 * ends with smr_chunk_unmap(). Context: as smr_chunk_map(). The caller may have mapped the same
 * chunk. Returns as smr_chunk_map(), or -EBUSY: a writer waits for the chunk's lock, and may be
 * waiting for the caller's other map.
 */
int smr_chunk_trymap(struct smr_chunk *c, u64 addr, size_t len, bool write,
		     struct smr_map *map)
{
	local_bh_disable();
	if (!read_trylock(&c->lock)) {
		local_bh_enable();
		return -EBUSY;
	}
	__release(&c->lock);
	return chunk_map_or_unlock(c, addr, len, write, map);
}

void smr_chunk_unmap(struct smr_chunk *c)
{
	/* Locked by the map; this tells sparse. */
	__acquire(&c->lock);
	read_unlock_bh(&c->lock);
}

/*
 * Advance a map of a chunk. @write: the pages will be written to. @map: used up to its end; set to
 * the next run. Context: within the map. Returns false if no valid page follows, or the map has had
 * MAP_MAX bytes.
 */
bool smr_chunk_map_next(struct smr_chunk *c, size_t len, bool write,
			struct smr_map *map)
{
	len = min(len, map->left);
	if (!len || map->next - c->addr >= PFN_PHYS(c->npages) ||
	    chunk_map(c, map->next, len, write, map))
		return false;
	map->left -= map->len;
	return true;
}

/* The entry for a result of hmm_range_fault(), or 0. */
static u64 entry_of(unsigned long hmm_pfn, bool writable)
{
	u64 pfn;

	if (!(hmm_pfn & HMM_PFN_VALID) || hmm_pfn & HMM_PFN_ERROR)
		return 0;
	pfn = page_to_pfn(hmm_pfn_to_page(hmm_pfn));
	return pfn << ENTRY_PFN_SHIFT |
	       entry_needed(writable && hmm_pfn & HMM_PFN_WRITE);
}

/*
 * Returns the number of entries that became valid or writable. -EBUSY: the page tables have
 * changed; find the pages again.
 */
static int chunk_store(struct smr_chunk *c, const struct hmm_range *range)
{
	u32 i = PHYS_PFN(range->start - c->addr);
	u32 end = PHYS_PFN(range->end - c->addr);
	unsigned long *pfn = range->hmm_pfns;
	int nr = 0;
	u64 entry;

	guard(chunk)(c);
	if (mmu_interval_read_retry(&c->notifier, range->notifier_seq))
		return -EBUSY;
	for (; i < end; i++) {
		entry = entry_of(*pfn++, c->writable);
		if (!entry)
			continue;
		if (entry & ~c->entries[i] & entry_needed(true))
			nr++;
		if (!(c->entries[i] & ENTRY_VALID))
			c->nr_valid++;
		c->entries[i] = entry | (c->entries[i] & ENTRY_DIRTY);
	}
	return nr;
}

static unsigned long hmm_flags(enum smr_want want)
{
	return want == SMR_WANT_WRITE ? HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE :
					HMM_PFN_REQ_FAULT;
}

/* Areas that pin_user_pages() refuses and hmm_range_fault() accepts. */
static bool vma_is_closed(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SHADOW_STACK ||
	       (vma->vm_file && file_inode(vma->vm_file)->i_sb->s_magic ==
				SECRETMEM_MAGIC);
}

/*
 * Does a fault need no more than an allocation? Other pages have to be read from storage, or a
 * process decides when they arrive.
 */
static bool vma_is_instant(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) && !userfaultfd_armed(vma);
}

/*
 * May the pages of a range be used? -EFAULT: the kernel itself does not map one of them.
 * -EAGAIN: with @at_once, one may have to be waited for.
 */
static int range_check(struct mm_struct *mm, u64 start, u64 end, bool at_once)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	mmap_assert_locked(mm);
	if (at_once && get_mm_counter(mm, MM_SWAPENTS))
		return -EAGAIN;
	for_each_vma_range(vmi, vma, end) {
		if (vma_is_closed(vma))
			return -EFAULT;
		if (at_once && !vma_is_instant(vma))
			return -EAGAIN;
	}
	return 0;
}

/* Another fault may hold the lock while it waits for its page. */
static int range_lock(struct mm_struct *mm, bool at_once)
{
	if (at_once)
		return mmap_read_trylock(mm) ? 0 : -EAGAIN;
	return mmap_read_lock_killable(mm) ? -EINTR : 0;
}

/* Does the process lack the page, or the needed right to it? */
static bool pfn_is_missing(unsigned long hmm_pfn, enum smr_want want)
{
	unsigned long need = HMM_PFN_VALID;

	if (want == SMR_WANT_WRITE)
		need |= HMM_PFN_WRITE;
	return hmm_pfn & HMM_PFN_ERROR || (hmm_pfn & need) != need;
}

/*
 * A page that hmm_range_fault() reports as an error may be in device memory, and a fault
 * migrates it back (such a huge page is an error, a small one only missing). If it is still an
 * error after that, it is a real one.
 */
static bool page_stays_bad(const struct hmm_range *range, u64 addr)
{
	unsigned long pfn = 0;
	struct hmm_range page = {
		.notifier = range->notifier,
		.notifier_seq = range->notifier_seq,
		.start = addr,
		.end = addr + PAGE_SIZE,
		.hmm_pfns = &pfn,
	};

	return !hmm_range_fault(&page) && pfn & HMM_PFN_ERROR;
}

/* A hole or a device area has no page to fault in. */
static bool page_cannot_be(struct mm_struct *mm, u64 addr)
{
	const struct vm_area_struct *vma = vma_lookup(mm, addr);

	return !vma || vma->vm_flags & (VM_IO | VM_PFNMAP);
}

/*
 * Find the pages, and fault in missing ones. hmm_range_fault() would hold the mmap_lock while
 * it waits for a page; this does not, so that the process can go on mapping memory. -EBUSY:
 * pages were faulted in, find them again.
 */
static int range_fault(struct hmm_range *range, const struct smr_populate *how)
{
	struct mm_struct *mm = range->notifier->mm;
	unsigned int flags = FAULT_FLAG_REMOTE;
	unsigned long *pfn = range->hmm_pfns;
	unsigned long addr = range->start;
	bool unlocked = false;
	int ret;

	ret = hmm_range_fault(range);
	if (ret || how->want == SMR_WANT_PRESENT)
		return ret;
	if (how->want == SMR_WANT_WRITE)
		flags |= FAULT_FLAG_WRITE;
	for (; addr < range->end; addr += PAGE_SIZE, pfn++) {
		if (!pfn_is_missing(*pfn, how->want))
			continue;
		if (*pfn & HMM_PFN_ERROR && page_cannot_be(mm, addr))
			return -EFAULT;
		if (READ_ONCE(*how->stop))
			return -EINTR;
		ret = fixup_user_fault(mm, addr, flags, &unlocked);
		if (ret)
			return ret;
		if (*pfn & HMM_PFN_ERROR && page_stays_bad(range, addr))
			return -EFAULT;
		unlocked = true;
	}
	return unlocked ? -EBUSY : 0;
}

/*
 * One pass of the sequence at the head of this file. Returns as chunk_store(), or
 * -EAGAIN: the caller would have to wait.
 */
static int chunk_try_fault(struct smr_chunk *c, struct hmm_range *range,
			   const struct smr_populate *how)
{
	struct mm_struct *mm = c->notifier.mm;
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	range->notifier_seq = mmu_interval_read_begin(&c->notifier);
	ret = range_lock(mm, how->at_once);
	if (ret)
		return ret;
	ret = range_check(mm, range->start, range->end, how->at_once);
	if (!ret)
		ret = how->at_once ? hmm_range_fault(range) :
				     range_fault(range, how);
	mmap_read_unlock(mm);
	return ret ?: chunk_store(c, range);
}

/*
 * The first pass faults in missing pages, and the second one finds them. If they are gone
 * again, a page of the range is being invalidated repeatedly: halve the range. If it is one
 * page and that is also invalidated each time, give up: -EAGAIN.
 */
static int chunk_fault_range(struct smr_chunk *c, struct hmm_range *range,
			     const struct smr_populate *how)
{
	int tries, ret;
	u64 npages;

	for (tries = 0; tries < FAULT_TRIES; tries++) {
		ret = chunk_try_fault(c, range, how);
		if (ret != -EBUSY)
			return ret;
		cond_resched();
		if (!tries)
			continue;
		npages = PHYS_PFN(range->end - range->start);
		range->end = range->start + PFN_PHYS(max(npages / 2, 1ULL));
	}
	return -EAGAIN;
}

static enum smr_counter fault_counter(const struct smr_populate *how)
{
	return how->advice ? SMR_CNT_ODP_PREFETCHES : SMR_CNT_ODP_FAULTS;
}

/*
 * Bring pages of a chunk in. @how: what for, and whether to wait. @addr: first byte; on success and
 * with -EAGAIN, advanced past the pages that were tried, which may be fewer than all. Context:
 * process; with a mmget() reference on the mm. Takes the mmap_lock. Returns 0; -EFAULT (not mapped,
 * not with this right, or secret memory or a shadow stack), -ENOMEM, -EINTR (killed), -EAGAIN (it
 * would have to wait, or a page is invalidated each time: the next copy will miss it and begin
 * another fault).
 */
int smr_chunk_fault(struct smr_chunk *c, const struct smr_populate *how,
		    u64 *addr, u64 last)
{
	struct hmm_range range = {
		.notifier = &c->notifier,
		.start = *addr & PAGE_MASK,
		.end = PAGE_ALIGN(last + 1),
		.default_flags = how->at_once ? hmm_flags(how->want) : 0,
	};
	unsigned long npages = PHYS_PFN(range.end - range.start);
	unsigned long few[FEW_PAGES] = {}, *many = NULL;
	int ret;

	if (npages > FEW_PAGES) {
		many = kcalloc(npages, sizeof(*many), GFP_KERNEL);
		if (!many)
			return -ENOMEM;
	}
	range.hmm_pfns = many ?: few;
	ret = chunk_fault_range(c, &range, how);
	kfree(many);
	if (ret > 0)
		smr_stat_add(c->stats, fault_counter(how), ret);
	if (ret >= 0 || ret == -EAGAIN)
		*addr = range.end;
	if (ret >= 0)
		return 0;
	/* Callers do not distinguish a missing right from unusable memory. */
	return ret == -EPERM || ret == -EINVAL ? -EFAULT : ret;
}
