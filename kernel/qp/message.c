// SPDX-License-Identifier: GPL-2.0
#include "qp/message.h"

#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "net/train.h"
#include "qp/core.h"
#include "qp/early.h"
#include "qp/opcode.h"
#include "qp/outstanding.h"
#include "qp/packet.h"
#include "qp/payload.h"
#include "qp/sq.h"
#include "qp/window.h"
#include "sgl.h"
#include "stats.h"

/**
 * smr_message_may_begin() - may a work request that waits begin now?
 * @qp: the QP
 * @wqe: the next work request
 * @wr: what is known of its opcode
 *
 * IBTA 10.8.3.3 for the fence.
 *
 * Context: any; called by the send task.
 * Return: false: it waits for the QP's state, or for READs and atomics.
 */
bool smr_message_may_begin(struct smr_qp *qp, const struct smr_swqe *wqe,
			   const struct smr_wr_info *wr)
{
	u32 rd = smr_window_reads(qp);

	if (READ_ONCE(qp->state) != IB_QPS_RTS)
		return false;
	if (wqe->send_flags & IB_SEND_FENCE && rd)
		return false;
	/* Without any resources it starts, to be refused. */
	return !(wr->flags & SMR_WR_NONPOSTED) || !rd ||
	       rd < qp->attr.max_rd_atomic;
}

/**
 * smr_message_begin() - give a work request its PSNs, the next ones
 * @qp: the QP
 * @wqe: the work request, which knows how many it needs
 *
 * Context: any; called by the send task.
 */
void smr_message_begin(struct smr_qp *qp, struct smr_swqe *wqe)
{
	wqe->psn = qp->req.psn;
	wqe->state = SMR_SWQE_STARTED;
	smr_send_begin(qp, wqe, wqe->psn, wqe->npsn);
}

/**
 * smr_message_key() - a key of a work request's list does not open
 * @qp: the QP
 * @verdict: why; counted
 *
 * Context: any.
 * Return: the status of the work request.
 */
u8 smr_message_key(struct smr_qp *qp, enum smr_key_verdict verdict)
{
	smr_qp_key(qp, verdict);
	return IB_WC_LOC_PROT_ERR;
}

/* @n more PSNs are on their way. */
static void psn_sent(struct smr_qp *qp, u32 n)
{
	struct smr_requester *req = &qp->req;
	bool fresh = req->psn == req->max_psn;

	req->wire = true;
	req->psn = smr_psn_add(req->psn, n);
	if (smr_psn_diff(req->psn, req->max_psn) > 0)
		req->max_psn = req->psn;
	if (qp->service == SMR_TRANSPORT_UC) {
		qp->comp.una = req->psn;
		return;
	}
	smr_out_arm(qp);
	smr_early_sent(qp, smr_psn_add(req->psn, -1), fresh);
}

/* Fill in what distinguishes packet @i of a message. */
static void packet_hdr(struct smr_message *m, u32 i)
{
	const struct smr_wr_info *wr = m->wr;
	bool last = i + 1 == m->wqe->npsn;
	struct smr_hdr *hdr = &m->hdr;

	if (m->wqe->npsn == 1)
		smr_req_hdr_opcode(m->qp, hdr, wr->only);
	else if (!i)
		smr_req_hdr_opcode(m->qp, hdr, wr->first);
	else
		smr_req_hdr_opcode(m->qp, hdr, last ? wr->last : wr->middle);
	hdr->psn = smr_psn_add(m->wqe->psn, i);
	hdr->len = last ? m->wqe->len - i * m->qp->mtu : m->qp->mtu;
	hdr->pad = -hdr->len & 3;
	hdr->solicited = last && m->wqe->send_flags & IB_SEND_SOLICITED;
	hdr->ack_req = i + 1 == m->end &&
		       m->qp->service != SMR_TRANSPORT_UC;
}

/* How many packets, from packet @i on, have its headers? The last one asks for an answer. */
static u32 packets_alike(const struct smr_message *m, u32 i)
{
	u32 last = m->end - 1;

	return m->hdr.op->flags & SMR_OP_MIDDLE && i < last ? last - i : 1;
}

/*
 * Send a train. GSO needs packets of equal length; only the last may be shorter.
 * A FIRST with its RETH is longer, and travels alone.
 */
static int train_send(struct smr_message *m, u32 *sent)
{
	struct smr_qp *qp = m->qp;
	struct smr_train train;
	u32 i = m->first, end, n;
	int ret;

	packet_hdr(m, i);
	n = m->hdr.op->flags & SMR_OP_RETH ? 1 : m->end - i;
	ret = smr_train_begin(&train, &qp->path, &qp->waiter, n,
			      smr_packet_len(&m->hdr));
	if (ret)
		return ret;
	for (end = i + n; i < end; i += ret) {
		packet_hdr(m, i);
		/* A LAST with immediate data may be longer than a MIDDLE. */
		if (smr_packet_len(&m->hdr) > train.seg_len)
			break;
		ret = smr_packet_append(&train, &m->hdr, packets_alike(m, i),
					&qp->req.sgl);
		if (ret <= 0)
			break;
	}
	if (ret < 0) {
		smr_train_abort(&train);
		return ret;
	}
	*sent = i - m->first;
	smr_qp_add(qp, SMR_CNT_TX_PACKETS, *sent);
	smr_qp_add(qp, SMR_CNT_TX_BYTES, train.len);
	return smr_train_send(&train);
}

static enum smr_key_verdict message_open(struct smr_message *m)
{
	struct smr_sgl *sgl = &m->qp->req.sgl;
	struct smr_swqe *wqe = m->wqe;
	u64 skip = (u64)m->first * m->qp->mtu;

	if (wqe->send_flags & IB_SEND_INLINE) {
		smr_sgl_inline(sgl, wqe->data + skip, wqe->len - skip);
		return SMR_KEY_OK;
	}
	return smr_sgl_open(sgl, m->qp->pd, m->qp->ibqp.qp_num, 0, wqe->sge,
			    wqe->num_sge, skip,
			    (u64)(m->end - m->first) * m->qp->mtu);
}

/**
 * smr_message_sent() - handle the result of sending packets of a message
 * @m: the message
 * @run: how to run
 * @sent: how many PSNs the packets stand for
 * @err: 0, SMR_PAGE_MISSING, or an errno
 *
 * A work request with a local error completes when those before it have, see
 * wqe_refuse().
 *
 * Context: as @run says; called by the send task.
 * Return: the outcome of the step.
 */
enum smr_step smr_message_sent(struct smr_message *m, struct smr_run *run,
			       u32 sent, int err)
{
	struct smr_qp *qp = m->qp;

	if (err == SMR_PAGE_MISSING)
		return smr_payload_fault(&qp->req.paging, run, &qp->req.sgl,
					 false, &m->wqe->status);
	if (err == -EFAULT) {
		m->wqe->status = IB_WC_LOC_PROT_ERR;
		return SMR_STEP_DONE;
	}
	if (err == -EAGAIN) {
		smr_qp_inc(qp, SMR_CNT_BACKPRESSURE);
		return SMR_STEP_WAIT;
	}
	/* Without a route the packets are lost, as on the network. */
	if (err)
		sent = m->end - m->first;
	psn_sent(qp, sent);
	run->quota -= sent * (qp->mtu + SMR_COST_PACKET);
	return SMR_STEP_DONE;
}

/**
 * smr_message_send() - SEND and WRITE: send as much as fits the window and a train
 * @m: the message, of which @first is set
 * @run: how to run
 *
 * Context: as @run says; called by the send task.
 * Return: the outcome of the step.
 */
enum smr_step smr_message_send(struct smr_message *m, struct smr_run *run)
{
	struct smr_qp *qp = m->qp;
	enum smr_key_verdict verdict;
	enum smr_step ret;
	u32 sent = 0;
	int err;

	m->end = min3(m->wqe->npsn, m->first + smr_window_room(qp),
		      m->first + SMR_TRAIN_SEGS);
	verdict = message_open(m);
	if (verdict != SMR_KEY_OK) {
		m->wqe->status = smr_message_key(qp, verdict);
		return SMR_STEP_DONE;
	}
	err = train_send(m, &sent);
	ret = smr_message_sent(m, run, sent, err);
	smr_sgl_close(&qp->req.sgl);
	return ret;
}
