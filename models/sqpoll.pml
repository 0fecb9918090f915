/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A poller: kernel/qp/sqpoll.c, and the provider that posts (userspace/provider/post.c). The process rings a doorbell
 * unless the ring says that the kernel polls it. The poller sets that and clears it; and so does who disables the task.
 *
 * What is shown:
 * - each request that is posted is looked at, whoever owns the task, and whenever the poller comes and leaves;
 * - the ring is polled only while somebody will look into it.
 *
 * What is assumed: tasks do what task.pml shows. So one context at a time runs it, and an event that its owner has not
 * seen makes it look again.
 *
 * RUN posts:    -DPOSTS=3 -DSTAYS=2 -DROUNDS=0: safety
 * RUN disabled: -DPOSTS=2 -DSTAYS=1 -DROUNDS=2: safety
 * RUN all:      -DPOSTS=3 -DSTAYS=2 -DROUNDS=1: safety
 */
/* Who stores: the process, in its doorbell, too; the poller; who disables the task */
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
/* The ring's idx: what the task has looked at */
byte looked;

/* The function: it takes what is posted */
inline look()
{
	looked = load(PROD)
}

/* smr_task_run(): own the task, or have the owner look again */
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
 * smr_sqpoll_step(): there is more, or there is not. It leaves at whatever moment, and before the task is let go, or handed
 * over to the workqueue, which is the same here
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
	/* Nothing more happens */
	timeout;
	assert(looked == POSTS);
	assert(!m[POLLED])
}
