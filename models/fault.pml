/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a fault: kernel/fault.c and kernel/qp/paging.c. The fault's worker notifies the QP
 * of the end of the fault, while a doorbell finds the end itself, and the QP is destroyed.
 *
 * Properties:
 * - the worker accesses the QP only while the QP exists;
 * - a QP that waits for the end of the fault is notified of it;
 * - the QP is destroyed without waiting for the fault.
 *
 * Assumptions: the fault ends at some unknown time. A function under a spinlock ends.
 *
 * RUN leaves: -DLEAVES: safety
 * RUN waits:  -DWAITS: safety
 */
#define WORKER	0
#define SIDE	1	/* the owner of the QP's task, which destroys the QP at the end */
#define PROCS	2

/* Shared variables: struct smr_fault's done and told, and its lock */
#define DONE	0
#define TOLD	1
#define LOCK	2
#define VARS	3
#include "memory.h"

/* The QP's reference count, which smr_qp_get() does not take from 0, and whether the QP is freed */
byte ref = 1;
bool freed;
/* The worker has run the task */
bool ran;

#define touch() assert(!freed)

inline spin_lock()
{
	do
	:: cmpxchg(LOCK, 0, 1, ok);
		if
		:: ok -> break
		:: else
		fi
	od
}

inline spin_unlock()
{
	store(LOCK, 0)
}

inline qp_get(got)
{
	touch();
	if
	:: atomic { ref -> ref++; got = true }
	:: !ref -> got = false
	fi
}

inline qp_put()
{
	atomic { drained -> ref-- }
}

proctype worker()
{
	byte me = WORKER;
	bool ok, got;

	/* fault_end() */
	spin_lock();						// BREAK tell_lock (leaves safety): skip;
	store(DONE, 1);
	if
	:: load(TOLD) -> qp_get(got)				// BREAK tell (waits safety): :: false
	:: else
	fi;
	spin_unlock();
	/* paging_run() */
	if
	:: got -> touch(); ran = true; touch(); qp_put()
	:: else
	fi
}

/* smr_fault_leave() */
inline fault_leave()
{
	spin_lock();						// BREAK leave_lock (leaves safety): skip;
	store(TOLD, 0);						// BREAK leave_told (leaves safety): skip;
	spin_unlock()
}

proctype side()
{
	byte me = SIDE;
	bool ok;

	if
#ifdef LEAVES
	:: load(DONE)		/* a doorbell finds its end: smr_paging_settle() */
	:: true			/* the QP is destroyed: smr_paging_cancel() */
#endif
	:: ran			/* the worker has run the task */
	fi;
	fault_leave();
	/* smr_qp_fini() */
	qp_put();
	ref == 0;
	freed = true
}

init
{
	m[TOLD] = 1;
	atomic { run memory(); run worker(); run side() }
}
