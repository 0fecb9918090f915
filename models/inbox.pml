/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inbox: kernel/qp/loopback.c. Two QPs of one host are connected, and each hands operations
 * to the other. A QP in error takes its operation back. A QP may be reset and destroyed.
 *
 * Properties:
 * - each operation that is answered "reply" was executed once, and one that was taken back was
 *   not; operations are executed in order;
 * - the responder accesses an operation only while it has claimed it, and the requester does
 *   not reuse it before it is returned;
 * - no process accesses a freed QP or a freed handle;
 * - an operation is returned, also if either QP or both are destroyed; destroying a QP ends.
 *
 * Assumptions: tasks work as in task.pml, so a request to run one is a flag here; and copies
 * end. Where a send task runs the peer's response task itself, as struct smr_budget's "here" says,
 * it waits for that.
 *
 * RUN handed:      -DOPS0=3 -DOPS1=0: safety back
 * RUN taken:       -DOPS0=2 -DOPS1=0 -DERRORS0=2: safety
 * RUN both:        -DOPS0=1 -DOPS1=1 -DSLICES=0: safety
 * RUN reset:       -DOPS0=1 -DOPS1=0 -DRESET0: safety
 * RUN peer_reset:  -DOPS0=1 -DOPS1=0 -DRESET1: safety
 * RUN sender_dies: -DOPS0=1 -DOPS1=0 -DDIES0: safety ends
 * RUN peer_dies:   -DOPS0=1 -DOPS1=0 -DDIES1 -DERRORS0=1: safety
 * RUN both_die:    -DOPS0=1 -DOPS1=1 -DSLICES=0 -DFAULTS=0 -DDIES0 -DDIES1: safety
 */
#ifndef ERRORS0
#define ERRORS0	0
#endif
/* Number of times that an operation is parked, and that its requester's pages are missing */
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

/* Of each QP: smr_local.state, smr_local.cancel, resp.inbox, dead */
#define STATE(q)	(q)
#define CANCEL(q)	(2 + q)
#define INBOX(q)	(4 + q)
#define DEAD(q)		(6 + q)
#define VARS		8
#include "memory.h"

/* enum smr_local_state */
#define IDLE		0
#define HANDED		1
#define FAULT		2
#define ANSWERED	3

/* Contents of the inbox: empty, or the operation of the peer, without or with a mark */
#define NONE		0
#define CLAIMED		1
#define NEW		2
#define PARKED		3

#define MARKED(e)	((e) >= NEW)

/* The answer, and the progress of the operation: ordered by the release of the state */
bool reply[2];
byte slices[2], faults[2];
/* Tasks: are to run, do run, are disabled */
bool send_run[2], send_busy[2], resp_run[2], resp_busy[2], paused[2];
/* The QP: found by its number; its handle's count; it is freed, its handle is */
bool unpublished[2];
byte ref[2] = 1;
bool freed[2], handle_freed[2];
/* Read sections, by process */
bool rcu[PROCS];
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

/* smr_qp_hold(), smr_qp_put(), smr_qp_get(), smr_qp_find() */
inline hold(q)
{
	atomic { assert(ref[q] > 0); ref[q]++ }
}

inline put(q)
{
	atomic { drained -> assert(ref[q] > 0); ref[q]-- }
}

inline get(q, ok)
{
	atomic {
		assert(!handle_freed[q]);
		if
		:: ref[q] > 0 -> ref[q]++; ok = true
		:: else -> ok = false
		fi
	}
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

inline run_send(q) { atomic { assert(!freed[q]); send_run[q] = true } }
inline run_resp(q) { atomic { assert(!freed[q]); resp_run[q] = true } }

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

/* Put the operation of @q into the inbox of the peer. got: it is there, or was there */
inline inbox_put(got)
{
	hold(p);
	cmpxchg(INBOX(p), NONE, NEW, got);
	if
	:: got && load(DEAD(p)) ->				// BREAK put_dead (peer_dies safety): :: false ->
		cmpxchg(INBOX(p), NEW, NONE, ok);
		got = !ok
	:: else
	fi;
	if
	:: !got -> put(p)
	:: else
	fi
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
	:: found -> inbox_put(got)
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

/* smr_loopback_claim(); the task's own reference on @q is not needed here */
inline loopback_claim(got)
{
	entry = load(INBOX(q));
	got = false;
	if
	:: entry != NONE ->
		cmpxchg(INBOX(q), entry, CLAIMED, got);
		if
		:: got ->
			atomic { assert(!freed[p] && lent[p] && !working[q]); working[q] = true };
			hold(p)
		:: else
		fi
	:: else
	fi;
	entry = NONE
}

/* smr_loopback_answer() */
inline loopback_answer(yes)
{
	atomic { assert(load(INBOX(q)) == CLAIMED && lent[p]); reply[p] = yes };
	store(INBOX(q), NONE);
	atomic { drained -> working[q] = false; slot_var[me] = STATE(p); slot_val[me] = ANSWERED };
	if
	:: here							// BREAK answer_here (handed safety): :: true
	:: else ->
		mb();
		wake_up_var(p);
		run_send(p)
	fi;
	put(p);
	put(q)
}

/* smr_loopback_park() */
inline loopback_park()
{
	atomic { drained -> working[q] = false; slot_var[me] = INBOX(q); slot_val[me] = PARKED };
	mb();							// BREAK park_barrier (taken safety): skip;
	wake_up_var(p);						// BREAK park_wake (sender_dies safety): skip;
	if
	:: load(CANCEL(p)) -> run_send(p)			// BREAK park_cancel (taken safety): :: false
	:: else
	fi;
	put(p)
}

/* smr_loopback_retract() */
inline loopback_retract(got)
{
	store(CANCEL(q), true);
	mb();							// BREAK retract_barrier (taken safety): skip;
	got = false;
	rcu[me] = true;						// BREAK retract_no_rcu (both_die safety): skip;
	if
	:: load(STATE(q)) != ANSWERED ->
		get(p, found)					// BREAK retract_rcu_only (both_die safety): found = true
	:: else
	fi;
	rcu[me] = false;					// BREAK retract_rcu_only (both_die safety): skip;
	if
	:: found ->
		/* inbox_take() */
		atomic { assert(!freed[p]); entry = load(INBOX(p)) };
		if
		:: MARKED(entry) ->				// BREAK take_claimed (taken safety): :: entry != NONE ->
			cmpxchg(INBOX(p), entry, NONE, got)
		:: else
		fi;
		put(p)						// BREAK retract_rcu_only (both_die safety): skip
	:: else
	fi;
	entry = NONE;						// BREAK retract_rcu_only (both_die safety): entry = NONE; rcu[me] = false;
	if
	:: got ->
		atomic {
			assert(lent[q] && !working[p] && !executed[q]);
			lent[q] = false;
			own(STATE(q), IDLE)
		}
		run_resp(p);
		put(p)
	:: else
	fi;
	found = false
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
 * The requester has its operation back, with an answer. Without a reply it retries, and fails
 * in the end
 */
inline take_answer()
{
	atomic {
		own(STATE(q), IDLE);
		lent[q] = false;
		assert(!working[p]);
		if
		:: reply[q] ->
			assert(executed[q] == 1);
			next[q]++;
			retries[q] = 0
		:: !reply[q] && (error[q] || retries[q] == 1) ->
			error[q] = false;
			next[q]++;
			retries[q] = 0
		:: else -> retries[q]++
		fi;
		send_run[q] = true
	}
}

/* The operation was taken back: it is flushed, and the QP is connected again */
inline flushed()
{
	atomic { error[q] = false; next[q]++; retries[q] = 0; send_run[q] = true }
}

/* The send task: smr_completer_run(), then smr_requester_run() */
proctype send(byte q)
{
	byte me = SEND(q), p = 1 - q, entry, state;
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
		:: (state == HANDED || state == FAULT) && error[q] ->
			loopback_retract(got);
			if
			:: got -> flushed()
			:: else
			fi
		:: else
		fi;
		/* task_disown() is fully ordered */
		atomic { drained -> send_busy[q] = false; state = 0; got = false; ok = false }
	od
}

/* The response task: smr_responder_run() */
proctype resp(byte q)
{
	byte me = RESP(q), p = 1 - q, entry;
	bool ok, got, here;

end:	do
	:: atomic { resp_run[q] && !paused[q] -> resp_run[q] = false; resp_busy[q] = true; here = nested[p] };
		loopback_claim(got);
		if
		:: got ->
			/* respond_local() */
			if
			:: load(STATE(p)) != HANDED -> loopback_park()
			:: load(STATE(p)) == HANDED && load(CANCEL(p)) -> loopback_answer(false)
			:: load(STATE(p)) == HANDED && !load(CANCEL(p)) ->
				if
				/* SMR_STEP_AGAIN, and DEFER; WAIT, after the awaited event */
				:: atomic { slices[p] < SLICES -> assert(working[q] && lent[p]); slices[p]++ };
					loopback_park();
					run_resp(q)
				/* smr_loopback_fault() */
				:: atomic { faults[p] < FAULTS -> assert(working[q] && lent[p]); faults[p]++ };
					local_give(p, FAULT);
					run_send(p);
					loopback_park()
				/* SMR_RESP_OK */
				:: atomic {
					assert(working[q] && lent[p]);
					executed[p]++;
					assert(executed[p] == 1);
					assert(last[p] <= next[p]);
					last[p] = next[p] + 1
				   };
					loopback_answer(true)
				fi
			fi
		:: else
		fi;
		atomic { drained -> resp_busy[q] = false; got = false; ok = false; here = false }
	od
}

/* smr_qp_pause() */
inline pause()
{
	paused[q] = true;
	!send_busy[q];
	!resp_busy[q]
}

/* smr_loopback_flush(), first part */
inline flush_inbox()
{
	mb();							// BREAK flush_barrier (peer_dies safety): skip;
	loopback_claim(got);
	if
	:: got -> loopback_answer(false)
	:: else
	fi
}

inline handed_back(got)
{
	atomic { state = load(STATE(q)); got = (state == IDLE || state == ANSWERED) };
	if
	:: !got -> loopback_retract(got)
	:: else
	fi;
	state = 0
}

/*
 * smr_loopback_flush(), second part: wait_var_event(). A waiter is in the queue before it
 * checks the state
 */
inline flush_own()
{
	do
	:: waiting[q] = true;
		handed_back(got);
		if
		:: got -> break
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
	flush_inbox();
	flush_own();
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
	store(DEAD(q), true);
	flush_inbox();
	flush_own();
	put(q);
	ref[q] == 0;
	/*
	 * smr_qp_fini() returns, and the core frees the QP. Its handle is freed after a grace
	 * period
	 */
	atomic { freed[q] = true; ending[q] = false };
	!rcu[SEND(p)];
	!rcu[CONTROL(p)];
	handle_freed[q] = true
}

proctype control(byte q; bool reset; bool dies)
{
	byte me = CONTROL(q), p = 1 - q, entry, state;
	bool ok, got, found, here;

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
