// SPDX-License-Identifier: GPL-2.0
/*
 * The sending half of the send task: each step sends the next packets of the send queue, or
 * repeats lost ones.
 */
#include "qp/requester.h"

#include <linux/minmax.h>

#include "net/train.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/local_wr.h"
#include "qp/loopback.h"
#include "qp/message.h"
#include "qp/opcode.h"
#include "qp/packet.h"
#include "qp/recovery.h"
#include "qp/sq.h"
#include "qp/ud.h"
#include "stats.h"
#include "trace.h"

/* Return a requester to its initial state. */
void smr_requester_reset(struct smr_qp *qp)
{
	if (qp->sq.max_wr)
		smr_ring_reset(&qp->sq.ring);
	qp->sq.head = 0;
	smr_snd_reset(&qp->snd);
	qp->req.refused = (struct smr_refused) {};
	qp->req.captures = 0;
	qp->req.diverted = false;
	smr_rd_req_reset(&qp->rd_req, qp->snd.psn);
	smr_cwnd_reset(&qp->cwnd, qp->snd.psn);
}

/*
 * Set the first PSN. @qp: the QP, paused, in a transition to RTS. As in smr_responder_start(),
 * queued packets belong to the previous connection.
 */
void smr_requester_start(struct smr_qp *qp, u32 psn)
{
	skb_queue_purge(&qp->comp.queue);
	smr_snd_start(&qp->snd, psn);
	smr_rd_req_reset(&qp->rd_req, qp->snd.psn);
	smr_cwnd_reset(&qp->cwnd, qp->snd.psn);
}

/*
 * Will the message be sent in one train? Then building the train opens the whole list, before
 * anything is sent.
 */
static bool wqe_opens_at_once(const struct smr_qp *qp,
			      const struct smr_swqe *wqe,
			      const struct smr_wr_info *wr, bool local)
{
	return !local && !(wr->flags & SMR_WR_NONPOSTED) &&
	       wqe->npsn <= smr_out_train(qp);
}

/* Find local errors before anything is sent. For a peer on this host, the list stays open. */
static u8 wqe_check(struct smr_qp *qp, struct smr_swqe *wqe,
		    const struct smr_wr_info *wr, bool local)
{
	int access = wr->flags & SMR_WR_FETCHES ? IB_ACCESS_LOCAL_WRITE : 0;
	struct smr_sgl *sgl = &qp->req.sgl;
	enum smr_key_verdict verdict;

	if (wr->flags & SMR_WR_NONPOSTED && !qp->attr.max_rd_atomic)
		return IB_WC_LOC_QP_OP_ERR;
	if (!wqe->num_sge || wqe_opens_at_once(qp, wqe, wr, local))
		return IB_WC_SUCCESS;
	verdict = smr_sgl_open(sgl, qp->pd, qp->ibqp.qp_num, access, wqe->sge,
			       wqe->num_sge, 0, wqe->len);
	if (verdict != SMR_KEY_OK)
		return smr_message_key(qp, verdict);
	qp->handed.opened = local;
	if (!local)
		smr_sgl_close(sgl);
	return IB_WC_SUCCESS;
}

static u32 wqe_npsn(const struct smr_qp *qp, const struct smr_swqe *wqe,
		    const struct smr_wr_info *wr)
{
	return wr->flags & (SMR_WR_ATOMIC | SMR_WR_CONFIRMED) ? 1 :
	       max_t(u32, 1, DIV_ROUND_UP(wqe->len, qp->mtu));
}

/* ATOMIC WRITE: one packet with a payload, which has its own response. */
static enum smr_step atomic_write_send(struct smr_message *m,
				       struct smr_budget *budget)
{
	struct smr_qp *qp = m->qp;
	u32 psn = qp->snd.psn;
	enum smr_step ret;

	if (smr_rd_req_count(&qp->rd_req) >= qp->attr.max_rd_atomic)
		return SMR_STEP_WAIT;
	ret = smr_message_send(m, budget);
	if (qp->snd.psn != psn)
		smr_rd_req_add(&qp->rd_req, qp->snd.psn);
	return ret;
}

/* Send the packet of a READ of @n PSNs, an atomic or a FLUSH. */
static int request_send(struct smr_message *m, u32 n)
{
	u32 off = m->first * m->qp->mtu;
	struct smr_hdr *hdr = &m->qp->req.hdr;

	smr_req_hdr_opcode(m->qp, hdr, m->wr->only);
	hdr->ack_req = true;
	if (m->wr->flags & SMR_WR_READ) {
		hdr->va += off;
		hdr->dma_len = min(m->wqe->len - off, n * m->qp->mtu);
	}
	return smr_packet_send(m->qp, &m->qp->path, m->qp->path.sport, hdr,
			       NULL);
}

/*
 * A READ, an atomic or a FLUSH: one packet whose responses use PSNs. A long READ is requested
 * in parts, which look like several READs to the responder. So the window limits the data in
 * flight, and a loss costs little. A part that is larger than the window is sent when nothing
 * else is in flight.
 */
static enum smr_step fetch_send(struct smr_message *m, struct smr_budget *budget)
{
	struct smr_qp *qp = m->qp;
	u32 n = smr_rd_req_part(&qp->rd_req, &qp->snd, &qp->cwnd, m->first,
				m->wqe->npsn);
	enum smr_step ret;
	int err;

	if (smr_rd_req_count(&qp->rd_req) >= qp->attr.max_rd_atomic ||
	    (n > smr_out_room(qp) && qp->snd.psn != qp->snd.una))
		return SMR_STEP_WAIT;
	m->end = m->first + 1;
	err = request_send(m, n);
	if (err == -EAGAIN)
		return smr_message_sent(m, budget, 0, err);
	m->end = m->first + n;
	ret = smr_message_sent(m, budget, n, err);
	smr_rd_req_add(&qp->rd_req, qp->snd.psn);
	return ret;
}

/* Hand the whole message to a peer on this host. */
static void local_send(struct smr_message *m, struct smr_budget *budget)
{
	struct smr_qp *qp = m->qp;
	struct smr_swqe *wqe = m->wqe;
	struct smr_hdr *hdr = &qp->req.hdr;

	smr_req_hdr_opcode(qp, hdr, m->wr->only);
	hdr->len = m->wr->flags & SMR_WR_FETCHES ? 0 : wqe->len;
	hdr->solicited = wqe->send_flags & IB_SEND_SOLICITED;
	hdr->ack_req = true;
	wqe->state = SMR_SWQE_SENT;
	smr_snd_next(&qp->snd);
	smr_snd_pass(&qp->snd, wqe->npsn);
	budget->left -= SMR_COST_PACKET;
	smr_qp_inc(qp, SMR_CNT_LOCAL_OPS);
	smr_qp_add(qp, SMR_CNT_LOCAL_BYTES, wqe->len);
	smr_loopback_hand(qp, wqe, budget);
	if (qp->handed.opened)
		smr_sgl_close(&qp->req.sgl);
	qp->handed.opened = false;
}

/* Send the next piece of a work request whose PSNs are assigned; with @local, all of it. */
static enum smr_step wqe_send(struct smr_qp *qp, struct smr_swqe *wqe,
			      const struct smr_wr_info *wr, bool local,
			      struct smr_budget *budget)
{
	struct smr_message m = { .qp = qp, .wqe = wqe, .wr = wr };
	enum smr_step ret;

	m.first = smr_psn_off(qp->snd.psn, wqe->psn);
	if (local) {
		smr_req_hdr_init(qp, wqe, wr, &qp->req.hdr);
		local_send(&m, budget);
		return SMR_STEP_DONE;
	}
	if (!smr_out_room(qp))
		return SMR_STEP_WAIT;
	if (unlikely(qp->cwnd.rate) &&
	    smr_out_is_early(qp, wqe->npsn - m.first, wqe->len))
		return SMR_STEP_WAIT;
	if (smr_message_send_several(&m, budget, &ret))
		return ret;
	smr_req_hdr_init(qp, wqe, wr, &qp->req.hdr);
	if (wr->flags & SMR_WR_ATOMIC_WRITE)
		ret = atomic_write_send(&m, budget);
	else if (wr->flags & SMR_WR_NONPOSTED)
		ret = fetch_send(&m, budget);
	else
		ret = smr_message_send(&m, budget);
	if (smr_psn_off(qp->snd.psn, wqe->psn) == wqe->npsn)
		smr_message_done(qp, wqe);
	return ret;
}

/* A bad work request completes after all that precede it. */
static enum smr_step wqe_refuse(struct smr_qp *qp, struct smr_swqe *wqe)
{
	if (qp->sq.head != qp->snd.next)
		return SMR_STEP_WAIT;
	/* A draining send queue completes only requests that have started. */
	if (wqe->state == SMR_SWQE_POSTED &&
	    READ_ONCE(qp->state) != IB_QPS_RTS)
		return SMR_STEP_WAIT;
	smr_send_fail(qp, wqe->status);
	return SMR_STEP_DONE;
}

/* A local work request is executed after all earlier ones have completed. */
static enum smr_step wqe_local(struct smr_qp *qp, struct smr_swqe *wqe,
			       struct smr_budget *budget)
{
	budget->left -= SMR_COST_PACKET;
	if (qp->sq.head != qp->snd.next)
		return SMR_STEP_WAIT;
	if (READ_ONCE(qp->state) != IB_QPS_RTS && !qp->req.inval.begun)
		return SMR_STEP_WAIT;
	return smr_local_wr_exec(qp, wqe);
}

static enum smr_step datagram_send(struct smr_qp *qp, struct smr_swqe *wqe,
				   struct smr_budget *budget)
{
	if (READ_ONCE(qp->state) != IB_QPS_RTS)
		return SMR_STEP_WAIT;
	return qp->service == SMR_TRANSPORT_RAW ?
	       qp->env->frames->send(qp, wqe, budget) :
	       smr_ud_send(qp, wqe, budget);
}

static enum smr_step requester_step(struct smr_qp *qp, struct smr_budget *budget)
{
	const struct smr_wr_info *wr;
	struct smr_swqe *wqe;
	bool posted, local;

	if (smr_rto_waits(&qp->rto) || qp->handed.state != SMR_LOCAL_IDLE)
		return SMR_STEP_WAIT;
	if (qp->snd.next == qp->sq.ring.idx && !smr_sq_fetch(qp))
		return SMR_STEP_WAIT;
	wqe = smr_sq_wqe(&qp->sq, qp->snd.next);
	if (wqe->status)
		return wqe_refuse(qp, wqe);
	wr = smr_wr_info(qp->ibqp.qp_type, wqe->opcode);
	if (wr->flags & SMR_WR_LOCAL)
		return wqe_local(qp, wqe, budget);
	if (qp->service == SMR_TRANSPORT_UD ||
	    qp->service == SMR_TRANSPORT_RAW)
		return datagram_send(qp, wqe, budget);
	posted = wqe->state == SMR_SWQE_POSTED;
	if (posted && (!smr_message_may_begin(qp, wqe, wr) || smr_loopback_returns(qp)))
		return SMR_STEP_WAIT;
	local = (posted || qp->snd.psn == wqe->psn) && smr_loopback_usable(qp);
	if (posted) {
		wqe->npsn = wqe_npsn(qp, wqe, wr);
		wqe->status = wqe_check(qp, wqe, wr, local);
		if (wqe->status)
			return SMR_STEP_DONE;
		smr_message_begin(qp, wqe);
	}
	return wqe_send(qp, wqe, wr, local, budget);
}

/*
 * Has a work request started that is not complete? All of its packets may be acknowledged already;
 * or none may be in flight, because the receiver was not ready.
 */
static bool sq_has_begun(const struct smr_qp *qp)
{
	const struct smr_sq *sq = &qp->sq;
	u32 next = qp->snd.next;

	return sq->head != next || qp->req.inval.begun ||
	       (next != sq->ring.idx &&
		smr_sq_wqe(sq, next)->state != SMR_SWQE_POSTED);
}

/* SQD: raise the event once, when all started requests are complete. IBTA 10.3.1.5 */
static void requester_drained(struct smr_qp *qp)
{
	if (READ_ONCE(qp->state) != IB_QPS_SQD || qp->drained ||
	    sq_has_begun(qp))
		return;
	WRITE_ONCE(qp->drained, true);
	if (qp->attr.en_sqd_async_notify)
		smr_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/*
 * Flush the send queue of a QP in error. An operation that was handed to a peer on this host is
 * answered first, and a bind or an invalidate that has begun is finished, and completes.
 */
static enum smr_step send_flush(struct smr_qp *qp, struct smr_budget *budget)
{
	struct smr_sq *sq = &qp->sq;

	if (READ_ONCE(qp->handed.state) != SMR_LOCAL_IDLE) {
		if (!qp->handed.cancel)
			smr_loopback_cancel(qp, budget);
		return SMR_STEP_WAIT;
	}
	if (sq->head == sq->ring.idx && !smr_sq_fetch(qp))
		return SMR_STEP_WAIT;
	budget->left -= SMR_COST_PACKET;
	if (qp->req.inval.begun)
		return smr_local_wr_exec(qp, smr_sq_wqe(sq, sq->head));
	smr_send_flush(qp);
	return SMR_STEP_DONE;
}

/*
 * Flush requests that were in a send queue when its QP failed. @qp: paused, in a transition from
 * SQE to RTS. Work requests that are posted from now on are sent.
 */
void smr_send_flush_all(struct smr_qp *qp)
{
	struct smr_budget budget = { .can_sleep = true };
	u32 n;

	for (n = 0; n < qp->sq.ring.depth; n++)
		if (send_flush(qp, &budget) == SMR_STEP_WAIT)
			return;
}

/*
 * Take one step of sending. @qp: the caller owns its send task. Context: as @budget says. Returns
 * SMR_STEP_WAIT if nothing may be sent now.
 */
enum smr_step smr_requester_run(struct smr_qp *qp, struct smr_budget *budget)
{
	enum smr_step step;

	switch (READ_ONCE(qp->state)) {
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		break;
	case IB_QPS_ERR:
	case IB_QPS_SQE:
		return send_flush(qp, budget);
	default:
		return SMR_STEP_WAIT;
	}
	step = requester_step(qp, budget);
	if (step == SMR_STEP_WAIT)
		requester_drained(qp);
	return step;
}
