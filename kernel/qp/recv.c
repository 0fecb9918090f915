// SPDX-License-Identifier: GPL-2.0
/*
 * Take, fill and complete receive work requests, from the QP's own queue or an SRQ. Runs in the
 * response task.
 */
#include "qp/recv.h"

#include "qp/core.h"
#include "qp/cq.h"
#include "qp/paging.h"
#include "qp/srq.h"
#include "qp/xrc.h"
#include "stats.h"
#include "trace.h"
#include "why.h"

/* Take a request from the QP's own queue, or from its SRQ. */
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
 * XRC: an abandoned message may have left a receive work request of another SRQ in use.
 * Complete it as flushed to the consumer of that SRQ.
 */
static void recv_give_back(struct smr_qp *qp)
{
	struct smr_responder *resp = &qp->resp;

	if (resp->have_rwqe && smr_qp_is_xrc(qp) &&
	    resp->rwqe_srqn != resp->xsrq->srqn)
		smr_recv_fail(qp, IB_WC_WR_FLUSH_ERR, SMR_WHY_WR_FLUSHED);
}

static enum smr_resp_verdict take_verdict(int err)
{
	switch (err) {
	case 0:
		return SMR_RESP_OK;
	case -ENOENT:
		return SMR_RESP_RNR;
	case -EINVAL:
		return SMR_RESP_BAD_RECV;
	default:
		return SMR_RESP_BROKEN;
	}
}

/**
 * smr_recv_take() - take a receive work request into @qp->resp.rwqe
 * @qp: the caller owns its response task
 *
 * It is kept until it completes. A malformed one is also taken, so that it can be completed.
 *
 * Return: SMR_RESP_OK, SMR_RESP_RNR, SMR_RESP_BAD_RECV or SMR_RESP_BROKEN.
 */
enum smr_resp_verdict smr_recv_take(struct smr_qp *qp)
{
	int err;

	recv_give_back(qp);
	if (qp->resp.have_rwqe)
		return SMR_RESP_OK;
	err = recv_take(qp);
	if (err && err != -ENOENT)
		smr_qp_inc(qp, SMR_CNT_BAD_WQE);
	qp->resp.have_rwqe = !err || err == -EINVAL;
	return take_verdict(err);
}

/**
 * smr_recv_available() - would smr_recv_take() find something?
 * @qp: the caller owns its response task
 *
 * Return: true if there is one, valid or not.
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

static void post(struct smr_qp *qp, struct smr_cq *cq, struct smr_cqe *cqe,
		 bool solicited)
{
	if (unlikely(!smr_cq_post(cq, cqe, &qp->ibqp, solicited)))
		smr_qp_overrun(qp, cq, cqe);
}

/* XRC: complete to the CQ of the SRQ. If the SRQ was destroyed, so was its request. */
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
	trace_smr_recv_done(&qp->ibqp, cqe->wr_id, cqe->status,
			    cqe->byte_len);
	if (smr_qp_is_xrc(qp))
		recv_post_xrc(qp, cqe, solicited);
	else
		post(qp, qp->rcq, cqe, solicited);
}

/* Fill in the fields common to completions of all messages. */
static void recv_cqe(const struct smr_hdr *hdr, u32 len, struct smr_cqe *cqe)
{
	*cqe = (struct smr_cqe) {
		.status = IB_WC_SUCCESS,
		.opcode = hdr->op->class == SMR_CLASS_WRITE ?
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
 * smr_recv_done() - complete the receive work request in use with a message
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
 * smr_recv_done_ud() - complete the receive work request in use with a datagram
 * @qp: the caller owns its response task
 * @hdr: the datagram's headers
 * @len: bytes of the message, including the GRH
 * @from: its source
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
 * smr_recv_done_raw() - complete the receive work request in use with a frame
 * @qp: the caller owns its response task
 * @len: its length in bytes
 * @flow_tag: the tag of its steering rule
 */
void smr_recv_done_raw(struct smr_qp *qp, u32 len, u32 flow_tag)
{
	struct smr_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = len,
		.flow_tag = flow_tag,
	};

	recv_post(qp, &cqe, false);
}

/**
 * smr_recv_fail() - complete the receive work request in use with an error
 * @qp: the caller owns its response task
 * @status: the error
 * @why: its reason: enum smr_why_id
 */
void smr_recv_fail(struct smr_qp *qp, enum ib_wc_status status, u32 why)
{
	struct smr_cqe cqe = {
		.status = status,
		.opcode = IB_WC_RECV,
		.vendor_err = why,
	};

	smr_qp_inc(qp, SMR_CNT_RESP_ERROR);
	if (status == IB_WC_WR_FLUSH_ERR)
		smr_qp_inc(qp, SMR_CNT_RESP_FLUSH);
	else if (status == IB_WC_LOC_LEN_ERR)
		smr_qp_inc(qp, SMR_CNT_RESP_LENGTH);
	recv_post(qp, &cqe, true);
}

/* IBTA 10.2.9.2: keys are checked against the PD of an SRQ. */
static const struct smr_pd *recv_pd(const struct smr_qp *qp)
{
	const struct smr_srq *srq = smr_recv_srq(qp);

	return srq ? to_smr_pd(srq->ibsrq.pd) : qp->pd;
}

/**
 * smr_recv_open() - open a part of @qp->resp.rwqe in @qp->resp.sgl
 * @qp: the caller owns its response task
 * @skip: offset of the part in the list, in bytes
 * @len: bytes of the part
 *
 * Return: SMR_RESP_OK, and the caller must call smr_sgl_close(); or SMR_RESP_LOC_PROT.
 */
enum smr_resp_verdict smr_recv_open(struct smr_qp *qp, u64 skip, u64 len)
{
	struct smr_rwqe *rwqe = &qp->resp.rwqe;
	enum smr_key_verdict verdict;

	verdict = smr_sgl_open(&qp->resp.sgl, recv_pd(qp), qp->ibqp.qp_num,
			       IB_ACCESS_LOCAL_WRITE, rwqe->sge, rwqe->num_sge,
			       skip, len);
	smr_qp_key(qp, verdict);
	return verdict == SMR_KEY_OK ? SMR_RESP_OK : SMR_RESP_LOC_PROT;
}

/**
 * smr_recv_why() - why did @qp->resp.rwqe not open?
 * @qp: the caller owns its response task
 *
 * Return: the reason; its id is 0 if it would open now.
 */
struct smr_reason smr_recv_why(const struct smr_qp *qp)
{
	const struct smr_rwqe *rwqe = &qp->resp.rwqe;

	return smr_sgl_why(recv_pd(qp), qp->ibqp.qp_num, IB_ACCESS_LOCAL_WRITE,
			   rwqe->sge, rwqe->num_sge);
}

/**
 * smr_recv_place() - copy a message into the next receive work request
 * @qp: the receiver
 * @op: the message; its verdict is set on SMR_STEP_DONE
 * @len: bytes
 * @budget: the budget
 * @copy: writes @len bytes of @op into @qp->resp.sgl; as smr_sgl_write()
 *
 * Context: as @budget says; called by the response task.
 * Return: SMR_STEP_DONE if it is copied, or refused; otherwise call again.
 */
enum smr_step smr_recv_place(struct smr_qp *qp, struct smr_op *op, u64 len,
			     struct smr_budget *budget,
			     int (*copy)(struct smr_qp *qp, const struct smr_op *op))
{
	enum smr_step step = SMR_STEP_DONE;
	int err;

	op->verdict = smr_recv_take(qp);
	if (op->verdict == SMR_RESP_OK && len > qp->resp.rwqe.len)
		op->verdict = SMR_RESP_TOO_LONG;
	if (op->verdict == SMR_RESP_OK)
		op->verdict = smr_recv_open(qp, 0, len);
	if (op->verdict != SMR_RESP_OK)
		return step;
	err = copy(qp, op);
	if (err == SMR_PAGE_MISSING)
		step = smr_paging_fault(&qp->resp.paging, budget, &qp->resp.sgl, true, &err);
	smr_sgl_close(&qp->resp.sgl);
	if (step == SMR_STEP_DONE && err)
		op->verdict = smr_fault_verdict(err, SMR_RESP_LOC_PROT);
	return step;
}
