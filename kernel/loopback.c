// SPDX-License-Identifier: GPL-2.0
#include "loopback.h"

#include <linux/wait_bit.h>

#include "opcode.h"
#include "transport.h"

/**
 * smr_loopback_usable() - may this QP's next message take the shortcut?
 * @qp: the requester's QP
 *
 * Only when the route ends at this host, the link wants it, and nothing is
 * under way on the wire that it could overtake.
 *
 * Context: any; called by the send task.
 * Return: true when it may.
 */
bool smr_loopback_usable(struct smr_qp *qp)
{
	bool local;

	if (!qp->env->loopback || qp->comp.una != qp->req.psn ||
	    (qp->req.wire && qp->req.max_psn != qp->req.psn))
		return false;
	qp->req.wire = false;
	return !smr_path_route(&qp->path, &local) && local;
}

/* IBTA 9.6.1.3: a connected QP hears only the one it is connected to. */
static bool peer_connected(const struct smr_qp *qp, const struct smr_qp *peer)
{
	return peer->service == qp->service &&
	       peer->attr.dest_qp_num == qp->ibqp.qp_num &&
	       ipv6_addr_equal(&peer->path.daddr, &qp->path.saddr) &&
	       ipv6_addr_equal(&peer->path.saddr, &qp->path.daddr);
}

static void answer_now(struct smr_local *local, enum smr_local_answer answer,
		       u8 syndrome, u32 psn)
{
	local->answer = answer;
	local->syndrome = syndrome;
	local->psn = psn;
	/* Pairs with the requester's acquire: the operation is its again. */
	smp_store_release(&local->state, SMR_LOCAL_ANSWERED);
	wake_up_var(&local->state);
}

/**
 * smr_loopback_hand() - hand a work request to the peer's responder
 * @qp: the requester's QP; smr_loopback_usable()
 * @wqe: the work request
 * @hdr: what the packet would say
 * @npsn: PSNs it takes
 * @run: how the responder may run here
 *
 * In the common case the responder has run, and answered, at return. A peer
 * that is not there gets what the wire would give: no answer.
 *
 * Context: as @run says; called by the send task.
 */
void smr_loopback_hand(struct smr_qp *qp, struct smr_swqe *wqe,
		       const struct smr_hdr *hdr, u32 npsn,
		       struct smr_run *run)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer = smr_qp_find(qp->env->tab, hdr->qpn);

	/* The responder looks again; here it keeps others out of the inbox. */
	if (peer && !peer_connected(qp, peer)) {
		smr_qp_put(peer);
		peer = NULL;
	}
	local->src = qp;
	local->peer = peer;
	local->wqe = wqe;
	local->hdr = *hdr;
	local->npsn = npsn;
	local->done = 0;
	local->executed = false;
	local->faulted = false;
	local->bad = false;
	local->cancel = false;
	if (!peer) {
		answer_now(local, SMR_LOCAL_DROPPED, 0, 0);
		return;
	}
	WRITE_ONCE(local->state, SMR_LOCAL_HANDED);
	refcount_inc(&qp->ref);
	refcount_inc(&peer->ref);
	if (cmpxchg(&peer->resp.inbox, NULL, local)) {
		smr_loopback_answer(peer, local, SMR_LOCAL_DROPPED, 0, 0, run);
	} else if (READ_ONCE(peer->dead) &&
		   cmpxchg(&peer->resp.inbox, local, NULL) == local) {
		/* Too late to be seen by smr_loopback_flush(). */
		smr_loopback_answer(peer, local, SMR_LOCAL_DROPPED, 0, 0, run);
	} else {
		smr_task_run_nested(&peer->resp_task, run);
	}
	smr_qp_put(peer);
}

/**
 * smr_loopback_answer() - give an operation back to its requester
 * @qp: the responder's QP
 * @local: the operation
 * @answer: which answer
 * @syndrome: of the reply
 * @psn: of the reply
 * @run: how the requester may run here
 *
 * Context: as @run says; called by the response task, or when it is paused.
 */
void smr_loopback_answer(struct smr_qp *qp, struct smr_local *local,
			 enum smr_local_answer answer, u8 syndrome, u32 psn,
			 struct smr_run *run)
{
	struct smr_qp *src = local->src, *peer = local->peer;

	cmpxchg(&qp->resp.inbox, local, NULL);
	answer_now(local, answer, syndrome, psn);
	smr_task_run_nested(&src->send_task, run);
	smr_qp_put(src);
	smr_qp_put(peer);
}

/**
 * smr_loopback_check() - may a local operation touch this QP?
 * @qp: the responder's QP
 * @local: the operation
 *
 * Context: any; called by the response task.
 * Return: true when it may.
 */
bool smr_loopback_check(const struct smr_qp *qp, const struct smr_local *local)
{
	return !READ_ONCE(local->cancel) && smr_qp_receives(READ_ONCE(qp->state)) &&
	       peer_connected(local->src, qp);
}

/**
 * smr_loopback_fault() - ask the requester to bring its pages in
 * @local: the operation, which stays where it is
 * @run: how the requester may run here
 *
 * The responder does not do that itself: a process decides how long its own
 * pages take, and nobody else may have to wait for that.
 *
 * Context: as @run says; called by the response task.
 */
void smr_loopback_fault(struct smr_local *local, struct smr_run *run)
{
	struct smr_qp *src = local->src;

	local->faulted = false;
	refcount_inc(&src->ref);
	/* Pairs with smr_loopback_resume(): @done tells which pages. */
	smp_store_release(&local->state, SMR_LOCAL_FAULT);
	wake_up_var(&local->state);
	smr_task_run_nested(&src->send_task, run);
	smr_qp_put(src);
}

/* What one fault brings in at most, in bytes */
#define FAULT_MAX	(1024 * 1024)

/* The next pages of the requester's own list. */
static int local_fault(struct smr_qp *qp)
{
	const struct smr_local *local = &qp->handed;
	const struct smr_swqe *wqe = local->wqe;
	struct smr_sgl *sgl = &qp->req.sgl;
	bool write = smr_wr_info(qp->ibqp.qp_type, wqe->opcode)->flags &
		     SMR_WR_FETCHES;
	int err;

	if (smr_sgl_open(sgl, qp->pd, qp->ibqp.qp_num,
			 write ? IB_ACCESS_LOCAL_WRITE : 0, wqe->sge,
			 wqe->num_sge, local->done, FAULT_MAX) != SMR_KEY_OK)
		return -EFAULT;
	err = smr_sgl_fault(sgl, write);
	smr_sgl_close(sgl);
	return err;
}

/* Let the peer go on. When it is dead, its flush has answered, or will. */
static void local_resume(struct smr_qp *qp, struct smr_run *run)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer = smr_qp_find(qp->env->tab, local->hdr.qpn);

	if (!peer)
		return;
	if (cmpxchg(&local->state, SMR_LOCAL_FAULT, SMR_LOCAL_HANDED) ==
	    SMR_LOCAL_FAULT)
		smr_task_run_nested(&peer->resp_task, run);
	smr_qp_put(peer);
}

/**
 * smr_loopback_resume() - bring pages in for the responder, and let it go on
 * @qp: the requester's QP
 * @up: its state is one to go on in
 * @run: how to run
 *
 * Context: as @run says; called by the send task.
 * Return: SMR_TASK_DEFER where pages cannot be brought in, else SMR_TASK_IDLE
 *	or SMR_TASK_MORE.
 */
enum smr_task_verdict smr_loopback_resume(struct smr_qp *qp, bool up,
					  struct smr_run *run)
{
	struct smr_local *local = &qp->handed;
	int err = 0;

	if (up && !run->can_fault)
		return SMR_TASK_DEFER;
	if (up)
		err = local_fault(qp);
	/* Only whoever lent its context is being killed: try in another. */
	if (err == -EINTR)
		return SMR_TASK_DEFER;
	local->bad = err;
	if (!up)
		WRITE_ONCE(local->cancel, true);
	local_resume(qp, run);
	/* Pairs with the release in answer_now(). */
	return smp_load_acquire(&local->state) == SMR_LOCAL_FAULT ?
	       SMR_TASK_IDLE : SMR_TASK_MORE;
}

/* Is the operation the requester's again? It does not bring pages in now. */
static bool handed_back(struct smr_qp *qp)
{
	struct smr_run run = { .quota = SMR_QUOTA_SOFTIRQ };

	/* Pairs with the releases of whoever had it. */
	if (smp_load_acquire(&qp->handed.state) == SMR_LOCAL_FAULT)
		local_resume(qp, &run);
	/* As above. */
	switch (smp_load_acquire(&qp->handed.state)) {
	case SMR_LOCAL_IDLE:
	case SMR_LOCAL_ANSWERED:
		return true;
	default:
		return false;
	}
}

/**
 * smr_loopback_flush() - let a paused QP's operations go, both ways
 * @qp: the QP, paused or dead
 *
 * What waits in its inbox is answered first, and only then is its own
 * operation waited for: two QPs that are flushed at the same time would
 * otherwise wait for each other.
 *
 * Context: process, may sleep.
 */
void smr_loopback_flush(struct smr_qp *qp)
{
	struct smr_local *local = xchg(&qp->resp.inbox, NULL);
	struct smr_run run = { .quota = SMR_QUOTA_SOFTIRQ };

	if (local)
		smr_loopback_answer(qp, local, SMR_LOCAL_DROPPED, 0, 0, &run);
	WRITE_ONCE(qp->handed.cancel, true);
	wait_var_event(&qp->handed.state, handed_back(qp));
	qp->handed.state = SMR_LOCAL_IDLE;
}
