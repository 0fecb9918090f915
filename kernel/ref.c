// SPDX-License-Identifier: GPL-2.0
/*
 * Kill the references of a key: no copy begins through it any more, and its waiters are told
 * when the last copy has ended.
 */
#include "ref.h"

#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "compat/cleanup.h"

/**
 * smr_ref_init() - initialize a reference count; no span can be opened yet
 * @ref: part of a zeroed struct
 */
void smr_ref_init(struct smr_ref *ref)
{
	ref->dead = true;
	spin_lock_init(&ref->lock);
	INIT_LIST_HEAD(&ref->waiters);
}

/**
 * smr_ref_reinit() - allow spans to be opened
 * @ref: dead and without spans, or new
 *
 * Context: any; if the key is published, between smr_key_update_begin() and
 * _end().
 */
void smr_ref_reinit(struct smr_ref *ref)
{
	guard(spinlock_bh)(&ref->lock);
	ref->dead = false;
	/*
	 * Pairs with smr_ref_tryget(): a reader that gets a reference from now on sees that the
	 * key has changed since it was read.
	 */
	smp_wmb();
	refcount_set(&ref->count, 1);
}

/*
 * Tell all waiters. A waiter may continue, and free its struct, as soon as it is no longer @listed,
 * unless @get has prevented that.
 */
static void ref_tell(struct smr_ref *ref)
{
	struct smr_ref_waiter *waiter, *next;
	bool run;

	lockdep_assert_held(&ref->lock);
	list_for_each_entry_safe(waiter, next, &ref->waiters, node) {
		list_del(&waiter->node);
		run = waiter->get && waiter->get(waiter);
		/* Pairs with smr_ref_waiter_listed(). */
		smp_store_release(&waiter->listed, false);
		smp_mb(); /* order the store before wake_up_var()'s check for waiters */
		wake_up_var(&waiter->listed);
		if (run)
			waiter->run(waiter);
	}
}

/* Drop the owner's reference, if not done yet. True if no span holds one. */
static bool ref_drained(struct smr_ref *ref)
{
	lockdep_assert_held(&ref->lock);
	if (!ref->dead) {
		ref->dead = true;
		return refcount_dec_and_test(&ref->count);
	}
	if (refcount_read(&ref->count))
		return false;
	/* Pairs with the put of the last span. */
	smp_acquire__after_ctrl_dep();
	return true;
}

/**
 * smr_ref_kill() - refuse new spans
 * @ref: the references of a key that is already invalid
 * @waiter: not in a list. If this returns false, told when the last span has ended
 *
 * Several waiters may call this, each of them until it returns true. A waiter that was told calls
 * it again: the count may have been reinitialized since, and a delayed put may report the end of
 * an earlier use. A listed waiter belongs to the last put, and must not be passed again.
 *
 * Context: any but hard interrupts.
 * Return: true if there are no spans. Then all that copies have written is visible, and @waiter is
 *	in no list.
 */
bool smr_ref_kill(struct smr_ref *ref, struct smr_ref_waiter *waiter)
{
	guard(spinlock_bh)(&ref->lock);
	if (ref_drained(ref))
		return true;
	/* The last put takes the lock after this, and finds it. */
	waiter->listed = true;
	list_add_tail(&waiter->node, &ref->waiters);
	return false;
}

/**
 * smr_ref_wait() - wait until a waiter was told
 * @waiter: passed to smr_ref_kill(), which returned false
 *
 * A span lasts as long as one copy.
 *
 * Context: process, may sleep.
 */
void smr_ref_wait(struct smr_ref_waiter *waiter)
{
	wait_var_event(&waiter->listed, !smr_ref_waiter_listed(waiter));
}

/**
 * smr_ref_kill_sync() - refuse new spans, and wait until the existing ones end
 * @ref: the references of a key that is already invalid
 *
 * Context: process, may sleep.
 */
void smr_ref_kill_sync(struct smr_ref *ref)
{
	struct smr_ref_waiter waiter = {};

	while (!smr_ref_kill(ref, &waiter))
		smr_ref_wait(&waiter);
}

/**
 * smr_ref_tryget() - take a reference, unless the count is dead
 * @ref: as read from the key
 *
 * The key may have changed between reading it and this call. So the caller reads the key again
 * afterwards.
 *
 * Context: any; within an RCU read-side section.
 * Return: true if a reference was taken; smr_ref_put() drops it.
 */
bool smr_ref_tryget(struct smr_ref *ref)
{
	if (!refcount_inc_not_zero(&ref->count))
		return false;
	/* Pairs with smr_ref_reinit(). */
	smp_mb__after_atomic();
	return true;
}

/**
 * smr_ref_put() - drop a span's reference
 * @ref: the span's
 *
 * Context: any but hard interrupts.
 */
void smr_ref_put(struct smr_ref *ref)
{
	/* The owner may free it as soon as @count is 0. */
	guard(rcu)();
	if (!refcount_dec_and_test(&ref->count))
		return;
	guard(spinlock_bh)(&ref->lock);
	ref_tell(ref);
}
