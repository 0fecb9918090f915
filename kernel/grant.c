// SPDX-License-Identifier: GPL-2.0
/*
 * Retire and drain grants: stop new copies through a key, and tell the waiters when the last
 * copy has ended.
 */
#include "grant.h"

#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "compat/cleanup.h"

/**
 * smr_grant_init() - initialize a grant; no span can be opened yet
 * @grant: part of a zeroed struct
 */
void smr_grant_init(struct smr_grant *grant)
{
	grant->retired = true;
	spin_lock_init(&grant->lock);
	INIT_LIST_HEAD(&grant->waiters);
}

/**
 * smr_grant_open() - allow spans to be opened
 * @grant: retired and drained, or new
 *
 * Context: any; if the key is published, between smr_key_update_begin() and
 * _end().
 */
void smr_grant_open(struct smr_grant *grant)
{
	guard(spinlock_bh)(&grant->lock);
	grant->retired = false;
	/*
	 * Pairs with smr_grant_get(): a reader that gets a reference from now on sees that the
	 * key has changed since it was read.
	 */
	smp_wmb();
	refcount_set(&grant->ref, 1);
}

/*
 * Tell all waiters. A waiter may continue, and free its drain, as soon as it is no longer @listed,
 * unless @get has prevented that.
 */
static void grant_tell(struct smr_grant *grant)
{
	struct smr_drain *drain, *next;
	bool run;

	lockdep_assert_held(&grant->lock);
	list_for_each_entry_safe(drain, next, &grant->waiters, node) {
		list_del(&drain->node);
		run = drain->get && drain->get(drain);
		/* Pairs with smr_drain_is_listed(). */
		smp_store_release(&drain->listed, false);
		smp_mb(); /* order the store before wake_up_var()'s check for waiters */
		wake_up_var(&drain->listed);
		if (run)
			drain->run(drain);
	}
}

/* Drop the owner's reference, if not done yet. True if no span holds one. */
static bool grant_drained(struct smr_grant *grant)
{
	lockdep_assert_held(&grant->lock);
	if (!grant->retired) {
		grant->retired = true;
		return refcount_dec_and_test(&grant->ref);
	}
	if (refcount_read(&grant->ref))
		return false;
	/* Pairs with the put of the last span. */
	smp_acquire__after_ctrl_dep();
	return true;
}

/**
 * smr_grant_retire() - refuse new spans
 * @grant: the grant; its key is already invalid
 * @drain: not in a list. If this returns false, told when the last span has ended
 *
 * May be called by several waiters, and by each of them until it returns true: a waiter that was
 * told calls it again. The grant may have been reopened, and a delayed put may report an earlier
 * end. A waiter that is listed waits until it is told, so that it has one owner and one end.
 *
 * Context: any but hard interrupts.
 * Return: true if there are no spans. Then all that copies have written is visible, and @drain is
 *	in no list.
 */
bool smr_grant_retire(struct smr_grant *grant, struct smr_drain *drain)
{
	guard(spinlock_bh)(&grant->lock);
	if (grant_drained(grant))
		return true;
	/* The last put takes the lock after this, and finds it. */
	drain->listed = true;
	list_add_tail(&drain->node, &grant->waiters);
	return false;
}

/**
 * smr_drain_wait() - wait until a waiter was told
 * @drain: passed to smr_grant_retire(), which returned false
 *
 * A span lasts as long as one copy.
 *
 * Context: process, may sleep.
 */
void smr_drain_wait(struct smr_drain *drain)
{
	wait_var_event(&drain->listed, !smr_drain_is_listed(drain));
}

/**
 * smr_grant_retire_sync() - refuse new spans, and wait until the existing ones end
 * @grant: the grant; its key is already invalid
 *
 * Context: process, may sleep.
 */
void smr_grant_retire_sync(struct smr_grant *grant)
{
	struct smr_drain drain = {};

	while (!smr_grant_retire(grant, &drain))
		smr_drain_wait(&drain);
}

/**
 * smr_grant_get() - take a reference, unless the grant is retired
 * @grant: as read from the key
 *
 * The key may have changed between reading it and this call. So the caller reads the key again
 * afterwards.
 *
 * Context: any; within an RCU read-side section.
 * Return: true if a reference was taken; smr_grant_put() drops it.
 */
bool smr_grant_get(struct smr_grant *grant)
{
	if (!refcount_inc_not_zero(&grant->ref))
		return false;
	/* Pairs with smr_grant_open(). */
	smp_mb__after_atomic();
	return true;
}

/**
 * smr_grant_put() - drop a span's reference
 * @grant: the grant
 *
 * Context: any but hard interrupts.
 */
void smr_grant_put(struct smr_grant *grant)
{
	/* The owner may free it as soon as @ref is 0. */
	guard(rcu)();
	if (!refcount_dec_and_test(&grant->ref))
		return;
	guard(spinlock_bh)(&grant->lock);
	grant_tell(grant);
}
