// SPDX-License-Identifier: GPL-2.0
/*
 * Hand an operation to the peer's responder and take the answer, without a packet.
 * models/inbox.pml is a model of it.
 */
#include "qp/loopback.h"

#include <linux/rcupdate.h>
#include <linux/wait_bit.h>

#include "compat/cleanup.h"
#include "qp/capture.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "qp/paging.h"
#include "stats.h"

/* Maximum bytes that one fault brings in */
#define FAULT_MAX	(1024 * 1024)

static bool ends_here(struct smr_qp *qp)
{
	bool local;

	return !smr_path_route(&qp->path, &local) && local;
}

/*
 * Has the peer handled all messages that were sent as packets? UC has no acknowledges; but the peer
 * expects the PSN after that of the last packet that it has handled. If that one was lost, the next
 * message is a packet, too.
 */
static bool diversion_ended(struct smr_qp *qp)
{
	struct smr_qp *peer;
	bool ended = true;

	if (smr_qp_is_reliable(qp))
		return true;
	guard(smr_bh)();
	peer = smr_qp_find(qp->env->tab, qp->attr.dest_qp_num);
	if (!peer)
		return true;
	/* The peer's response task may change it concurrently. */
	ended = data_race(READ_ONCE(peer->resp.epsn)) == qp->snd.psn;
	smr_qp_put(peer);
	return ended;
}

/*
 * Can this QP's next message use the shortcut? @qp: the caller owns its send task. It can if the
 * route ends at this host, the link has the shortcut enabled, no capture wants the message, and
 * nothing is in flight on the wire that the message could overtake. Returns true if it may.
 */
bool smr_loopback_usable(struct smr_qp *qp)
{
	if (!qp->env->loopback || smr_snd_in_flight(&qp->snd) ||
	    (qp->snd.wire && !smr_snd_is_fresh(&qp->snd)) || !ends_here(qp))
		return false;
	if (smr_capture_wants_next(qp)) {
		qp->req.diverted = true;
		return false;
	}
	if (unlikely(qp->req.diverted) && !diversion_ended(qp))
		return false;
	qp->req.diverted = false;
	smr_snd_leave_wire(&qp->snd);
	return true;
}

/*
 * The rest of smr_loopback_returns(). An ACK of what is in flight runs the send task, or else the
 * timer does: a QP without a timeout may wait for ever.
 */
bool smr_loopback_returns_all(struct smr_qp *qp)
{
	return qp->rto.timeout && smr_snd_in_flight(&qp->snd) && ends_here(qp) &&
	       !smr_capture_wants_next(qp);
}

/* IBTA 9.6.1.3: a connected QP accepts packets of its peer only. */
static bool peer_connected(const struct smr_qp *qp, const struct smr_qp *peer)
{
	const struct smr_ends *ours, *theirs;

	if (peer->service != qp->service ||
	    peer->attr.dest_qp_num != qp->ibqp.qp_num)
		return false;
	guard(rcu)();
	ours = rcu_dereference(qp->ends);
	theirs = rcu_dereference(peer->ends);
	return ours && theirs && ipv6_addr_equal(&theirs->peer, &ours->own) &&
	       ipv6_addr_equal(&theirs->own, &ours->peer);
}

/*
 * Count and log that an operation may not access this QP. @local: the operation, in its inbox or
 * about to be put there. Does for an operation what rx_lookup() does for a packet.
 */
void smr_loopback_dropped(struct smr_qp *qp, const struct smr_local *local)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	const struct smr_ends *ends;
	const struct in6_addr *from;

	guard(rcu)();
	ends = rcu_dereference(local->src->ends);
	from = ends ? &ends->own : NULL;
	if (qp->service != local->src->service)
		smr_qp_drop(qp, DROP_SERVICE, SMR_CNT_DROPPED, from,
			    local->hdr->opcode, qp->ibqp.qp_type);
	else if (!smr_qp_receives(state))
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, from,
			    local->hdr->opcode, state);
	else
		smr_qp_drop(qp, DROP_SOURCE, SMR_CNT_BAD_SOURCE, from);
}

/* Give the operation back to the requester. */
static void local_give(struct smr_local *local, enum smr_local_state state)
{
	/* Pairs with the requester's acquires. */
	smp_store_release(&local->state, state);
	smp_mb(); /* order the store before wake_up_var()'s check for waiters */
	wake_up_var(&local->state);
}

static void answer_fill(struct smr_local *local, enum smr_local_answer answer,
			u8 syndrome, u32 psn)
{
	local->answer = answer;
	local->syndrome = syndrome;
	local->psn = psn;
}

/*
 * The requester's task is further up this stack, and checks the state when this returns. No
 * other context can be waiting: pausing the task first waits for its owner.
 */
static void answer_here(struct smr_local *local)
{
	/* Pairs with the requester's acquires; not needed on the same CPU. */
	smp_store_release(&local->state, SMR_LOCAL_ANSWERED);
}

/* Put the operation into the inbox of @peer. False: it is not its peer, or the inbox is in use. */
static bool inbox_put(struct smr_qp *peer, struct smr_local *local)
{
	/*
	 * The responder checks this again. This check keeps QPs that are not its peer out of
	 * the inbox.
	 */
	if (!peer_connected(local->src, peer)) {
		smr_loopback_dropped(peer, local);
		return false;
	}
	return !cmpxchg(&peer->resp.inbox, NULL, local);
}

/*
 * Hand a work request to the peer's responder. @qp: the requester's QP, for which
 * smr_loopback_usable() is true. @wqe: the work request; @qp->req.hdr has the headers that an ONLY
 * packet would have. @budget: budget for running the responder here. Usually the responder has run,
 * and has answered, when this returns. If there is no such peer, or its inbox is in use, there is
 * no answer, as if the packet was lost on the wire. Context: as @budget says; called by the send
 * task. Disables BH.
 */
void smr_loopback_hand(struct smr_qp *qp, struct smr_swqe *wqe,
		       struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer;

	guard(smr_bh)();
	peer = smr_qp_find(qp->env->tab, qp->req.hdr.qpn);
	local->src = qp;
	local->wqe = wqe;
	local->hdr = &qp->req.hdr;
	local->npsn = wqe->npsn;
	local->done = 0;
	local->executed = false;
	local->faulted = false;
	local->err = 0;
	WRITE_ONCE(local->cancel, false);
	WRITE_ONCE(local->state, SMR_LOCAL_HANDED);
	if (peer && inbox_put(peer, local)) {
		smr_task_run_foreign(&peer->resp_task, budget, local);
	} else {
		if (!peer)
			smr_qptab_stray(qp->env->tab, &qp->req.hdr.bth, &qp->path.saddr, 1);
		answer_fill(local, SMR_LOCAL_DROPPED, 0, 0);
		answer_here(local);
	}
	if (peer)
		smr_qp_put(peer);
}

/*
 * Give an operation back to its requester. @local: the operation, in its inbox. @answer: the kind
 * of answer. @budget: budget for running the requester here. After this, the requester's QP may be
 * freed at any time. Context: as @budget says; called by the response task, or while that is
 * paused.
 */
void smr_loopback_answer(struct smr_qp *qp, struct smr_local *local,
			 enum smr_local_answer answer, u8 syndrome, u32 psn,
			 struct smr_budget *budget)
{
	struct smr_qp *src = local->src;

	/* The requester hands over the next operation after it has seen the answer. */
	WRITE_ONCE(qp->resp.inbox, NULL);
	answer_fill(local, answer, syndrome, psn);
	if (budget->here == local) {
		answer_here(local);
		return;
	}
	guard(smr_bh)();
	smr_qp_hold(src);
	local_give(local, SMR_LOCAL_ANSWERED);
	smr_task_run_foreign(&src->send_task, budget, NULL);
	smr_qp_put(src);
}

/*
 * May a local operation access this QP? @qp: the caller owns its response task. Returns true if it
 * may. Otherwise the reason is logged.
 */
bool smr_loopback_check(struct smr_qp *qp, const struct smr_local *local)
{
	if (smr_qp_receives(READ_ONCE(qp->state)) &&
	    peer_connected(local->src, qp))
		return true;
	smr_loopback_dropped(qp, local);
	return false;
}

/*
 * Ask the requester to bring its pages in. @budget: budget for running the requester here. The
 * responder does not bring them in itself: a process can delay its own pages, and other processes
 * must not wait for that. It leaves the operation alone until the requester has run it again, or
 * cancels. Context: as @budget says; called by the response task.
 */
void smr_loopback_fault(struct smr_local *local, struct smr_budget *budget)
{
	local->faulted = false;
	guard(smr_bh)();
	/* @done says which pages. */
	local_give(local, SMR_LOCAL_FAULT);
	smr_task_run_foreign(&local->src->send_task, budget, NULL);
}

/* Bring in the next pages of the requester's own list; as smr_paging_fault(). */
static enum smr_step local_fault(struct smr_qp *qp, struct smr_budget *budget, int *err)
{
	const struct smr_local *local = &qp->handed;
	const struct smr_swqe *wqe = local->wqe;
	struct smr_sgl *sgl = &qp->req.sgl;
	bool write = smr_wr_info(qp->ibqp.qp_type, wqe->opcode)->flags &
		     SMR_WR_FETCHES;
	enum smr_step step;

	if (smr_sgl_open(sgl, qp->pd, qp->ibqp.qp_num,
			 write ? IB_ACCESS_LOCAL_WRITE : 0, wqe->sge,
			 wqe->num_sge, local->done, FAULT_MAX) != SMR_KEY_OK) {
		*err = -EFAULT;
		return SMR_STEP_DONE;
	}
	step = smr_paging_fault(&qp->req.paging, budget, sgl, write, err);
	smr_sgl_close(sgl);
	return step;
}

/* Run the responder again. If the peer is dead, its flush gives the answer. */
static void local_resume(struct smr_qp *qp, struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer;

	guard(smr_bh)();
	peer = smr_qp_find(qp->env->tab, qp->req.hdr.qpn);
	if (!peer)
		return;
	if (cmpxchg(&local->state, SMR_LOCAL_FAULT, SMR_LOCAL_HANDED) ==
	    SMR_LOCAL_FAULT)
		smr_task_run_foreign(&peer->resp_task, budget, NULL);
	smr_qp_put(peer);
}

/*
 * Ask for the answer to an operation that nobody waits for any more. @qp: the requester's QP, which
 * has handed over an operation. @budget: budget for running the responder here. Unless the
 * responder has executed the operation, or is about to, it answers that it was dropped: first of
 * all in its next step, whatever it waits for. If its task waits in a workqueue, it runs here,
 * except on PREEMPT_RT. Context: as @budget says; called by the send task, or while it is paused.
 */
void smr_loopback_cancel(struct smr_qp *qp, struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer;

	WRITE_ONCE(local->cancel, true);
	guard(smr_bh)();
	peer = smr_qp_find(qp->env->tab, qp->req.hdr.qpn);
	/* If it is being destroyed, its flush gives the answer. */
	if (!peer)
		return;
	smr_task_run_queued(&peer->resp_task, budget);
	smr_qp_put(peer);
}

/*
 * Bring in pages for the responder, and run it again. @qp: the caller owns its send task. @up: its
 * state is RTS or SQD. Context: as @budget says. Returns SMR_STEP_WAIT until the fault or the
 * responder runs the task, or if it is not up; SMR_STEP_DEFER or SMR_STEP_DONE.
 */
enum smr_step smr_loopback_resume(struct smr_qp *qp, bool up,
				  struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;
	enum smr_step step;
	int err = 0;

	if (!up)
		return SMR_STEP_WAIT;
	step = local_fault(qp, budget, &err);
	if (step == SMR_STEP_WAIT || step == SMR_STEP_DEFER)
		return step;
	local->err = err;
	local_resume(qp, budget);
	/* Pairs with local_give(). */
	return smp_load_acquire(&local->state) == SMR_LOCAL_FAULT ?
	       SMR_STEP_WAIT : SMR_STEP_DONE;
}

/* Has a paused QP no operation with a peer? */
static bool handed_back(const struct smr_qp *qp)
{
	/* Pairs with local_give(). */
	enum smr_local_state state = smp_load_acquire(&qp->handed.state);

	return state == SMR_LOCAL_IDLE || state == SMR_LOCAL_ANSWERED;
}

/* Answer the operation in the inbox of a QP: it was dropped. */
void smr_loopback_refuse(struct smr_qp *qp)
{
	struct smr_budget budget = { .left = SMR_BUDGET_SOFTIRQ };
	struct smr_local *local = READ_ONCE(qp->resp.inbox);

	if (local)
		smr_loopback_answer(qp, local, SMR_LOCAL_DROPPED, 0, 0, &budget);
}

/*
 * End a paused QP's operations, in both directions. First answer the operation in its inbox, then
 * wait for its own operation. In the other order, two QPs that are flushed at the same time would
 * deadlock. A requester that has found the QP before may still put an operation into the inbox.
 */
void smr_loopback_flush(struct smr_qp *qp)
{
	struct smr_budget budget = { .left = SMR_BUDGET_SOFTIRQ };

	smr_loopback_refuse(qp);
	if (!handed_back(qp))
		smr_loopback_cancel(qp, &budget);
	wait_var_event(&qp->handed.state, handed_back(qp));
	qp->handed.state = SMR_LOCAL_IDLE;
}
