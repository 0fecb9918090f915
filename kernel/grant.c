// SPDX-License-Identifier: GPL-2.0
/*
 * Retire and drain grants: stop new copies through a key, and call the waiters when the last
 * copy has ended.
 */
#include "grant.h"

#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/rcupdate.h>

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

/* Call all waiters' @fn. Each waiter may continue, and free its drain, as soon as it is called. */
static void grant_tell(struct smr_grant *grant)
{
	struct smr_drain *drain, *next;

	lockdep_assert_held(&grant->lock);
	list_for_each_entry_safe(drain, next, &grant->waiters, node) {
		list_del_init(&drain->node);
		drain->fn(drain);
		/* Last: until it sees this, smr_drain_forget() takes the lock. */
		smp_store_release(&drain->grant, NULL);
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
 * @drain: if this returns false, called when the last span has ended; or NULL
 *
 * May be called again, by this waiter or by others, until it returns true. A waiter whose @fn
 * was called calls it again: the grant may have been reopened, and a delayed put may report an
 * earlier end. So when this returns true, a put may still be about to call @drain:
 * smr_drain_forget() prevents that.
 *
 * Context: any but hard interrupts.
 * Return: true if there are no spans. Then all that copies have written is visible.
 */
bool smr_grant_retire(struct smr_grant *grant, struct smr_drain *drain)
{
	guard(spinlock_bh)(&grant->lock);
	if (grant_drained(grant))
		return true;
	/* The last put takes the lock after this, and finds it. */
	if (drain && list_empty(&drain->node)) {
		list_add_tail(&drain->node, &grant->waiters);
		WRITE_ONCE(drain->grant, grant);
	}
	return false;
}

static void sync_drained(struct smr_drain *drain)
{
	complete(&container_of(drain, struct smr_drain_sync, drain)->done);
}

/**
 * smr_drain_sync_init() - prepare to wait for a grant to drain
 * @sync: wait for its @done after it was passed to smr_grant_retire()
 */
void smr_drain_sync_init(struct smr_drain_sync *sync)
{
	smr_drain_init(&sync->drain, sync_drained);
	init_completion(&sync->done);
}

/**
 * smr_grant_retire_sync() - refuse new spans, and wait until the existing ones end
 * @grant: the grant; its key is already invalid
 *
 * A span lasts as long as one copy.
 *
 * Context: process, may sleep.
 */
void smr_grant_retire_sync(struct smr_grant *grant)
{
	struct smr_drain_sync sync;

	if (smr_grant_retire(grant, NULL))
		return;
	smr_drain_sync_init(&sync);
	while (!smr_grant_retire(grant, &sync.drain)) {
		wait_for_completion(&sync.done);
		reinit_completion(&sync.done);
	}
	smr_drain_forget(&sync.drain);
}

/**
 * smr_grant_wake() - call all waiters of a grant, so that they try again
 * @grant: the grant. Its container is being destroyed, so they will not wait again
 *
 * Context: any but hard interrupts; with the lock held under which the waiters look the grant
 *	up: without it, a waiter might already be freed.
 */
void smr_grant_wake(struct smr_grant *grant)
{
	guard(spinlock_bh)(&grant->lock);
	grant_tell(grant);
}

/**
 * smr_grant_revive() - undo a retirement
 * @grant: retired, drained or not
 *
 * Other waiters for its end are called, so that they retire it again.
 *
 * Context: as smr_grant_open().
 */
void smr_grant_revive(struct smr_grant *grant)
{
	guard(spinlock_bh)(&grant->lock);
	if (!grant->retired)
		return;
	grant->retired = false;
	smp_wmb(); /* as in smr_grant_open() */
	if (!refcount_inc_not_zero(&grant->ref))
		refcount_set(&grant->ref, 1);
	grant_tell(grant);
}

/**
 * smr_drain_forget() - cancel a waiter
 * @drain: the waiter, in a grant's list or not
 *
 * A waiter may have found that the grant has drained, or that another waiter did the work. The
 * last put may still be about to call it; after this function it does not.
 *
 * Context: any but hard interrupts; called by the waiter itself, so that @drain is not added
 *	concurrently.
 */
void smr_drain_forget(struct smr_drain *drain)
{
	struct smr_grant *grant;

	/* The grant is freed a grace period after it has called all waiters. */
	guard(rcu)();
	/* Pairs with grant_tell(). */
	grant = smp_load_acquire(&drain->grant);
	if (!grant)
		return;
	guard(spinlock_bh)(&grant->lock);
	list_del_init(&drain->node);
	WRITE_ONCE(drain->grant, NULL);
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
