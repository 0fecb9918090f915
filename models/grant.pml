/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A key and its grant: kernel/grant.c, kernel/key.c, and a window as in kernel/mw.c. Copiers
 * open the key repeatedly; a QP binds the window to the next region, or undoes the bind while
 * it waits; the window may be deallocated, or unbound by another QP; the QP is destroyed.
 *
 * Properties:
 * - after a binding has ended, no copy to or from its memory runs, and none starts;
 * - the end of a binding waits only for copies in progress, however often others try to open
 *   the key;
 * - a waiter that is called when a grant has drained still exists, and so does the grant when
 *   its lock is taken.
 *
 * Assumptions: a copy ends; every waiter for a spinlock gets it.
 *
 * RUN two:      -DCOPIERS=2 -DBINDS=1: safety
 * RUN undone:   -DCOPIERS=1 -DBINDS=2 -DUNDO: safety binds
 * RUN deallocs: -DCOPIERS=2 -DBINDS=1 -DDEALLOC: safety
 * RUN ends:     -DCOPIERS=1 -DBINDS=1 -DUNDO -DDEALLOC: safety deallocs
 * RUN other:    -DCOPIERS=1 -DBINDS=1 -DOTHER: safety
 */

/*
 * Processes that store: the QP's send task, and the deallocator of the window, or another QP.
 * Copiers only use atomic operations
 */
#define QP		0
#define DEALLOCATOR	1
#define PROCS		2
#define COPIER		2
#define READERS		4

/* smr_key.seq, valid, mem; smr_grant.ref */
#define SEQ		0
#define VALID		1
#define MEM		2
#define REF		3
#define VARS		4
#include "memory.h"

#define NONE		EMPTY

/* smr_window.lock; dead, mr; smr_grant.lock; retired */
bool window_lock, window_dead;
byte bound;
bool grant_lock, retired;
/*
 * The list of waiters: struct smr_drain of the QP and of the deallocator; are they in the list,
 * were they called? smr_drain.grant, until it is NULL
 */
bool listed[2], told[2], has_grant[2];
/* The table of keys has it; read sections; the window is freed, and so is the QP with its drain */
bool published = true;
bool rcu[READERS];
bool window_freed, qp_freed;

/*
 * State for the properties: running copies, and their bindings; the last binding that has
 * ended; waiters for an end
 */
byte copying[BINDS + 2];
byte ended;
bool binding, deallocating;

#define window_here() assert(!window_freed)

inline window_locked()
{
	atomic { drained && !window_lock -> window_lock = true; window_here() }
}

inline window_unlock()
{
	atomic { drained -> window_lock = false }
}

inline grant_locked()
{
	atomic { drained && !grant_lock -> grant_lock = true; window_here() }
}

inline grant_unlock()
{
	atomic { drained -> grant_lock = false }
}

/* grant_tell(), with the grant's lock held */
inline grant_tell_one(d)
{
	if
	:: listed[d] ->
		listed[d] = false;				// BREAK tell_clears (other safety): listed[d] = false; has_grant[d] = false;
		atomic { told[d] = true; assert(d != QP || !qp_freed) };
		atomic { has_grant[d] = false; assert(d != QP || !qp_freed) }
	:: else
	fi
}

inline grant_tell()
{
	grant_tell_one(QP);
	grant_tell_one(DEALLOCATOR)
}

/* smr_grant_open() */
inline grant_open()
{
	grant_locked();
	retired = false;
	store(REF, 1);
	grant_unlock()
}

/* refcount_dec_and_test() */
inline ref_dec(zero)
{
	atomic { drained -> assert(m[REF] > 0); m[REF] = m[REF] - 1; zero = (m[REF] == 0) }
}

/* smr_grant_retire(), grant_drained() */
inline grant_retire(d, yes)
{
	grant_locked();
	if
	:: !retired ->
		retired = true;
		ref_dec(yes)
	:: else -> yes = (m[REF] == 0)
	fi;
	if
	:: yes
	:: else -> atomic { listed[d] = true; has_grant[d] = true }	// BREAK retire_lists (undone binds): :: else
	fi;
	grant_unlock()
}

/* smr_grant_revive() */
inline grant_revive()
{
	grant_locked();
	if
	:: retired ->
		retired = false;
		/* refcount_inc_not_zero() */
		atomic {
			if
			:: drained && m[REF] > 0 -> m[REF] = m[REF] + 1; ok = true
			:: m[REF] == 0 -> ok = false
			fi
		}
		if
		:: !ok -> store(REF, 1)
		:: else
		fi;
		grant_tell()
	:: else
	fi;
	grant_unlock()
}

/* smr_key_update_begin(), smr_key_update_end() */
inline key_update()
{
	atomic { drained -> slot_val[me] = m[SEQ] + 1; slot_var[me] = SEQ }
}

/* smr_key_invalidate() */
inline key_invalidate()
{
	key_update();
	store(VALID, false);
	key_update()
}

/* smr_key_revive() */
inline key_revive()
{
	key_update();
	grant_revive();
	store(VALID, true);
	key_update()
}

/* window_close(): yes: no copy through the window is running */
inline window_close(d, yes)
{
	if
	:: bound != NONE ->
		key_invalidate();
		grant_retire(d, yes)
	:: else -> yes = true
	fi
}

/* window_unbind(): from here on the region may be deregistered, and its memory freed */
inline window_unbind()
{
	atomic {
		if
		:: bound != NONE ->
			assert(copying[bound] == 0);
			ended = bound + 1;
			bound = NONE
		:: else
		fi
	}
}

/* window_bind(), window_set_key() */
inline window_bind(mem)
{
	bound = mem;
	key_update();
	grant_open();
	store(MEM, mem);
	store(VALID, true);
	key_update()
}

/* smr_drain_forget() */
inline drain_forget(d)
{
	rcu[me] = true;
	if
	:: has_grant[d] ->
		grant_locked();
		atomic { listed[d] = false; has_grant[d] = false };
		grant_unlock()
	:: else
	fi;
	rcu[me] = false
}

/* smr_mw_bind(); again, when the drain is called, or another event runs its task */
inline mw_bind(mem)
{
	atomic { told[QP] = false; again = false; binding = true };
	do
	:: atomic { !published -> binding = false; break }
	:: published ->
		rcu[me] = true;
		if
		:: published ->
			window_locked();
			if
			:: !window_dead ->
				window_close(QP, yes);
				if
				:: yes ->
					window_unbind();
					window_bind(mem)
				:: else
				fi
			:: else -> yes = true
			fi;
			window_unlock()
		:: else -> yes = true
		fi;
		rcu[me] = false;
		if
		:: yes -> drain_forget(QP); binding = false; break	// BREAK forget (other safety): :: yes -> binding = false; break
#ifdef UNDO
		:: !yes -> mw_bind_undo(); binding = false; break
#endif
		:: !yes ->
			if
			:: told[QP] -> told[QP] = false
			:: !again -> again = true
			fi
		fi
	od
}

/* smr_mw_bind_undo() */
inline mw_bind_undo()
{
	drain_forget(QP);
	rcu[me] = true;
	if
	:: published ->
		window_locked();
		if
		:: !window_dead && bound != NONE -> key_revive()
		:: else
		fi;
		window_unlock()
	:: else
	fi;
	rcu[me] = false
}

/* A QP binds the window, and is destroyed */
proctype qp()
{
	byte me = QP, n;
	bool yes, ok, again;

	do
	:: n < BINDS -> n++; mw_bind(n)
	:: n == BINDS -> break
	od;
	qp_freed = true
}

/* smr_mw_bind() of length 0, by another QP */
proctype other()
{
	byte me = DEALLOCATOR;
	bool yes;

	do
	:: window_locked();
		window_close(DEALLOCATOR, yes);
		if
		:: yes -> window_unbind()
		:: else
		fi;
		window_unlock();
		if
		:: yes -> break
		:: !yes -> told[DEALLOCATOR]; told[DEALLOCATOR] = false
		fi
	od;
	drain_forget(DEALLOCATOR)
}

/* smr_mw_dealloc() */
proctype deallocator()
{
	byte me = DEALLOCATOR;
	bool yes;

	deallocating = true;
	window_locked();
	window_dead = true;
	/* smr_grant_wake() */
	grant_locked();
	grant_tell();						// BREAK dealloc_wake (deallocs safety): skip;
	grant_unlock();
	if
	:: bound != NONE -> key_invalidate()
	:: else
	fi;
	window_unlock();
	/* smr_grant_retire_sync() */
	do
	:: grant_retire(DEALLOCATOR, yes);
		if
		:: yes -> break
		:: !yes -> told[DEALLOCATOR]; told[DEALLOCATOR] = false	// BREAK sync_once (deallocs safety): :: !yes -> told[DEALLOCATOR]; break
		fi
	od;
	drain_forget(DEALLOCATOR);
	window_locked();
	window_unbind();
	window_unlock();
	/* smr_key_withdraw(), kfree_rcu() */
	atomic { drained -> published = false; deallocating = false };
	!rcu[QP];
	!rcu[COPIER];
	!rcu[COPIER + 1];
	window_freed = true
}

/* smr_grant_put() */
inline grant_put()
{
	atomic { ref_dec_plain(zero) };
	if
	:: zero ->
		atomic { !grant_lock -> grant_lock = true; window_here() };
		grant_tell();
		grant_lock = false
	:: else
	fi
}

inline ref_dec_plain(zero)
{
	window_here();
	assert(m[REF] > 0);
	m[REF] = m[REF] - 1;
	zero = (m[REF] == 0)
}

/* smr_key_open(), a copy, smr_span_put() */
proctype copier(byte me)
{
	byte seq, mem;
	bool valid, got, zero;

end:	do
	:: rcu[me] = true;
		if
		:: atomic { !published -> rcu[me] = false; break }
		:: published
		fi;
		/* key_snapshot() */
		do
		:: atomic { window_here(); seq = m[SEQ] };
			if
			:: !(seq & 1) ->
				valid = m[VALID];
				mem = m[MEM];
				if
				:: m[SEQ] == seq -> break
				:: else
				fi
			:: else
			fi
		od;
		if
		:: valid ->
			/* view_get(), smr_grant_get(): refcount_inc_not_zero(), read_seqcount_retry() */
			atomic {
				window_here();
				if
				:: m[REF] > 0 -> m[REF] = m[REF] + 1; got = true
				:: else -> got = false
				fi
			}
			if
			:: got && m[SEQ] == seq ->
				rcu[me] = false;
				atomic { assert(mem >= ended); copying[mem]++ };
				copying[mem]--;
				rcu[me] = true;
				grant_put()
			:: got && m[SEQ] != seq -> grant_put()
			:: else
			fi
		:: else
		fi;
		atomic { rcu[me] = false; seq = 0; mem = 0; valid = false; got = false; zero = false };
		/* One of the two is enough to retry repeatedly */
		if
		:: me == COPIER + 1 -> break
		:: else
		fi
	od
}

init {
	atomic {
		/* Bound to region 0 */
		m[VALID] = true;
		m[REF] = 1;
		run memory();
		run qp();
		run copier(COPIER);
#if COPIERS > 1
		run copier(COPIER + 1);
#endif
#ifdef DEALLOC
		run deallocator()
#endif
#ifdef OTHER
		run other()
#endif
	}
}

ltl binds { [] (binding -> <> !binding) }
ltl deallocs { [] (deallocating -> <> !deallocating) }
