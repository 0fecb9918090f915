/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A poller: kernel/qp/sqpoll.c, and the provider that posts (userspace/provider/post.c). The
 * process rings a doorbell unless the ring says that the kernel polls it. The poller sets and
 * clears that flag; the context that disables the task also clears it.
 *
 * Properties:
 * - each posted request is handled, whichever context owns the task, and whenever the poller
 *   starts and quits;
 * - the ring is marked as polled only while a context will check it.
 *
 * Assumptions: tasks work as in task.pml. So one context at a time runs the task, and an event
 * that its owner has not seen makes it check again.
 *
 * RUN posts:    -DPOSTS=3 -DSTAYS=2 -DROUNDS=0: safety
 * RUN disabled: -DPOSTS=2 -DSTAYS=1 -DROUNDS=2: safety
 * RUN all:      -DPOSTS=3 -DSTAYS=2 -DROUNDS=1: safety
 */
/*
 * Processes that store: the process, also in its doorbell; the poller; the context that
 * disables the task
 */
#define PROCESS	0
#define HOME	1
#define CONTROL	2
#define PROCS	3

/* struct smr_ring_hdr */
#define PROD	0
#define POLLED	1
#define VARS	2
#include "memory.h"

/* The task: one owner, an event for it, and whether it may run */
bool owned, again, disabled;
/* The ring's idx: the part that the task has checked */
byte looked;

/* The function: it takes posted requests */
inline look()
{
	looked = load(PROD)
}

/* smr_task_run(): own the task, or make the owner check again */
inline task_own(won)
{
	atomic {
		drained ->
		if
		:: owned || disabled -> again = true; won = false
		:: else -> owned = true; again = false; won = true
		fi
	}
}

/* task_disown() */
inline task_disown(let_go)
{
	atomic {
		drained ->
		if
		:: again && !disabled -> again = false; let_go = false
		:: else -> owned = false; let_go = true
		fi
	}
}

inline task_run()
{
	task_own(ok);
	do
	:: ok ->
		look();
		task_disown(done);
		if
		:: done -> break
		:: else
		fi
	:: !ok -> break
	od
}

/* smr_post_send() */
proctype process()
{
	byte me = PROCESS, n;
	bool ok, done;

	do
	:: n < POSTS ->
		n++;
		store(PROD, n);
		mb();						// BREAK post_barrier (posts safety): skip;
		if
		:: load(POLLED)
		:: !load(POLLED) -> task_run()			// BREAK post_rings (posts safety): :: !load(POLLED)
		fi
	:: n == POSTS -> break
	od
}

/*
 * smr_sqpoll_step(): there is more work, or not. The poller may quit at any time, and before
 * the task is released, or handed over to the workqueue, which is the same here
 */
inline sqpoll_live()
{
	store(POLLED, true);
	mb();
	do
	:: disabled -> again = true; break
	:: load(PROD) != looked -> look()
	:: again && !disabled -> again = false; look()
	:: true -> break
	od;
	if
	:: disabled -> again = true				// BREAK leave_always (posts safety): :: true -> again = true
	:: else ->
		store(POLLED, false);				// BREAK leave_flag (posts safety): skip;
		mb();						// BREAK leave_barrier (posts safety): skip;
		look()						// BREAK leave_look (posts safety): skip
	fi
}

/* sqpoll_work() */
proctype poller()
{
	byte me = HOME, n;
	bool done;

	do
	:: n < STAYS ->
		n++;
		if
		:: atomic { drained && !owned && !disabled && !again -> owned = true };
			sqpoll_live();
			do
			:: task_disown(done);
				if
				:: done -> break
				:: else -> look()
				fi
			od
		:: owned || disabled || again
		fi
	:: n == STAYS -> break
	od
}

/* smr_qp_pause() and smr_qp_resume() */
proctype control()
{
	byte me = CONTROL, n;
	bool ok, done;

	do
	:: n < ROUNDS ->
		n++;
		disabled = true;
		!owned;
		store(POLLED, false);				// BREAK close_flag (disabled safety): skip;
		mb();
		atomic { drained -> disabled = false };
		task_run()					// BREAK enable_run (disabled safety): skip
	:: n == ROUNDS -> break
	od
}

init {
	atomic {
		run memory();
		run process();
		run poller();
		run control()
	}
	/* No more events */
	timeout;
	assert(looked == POSTS);
	assert(!m[POLLED])
}
