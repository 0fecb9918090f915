/* SPDX-License-Identifier: GPL-2.0 */
/* A chunk: some pages of on-demand memory, and their notifier. */
#ifndef SMR_ODP_CHUNK_H
#define SMR_ODP_CHUNK_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "stats.h"

struct smr_map;
struct smr_populate;

#define SMR_CHUNK_SHIFT	21
#define SMR_CHUNK_SIZE	BIT_ULL(SMR_CHUNK_SHIFT)

/**
 * struct smr_chunk - on-demand pages, all in the same aligned 2 MiB
 * @notifier: for their address range
 * @empty: called, in any context, when the last valid entry becomes invalid
 * @addr: address of the first page
 * @npages: number of pages
 * @writable: they may be written to
 * @users: running faults; under its table's lock
 * @table: its table, for @empty
 * @stats: its counters
 * @drop_lock: held while entries are made invalid, and pages marked dirty
 * @writers: number of CPUs that wait for @lock for writing, or hold it
 * @lock: guards all below, and is the lock of the notifier's sequence number; BH-safe. Held for
 *	reading while pages are mapped. Held for writing to change an entry, except that readers
 *	may set the dirty flag
 * @dead: is being freed; it cannot be mapped
 * @nr_valid: number of valid entries
 * @entries: one for each page. One that is not valid, but dirty, belongs to
 *	the holder of @drop_lock.
 * @rcu: defers freeing, for RCU look-ups
 *
 * Fields without a lock are constant.
 */
struct smr_chunk {
	struct mmu_interval_notifier notifier;
	void (*empty)(struct smr_chunk *c);
	u64 addr;
	u32 npages;
	bool writable;
	u32 users;
	void *table;
	struct smr_stats *stats;
	/* see above for both */
	spinlock_t drop_lock;
	atomic_t writers;
	/* see above */
	rwlock_t lock;
	bool dead;
	u32 nr_valid;
	u64 *entries;
	struct rcu_head rcu;
};

/* Size of a chunk with this many pages */
static inline size_t smr_chunk_bytes(u32 npages)
{
	return sizeof(struct smr_chunk) +
	       npages * sizeof_field(struct smr_chunk, entries[0]);
}

struct smr_chunk *smr_chunk_create(struct mm_struct *mm, u64 addr, u32 npages,
				   bool writable,
				   void (*empty)(struct smr_chunk *c),
				   void *table, struct smr_stats *stats);
void smr_chunk_destroy(struct smr_chunk *c);
bool smr_chunk_kill_if_empty(struct smr_chunk *c);
int smr_chunk_map(struct smr_chunk *c, u64 addr, size_t len, bool write,
		  struct smr_map *map);
int smr_chunk_trymap(struct smr_chunk *c, u64 addr, size_t len, bool write,
		     struct smr_map *map);
void smr_chunk_unmap(struct smr_chunk *c);
bool smr_chunk_map_next(struct smr_chunk *c, size_t len, bool write,
			struct smr_map *map);
int smr_chunk_fault(struct smr_chunk *c, const struct smr_populate *how,
		    u64 *addr, u64 last);

#endif /* SMR_ODP_CHUNK_H */
