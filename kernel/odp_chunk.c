// SPDX-License-Identifier: GPL-2.0
/*
 * Chunks: pages that are a process's own at each moment.
 *
 * A chunk has an entry for each of its pages, and a notifier by which the mm
 * says that the page tables of its range are about to change. An entry is
 * valid, and its page may be touched, with chunk->lock held only: the notifier
 * takes that lock to make it invalid, and the mm does not let go of the page
 * before the notifier returns.
 *
 * Entries become valid in process context: look at the notifier's sequence
 * number, have hmm_range_fault() find or make the pages, take the lock, and
 * begin again if the number has changed, which it does under that lock only.
 *
 * Pages that were written to are marked dirty when their entry becomes
 * invalid. File systems may take any lock for that, so it is not done with
 * chunk->lock held, which softirq takes, but with chunk->drop_lock. The second
 * of two notifiers that run at once waits there until the first is done with
 * the pages, since the mm may be free to reuse them when the second returns.
 *
 * Locks:
 *	chunk->drop_lock -> chunk->lock
 *	chunk->drop_lock -> what marking pages dirty needs
 * The notifier runs within reclaim, and with the mmap_lock or locks of the
 * reverse map held. It takes only spinlocks, so that it is right where
 * blocking is not allowed.
 */
#include "odp_chunk.h"

#include <linux/fs.h>
#include <linux/hmm.h>
#include <linux/magic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/cleanup.h"
#include "compat/mm.h"
#include "mem.h"

/* A map disables BHs. This much is copied in some microseconds. */
#define MAP_MAX		SZ_64K

/* An entry: a page frame number and these flags. 0: no page is known. */
#define ENTRY_VALID	BIT_ULL(0)
#define ENTRY_WRITE	BIT_ULL(1)
#define ENTRY_DIRTY	BIT_ULL(2)
#define ENTRY_PFN_SHIFT	3

static struct page *entry_page(u64 entry)
{
	return pfn_to_page(entry >> ENTRY_PFN_SHIFT);
}

/*
 * Make entries invalid. chunk_mark_dirty() handles the pages that were written.
 * Returns how many were valid.
 */
static u32 chunk_retire(struct smr_chunk *c, u32 first, u32 end)
{
	u32 i, nr = 0;
	u64 entry;

	lockdep_assert_held(&c->lock);
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
		scoped_guard(spinlock_bh, &c->lock) {
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

/**
 * smr_chunk_create() - make a chunk without valid entries
 * @mm: whose pages; the caller is one of its users, mmget()
 * @addr: of the first page
 * @npages: how many, all in the same SMR_CHUNK_SIZE
 * @writable: they may be written to
 * @empty: see struct smr_chunk
 * @table: see struct smr_chunk
 * @stats: where it counts; lives longer
 *
 * Context: process, may sleep; may take the mmap_lock.
 * Return: the chunk, end it with smr_chunk_destroy(); or ERR_PTR(-ENOMEM) or
 * another error of mmu_interval_notifier_insert().
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
	spin_lock_init(&c->lock);
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

/* Drop all entries, as the notifier would, and while there is a notifier. */
static void chunk_drop(struct smr_chunk *c)
{
	guard(spinlock)(&c->drop_lock);
	scoped_guard(spinlock_bh, &c->lock) {
		chunk_retire(c, 0, c->npages);
		c->dead = true;
	}
	chunk_mark_dirty(c, 0, c->npages);
}

/**
 * smr_chunk_destroy() - end a chunk
 * @c: the chunk; not faulted any more, and not found by new look-ups. Freed
 *	after an RCU grace period
 *
 * Waits for the notifier, and with it for @c->empty.
 *
 * Context: process, may sleep.
 */
void smr_chunk_destroy(struct smr_chunk *c)
{
	chunk_drop(c);
	mmu_interval_notifier_remove(&c->notifier);
	smr_stat_add(c->stats, SMR_CNT_ODP_CHUNKS, -1);
	chunk_free(c);
}

/**
 * smr_chunk_kill_if_empty() - mark a chunk dead, if it has no valid entry
 * @c: the chunk; not faulted
 *
 * Return: true if it is dead: no map of it can begin any more.
 */
bool smr_chunk_kill_if_empty(struct smr_chunk *c)
{
	guard(spinlock_bh)(&c->lock);
	c->dead = !c->nr_valid;
	return c->dead;
}

/* The flags that an entry needs for an access. */
static u64 entry_needed(bool write)
{
	return ENTRY_VALID | (write ? ENTRY_WRITE : 0);
}

/* Map as much of a chunk as is contiguous. */
static int chunk_map(struct smr_chunk *c, u64 addr, size_t len, bool write,
		     struct smr_map *map)
{
	u32 i = PHYS_PFN(addr - c->addr);
	u64 need = entry_needed(write);
	u64 first = c->entries[i], next;
	size_t room;

	lockdep_assert_held(&c->lock);
	if ((first & need) != need)
		return SMR_PAGE_MISSING;
	if (write)
		c->entries[i] |= ENTRY_DIRTY;
	room = PAGE_SIZE - offset_in_page(addr);
	for (next = first; room < len && ++i < c->npages; room += PAGE_SIZE) {
		next = (next | ENTRY_DIRTY) + BIT_ULL(ENTRY_PFN_SHIFT);
		/* The same rights, and the page that follows physically */
		if ((c->entries[i] | ENTRY_DIRTY) != next)
			break;
		if (write)
			c->entries[i] = next;
	}
	map->addr = page_address(entry_page(first)) + offset_in_page(addr);
	map->len = min(len, room);
	map->next = addr + map->len;
	return 0;
}

/**
 * smr_chunk_map_or_unlock() - map pages of a chunk
 * @c: the chunk
 * @addr: first byte, in the chunk
 * @len: bytes at most
 * @write: they will be written to
 * @map: filled in
 *
 * Context: with @c->lock held, which is kept on success until the end of the
 * map, and released otherwise.
 * Return: 0, or SMR_PAGE_MISSING: smr_chunk_fault() may help.
 */
int smr_chunk_map_or_unlock(struct smr_chunk *c, u64 addr, size_t len,
			    bool write, struct smr_map *map)
{
	int ret = SMR_PAGE_MISSING;

	lockdep_assert_held(&c->lock);
	if (!c->dead)
		ret = chunk_map(c, addr, min_t(size_t, len, MAP_MAX), write,
				map);
	if (ret) {
		/* Locked by the caller; this tells sparse. */
		__acquire(&c->lock);
		spin_unlock_bh(&c->lock);
		return ret;
	}
	map->left = MAP_MAX - map->len;
	map->cookie = c;
	return 0;
}

/**
 * smr_chunk_map_next() - move a map of a chunk on
 * @c: the chunk
 * @len: bytes at most
 * @write: they will be written to
 * @map: it is left at its end; gets the run that follows
 *
 * Context: with @c->lock held, since the map began.
 * Return: false if no valid page follows, or the map has had MAP_MAX bytes.
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

/* The entry for what hmm_range_fault() has found, or 0. */
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
 * Returns how many entries allow more than before. -EBUSY: the page tables have
 * changed since, find the pages again.
 */
static int chunk_store(struct smr_chunk *c, const struct hmm_range *range)
{
	u32 i = PHYS_PFN(range->start - c->addr);
	u32 end = PHYS_PFN(range->end - c->addr);
	unsigned long *pfn = range->hmm_pfns;
	int nr = 0;
	u64 entry;

	guard(spinlock_bh)(&c->lock);
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

static unsigned long hmm_flags(enum smr_odp_want want)
{
	switch (want) {
	case SMR_ODP_READ:
		return HMM_PFN_REQ_FAULT;
	case SMR_ODP_WRITE:
		return HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE;
	default:
		return 0;
	}
}

/* Areas that pin_user_pages() refuses and hmm_range_fault() does not. */
static bool vma_is_closed(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SHADOW_STACK ||
	       (vma->vm_file && file_inode(vma->vm_file)->i_sb->s_magic ==
				SECRETMEM_MAGIC);
}

/* The kernel itself has no mapping of secret memory. */
static bool range_is_closed(struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma;

	mmap_assert_locked(mm);
	for (; start < end; start = vma->vm_end) {
		vma = find_vma_intersection(mm, start, end);
		if (!vma)
			break;
		if (vma_is_closed(vma))
			return true;
	}
	return false;
}

/* One pass of the sequence at the head of this file. Returns as chunk_store(). */
static int chunk_try_fault(struct smr_chunk *c, struct hmm_range *range)
{
	struct mm_struct *mm = c->notifier.mm;
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	range->notifier_seq = mmu_interval_read_begin(&c->notifier);
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	ret = range_is_closed(mm, range->start, range->end) ?
		-EFAULT : hmm_range_fault(range);
	mmap_read_unlock(mm);
	return ret ?: chunk_store(c, range);
}

/**
 * smr_chunk_fault() - bring pages of a chunk in
 * @c: the chunk
 * @addr: first byte
 * @last: last byte
 * @want: the access that is needed
 * @count: the counter for pages that were missing
 *
 * Context: process, may sleep; a user of the mm, mmget(). Takes the mmap_lock.
 * Return: 0; -EFAULT (nothing is mapped there, or not with this right, or it is
 * secret memory or a shadow stack),
 * -ENOMEM, -EINTR (killed).
 */
int smr_chunk_fault(struct smr_chunk *c, u64 addr, u64 last,
		    enum smr_odp_want want, enum smr_counter count)
{
	struct hmm_range range = {
		.notifier = &c->notifier,
		.start = addr & PAGE_MASK,
		.end = PAGE_ALIGN(last + 1),
		.default_flags = hmm_flags(want),
	};
	int ret;

	range.hmm_pfns = kcalloc(PHYS_PFN(range.end - range.start),
				 sizeof(*range.hmm_pfns), GFP_KERNEL);
	if (!range.hmm_pfns)
		return -ENOMEM;
	do {
		ret = chunk_try_fault(c, &range);
		cond_resched();
	} while (ret == -EBUSY);
	kfree(range.hmm_pfns);
	if (ret >= 0) {
		smr_stat_add(c->stats, count, ret);
		return 0;
	}
	/* Callers need not tell a missing right from unusable memory. */
	return ret == -EPERM || ret == -EINVAL ? -EFAULT : ret;
}
