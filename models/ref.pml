/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A key and its references: kernel/ref.c, kernel/key.c, a window as in kernel/mw.c, and the QP's part,
 * kernel/qp/local_wr.c. Copiers open the key repeatedly; a QP binds the window to the next region;
 * the window may be deallocated, or unbound by another QP; the QP is destroyed, perhaps while its
 * bind waits.
 *
 * Properties:
 * - after a binding has ended, no copy to or from its memory runs, and none starts; a bind that has
 *   completed has ended the binding before it;
 * - the end of a binding waits only for copies in progress, however often others try to open
 *   the key; a bind that has begun is finished;
 * - a waiter that is told that the last span has ended still exists, and so do the references when
 *   its lock is taken. A waiter is in one list, once.
 *
 * Assumptions: a copy ends; every waiter for a spinlock gets it.
 *
 * RUN two:      -DCOPIERS=2 -DBINDS=1: safety
 * RUN again:    -DCOPIERS=1 -DBINDS=2: safety binds
 * RUN deallocs: -DCOPIERS=2 -DBINDS=1 -DDEALLOC: safety
 * RUN ends:     -DCOPIERS=1 -DBINDS=1 -DENDS -DDEALLOC: safety binds deallocs
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

/* smr_key.seq, valid, mem; smr_ref.ref */
#define SEQ		0
#define VALID		1
#define MEM		2
#define REF		3
#define VARS		4
#include "memory.h"

#define NONE		EMPTY

/* smr_window.lock; dead, mr, next, closer; smr_ref.lock; dead */
bool window_lock, window_dead;
byte bound, next = NONE, closer = NONE;
bool ref_lock, dead;
/* The list of waiters: struct smr_ref_waiter of the QP and of the deallocator */
bool listed[2];
/* The reference count of the QP; a waiter has run its task */
byte qp_ref = 1;
bool ran;
/* The table of keys has it; read sections; the window is freed, and so is the QP with its waiter */
bool published = true;
bool rcu[READERS];
bool window_freed, qp_freed;

/*
 * State for the properties: running copies, and their bindings; the last binding that has
 * ended, and the last one that has begun; waiters for an end
 */
byte copying[BINDS + 2];
byte ended, last;
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

inline ref_locked()
{
	atomic { drained && !ref_lock -> ref_lock = true; window_here() }
}

inline ref_unlock()
{
	atomic { drained -> ref_lock = false }
}

/* ref_tell(), with the lock held; inval_get(), inval_run() */
inline ref_tell_one(d)
{
	if
	:: listed[d] ->
		if
		:: d == QP ->
			atomic {
				assert(!qp_freed);
				if
				:: qp_ref > 0 -> qp_ref++; run_it = true
				:: else -> run_it = false
				fi						// BREAK tell_get (ends safety): fi; qp_ref = qp_ref - run_it; run_it = true
			}
		:: else -> run_it = false
		fi;
		skip;							// BREAK tell_order (again binds): ran = ran || run_it;
		listed[d] = false;
		if
		:: run_it ->
			atomic { assert(!qp_freed); ran = true };		// BREAK tell_order (again binds): skip;
			atomic { assert(!qp_freed); qp_ref--; run_it = false }	// BREAK tell_get (ends safety): run_it = false
		:: else
		fi
	:: else
	fi
}

inline ref_tell()
{
	ref_tell_one(QP);
	ref_tell_one(DEALLOCATOR)
}

/* smr_ref_reinit() */
inline ref_reinit()
{
	ref_locked();
	dead = false;
	store(REF, 1);
	ref_unlock()
}

/* refcount_dec_and_test() */
inline ref_dec(zero)
{
	atomic { drained -> assert(m[REF] > 0); m[REF] = m[REF] - 1; zero = (m[REF] == 0) }
}

/* smr_ref_kill(), ref_drained() */
inline ref_kill(d, yes)
{
	ref_locked();
	assert(!listed[d]);
	if
	:: !dead ->
		dead = true;
		ref_dec(yes)
	:: else -> yes = (m[REF] == 0)
	fi;
	if
	:: yes
	:: else -> listed[d] = true				// BREAK kill_lists (again binds): :: else
	fi;
	ref_unlock()
}

/* smr_ref_wait() */
inline ref_wait(d)
{
	!listed[d]
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
inline window_bind()
{
	bound = next;
	last = next;
	key_update();
	ref_reinit();
	store(MEM, next);
	store(VALID, true);
	key_update();
	next = NONE
}

/* window_invalidate() */
inline window_invalidate()
{
	if
	:: bound != NONE -> key_invalidate()
	:: else
	fi
}

/* window_finish(): yes: no copy through the window is running */
inline window_finish(d, yes)
{
	if
	:: bound != NONE -> ref_kill(d, yes)
	:: else -> yes = true
	fi;
	if
	:: yes ->
		window_unbind();
		if
		:: next != NONE -> window_bind()
		:: else
		fi;
		closer = NONE
	:: else
	fi
}

/* smr_mw_bind(), until it has begun. yes: it is finished, or the window is dead */
inline mw_bind(d, mem, yes)
{
	do
	:: rcu[d] = true;
		if
		:: published ->
			window_locked();
			if
			:: window_dead -> yes = true; window_unlock(); break
			:: !window_dead && closer == NONE ->	// BREAK closer (other safety): :: !window_dead ->
				next = mem;
				closer = d;
				window_invalidate();
				window_finish(d, yes);
				done = yes;
				window_unlock();
				break
			/* -EBUSY */
			:: else -> window_unlock()
			fi
		:: else -> yes = true; break
		fi;
		rcu[d] = false;
		closer == NONE
	od;
	rcu[d] = false
}

/* smr_mw_finish() */
inline mw_finish(d, yes)
{
	rcu[d] = true;
	if
	:: published ->
		window_locked();
		if
		:: closer == d -> window_finish(d, yes)
		:: else -> yes = true
		fi;
		window_unlock()
	:: else -> yes = true
	fi;
	rcu[d] = false
}

/* A QP binds the window, and is destroyed */
proctype qp()
{
	byte me = QP, n;
	bool yes, done, again;

	do
	:: n < BINDS ->
		atomic { n++; binding = true; done = false; again = false };
		mw_bind(QP, n, yes);
		do
		:: yes -> break
		:: else ->
			done = true;
			if
			:: ran -> ran = false
			/* another event runs the task */
			:: !again -> again = true
#ifdef ENDS
			/* The QP is paused: smr_inval_finish_sync() */
			:: true -> ref_wait(QP)
#endif
			fi;
			/* smr_inval_finish() */
			if
			:: !listed[QP] -> mw_finish(QP, yes)	// BREAK finish_listed (two safety): :: true -> mw_finish(QP, yes)
			:: else
			fi
		od;
		atomic { assert(!done || (!copying[n - 1] && (last == n || window_dead))); binding = false }
	:: n == BINDS -> break
	od;
	/* smr_qp_fini() */
	qp_ref--;
	qp_ref == 0;						// BREAK fini_waits (ends safety): skip;
	qp_freed = true
}

/* smr_mw_bind() of length 0, by another QP */
proctype other()
{
	byte me = DEALLOCATOR;
	bool yes, done;

	mw_bind(DEALLOCATOR, NONE, yes);
	do
	:: yes -> break
	:: else -> ref_wait(DEALLOCATOR); mw_finish(DEALLOCATOR, yes)
	od
}

/* smr_mw_dealloc() */
proctype deallocator()
{
	byte me = DEALLOCATOR;
	bool yes;

	deallocating = true;
	window_locked();
	window_dead = true;
	next = NONE;						// BREAK dealloc_next (deallocs safety): skip;
	window_invalidate();
	window_unlock();
	/* smr_ref_kill_sync() */
	do
	:: ref_kill(DEALLOCATOR, yes);
		if
		:: yes -> break
		:: !yes -> ref_wait(DEALLOCATOR)
		fi
	od;
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

/* smr_ref_put() */
inline ref_put()
{
	atomic { ref_dec_plain(zero) };
	if
	:: zero ->
		atomic { !ref_lock -> ref_lock = true; window_here() };
		ref_tell();
		ref_lock = false
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
	bool valid, got, zero, run_it;

end:	do
	:: rcu[me] = true;
		if
		:: atomic { !published -> rcu[me] = false; break }
		:: published
		fi;
		/* key_span(), key_try() */
		do
		:: atomic { window_here(); seq = m[SEQ] };
			if
			:: !(seq & 1) -> break
			:: else
			fi
		od;
		valid = m[VALID];
		mem = m[MEM];
		if
		:: valid ->
			/* smr_ref_tryget(): refcount_inc_not_zero(), read_seqcount_retry() */
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
				ref_put()
			:: got && m[SEQ] != seq -> ref_put()
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
