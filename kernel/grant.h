/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Grants: what lets copies use a memory, until the owner of a key retires it. A
 * copy holds a grant for as long as it copies, and never while it waits.
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
 * struct smr_drain - somebody who is to hear that a grant has drained
 * @node: in the grant's list; empty when it is in none
 * @grant: whose list that is; NULL when it is in none, and has been told. Written under
 *	that grant's lock
 * @fn: called once, in any context, with a lock of the grant's held: it may
 *	queue work, or complete something. @drain may be freed when smr_drain_forget() has
 *	returned
 */
struct smr_drain {
	struct list_head node;
	struct smr_grant *grant;
	void (*fn)(struct smr_drain *drain);
};

/**
 * struct smr_grant - what a key gives to copies; part of a region or a window
 * @ref: one for the owner until it retires the grant, and one for each span
 * @retired: the owner's reference is dropped
 * @lock: guards @retired and @waiters; a leaf but for what struct smr_drain says
 * @waiters: struct smr_drain: who is to hear that the last span has ended
 *
 * What contains it is freed after an RCU grace period: a look-up may still try to
 * get a reference, and the last span's end may still be at the lock.
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
 * struct smr_drain_sync - struct smr_drain of a process that waits
 * @drain: what the grant knows
 * @done: completed when it is told
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
