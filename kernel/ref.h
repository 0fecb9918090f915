/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The references that copies hold on a memory through its key, until the owner of the key kills
 * them. A copy holds a reference while it copies, and never while it waits.
 */
#ifndef SMR_REF_H
#define SMR_REF_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct smr_ref;

/**
 * struct smr_ref_waiter - a waiter for the last span of a key
 * @node: in the list of a struct smr_ref, while it is @listed
 * @listed: in that list. Set by the waiter; cleared with release by the last put, which does not
 *	access the struct after that unless @get returned true
 * @get: takes the references that @run needs; NULL, or false: do not call @run. Called in any
 *	context, with its lock held, like @run
 * @run: called after @get when it is no longer @listed; drops the references
 */
struct smr_ref_waiter {
	struct list_head node;
	bool listed;
	bool (*get)(struct smr_ref_waiter *waiter);
	void (*run)(struct smr_ref_waiter *waiter);
};

/**
 * struct smr_ref - the references of copies through a key; part of a region or a window
 * @count: one for the owner until smr_ref_kill(), and one for each span
 * @dead: the owner's reference is dropped
 * @lock: guards @dead and @waiters; a leaf lock except for those that smr_ref_waiter.run takes
 * @waiters: list of struct smr_ref_waiter, which wait for the last span to end
 *
 * Its container is freed after an RCU grace period: a look-up may still try to get a reference,
 * and the end of the last span may still hold the lock.
 */
struct smr_ref {
	refcount_t count;
	bool dead;
	/* see above */
	spinlock_t lock;
	struct list_head waiters;
};

void smr_ref_init(struct smr_ref *ref);
void smr_ref_reinit(struct smr_ref *ref);
bool smr_ref_kill(struct smr_ref *ref, struct smr_ref_waiter *waiter);
void smr_ref_kill_sync(struct smr_ref *ref);
void smr_ref_wait(struct smr_ref_waiter *waiter);
bool __must_check smr_ref_tryget(struct smr_ref *ref);
void smr_ref_put(struct smr_ref *ref);

/* True until the last span has ended. */
static inline bool smr_ref_waiter_listed(const struct smr_ref_waiter *waiter)
{
	/* Pairs with ref_tell(). */
	return smp_load_acquire(&waiter->listed);
}

#endif /* SMR_REF_H */
