// SPDX-License-Identifier: GPL-2.0
/*
 * Hand an operation to the peer's responder and take the answer, without a packet.
 * models/inbox.pml is a model of it.
 */
#include "qp/loopback.h"

#include <linux/rcupdate.h>
#include <linux/wait_bit.h>

#include "compat/cleanup.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "qp/paging.h"
#include "stats.h"

/*
 * The inbox has the operation's address. It has a mark while the response task does not work on
 * the operation: NEW before the first claim, PARKED after it. The two marks let the task
 * distinguish the operation that it has parked from one that the same requester hands over
 * later.
 */
#define INBOX_NEW	1ul
#define INBOX_PARKED	2ul
#define INBOX_MARKS	(INBOX_NEW | INBOX_PARKED)

/* Maximum bytes that one fault brings in */
#define FAULT_MAX	(1024 * 1024)

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
 * smr_loopback_usable() - can this QP's next message use the shortcut?
 * @qp: the caller owns its send task
 *
 * It can if the route ends at this host, the link has the shortcut enabled, and nothing is in
 * flight on the wire that the message could overtake.
 *
 * Return: true if it may.
 */
bool smr_loopback_usable(struct smr_qp *qp)
{
	bool local;

	if (!qp->env->loopback || smr_snd_in_flight(&qp->snd) ||
	    (qp->snd.wire && !smr_snd_is_fresh(&qp->snd)))
		return false;
	smr_snd_leave_wire(&qp->snd);
	return !smr_path_route(&qp->path, &local) && local;
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

/**
 * smr_loopback_dropped() - count and log that an operation may not access this QP
 * @qp: the QP
 * @local: the operation, in its inbox or about to be put there
 *
 * Does for an operation what rx_lookup() does for a packet. Nothing is logged if the requester
 * takes the operation back.
 *
 * Context: any.
 */
void smr_loopback_dropped(struct smr_qp *qp, const struct smr_local *local)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	const struct smr_ends *ends;
	const struct in6_addr *from;

	if (READ_ONCE(local->cancel))
		return;
	guard(rcu)();
	ends = rcu_dereference(local->src->ends);
	from = ends ? &ends->own : NULL;
	if (qp->service != local->src->service)
		smr_qp_drop(qp, DROP_SERVICE, SMR_CNT_DROPPED, from,
			    local->hdr.opcode, qp->ibqp.qp_type);
	else if (!smr_qp_receives(state))
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, from,
			    local->hdr.opcode, state);
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

/* Put the operation into the inbox of @peer. False: the inbox is in use, or @peer is dead. */
static bool inbox_put(struct smr_qp *peer, struct smr_local *local)
{
	struct smr_local *entry = marked(local, INBOX_NEW);

	/*
	 * The responder checks this again. This check keeps QPs that are not its peer out of
	 * the inbox.
	 */
	if (!peer_connected(local->src, peer)) {
		smr_loopback_dropped(peer, local);
		return false;
	}
	smr_qp_hold(peer);
	if (!cmpxchg(&peer->resp.inbox, NULL, entry)) {
		/* If @peer is dead, smr_loopback_flush() may have missed it. */
		if (!READ_ONCE(peer->dead) ||
		    cmpxchg(&peer->resp.inbox, entry, NULL) != entry)
			return true;
	}
	smr_qp_put(peer);
	return false;
}

/**
 * smr_loopback_hand() - hand a work request to the peer's responder
 * @qp: the requester's QP, for which smr_loopback_usable() is true
 * @wqe: the work request
 * @hdr: the headers that an ONLY packet would have
 * @npsn: number of its PSNs
 * @budget: budget for running the responder here
 *
 * Usually the responder has run, and has answered, when this returns. If there is no such peer,
 * or its inbox is in use, there is no answer, as if the packet was lost on the wire.
 *
 * Context: as @budget says; called by the send task. Disables BH.
 */
void smr_loopback_hand(struct smr_qp *qp, struct smr_swqe *wqe,
		       const struct smr_hdr *hdr, u32 npsn,
		       struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer;

	guard(smr_bh)();
	peer = smr_qp_find(qp->env->tab, hdr->qpn);
	local->src = qp;
	local->peer = peer;
	local->handle = peer ? peer->handle : NULL;
	local->wqe = wqe;
	local->hdr = *hdr;
	local->npsn = npsn;
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
			smr_qptab_stray(qp->env->tab, &hdr->bth, &qp->path.saddr, 1);
		answer_fill(local, SMR_LOCAL_DROPPED, 0, 0);
		answer_here(local);
	}
	if (peer)
		smr_qp_put(peer);
}

static bool inbox_claim(struct smr_qp *qp, struct smr_local *entry)
{
	struct smr_local *local = unmarked(entry);

	/* Do not read *local before this: the requester may take it back and free it. */
	if (cmpxchg(&qp->resp.inbox, entry, local) != entry)
		return false;
	/* The requester's QP cannot be freed while its operation is claimed. */
	smr_qp_hold(local->src);
	return true;
}

/**
 * smr_loopback_claim() - claim the operation in the inbox, if there is one
 * @qp: the responder's QP
 *
 * Context: any; called by the response task, or while it is paused.
 * Return: an operation, which the caller answers or parks, with a reference on the
 * requester's QP; NULL: there is none.
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
 * @answer: the kind of answer
 * @syndrome: of the reply
 * @psn: of the reply
 * @budget: budget for running the requester here
 *
 * Drops the references on both QPs.
 *
 * Context: as @budget says; called by the response task, which has claimed it, or while that is
 *	paused.
 */
void smr_loopback_answer(struct smr_qp *qp, struct smr_local *local,
			 enum smr_local_answer answer, u8 syndrome, u32 psn,
			 struct smr_budget *budget)
{
	struct smr_qp *src = local->src, *peer = local->peer;

	guard(smr_bh)();
	/* Pairs with inbox_put(): the responder no longer accesses the operation. */
	smp_store_release(&qp->resp.inbox, NULL);
	answer_fill(local, answer, syndrome, psn);
	if (budget->here == local) {
		answer_here(local);
	} else {
		local_give(local, SMR_LOCAL_ANSWERED);
		smr_task_run_foreign(&src->send_task, budget, NULL);
	}
	smr_qp_put(src);
	smr_qp_put(peer);
}

/**
 * smr_loopback_check() - may a local operation access this QP?
 * @qp: the caller owns its response task
 * @local: the operation
 *
 * Return: true if it may. Otherwise the reason is logged.
 */
bool smr_loopback_check(struct smr_qp *qp, const struct smr_local *local)
{
	if (!READ_ONCE(local->cancel) && smr_qp_receives(READ_ONCE(qp->state)) &&
	    peer_connected(local->src, qp))
		return true;
	smr_loopback_dropped(qp, local);
	return false;
}

/**
 * smr_loopback_park() - release the claim of an operation that has to wait
 * @qp: the caller owns its response task
 * @local: the operation, claimed
 *
 * The requester may take it back and be freed: its process must not wait for pages of another
 * process, nor for a workqueue. The caller must not access @local before claiming it again.
 */
void smr_loopback_park(struct smr_qp *qp, struct smr_local *local)
{
	struct smr_qp *src = local->src;

	/* Pairs with smr_loopback_retract(): the responder no longer accesses the operation. */
	smp_store_release(&qp->resp.inbox, marked(local, INBOX_PARKED));
	smp_mb(); /* the requester sees the mark, or this sees a waiter or @cancel */
	wake_up_var(&local->state);
	if (READ_ONCE(local->cancel))
		smr_task_defer(&src->send_task);
	smr_qp_put(src);
}

/* Get the peer, with a reference; or NULL if the operation was answered. */
static struct smr_qp *local_peer(struct smr_local *local)
{
	guard(rcu)();
	/*
	 * The operation holds a reference on the peer until it is answered. After that the peer
	 * may be freed at any time, and its handle after this read-side section. Pairs with
	 * local_give().
	 */
	if (smp_load_acquire(&local->state) == SMR_LOCAL_ANSWERED)
		return NULL;
	return smr_qp_get(local->handle);
}

/* Clear the inbox, unless the responder has claimed the operation. */
static bool inbox_take(struct smr_qp *peer, struct smr_local *local)
{
	struct smr_local *entry = READ_ONCE(peer->resp.inbox);

	return is_marked(entry) && unmarked(entry) == local &&
	       cmpxchg(&peer->resp.inbox, entry, NULL) == entry;
}

/**
 * smr_loopback_retract() - try to take back an operation
 * @qp: the requester's QP, which has handed over an operation
 *
 * This fails if the responder has claimed or answered it. @cancel is set in any case, and the
 * responder runs the send task when it parks.
 *
 * Context: any; called by the send task, or while it is paused.
 * Return: true if it was taken back.
 */
bool smr_loopback_retract(struct smr_qp *qp)
{
	struct smr_local *local = &qp->handed;
	struct smr_qp *peer;
	bool taken;

	guard(smr_bh)();
	WRITE_ONCE(local->cancel, true);
	/* Pairs with smr_loopback_park(): it sees @cancel, or this sees its mark. */
	smp_mb();
	peer = local_peer(local);
	if (!peer)
		return false;
	taken = inbox_take(peer, local);
	if (taken) {
		local->state = SMR_LOCAL_IDLE;
		/* The responder may have begun it, and postponed other work. */
		smr_task_defer(&peer->resp_task);
		/* the operation's reference */
		smr_qp_put(peer);
	}
	smr_qp_put(peer);
	return taken;
}

/**
 * smr_loopback_fault() - ask the requester to bring its pages in
 * @local: the operation, claimed; the caller parks it afterwards
 * @budget: budget for running the requester here
 *
 * The responder does not bring them in itself: a process can delay its own pages, and other
 * processes must not wait for that.
 *
 * Context: as @budget says; called by the response task.
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
	peer = smr_qp_find(qp->env->tab, local->hdr.qpn);
	if (!peer)
		return;
	if (cmpxchg(&local->state, SMR_LOCAL_FAULT, SMR_LOCAL_HANDED) ==
	    SMR_LOCAL_FAULT)
		smr_task_run_foreign(&peer->resp_task, budget, NULL);
	smr_qp_put(peer);
}

/**
 * smr_loopback_resume() - bring in pages for the responder, and run it again
 * @qp: the caller owns its send task
 * @up: its state is RTS or SQD
 * @budget: the budget
 *
 * Context: as @budget says.
 * Return: SMR_STEP_WAIT until the fault or the responder runs the task; SMR_STEP_DEFER or
 *	SMR_STEP_DONE.
 */
enum smr_step smr_loopback_resume(struct smr_qp *qp, bool up,
				  struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;
	enum smr_step step;
	int err = 0;

	if (!up)
		return smr_loopback_retract(qp) ? SMR_STEP_DONE : SMR_STEP_WAIT;
	step = local_fault(qp, budget, &err);
	if (step == SMR_STEP_WAIT || step == SMR_STEP_DEFER)
		return step;
	local->err = err;
	local_resume(qp, budget);
	/* Pairs with local_give(). */
	return smp_load_acquire(&local->state) == SMR_LOCAL_FAULT ?
	       SMR_STEP_WAIT : SMR_STEP_DONE;
}

/* Is no operation of the requester with a peer? */
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
 * smr_loopback_flush() - end a paused QP's operations, in both directions
 * @qp: the QP, paused or dead
 *
 * First answer the operation in its inbox, then wait for its own operation. In the other order,
 * two QPs that are flushed at the same time would deadlock.
 *
 * Context: process, may sleep.
 */
void smr_loopback_flush(struct smr_qp *qp)
{
	struct smr_budget budget = { .left = SMR_BUDGET_SOFTIRQ };
	struct smr_local *local;

	/* Pairs with inbox_put(): it sees @dead, or this sees its operation. */
	smp_mb();
	scoped_guard(smr_bh) {
		local = smr_loopback_claim(qp);
		if (local)
			smr_loopback_answer(qp, local, SMR_LOCAL_DROPPED, 0, 0,
					    &budget);
	}
	wait_var_event(&qp->handed.state, handed_back(qp));
	qp->handed.state = SMR_LOCAL_IDLE;
}
