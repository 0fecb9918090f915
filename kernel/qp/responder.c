// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: each step of the response task parses, checks, executes and answers one
 * request, or a part of one.
 */
#include "qp/responder.h"

#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/local_wr.h"
#include "qp/loopback.h"
#include "qp/paging.h"
#include "qp/recv.h"
#include "qp/resp_check.h"
#include "qp/resp_class.h"
#include "qp/resp_read.h"
#include "qp/resp_reply.h"
#include "qp/rx_queue.h"
#include "qp/rx_train.h"
#include "qp/ud.h"
#include "qp/xrc.h"
#include "stats.h"
#include "trace.h"
#include "why.h"

/* Maximum number of packets that one ACK acknowledges. */
#define ACK_COALESCE	64

void smr_responder_init(struct smr_qp *qp)
{
	skb_queue_head_init(&qp->resp.queue);
}

/*
 * Replace the entries for duplicates of READs and atomics. @res: @nr entries, zeroed; consumed with
 * kvfree(). The newest entries are kept. In SQD only the send queue is drained: the peer may repeat
 * an atomic whose answer was lost.
 */
void smr_responder_resize(struct smr_qp *qp, struct smr_rd_res *res, u32 nr)
{
	struct smr_responder *resp = &qp->resp;
	u32 i, kept = min(nr, resp->nr_res);

	for (i = 1; i <= kept; i++)
		res[kept - i] = resp->res[(resp->res_next + resp->nr_res - i) %
					  resp->nr_res];
	kvfree(resp->res);
	resp->res = res;
	resp->nr_res = nr;
	resp->res_next = nr ? kept % nr : 0;
}

/* Return a responder to its initial state. */
void smr_responder_reset(struct smr_qp *qp)
{
	struct smr_responder *resp = &qp->resp;

	skb_queue_purge(&resp->queue);
	if (qp->rq.max_wr)
		smr_ring_reset(&qp->rq.ring);
	smr_responder_resize(qp, NULL, 0);
	resp->seg = 0;
	resp->epsn = 0;
	resp->msn = 0;
	resp->acks = 0;
	resp->unasked = false;
	resp->nak_due = false;
	resp->nak_sent = false;
	resp->established = false;
	resp->in_message = false;
	resp->have_rwqe = false;
	resp->last_wqe = false;
	resp->received = 0;
	resp->flushed = 0;
	resp->executed = false;
	resp->read.active = false;
	resp->refused = (struct smr_refused) {};
}

/*
 * Set the first expected PSN. @qp: the QP, paused, in a transition to RTR. Queued packets belong to
 * the previous connection: a softirq may have accepted a packet just before the QP was reset, and
 * queued it after that.
 */
void smr_responder_start(struct smr_qp *qp, u32 psn)
{
	skb_queue_purge(&qp->resp.queue);
	qp->resp.epsn = psn;
}

void smr_responder_fini(struct smr_qp *qp)
{
	skb_queue_purge(&qp->resp.queue);
	smr_responder_resize(qp, NULL, 0);
}

/* Remove the request from the queue, whether it was executed or not. */
static void op_done(struct smr_qp *qp, const struct smr_op *op)
{
	struct smr_responder *resp = &qp->resp;

	if (op->local)
		return;
	resp->executed = false;
	resp->seg += op->count;
	if (resp->seg < smr_rx_part(op->skb)->count)
		return;
	resp->seg = 0;
	smr_rx_done(&resp->queue, op->skb);
}

/*
 * Acknowledge executed requests, and send a pending NAK. The task may have been stopped between the
 * completion of a request and its ACK, which a later request may ask for. A consumer that has seen
 * the completion may destroy the QP, and the peer would retry in vain.
 */
void smr_responder_ack_executed(struct smr_qp *qp)
{
	if (smr_reply_nak_flush(qp))
		smr_reply_unasked_flush(qp);
}

static void op_answer(struct smr_qp *qp, const struct smr_op *op,
		      enum smr_local_answer answer, u8 syndrome,
		      struct smr_budget *budget)
{
	if (!op->local)
		return;
	smr_loopback_answer(qp, op->local, answer, syndrome, op->hdr->psn, budget);
}

/* A request was executed: expect the next PSN. */
static void op_advance(struct smr_qp *qp, const struct smr_op *op)
{
	struct smr_responder *resp = &qp->resp;
	u32 flags = op->hdr->op->flags;

	resp->epsn = smr_psn_add(op->hdr->psn, op->npsn);
	resp->nak_sent = false;
	if (op->hdr->op->class == SMR_CLASS_WRITE && !(flags & SMR_OP_LAST)) {
		if (flags & SMR_OP_FIRST) {
			resp->va = op->hdr->va;
			resp->rkey = op->hdr->rkey;
			resp->left = op->hdr->dma_len;
		}
		resp->va += op->hdr->len;
		resp->left -= op->hdr->len;
	}
	resp->srqn = op->hdr->srqn;
	resp->in_message = !(flags & SMR_OP_LAST);
	resp->in_class = op->hdr->op->class;
	if (!resp->in_message)
		resp->msn = (resp->msn + 1) & SMR_PSN_MASK;
}

/* Packets of a message are executed one by one; the message is counted with the last. */
static void op_tally(struct smr_qp *qp, const struct smr_op *op)
{
	struct smr_served *served = &qp->resp.served;

	if (!qp->resp.in_message)
		smr_tally(&served->messages, 1);
	smr_tally(&served->bytes, op->hdr->op->class == SMR_CLASS_READ ?
				  op->hdr->dma_len : op->hdr->len);
}

/* IBTA 9.8.2.2: on UC the rest of the message is dropped. */
static void op_abandon(struct smr_qp *qp, const struct smr_op *op)
{
	qp->resp.epsn = smr_psn_add(op->hdr->psn, op->npsn);
	qp->resp.in_message = false;
}

/* Drop reasons for dropwatch. softmr cannot add reasons: the kernel defines the subsystems. */
static const u16 verdict_drops[SMR_RESP_NR] = {
	[SMR_RESP_DROP] = SKB_DROP_REASON_NOT_SPECIFIED,
	[SMR_RESP_GAP] = SKB_DROP_REASON_TCP_INVALID_SEQUENCE,
	[SMR_RESP_FAR] = SKB_DROP_REASON_TCP_INVALID_SEQUENCE,
	[SMR_RESP_RNR] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[SMR_RESP_INV_REQ] = SKB_DROP_REASON_INVALID_PROTO,
	[SMR_RESP_ACCESS] = SKB_DROP_REASON_SKB_UCOPY_FAULT,
	[SMR_RESP_IMM_ACCESS] = SKB_DROP_REASON_SKB_UCOPY_FAULT,
	[SMR_RESP_LOC_PROT] = SKB_DROP_REASON_SKB_UCOPY_FAULT,
	[SMR_RESP_TOO_LONG] = SKB_DROP_REASON_PKT_TOO_BIG,
	[SMR_RESP_BAD_RECV] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[SMR_RESP_BROKEN] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[SMR_RESP_NO_MEMORY] = SKB_DROP_REASON_NOMEM,
};

/*
 * Log a refusal that the peer will not retry. If the QP goes on, there may be many of them.
 * Return: its reason, or 0.
 */
static noinline u32 op_note(const struct smr_qp *qp, const struct smr_op *op,
			    const struct smr_reaction *r)
{
	const struct smr_responder *resp = &qp->resp;
	struct smr_reason why = smr_resp_why(qp, op);

	if (why.id && (r->fatal || smr_why_may_add(qp->whys, why.id)))
		smr_qp_refused(qp, why, r->recv ?: r->shared,
			       resp->have_rwqe ? resp->rwqe.wr_id : 0,
			       op->hdr->opcode, op->hdr->psn);
	return why.id;
}

/* React to a refused request as the table says. */
static void op_refuse(struct smr_qp *qp, const struct smr_op *op,
		      struct smr_budget *budget)
{
	const struct smr_reaction *r = smr_reaction(qp, op->verdict);
	u32 why = op_note(qp, op, r);

	if (op->skb)
		smr_rx_part(op->skb)->reason = verdict_drops[op->verdict];
	if (qp->service == SMR_TRANSPORT_UC)
		op_abandon(qp, op);
	if (r->fatal)
		smr_reply_fatal(qp, r, why);
	else if (r->shared && qp->srq && qp->resp.have_rwqe)
		smr_recv_fail(qp, r->shared, why);
	if (r->nak)
		smr_reply_nak(qp, op, r->syndrome, budget);
	else
		op_answer(qp, op, op->verdict == SMR_RESP_PEER_PROT ?
				  SMR_LOCAL_FAILED : SMR_LOCAL_DROPPED,
			  0, budget);
}

/* A request was executed: advance the PSN, and note that an ACK is due if requested. */
static void op_executed(struct smr_qp *qp, const struct smr_op *op,
			struct smr_budget *budget)
{
	struct smr_responder *resp = &qp->resp;

	op_advance(qp, op);
	op_tally(qp, op);
	if (op->local) {
		op_answer(qp, op, SMR_LOCAL_REPLY,
			  SMR_AETH_ACK | SMR_AETH_CREDIT_INVALID, budget);
		return;
	}
	if (resp->read.active) {
		/* its response acknowledges them */
		resp->acks = 0;
		resp->unasked = false;
	} else if (smr_qp_is_reliable(qp)) {
		if (op->hdr->ack_req || resp->acks)
			resp->acks += op->count;
		else if (op->hdr->op->flags & SMR_OP_LAST)
			resp->unasked = true;
	}
}

/* IBTA 9.7.4.1.1: a repeated request; its answer may have been lost. */
static void op_duplicate(struct smr_qp *qp, const struct smr_op *op,
			 struct smr_budget *budget)
{
	const struct smr_resp_class *class = smr_resp_class(op->hdr);

	smr_qp_inc(qp, SMR_CNT_DUPLICATES);
	if (op->local)
		op_answer(qp, op, SMR_LOCAL_DROPPED, 0, budget);
	else if (class->repeat)
		class->repeat(qp, op->hdr);
	else
		qp->resp.acks++;
}

static enum smr_step op_try(struct smr_qp *qp, struct smr_op *op,
			    struct smr_budget *budget)
{
	if (qp->service == SMR_TRANSPORT_UD)
		return smr_ud_receive(qp, op, budget);
	op->verdict = smr_resp_check(qp, op);
	return op->verdict == SMR_RESP_OK ? smr_resp_exec(qp, op, budget) : SMR_STEP_DONE;
}

/* IBTA 11.6.3.1 */
static void op_established(struct smr_qp *qp)
{
	if (qp->resp.established || READ_ONCE(qp->state) != IB_QPS_RTR ||
	    qp->service == SMR_TRANSPORT_UD)
		return;
	qp->resp.established = true;
	smr_qp_event(qp, IB_EVENT_COMM_EST);
}

/* Does the table of reactions apply? */
static bool is_refused(const struct smr_op *op)
{
	return op->verdict != SMR_RESP_OK && op->verdict != SMR_RESP_DUPLICATE;
}

/* The peer sends the request again on RC only. */
static void __cold op_not_ready(struct smr_qp *qp, const struct smr_op *op)
{
	if (smr_qp_is_reliable(qp))
		smr_qp_drop(qp, DROP_NOT_READY, SMR_CNT_RNR_TX, NULL,
			    op->hdr->opcode);
	else
		smr_qp_drop(qp, DROP_NO_RECV, SMR_CNT_NO_RECV, NULL,
			    op->hdr->len);
}

/* smr_show_outcome() in trace.h names each of them. */
static_assert(SMR_RESP_NR == 15 && SMR_STEP_PEER == 4);

static void op_trace(const struct smr_qp *qp, const struct smr_op *op,
		     enum smr_step step)
{
	const struct smr_hdr *hdr = op->hdr;
	bool has_key = hdr->op->flags & (SMR_OP_RETH | SMR_OP_ATOMIC);

	trace_smr_request(&qp->ibqp, hdr->opcode, hdr->psn, hdr->len, op->local,
			  step, step == SMR_STEP_DONE ? op->verdict : 0, has_key ? hdr->rkey : 0,
			  has_key ? hdr->va : 0);
}

/* The request is not done: it is tried again. */
static enum smr_step op_pending(struct smr_qp *qp, const struct smr_op *op,
				enum smr_step step, struct smr_budget *budget)
{
	/* Do not wait with ACKs: the request that asks for them may be queued behind this one. */
	if (step == SMR_STEP_WAIT)
		smr_reply_unasked_flush(qp);
	if (step == SMR_STEP_PEER) {
		smr_loopback_fault(op->local, budget);
		step = SMR_STEP_WAIT;
	}
	return step;
}

/* React to the verdict. */
static void op_react(struct smr_qp *qp, const struct smr_op *op, struct smr_budget *budget)
{
	switch (op->verdict) {
	case SMR_RESP_OK:
		op_established(qp);
		op_executed(qp, op, budget);
		return;
	case SMR_RESP_DUPLICATE:
		op_duplicate(qp, op, budget);
		return;
	case SMR_RESP_GAP:
		smr_qp_drop(qp, DROP_GAP, SMR_CNT_OUT_OF_SEQ, NULL, op->hdr->psn,
			    qp->resp.epsn);
		break;
	case SMR_RESP_RNR:
		op_not_ready(qp, op);
		break;
	case SMR_RESP_FAR:
		smr_qp_drop(qp, DROP_PSN, SMR_CNT_BAD_PSN, NULL, op->hdr->psn,
			    qp->resp.epsn);
		break;
	default:
		break;
	}
	op_refuse(qp, op, budget);
}

static enum smr_step op_step(struct smr_qp *qp, struct smr_op *op,
			     struct smr_budget *budget)
{
	enum smr_step step = op_try(qp, op, budget);

	if (step == SMR_STEP_DONE && is_refused(op) && op->train &&
	    smr_rx_train_doubt(op->train, op->count))
		step = SMR_STEP_AGAIN;
	if (trace_smr_request_enabled())
		op_trace(qp, op, step);
	if (step != SMR_STEP_DONE)
		return op_pending(qp, op, step, budget);
	op_react(qp, op, budget);
	if (op->train)
		smr_ecn_look(qp, op->skb, op->hdr, op->count);
	op_done(qp, op);
	if (qp->resp.acks >= ACK_COALESCE)
		smr_reply_acks_flush(qp);
	return SMR_STEP_DONE;
}

/* Process one request, or a slice of one. */
static enum smr_step op_process(struct smr_qp *qp, struct smr_op *op,
				struct smr_budget *budget)
{
	enum smr_step step;

	/* smr_resp_check() checks the result, after the PSN. */
	smr_xrc_enter(qp, op->hdr->srqn);
	step = op_step(qp, op, budget);
	smr_xrc_leave(qp);
	return step;
}

/*
 * Is this the next packet of the message in progress, without an effect of its own? Then the QP's
 * state says where its payload belongs.
 */
static bool op_is_next(const struct smr_qp *qp, const struct smr_op *op)
{
	const struct smr_responder *resp = &qp->resp;
	u32 flags = op->hdr->op->flags;

	return !(flags & SMR_OP_FIRST) && op->hdr->op->hdr_len == SMR_BTH_LEN && op->hdr->len &&
	       resp->in_message && op->hdr->psn == resp->epsn &&
	       op->hdr->op->class == resp->in_class;
}

/* Parse the next packet. False: it is invalid, and is dropped. */
static bool op_parse(struct smr_qp *qp, struct smr_op *op, unsigned int seg,
		     struct smr_budget *budget)
{
	op->off = smr_rx_train_parse(qp, op->train, seg, false, op->hdr, budget);
	if (!op->off || !smr_rx_train_check(qp, op->train, op_is_next(qp, op), op->hdr))
		return false;
	op->npsn = 1;
	if (op->hdr->op->class == SMR_CLASS_READ)
		op->npsn = max_t(u32, 1, DIV_ROUND_UP((u64)op->hdr->dma_len,
						      qp->mtu));
	return true;
}

/*
 * The number of packets in the middle of a message that may follow this one without a separate
 * check. They leave a byte for the LAST. A packet beyond the end of the memory is excluded: it is
 * refused when it is the first.
 */
static u32 op_may_grow(const struct smr_qp *qp, const struct smr_op *op)
{
	const struct smr_responder *resp = &qp->resp;
	u32 flags = op->hdr->op->flags;
	u64 left;

	if (!(flags & SMR_OP_MIDDLE) || !resp->in_message ||
	    op->hdr->psn != resp->epsn || op->hdr->len != qp->mtu)
		return 0;
	if (op->hdr->op->class == SMR_CLASS_WRITE)
		left = resp->left;
	else
		left = resp->have_rwqe ? resp->rwqe.len - resp->received : 0;
	left = left ? (left - 1) / qp->mtu : 0;
	return left ? left - 1 : 0;
}

static enum smr_step respond_wire(struct smr_qp *qp, struct sk_buff *skb,
				  struct smr_budget *budget)
{
	unsigned int seg = smr_rx_part(skb)->first + qp->resp.seg;
	struct smr_rx_train train;
	struct smr_op op;

	/* op_parse() fills in the rest. */
	op.hdr = &qp->resp.hdr;
	op.skb = skb;
	op.train = &train;
	op.local = NULL;
	op.count = 1;
	smr_rx_train_init(&train, skb, &qp->resp.icrc_in);
	if (!op_parse(qp, &op, seg, budget)) {
		op_done(qp, &op);
		return SMR_STEP_DONE;
	}
	op.count = smr_rx_train_max(&train, op_may_grow(qp, &op), budget);
	op.npsn += op.count - 1;
	op.hdr->len += (op.count - 1) * qp->mtu;
	return op_process(qp, &op, budget);
}

/* A frame needs no answer, and has no headers to check. */
static enum smr_step respond_frame(struct smr_qp *qp, struct sk_buff *skb,
				   struct smr_budget *budget)
{
	struct smr_op op = { .hdr = &qp->resp.hdr, .skb = skb, .count = 1 };
	enum smr_step step;

	budget->left -= SMR_COST_PACKET;
	step = qp->env->frames->receive(qp, &op, budget);
	if (step != SMR_STEP_DONE)
		return step;
	if (op.verdict == SMR_RESP_OK) {
		smr_tally(&qp->resp.served.messages, 1);
		smr_tally(&qp->resp.served.bytes, skb->len);
	} else {
		op_refuse(qp, &op, budget);
	}
	op_done(qp, &op);
	return SMR_STEP_DONE;
}

static enum smr_step respond_local(struct smr_qp *qp, struct smr_local *local,
				   struct smr_budget *budget)
{
	struct smr_op op = {
		.hdr = local->hdr,
		.local = local,
		.npsn = local->npsn,
		.count = 1,
	};

	/* The requester is bringing in pages; pairs with its cmpxchg(). */
	if (smp_load_acquire(&local->state) != SMR_LOCAL_HANDED)
		return SMR_STEP_WAIT;
	budget->left -= SMR_COST_PACKET;
	if (!smr_loopback_check(qp, local)) {
		op_answer(qp, &op, SMR_LOCAL_DROPPED, 0, budget);
		return SMR_STEP_DONE;
	}
	return op_process(qp, &op, budget);
}

/* IBTA 10.9.2.2.5: this QP takes no more requests from the SRQ. */
static void recv_last(struct smr_qp *qp)
{
	if (qp->resp.last_wqe)
		return;
	qp->resp.last_wqe = true;
	smr_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * Flush the receive queue of a QP in error. Requests that are posted from now on are flushed,
 * too. So request a doorbell before looking at the queue.
 */
static enum smr_step recv_flush(struct smr_qp *qp, struct smr_budget *budget)
{
	if (qp->resp.have_rwqe) {
		smr_recv_fail(qp, IB_WC_WR_FLUSH_ERR, SMR_WHY_WR_FLUSHED);
		budget->left -= SMR_COST_PACKET;
		return SMR_STEP_DONE;
	}
	if (qp->srq || qp->ibqp.qp_type == IB_QPT_XRC_TGT) {
		recv_last(qp);
		return SMR_STEP_WAIT;
	}
	if (!qp->rq.max_wr)
		return SMR_STEP_WAIT;
	smr_ring_set_flags(&qp->rq.ring, SMR_RING_NEED_DOORBELL);
	smr_recv_take(qp);
	return qp->resp.have_rwqe ? SMR_STEP_DONE : SMR_STEP_WAIT;
}

/* The QP is not in a state that receives: drop all that is queued. */
static enum smr_step respond_down(struct smr_qp *qp, enum ib_qp_state state,
				  struct smr_local *local, struct smr_budget *budget)
{
	skb_queue_purge(&qp->resp.queue);
	qp->resp.seg = 0;
	if (state == IB_QPS_ERR)
		smr_reply_unasked_flush(qp);
	qp->resp.acks = 0;
	qp->resp.unasked = false;
	qp->resp.flushed = 0;
	qp->resp.executed = false;
	qp->resp.read.active = false;
	if (local) {
		smr_loopback_dropped(qp, local);
		smr_loopback_answer(qp, local, SMR_LOCAL_DROPPED, 0, 0, budget);
	}
	return state == IB_QPS_ERR ? recv_flush(qp, budget) : SMR_STEP_WAIT;
}

/*
 * Would another step find nothing to do? Later events, including a change of the QP's state,
 * run the task again.
 */
static bool is_idle(const struct smr_qp *qp, enum ib_qp_state state)
{
	const struct smr_responder *resp = &qp->resp;

	return skb_queue_empty_lockless(&resp->queue) && !resp->acks &&
	       !resp->nak_due && !resp->read.active &&
	       READ_ONCE(qp->state) == state;
}

/*
 * Take one step of answering requests. @qp: the caller owns its response task. Context: as @budget
 * says. Returns SMR_STEP_WAIT if there is nothing to do.
 */
enum smr_step smr_responder_run(struct smr_qp *qp, struct smr_budget *budget)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct smr_local *local = READ_ONCE(qp->resp.inbox);
	struct sk_buff *skb;
	enum smr_step step;

	if (unlikely(local && READ_ONCE(local->cancel))) {
		smr_loopback_answer(qp, local, SMR_LOCAL_DROPPED, 0, 0, budget);
		return SMR_STEP_DONE;
	}
	if (unlikely(qp->resp.inval.begun) &&
	    smr_inval_finish(qp, &qp->resp.inval))
		return SMR_STEP_WAIT;
	if (!smr_reply_nak_flush(qp))
		return SMR_STEP_WAIT;
	if (!smr_qp_receives(state))
		return respond_down(qp, state, local, budget);
	if (smr_paging_waits(&qp->resp.paging))
		return SMR_STEP_WAIT;
	if (qp->resp.read.active)
		return smr_resp_read(qp, budget);
	if (local) {
		step = respond_local(qp, local, budget);
		return step == SMR_STEP_DONE && is_idle(qp, state) ?
		       SMR_STEP_WAIT : step;
	}
	skb = smr_rx_peek(&qp->resp.queue);
	if (skb)
		return qp->service == SMR_TRANSPORT_RAW ?
		       respond_frame(qp, skb, budget) :
		       respond_wire(qp, skb, budget);
	smr_reply_acks_flush(qp);
	return SMR_STEP_WAIT;
}
