/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inbox: kernel/qp/loopback.c. Two QPs of one host are connected, and each hands operations
 * to the other. A QP in error cancels its operation. A QP may be reset and destroyed.
 *
 * Properties:
 * - each operation that is answered "reply" was executed once, and one that is answered "dropped"
 *   was not; operations are executed in order. (The driver may cancel an atomic that was executed,
 *   but not yet answered, or a SEND that waits for its invalidate.)
 * - the responder accesses an operation only before it has answered it, and the requester does
 *   not reuse it before that;
 * - no process accesses a freed QP;
 * - an operation is answered, also if either QP or both are destroyed; destroying a QP ends.
 *
 * Assumptions: tasks work as in task.pml, so a request to run one is a flag here; and copies
 * end. Where a send task runs the peer's response task itself, as struct smr_budget's "here" says,
 * it waits for that.
 *
 * RUN handed:      -DOPS0=3 -DOPS1=0: safety back
 * RUN cancelled:   -DOPS0=2 -DOPS1=0 -DERRORS0=2: safety
 * RUN both:        -DOPS0=1 -DOPS1=1 -DSLICES=0: safety
 * RUN reset:       -DOPS0=1 -DOPS1=0 -DRESET0: safety
 * RUN peer_reset:  -DOPS0=1 -DOPS1=0 -DRESET1: safety
 * RUN sender_dies: -DOPS0=1 -DOPS1=0 -DDIES0: safety ends
 * RUN peer_dies:   -DOPS0=1 -DOPS1=0 -DDIES1 -DERRORS0=1: safety
 * RUN die_reset:   -DOPS0=1 -DOPS1=0 -DDIES0 -DRESET1: safety
 * RUN both_die:    -DOPS0=1 -DOPS1=1 -DSLICES=0 -DFAULTS=0 -DDIES0 -DDIES1: safety
 */
#ifndef ERRORS0
#define ERRORS0	0
#endif
/* Number of times that an operation has to wait, and that its requester's pages are missing */
#ifndef SLICES
#define SLICES	1
#endif
#ifndef FAULTS
#define FAULTS	1
#endif

/* Processes that store: the tasks of each QP, and its controller */
#define SEND(q)		(q)
#define RESP(q)		(2 + q)
#define CONTROL(q)	(4 + q)
#define PROCS		6

/* Of each QP: smr_local.state, smr_local.cancel, resp.inbox */
#define STATE(q)	(q)
#define CANCEL(q)	(2 + q)
#define INBOX(q)	(4 + q)
#define VARS		6
#include "memory.h"

/* enum smr_local_state */
#define IDLE		0
#define HANDED		1
#define FAULT		2
#define ANSWERED	3

/* Contents of the inbox: empty, or the operation of the peer */
#define NONE		0
#define ENTRY		1

/* The answer, and the progress of the operation: ordered by the release of the state */
bool reply[2];
byte slices[2], faults[2];
/* Tasks: are to run, do run, are disabled */
bool send_run[2], send_busy[2], resp_run[2], resp_busy[2], paused[2];
/* The QP: found by its number; its handle's count; it is freed */
bool unpublished[2];
byte ref[2] = 1;
bool freed[2];
/* The wait queue of &local->state */
bool waiting[2], woken[2];
/* The send task runs the peer's response task itself, and waits for it */
bool nested[2];
/* The QP is in error; retries of the operation */
bool error[2];
byte errors[2], retries[2];

/* State for the properties: the next operation, the number of its executions, its owner */
byte next[2], executed[2], last[2];
bool lent[2], working[2];
bool ending[2];

#define OPS(q)	((q) == 0 -> OPS0 : OPS1)

/* smr_qp_hold(), smr_qp_put(), smr_qp_find() */
inline hold(q)
{
	atomic { assert(ref[q] > 0); ref[q]++ }
}

inline put(q)
{
	atomic { drained -> assert(ref[q] > 0); ref[q]-- }
}

inline find(q, ok)
{
	atomic {
		if
		:: !unpublished[q] && ref[q] > 0 -> ref[q]++; ok = true
		:: else -> ok = false
		fi
	}
}

/* smr_task_run_foreign(), smr_task_run_queued(): fully ordered */
inline run_send(q) { atomic { drained -> assert(!freed[q]); send_run[q] = true } }
inline run_resp(q) { atomic { drained -> assert(!freed[q]); resp_run[q] = true } }

inline wake_up_var(q)
{
	atomic {
		if
		:: waiting[q] -> woken[q] = true
		:: else
		fi
	}
}

/* A store to private data of this process: no other process can observe when it becomes visible */
inline own(v, x)
{
	drained -> m[v] = x
}

/* local_give() */
inline local_give(q, state)
{
	store(STATE(q), state);
	mb();
	wake_up_var(q)
}

/* smr_loopback_hand() */
inline loopback_hand()
{
	find(p, found);
	/* No other process reads these before the cmpxchg() that publishes them */
	atomic {
		assert(!lent[q] && !working[p]);
		lent[q] = true;
		executed[q] = 0;
		slices[q] = 0;
		faults[q] = 0;
		own(CANCEL(q), false);
		own(STATE(q), HANDED)
	}
	got = false;
	if
	:: found -> cmpxchg(INBOX(p), NONE, ENTRY, got)		/* inbox_put() */
	:: else
	fi;
	if
	:: got ->
		/* smr_task_run_foreign(): another CPU may own the task */
		atomic {
			run_resp(p);
			if
			:: !resp_busy[p] && !paused[p] -> nested[q] = true
			:: true
			fi
		};
		if
		:: nested[q] ->
			atomic { !resp_busy[p] && (!resp_run[p] || paused[p]) ->
				 nested[q] = false }
		:: else
		fi
	:: else ->
		reply[q] = false;
		store(STATE(q), ANSWERED)
	fi;
	if
	:: found -> put(p)
	:: else
	fi;
	found = false;
	run_send(q)						/* SMR_STEP_DONE: the task takes its next step */
}

/* smr_loopback_answer() */
inline loopback_answer(yes)
{
	atomic { assert(load(INBOX(q)) == ENTRY && lent[p]); reply[p] = yes };
	store(INBOX(q), NONE);
	if
	:: !here -> hold(p)					// BREAK answer_ref (sender_dies safety): :: !here
	:: else
	fi;
	atomic { drained -> working[q] = false; slot_var[me] = STATE(p); slot_val[me] = ANSWERED };
	if
	:: here							// BREAK answer_here (handed safety): :: true
	:: else ->						// BREAK answer_here (handed safety): :: false ->
		mb();
		wake_up_var(p);					// BREAK answer_wake (sender_dies safety): skip;
		run_send(p);
		put(p)						// BREAK answer_ref (sender_dies safety): skip
	fi
}

/* smr_loopback_cancel() */
inline loopback_cancel()
{
	if
	:: !load(CANCEL(q)) ->
		store(CANCEL(q), true);
		find(p, found);
		if
		:: found ->
			run_resp(p);				// BREAK cancel_run (sender_dies safety): skip;
			put(p)
		:: else
		fi;
		found = false
	:: else
	fi
}

/* smr_loopback_resume(), when the pages are present */
inline loopback_resume()
{
	find(p, found);
	if
	:: found ->
		cmpxchg(STATE(q), FAULT, HANDED, ok);
		if
		:: ok -> run_resp(p)				// BREAK resume_run (handed safety): :: ok
		:: else
		fi;
		put(p)
	:: else
	fi;
	found = false;
	if
	:: load(STATE(q)) != FAULT -> run_send(q)
	:: else
	fi
}

/*
 * The requester has an answer. Without a reply it retries, and fails in the end. In error it is
 * flushed, and connected again.
 */
inline take_answer()
{
	atomic {
		own(STATE(q), IDLE);
		lent[q] = false;
		assert(!working[p]);
		assert(executed[q] == reply[q]);
		if
		:: reply[q] || error[q] || retries[q] == 1 ->
			error[q] = false;
			next[q]++;
			retries[q] = 0
		:: else -> retries[q]++
		fi;
		send_run[q] = true
	}
}

/* The send task: smr_completer_run(), then smr_requester_run() */
proctype send(byte q)
{
	byte me = SEND(q), p = 1 - q, state;
	bool ok, got, found;

end:	do
	:: atomic { send_run[q] && !paused[q] -> send_run[q] = false; send_busy[q] = true };
		atomic {
			state = load(STATE(q));
			if
			:: errors[q] < (q == 0 -> ERRORS0 : 0) && state != IDLE -> errors[q]++; error[q] = true
			:: true
			fi
		}
		if
		:: state == ANSWERED -> take_answer()
		:: state == FAULT && !error[q] -> loopback_resume()
		:: state == IDLE && next[q] < OPS(q) -> loopback_hand()
		:: (state == HANDED || state == FAULT) && error[q] -> loopback_cancel()
		:: else
		fi;
		/* task_disown() is fully ordered */
		atomic { drained -> send_busy[q] = false; state = 0; got = false; ok = false }
	od
}

/* The response task: smr_responder_run() */
proctype resp(byte q)
{
	byte me = RESP(q), p = 1 - q;
	bool here;

end:	do
	:: atomic { resp_run[q] && !paused[q] -> resp_run[q] = false; resp_busy[q] = true; here = nested[p] };
		if
		:: load(INBOX(q)) == ENTRY ->
			atomic { assert(!freed[p] && lent[p] && !working[q]); working[q] = true };
			if
			:: load(CANCEL(p)) -> loopback_answer(false)	// BREAK cancel_check (cancelled safety): :: false
			:: else ->
				/* respond_local() */
				if
				:: load(STATE(p)) != HANDED -> working[q] = false
				:: load(STATE(p)) == HANDED ->
					if
					/* SMR_STEP_AGAIN, and DEFER; WAIT, after the awaited event */
					:: atomic { slices[p] < SLICES -> slices[p]++; working[q] = false };
						run_resp(q)
					/* smr_loopback_fault() */
					:: atomic { faults[p] < FAULTS -> faults[p]++; working[q] = false };
						local_give(p, FAULT);
						run_send(p)
					/* SMR_RESP_OK */
					:: atomic {
						executed[p]++;
						assert(executed[p] == 1);
						assert(last[p] <= next[p]);
						last[p] = next[p] + 1
					   };
						loopback_answer(true)
					fi
				fi
			fi
		:: else
		fi;
		atomic { drained -> resp_busy[q] = false; here = false }
	od
}

/* smr_qp_pause() */
inline pause()
{
	paused[q] = true;
	!send_busy[q];
	!resp_busy[q]
}

/* smr_loopback_refuse() */
inline refuse()
{
	if
	:: load(INBOX(q)) == ENTRY ->
		atomic { assert(!freed[p] && lent[p] && !working[q]); working[q] = true };
		loopback_answer(false)
	:: else
	fi
}

#define HANDED_BACK	(load(STATE(q)) == IDLE || load(STATE(q)) == ANSWERED)

/* smr_loopback_flush(); wait_var_event(): a waiter is in the queue before it checks the state */
inline flush()
{
	refuse();						// BREAK flush_order (both_die safety): skip;
	if
	:: !HANDED_BACK -> loopback_cancel()
	:: else
	fi;
	do
	:: waiting[q] = true;
		if
		:: HANDED_BACK -> break
		:: else -> woken[q]
		fi;
		woken[q] = false
	od;
	atomic { waiting[q] = false; woken[q] = false };
	atomic { own(STATE(q), IDLE); lent[q] = false; assert(!working[p]) }
}

inline qp_reset()
{
	ending[q] = true;
	pause();
	flush();
	atomic { error[q] = false; next[q] = OPS(q); ending[q] = false; paused[q] = false };
	run_send(q);
	run_resp(q)
}

/* smr_qp_fini() */
inline qp_fini()
{
	ending[q] = true;
	unpublished[q] = true;
	pause();
	flush();
	put(q);
	ref[q] == 0;
	refuse();						// BREAK refuse_late (peer_dies safety): skip;
	atomic { freed[q] = true; ending[q] = false }
}

proctype control(byte q; bool reset; bool dies)
{
	byte me = CONTROL(q), p = 1 - q;
	bool found, here;

	if
	:: reset -> qp_reset()
	:: else
	fi;
	if
	:: dies -> qp_fini()
	:: else
	fi
}

init {
	atomic {
		run memory();
		run send(0);
		run send(1);
		run resp(0);
		run resp(1);
#if defined(DIES0) || defined(RESET0)
#if defined(DIES0) && defined(RESET0)
		run control(0, true, true);
#elif defined(RESET0)
		run control(0, true, false);
#else
		run control(0, false, true);
#endif
#endif
#if defined(DIES1)
		run control(1, false, true);
#elif defined(RESET1)
		run control(1, true, false);
#endif
		send_run[0] = true;
		send_run[1] = true
	}
	/* No more events: all operations are returned, and no process waits */
	timeout;
	assert(!lent[0] && !lent[1]);
	assert(freed[0] || next[0] == OPS0);
	assert(freed[1] || next[1] == OPS1);
	assert(!ending[0] && !ending[1])
}

ltl back { [] (lent[0] -> <> !lent[0]) }
ltl ends { [] (ending[0] -> <> !ending[0]) }
