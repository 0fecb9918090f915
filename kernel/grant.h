/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Grants: references that let copies use a memory until the owner of the key retires them. A
 * copy holds a reference while it copies, and never while it waits.
 */
#ifndef SMR_GRANT_H
#define SMR_GRANT_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct smr_grant;

/**
 * struct smr_drain - a waiter for the last span of a grant
 * @node: in the grant's list, while it is @listed
 * @listed: in a grant's list. Set by the waiter; cleared with release by the grant, which does not
 *	access the struct after that unless @get returned true
 * @get: takes the references that @run needs; NULL, or false: do not call @run. Called in any
 *	context, with the grant's lock held, like @run
 * @run: called after @get when it is no longer @listed; drops the references
 */
struct smr_drain {
	struct list_head node;
	bool listed;
	bool (*get)(struct smr_drain *drain);
	void (*run)(struct smr_drain *drain);
};

/**
 * struct smr_grant - the references of copies through a key; part of a region or a window
 * @ref: one for the owner until it retires the grant, and one for each span
 * @retired: the owner's reference is dropped
 * @lock: guards @retired and @waiters; a leaf lock except for those that smr_drain.run takes
 * @waiters: list of struct smr_drain, which wait for the last span to end
 *
 * Its container is freed after an RCU grace period: a look-up may still try to get a reference,
 * and the end of the last span may still hold the lock.
 */
struct smr_grant {
	refcount_t ref;
	bool retired;
	/* see above */
	spinlock_t lock;
	struct list_head waiters;
};

void smr_grant_init(struct smr_grant *grant);
void smr_grant_open(struct smr_grant *grant);
bool smr_grant_retire(struct smr_grant *grant, struct smr_drain *drain);
void smr_grant_retire_sync(struct smr_grant *grant);
void smr_drain_wait(struct smr_drain *drain);
bool __must_check smr_grant_get(struct smr_grant *grant);
void smr_grant_put(struct smr_grant *grant);

/* True until the last span of the grant has ended. */
static inline bool smr_drain_is_listed(const struct smr_drain *drain)
{
	/* Pairs with grant_tell(). */
	return smp_load_acquire(&drain->listed);
}

#endif /* SMR_GRANT_H */
