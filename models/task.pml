/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task: kernel/qp/task.c. Two contexts raise events and run the task, or leave it to the
 * workqueue; one disables and enables it, and may at the end destroy its container.
 *
 * Properties:
 * - one context at a time calls the function, and none while the task is disabled, or after the
 *   container is freed;
 * - each event is seen by a later call of the function, unless the task is disabled
 *   permanently;
 * - smr_task_disable() returns;
 * - the function sees stores that precede the enabling of the task.
 *
 * Assumptions: a step of the function ends, and a workqueue runs queued work.
 *
 * RUN two:      -DCALLERS=2 -DEVENTS=2 -DROUNDS=0: safety
 * RUN control:  -DCALLERS=1 -DEVENTS=2 -DROUNDS=2: safety seen
 * RUN dies:     -DCALLERS=1 -DEVENTS=2 -DROUNDS=1 -DDIES: safety disabled
 * RUN all:      -DCALLERS=2 -DEVENTS=1 -DROUNDS=1: safety
 */
#define CONTROL	2	/* number of the controller, after those of the callers */
#define WORKER	3
#define PROCS	4

/*
 * Shared variables: an event for each caller, the data changed while the task was disabled, and
 * the state
 */
#define EVENT(i)	(i)
#define CONFIG		2
#define STATE		3
#define VARS		4
#include "memory.h"

#define OWNED		1
#define AGAIN		2
#define DISABLED	4

/* The work of the workqueue core: its PENDING bit, and whether it is in a queue */
bool pending, queued;
/* The wait queue of &task->state */
bool waiting, woken;
/* The container's reference count, and whether it is freed */
byte ref = 1;
bool freed;

/* State for the properties */
byte running;
bool raised[2];
bool off, disabling, dead;
byte config;

mtype = { WAIT, DONE, DEFER };

#define touch() assert(!freed)

/* atomic_try_cmpxchg(): old: the previous state */
inline try_cmpxchg(to, ok)
{
	if
	:: atomic { drained && m[STATE] == old -> touch(); m[STATE] = to; ok = true }
	:: atomic { m[STATE] != old -> old = m[STATE]; ok = false }
	fi
}

/*
 * atomic_or(), atomic_andnot(): they return no value and are not ordered, but nothing here
 * depends on their order
 */
inline atomic_or(bits)
{
	atomic { drained -> m[STATE] = m[STATE] | bits }
}

inline task_own(won)
{
	old = m[STATE];
	do
	:: (old & AGAIN) && (old & (OWNED | DISABLED)) ->
		mb();						// BREAK own_barrier (two safety): skip;
		if
		:: m[STATE] == old -> won = false; break
		:: else -> old = m[STATE]
		fi
	:: !(old & AGAIN) && (old & (OWNED | DISABLED)) ->	// BREAK own_disabled (control safety): :: !(old & AGAIN) && (old & OWNED) ->
		try_cmpxchg(old | AGAIN, ok);			// BREAK own_again (two safety): try_cmpxchg(old, ok);
		if
		:: ok -> won = false; break
		:: else
		fi
	:: else ->
		try_cmpxchg(OWNED, ok);
		if
		:: ok -> won = true; break
		:: else
		fi
	od
}

inline wake_up_var()
{
	atomic {
		if
		:: waiting -> woken = true
		:: else
		fi
	}
}

inline task_disown(let_go)
{
	old = m[STATE];
	do
	:: (old & AGAIN) && !(old & DISABLED) ->		// BREAK disown_again (two safety): :: false ->
		try_cmpxchg(old & ~AGAIN, ok);
		if
		:: ok -> let_go = false; break
		:: else
		fi
	:: else ->
		try_cmpxchg(old & ~OWNED, ok);
		if
		:: ok -> let_go = true; break
		:: else
		fi
	od;
	if
	:: let_go && (old & DISABLED) -> wake_up_var()		// BREAK disown_wake (control safety): :: let_go && (old & DISABLED)
	:: else
	fi
}

/* queue_work() sets PENDING, and then puts the work into a queue. task_queue() repeats it until it has set the bit */
inline task_queue()
{
	do
	:: atomic { drained && !pending -> pending = true; assert(!queued) };
		queued = true;
		break
	:: pending						// BREAK queue_once (control safety): :: pending -> break
	od
}

/* cancel_work() takes the PENDING bit of a work in a queue, or sets that of a work that is in none, and clears it */
inline cancel_work(got)
{
	if
	:: atomic { drained && queued -> queued = false; got = true }
	:: atomic { drained && !pending -> pending = true; got = false }
	fi;
	pending = false
}

inline task_take_back()
{
	do
	:: m[STATE] & DISABLED ->
		cancel_work(got);
		if
		:: !got -> break
		:: else
		fi;
		atomic_or(AGAIN);				// BREAK take_back_again (control safety): skip;
		task_disown(got);
		if
		:: got -> put(); break
		:: else
		fi;
		task_queue();
		mb()
	:: else -> break
	od
}

/* The caller has a reference, so get() cannot fail here */
inline task_hand_over()
{
	get();							// BREAK work_ref (dies safety): skip;
	task_queue();
	mb();
	task_take_back()
}

inline get()
{
	atomic { assert(ref > 0); ref++ }
}

inline put()
{
	atomic { drained -> assert(ref > 0); ref-- }
}

/* The function: it handles the events that it sees, perhaps not all */
inline call_fn()
{
	atomic {
		touch();
		running++;
		assert(running == 1);
		assert(!off);
		assert(m[CONFIG] == config);
		step = WAIT;
		see(0);
		see(1)
	}
	atomic {
		running--;
		if
		:: step == DONE -> step = DEFER
		:: true
		fi
	}
}

inline see(i)
{
	if
	:: m[EVENT(i)] ->
		m[EVENT(i)] = false;
		raised[i] = raised[i] && slot_var[i] == EVENT(i);
		step = DONE
	:: else
	fi
}

/* DISABLED and a used-up budget are further reasons to stop; DEFER also stands for these */
inline task_loop()
{
	do
	:: call_fn();
		if
		:: step == WAIT ->
			task_disown(got);
			if
			:: got -> break
			:: else
			fi
		:: step != WAIT && (m[STATE] & DISABLED) ->
			atomic_or(AGAIN);
			task_disown(got);
			if
			:: got -> break
			:: else
			fi
		:: step == DEFER && !(m[STATE] & DISABLED) ->
			task_hand_over();
			break
		:: step == DONE && !(m[STATE] & DISABLED)
		fi
	od
}

/* The workqueue: one process, since a work item does not run twice at the same time */
proctype worker()
{
	byte me = WORKER, old;
	bool ok, got;
	mtype step;

end:	do
	:: atomic { queued -> queued = false; pending = false };
		task_loop();
		put()						// BREAK work_put (dies safety): skip
	od
}

/* smr_task_run() */
inline task_run()
{
	task_own(got);
	if
	:: got -> task_loop()
	:: else
	fi
}

/* smr_task_run_queued(): the ownership and the reference of the work are the caller's then */
inline task_run_queued()
{
	task_run();						// BREAK queued_event (two safety): skip;
	cancel_work(got);
	if
	:: got ->
		task_loop();					// BREAK queued_run (two safety): skip;
		put()						// BREAK queued_put (dies safety): skip
	:: else
	fi
}

/* smr_task_defer() */
inline task_defer()
{
	task_own(got);
	if
	:: got -> task_hand_over()
	:: else
	fi
}

/* A context that has found the container, and has work for the task */
proctype caller(byte me)
{
	byte old, n;
	bool ok, got;
	mtype step;

	do
	:: atomic { n < EVENTS && ref > 0 -> n++; ref++ };
		atomic { drained -> raised[me] = true; slot_var[me] = EVENT(me); slot_val[me] = true };
		if
		:: me == 0 -> task_run()
		:: me == 0 -> task_run_queued()
		:: me == 1 -> task_defer()
		fi;
		put()
	:: n == EVENTS || ref == 0 -> break
	od
}

/* smr_task_disable() */
inline task_disable()
{
	disabling = true;
	atomic_or(DISABLED);
	mb();
	task_take_back();
	/* wait_var_event(): a waiter is in the queue before it checks the state */
	do
	:: !(m[STATE] & OWNED) -> break				// BREAK disable_wait (control safety): :: true -> break
	:: else ->
		waiting = true;
		if
		:: !(m[STATE] & OWNED) -> skip
		:: else -> woken
		fi;
		atomic { waiting = false; woken = false }
	od;
	atomic { disabling = false; off = true }
}

/* smr_task_enable(): with a budget it runs the task, without one it leaves it to the workqueue */
inline task_enable()
{
	/* atomic_fetch_andnot_release() */
	atomic {
		drained ->					// BREAK enable_release (all safety): true ->
		m[STATE] = m[STATE] & ~DISABLED;
		off = false
	}
	if							// BREAK enable_run (control safety): if :: true
	:: task_run()
	:: task_defer()
	fi
}

proctype control()
{
	byte me = CONTROL, old, n;
	bool ok, got;
	mtype step;

	do
	:: n < ROUNDS ->
		n++;
		task_disable();
		atomic { drained -> config++; slot_var[me] = CONFIG; slot_val[me] = config };
		task_enable()
	:: n == ROUNDS -> break
	od;
#ifdef DIES
	/* smr_qp_fini() */
	task_disable();
	dead = true;
	put();
	ref == 0;
	freed = true
#endif
}

init {
	atomic {
		run memory();
		run caller(0);
#if CALLERS > 1
		run caller(1);
#endif
		run worker();
		run control()
	}
	/* No more events */
	timeout;
	assert(dead || (!raised[0] && !raised[1]));
	assert(!disabling)
}

ltl seen { [] (raised[0] -> <> (!raised[0] || dead)) }
ltl disabled { [] (disabling -> <> !disabling) }
