// SPDX-License-Identifier: GPL-2.0
#include "qp/recv.h"

#include "qp/core.h"
#include "qp/cq.h"
#include "qp/local_wr.h"
#include "qp/loopback.h"
#include "qp/opcode.h"
#include "qp/sq.h"
#include "qp/srq.h"
#include "qp/xrc.h"
#include "stats.h"
#include "trace.h"

/* A completion that its CQ has no room for is lost: nothing more may come. */
static void post(struct smr_qp *qp, struct smr_cq *cq, struct smr_cqe *cqe,
		 bool solicited)
{
	if (likely(smr_cq_post_qp(cq, cqe, &qp->ibqp, solicited)))
		return;
	smr_stat_inc(qp->env->stats, SMR_CNT_CQ_OVERRUN);
	if (READ_ONCE(qp->state) != IB_QPS_ERR) {
		smr_qp_event(qp, IB_EVENT_QP_FATAL);
		smr_qp_error(qp);
	}
}

static void send_post(struct smr_qp *qp, const struct smr_swqe *wqe,
		      enum ib_wc_status status)
{
	const struct smr_wr_info *wr = smr_wr_info(qp->ibqp.qp_type,
						   wqe->opcode);
	struct smr_cqe cqe = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = wr ? wr->wc : IB_WC_SEND,
		.byte_len = status ? 0 : wqe->len,
		.qp_num = qp->ibqp.qp_num,
	};

	trace_smr_send_done(cqe.qp_num, cqe.wr_id, status, cqe.byte_len);
	post(qp, qp->scq, &cqe, status != IB_WC_SUCCESS);
}

/*
 * The oldest work request is over: its slot is the consumer's again, who must
 * know that before the completion. The kernel's copy lasts until the next
 * smr_sq_fetch().
 */
static void send_pop(struct smr_qp *qp)
{
	struct smr_sq *sq = &qp->sq;

	sq->head++;
	if ((int)(sq->next - sq->head) < 0)
		sq->next = sq->head;
	/* The copy is not needed any more: the consumer may reuse the slot. */
	smp_store_release(&sq->ring.hdr->cons, sq->head);
}

/**
 * smr_send_retire() - the oldest send work request has succeeded
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_send_retire(struct smr_qp *qp)
{
	struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	send_pop(qp);
	if (qp->sig_all || wqe->send_flags & IB_SEND_SIGNALED)
		send_post(qp, wqe, IB_WC_SUCCESS);
}

/**
 * smr_send_fail() - the oldest send work request has failed
 * @qp: the QP
 * @status: how
 *
 * IBTA 10.3.1: it stops the QP, or its send queue; what follows is flushed.
 *
 * Context: any; called by the send task.
 */
void smr_send_fail(struct smr_qp *qp, enum ib_wc_status status)
{
	const struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	send_pop(qp);
	/* Who sees the completion finds the QP in the state that it leads to. */
	smr_qp_send_error(qp);
	send_post(qp, wqe, status);
	/* In this order, or a receive that is flushed could come before it. */
	smr_qp_flush(qp);
}

/**
 * smr_nak_status() - how the work request completes that a NAK is the end of
 * @syndrome: the NAK's; IBTA table 46, "NAK codes"
 *
 * Context: any.
 * Return: the status.
 */
enum ib_wc_status smr_nak_status(u8 syndrome)
{
	switch (syndrome & SMR_AETH_VALUE_MASK) {
	case SMR_NAK_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case SMR_NAK_REM_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case SMR_NAK_REM_OP:
		return IB_WC_REM_OP_ERR;
	default:
		return IB_WC_BAD_RESP_ERR;
	}
}

/**
 * smr_send_flush() - complete what is in the send queue of a QP in error
 * @qp: the QP
 * @run: how it may run
 *
 * An operation that a peer on this host works on comes back first.
 *
 * Context: as @run says; called by the send task.
 * Return: SMR_TASK_MORE when it has completed one.
 */
enum smr_task_verdict smr_send_flush(struct smr_qp *qp, struct smr_run *run)
{
	struct smr_sq *sq = &qp->sq;
	const struct smr_swqe *wqe;

	if (qp->handed.state != SMR_LOCAL_IDLE && !smr_loopback_retract(qp))
		return SMR_TASK_IDLE;
	if (sq->head == sq->ring.idx && !smr_sq_fetch(qp))
		return SMR_TASK_IDLE;
	smr_local_wr_undo(qp);
	wqe = smr_sq_wqe(sq, sq->head);
	send_pop(qp);
	send_post(qp, wqe, IB_WC_WR_FLUSH_ERR);
	run->quota -= SMR_COST_PACKET;
	return SMR_TASK_MORE;
}

/**
 * smr_send_flush_all() - complete what was in a send queue when its QP failed
 * @qp: the QP, paused, on its way from SQE to RTS
 *
 * What is posted from now on is to be sent.
 *
 * Context: process.
 */
void smr_send_flush_all(struct smr_qp *qp)
{
	struct smr_run run = { .can_sleep = true };
	u32 n;

	for (n = 0; n < qp->sq.ring.depth; n++)
		if (smr_send_flush(qp, &run) == SMR_TASK_IDLE)
			return;
}

/* From the QP's own queue, or from the one that it shares. */
static int recv_take(struct smr_qp *qp)
{
	struct smr_rwqe *rwqe = &qp->resp.rwqe;
	struct smr_srq *srq = smr_recv_srq(qp);

	if (!srq)
		return smr_rq_take(&qp->rq, rwqe);
	qp->resp.rwqe_srqn = srq->srqn;
	return smr_srq_take(srq, rwqe);
}

/*
 * XRC: a message that its sender gave up may have left one of another queue
 * behind, whose consumer gets it back: nothing was received in it.
 */
static void recv_give_back(struct smr_qp *qp)
{
	struct smr_responder *resp = &qp->resp;

	if (resp->have_rwqe && smr_qp_is_xrc(qp) &&
	    resp->rwqe_srqn != resp->xsrq->srqn)
		smr_recv_fail(qp, IB_WC_WR_FLUSH_ERR);
}

/**
 * smr_recv_take() - have a receive work request in @qp->resp.rwqe
 * @qp: the QP
 *
 * Context: any; called by the response task.
 * Return: 0; -ENOENT: there is none; -EINVAL: it is malformed, and is in
 *	@qp->resp.rwqe to be completed; -EIO: the ring is broken.
 */
int smr_recv_take(struct smr_qp *qp)
{
	int err;

	recv_give_back(qp);
	if (qp->resp.have_rwqe)
		return 0;
	err = recv_take(qp);
	if (err && err != -ENOENT)
		smr_stat_inc(qp->env->stats, SMR_CNT_BAD_WQE);
	qp->resp.have_rwqe = !err || err == -EINVAL;
	return err;
}

/**
 * smr_recv_available() - would smr_recv_take() find something?
 * @qp: the QP
 *
 * Context: any; called by the response task.
 * Return: true when there is one, good or not.
 */
bool smr_recv_available(const struct smr_qp *qp)
{
	const struct smr_rq *rq = &qp->rq;
	struct smr_srq *srq = smr_recv_srq(qp);

	if (qp->resp.have_rwqe)
		return true;
	if (srq)
		return smr_srq_available(srq);
	return rq->max_wr && READ_ONCE(rq->ring.hdr->prod) != rq->ring.idx;
}

/* A queue that is gone has taken its requests with it. */
static void recv_post_xrc(struct smr_qp *qp, struct smr_cqe *cqe,
			  bool solicited)
{
	struct smr_srq *srq = smr_srq_find(qp->env->srqs, qp->resp.rwqe_srqn,
					   qp->ibqp.xrcd);

	if (!srq)
		return;
	post(qp, srq->cq, cqe, solicited);
	smr_srq_put(srq);
}

static void recv_post(struct smr_qp *qp, struct smr_cqe *cqe, bool solicited)
{
	cqe->wr_id = qp->resp.rwqe.wr_id;
	cqe->qp_num = qp->ibqp.qp_num;
	qp->resp.have_rwqe = false;
	trace_smr_recv_done(cqe->qp_num, cqe->wr_id, cqe->status,
			    cqe->byte_len);
	if (smr_qp_is_xrc(qp))
		recv_post_xrc(qp, cqe, solicited);
	else
		post(qp, qp->rcq, cqe, solicited);
}

/* What each message's completion has. */
static void recv_cqe(const struct smr_hdr *hdr, u32 len, struct smr_cqe *cqe)
{
	*cqe = (struct smr_cqe) {
		.status = IB_WC_SUCCESS,
		.opcode = hdr->op->flags & SMR_OP_WRITE ?
			  IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len = len,
	};
	if (hdr->op->flags & SMR_OP_IMM) {
		cqe->wc_flags |= SMR_WC_WITH_IMM;
		cqe->imm_or_rkey = (__force u32)hdr->imm;
	} else if (hdr->op->flags & SMR_OP_IETH) {
		cqe->wc_flags |= SMR_WC_WITH_INV;
		cqe->imm_or_rkey = hdr->inv_rkey;
	}
}

/**
 * smr_recv_done() - a message has arrived in the receive work request in use
 * @qp: the QP, a connected one
 * @hdr: the headers of the message's last packet
 * @len: bytes of the message
 *
 * Context: any; called by the response task.
 */
void smr_recv_done(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len)
{
	struct smr_cqe cqe;

	recv_cqe(hdr, len, &cqe);
	cqe.src_qp = qp->attr.dest_qp_num;
	recv_post(qp, &cqe, hdr->solicited);
}

/**
 * smr_recv_done_ud() - a datagram has arrived in the receive work request in
 *	use
 * @qp: the QP
 * @hdr: the datagram's headers
 * @len: bytes of the message, GRH included
 * @from: where it is from
 *
 * Context: any; called by the response task.
 */
void smr_recv_done_ud(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len,
		      const struct smr_recv_from *from)
{
	struct smr_cqe cqe;

	recv_cqe(hdr, len, &cqe);
	cqe.src_qp = hdr->src_qpn;
	cqe.wc_flags |= SMR_WC_GRH;
	cqe.sl = SMR_WC_SL_IPV6;
	if (from->v4) {
		cqe.sl = SMR_WC_SL_IPV4;
		cqe.wc_flags |= SMR_WC_FROM_IPV4;
	}
	if (from->vlan_id != SMR_NO_VLAN) {
		cqe.wc_flags |= SMR_WC_FROM_VLAN;
		cqe.vlan_id = from->vlan_id;
	}
	recv_post(qp, &cqe, hdr->solicited);
}

/**
 * smr_recv_done_raw() - a frame has arrived in the receive work request in use
 * @qp: the QP
 * @len: its bytes
 *
 * Context: any; called by the response task.
 */
void smr_recv_done_raw(struct smr_qp *qp, u32 len)
{
	struct smr_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = len,
	};

	recv_post(qp, &cqe, false);
}

/**
 * smr_recv_fail() - the receive work request in use has failed
 * @qp: the QP
 * @status: how
 *
 * Context: any; called by the response task.
 */
void smr_recv_fail(struct smr_qp *qp, enum ib_wc_status status)
{
	struct smr_cqe cqe = {
		.status = status,
		.opcode = IB_WC_RECV,
	};

	recv_post(qp, &cqe, true);
}

/* IBTA 10.9.2.2.5: nothing more is taken from the shared queue. */
static void recv_last(struct smr_qp *qp)
{
	if (qp->resp.last_wqe)
		return;
	qp->resp.last_wqe = true;
	smr_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/**
 * smr_recv_flush() - complete what is in the receive queue of a QP in error
 * @qp: the QP
 * @run: how it may run
 *
 * What is posted from now on is to be flushed too, so its doorbell is asked
 * for before the queue is looked at.
 *
 * Context: as @run says; called by the response task.
 * Return: SMR_TASK_MORE when it has completed one.
 */
enum smr_task_verdict smr_recv_flush(struct smr_qp *qp, struct smr_run *run)
{
	if (qp->resp.have_rwqe) {
		smr_recv_fail(qp, IB_WC_WR_FLUSH_ERR);
		run->quota -= SMR_COST_PACKET;
		return SMR_TASK_MORE;
	}
	if (qp->srq || qp->ibqp.qp_type == IB_QPT_XRC_TGT) {
		recv_last(qp);
		return SMR_TASK_IDLE;
	}
	if (!qp->rq.max_wr)
		return SMR_TASK_IDLE;
	smr_ring_set_flags(&qp->rq.ring, SMR_RING_NEED_DOORBELL);
	smr_recv_take(qp);
	return qp->resp.have_rwqe ? SMR_TASK_MORE : SMR_TASK_IDLE;
}
