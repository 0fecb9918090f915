// SPDX-License-Identifier: GPL-2.0
#include "qp/loopback.h"

#include <linux/rcupdate.h>
#include <linux/wait_bit.h>

#include "compat/cleanup.h"
#include "qp/core.h"
#include "qp/opcode.h"

/*
 * In an inbox, with the operation's address, as long as the response task is
 * not at it: it never was, or it has parked it. Two marks, so that it tells
 * what it has parked from what the same requester hands over later.
 */
#define INBOX_NEW	1ul
#define INBOX_PARKED	2ul
#define INBOX_MARKS	(INBOX_NEW | INBOX_PARKED)

static struct smr_local *marked(struct smr_local *local, unsigned long mark)
{
	return (struct smr_local *)((unsigned long)local | mark);
}

static bool is_marked(const struct smr_local *entry)
{
	return (unsigned long)entry & INBOX_MARKS;
}

static struct smr_local *unmarked(struct smr_local *entry)
{
	return (struct smr_local *)((unsigned long)entry & ~INBOX_MARKS);
}

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

/* The operation is the requester's again. */
static void local_give(struct smr_local *local, enum smr_local_state state)
{
	/* Pairs with the requester's acquires. */
	smp_store_release(&local->state, state);
	smp_mb(); /* the state is seen, or else who waits for it is */
	wake_up_var(&local->state);
}

static void answer_now(struct smr_local *local, enum smr_local_answer answer,
		       u8 syndrome, u32 psn)
{
	local->answer = answer;
	local->syndrome = syndrome;
	local->psn = psn;
	local_give(local, SMR_LOCAL_ANSWERED);
}

/* Put it there for @peer, unless that has another, or will never look. */
static bool inbox_put(struct smr_qp *peer, struct smr_local *local)
{
	struct smr_local *entry = marked(local, INBOX_NEW);

	/* The responder looks again; here it keeps others out of the inbox. */
	if (!peer_connected(local->src, peer))
		return false;
	refcount_inc(&peer->ref);
	if (!cmpxchg(&peer->resp.inbox, NULL, entry)) {
		/* Too late to be seen by smr_loopback_flush()? */
		if (!READ_ONCE(peer->dead) ||
		    cmpxchg(&peer->resp.inbox, entry, NULL) != entry)
			return true;
	}
	smr_qp_put(peer);
	return false;
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
 * that is not there, or has its hands full, gives what the wire would: no
 * answer.
 *
 * Context: as @run says; called by the send task.
 */
void smr_loopback_hand(struct smr_qp *qp, struct smr_swqe *wqe,
		       const struct smr_hdr *hdr, u32 npsn,
		       struct smr_run *run)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer = smr_qp_find(qp->env->tab, hdr->qpn);

	local->src = qp;
	local->peer = peer;
	local->wqe = wqe;
	local->hdr = *hdr;
	local->npsn = npsn;
	local->done = 0;
	local->executed = false;
	local->faulted = false;
	local->invalidating = false;
	local->err = 0;
	WRITE_ONCE(local->cancel, false);
	WRITE_ONCE(local->state, SMR_LOCAL_HANDED);
	if (!peer || !inbox_put(peer, local))
		answer_now(local, SMR_LOCAL_DROPPED, 0, 0);
	else
		smr_task_run_nested(&peer->resp_task, run);
	if (peer)
		smr_qp_put(peer);
}

static bool inbox_claim(struct smr_qp *qp, struct smr_local *entry)
{
	struct smr_local *local = unmarked(entry);

	/* Not read before: the requester may take it back, and be gone. */
	if (cmpxchg(&qp->resp.inbox, entry, local) != entry)
		return false;
	/* A QP does not go without what it has handed over. */
	refcount_inc(&local->src->ref);
	return true;
}

/**
 * smr_loopback_claim() - have what is in the inbox, if there is something
 * @qp: the responder's QP
 *
 * Context: any; called by the response task, or when it is paused.
 * Return: an operation, which is to be answered or parked; NULL: there is none.
 */
struct smr_local *smr_loopback_claim(struct smr_qp *qp)
{
	struct smr_local *entry = READ_ONCE(qp->resp.inbox);

	return entry && inbox_claim(qp, entry) ? unmarked(entry) : NULL;
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
 * Context: as @run says; called by the response task, which has claimed it, or
 *	when that is paused.
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
 * smr_loopback_park() - leave an operation for a while
 * @qp: the responder's QP
 * @local: the operation, claimed
 *
 * The requester may take it back meanwhile, and be gone: its process must not
 * wait for pages of another, nor for its turn in a workqueue. Nothing of @local
 * is to be touched before it is claimed again.
 *
 * Context: any; called by the response task.
 */
void smr_loopback_park(struct smr_qp *qp, struct smr_local *local)
{
	struct smr_qp *src = local->src;

	/* Pairs with smr_loopback_retract(): we are through with it. */
	smp_store_release(&qp->resp.inbox, marked(local, INBOX_PARKED));
	smp_mb(); /* that is seen, or else who waits for it, or @cancel, is */
	wake_up_var(&local->state);
	if (READ_ONCE(local->cancel))
		smr_task_defer(&src->send_task);
	smr_qp_put(src);
}

/**
 * smr_loopback_unpark() - claim again what was parked
 * @qp: the responder's QP
 * @local: the operation
 *
 * Context: any; called by the response task.
 * Return: false when the requester has taken it back.
 */
bool smr_loopback_unpark(struct smr_qp *qp, struct smr_local *local)
{
	return inbox_claim(qp, marked(local, INBOX_PARKED));
}

/* Not if the responder is at it. */
static bool inbox_take(struct smr_qp *peer, struct smr_local *local)
{
	struct smr_local *entry = READ_ONCE(peer->resp.inbox);

	return is_marked(entry) && unmarked(entry) == local &&
	       cmpxchg(&peer->resp.inbox, entry, NULL) == entry;
}

/**
 * smr_loopback_retract() - try to take back what was handed over
 * @qp: the requester's QP, which has an operation handed over
 *
 * If the responder is at it, or has answered, that is as it was; it is told
 * that nobody wants it any more, and the send task runs once it parks.
 *
 * Context: any; called by the send task, or when it is paused.
 * Return: true when it was taken back.
 */
bool smr_loopback_retract(struct smr_qp *qp)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer = local->peer;

	WRITE_ONCE(local->cancel, true);
	/* Pairs with smr_loopback_park(): it sees @cancel, or we what it did. */
	smp_mb();
	scoped_guard(rcu) {
		/*
		 * Without an answer there is a reference to the peer, and its
		 * memory stays until readers are through. Pairs with
		 * local_give().
		 */
		if (smp_load_acquire(&local->state) == SMR_LOCAL_ANSWERED ||
		    !inbox_take(peer, local))
			return false;
	}
	local->state = SMR_LOCAL_IDLE;
	/* It may have begun, and have left other things until it is through. */
	smr_task_defer(&peer->resp_task);
	smr_qp_put(peer);
	return true;
}

/**
 * smr_loopback_fault() - ask the requester to bring its pages in
 * @local: the operation, claimed; it is to be parked then
 * @run: how the requester may run here
 *
 * The responder does not do that itself: a process decides how long its own
 * pages take, and nobody else may have to wait for that.
 *
 * Context: as @run says; called by the response task.
 */
void smr_loopback_fault(struct smr_local *local, struct smr_run *run)
{
	local->faulted = false;
	/* Its @done tells which pages. */
	local_give(local, SMR_LOCAL_FAULT);
	smr_task_run_nested(&local->src->send_task, run);
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
 * Return: SMR_STEP_DEFER where pages cannot be brought in, else SMR_STEP_WAIT
 *	or SMR_STEP_DONE.
 */
enum smr_step smr_loopback_resume(struct smr_qp *qp, bool up,
				  struct smr_run *run)
{
	struct smr_local *local = &qp->handed;
	int err;

	if (!up)
		return smr_loopback_retract(qp) ? SMR_STEP_DONE : SMR_STEP_WAIT;
	if (!run->can_fault)
		return SMR_STEP_DEFER;
	err = local_fault(qp);
	/* Only whoever lent its context is being killed: try in another. */
	if (err == -EINTR)
		return SMR_STEP_DEFER;
	local->err = err;
	local_resume(qp, run);
	/* Pairs with local_give(). */
	return smp_load_acquire(&local->state) == SMR_LOCAL_FAULT ?
	       SMR_STEP_WAIT : SMR_STEP_DONE;
}

/* Is the operation, if there was one, the requester's again? */
static bool handed_back(struct smr_qp *qp)
{
	/* Pairs with local_give(). */
	switch (smp_load_acquire(&qp->handed.state)) {
	case SMR_LOCAL_IDLE:
	case SMR_LOCAL_ANSWERED:
		return true;
	default:
		return smr_loopback_retract(qp);
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
	struct smr_run run = { .quota = SMR_QUOTA_SOFTIRQ };
	struct smr_local *local;

	/* Pairs with inbox_put(): it sees @dead, or we what it has put there. */
	smp_mb();
	local = smr_loopback_claim(qp);
	if (local)
		smr_loopback_answer(qp, local, SMR_LOCAL_DROPPED, 0, 0, &run);
	wait_var_event(&qp->handed.state, handed_back(qp));
	qp->handed.state = SMR_LOCAL_IDLE;
}
