/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Grants: references that let copies use a memory until the owner of the key retires them. A
 * copy holds a reference while it copies, and never while it waits.
 */
#ifndef SMR_GRANT_H
#define SMR_GRANT_H

#include <linux/list.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct smr_grant;

/**
 * struct smr_drain - a waiter for the last span of a grant
 * @node: in the grant's list; empty if it is in no list
 * @grant: the grant whose list it is in, until @fn has returned; then NULL. Written under that
 *	grant's lock
 * @fn: called once, in any context, with the grant's lock held: it may queue work or complete a
 *	completion. @drain may be freed when smr_drain_forget() has returned
 */
struct smr_drain {
	struct list_head node;
	struct smr_grant *grant;
	void (*fn)(struct smr_drain *drain);
};

/**
 * struct smr_grant - the references of copies through a key; part of a region or a window
 * @ref: one for the owner until it retires the grant, and one for each span
 * @retired: the owner's reference is dropped
 * @lock: guards @retired and @waiters; a leaf lock except for those that smr_drain.fn takes
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
void smr_grant_wake(struct smr_grant *grant);
void smr_grant_revive(struct smr_grant *grant);
void smr_drain_forget(struct smr_drain *drain);
bool __must_check smr_grant_get(struct smr_grant *grant);
void smr_grant_put(struct smr_grant *grant);

/**
 * struct smr_drain_sync - struct smr_drain of a sleeping process
 * @drain: the waiter that the grant calls
 * @done: completed by @drain
 */
struct smr_drain_sync {
	struct smr_drain drain;
	struct completion done;
};

void smr_drain_sync_init(struct smr_drain_sync *sync);

static inline void smr_drain_init(struct smr_drain *drain,
				  void (*fn)(struct smr_drain *drain))
{
	INIT_LIST_HEAD(&drain->node);
	drain->grant = NULL;
	drain->fn = fn;
}

#endif /* SMR_GRANT_H */
