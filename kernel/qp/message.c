// SPDX-License-Identifier: GPL-2.0
/*
 * Send SENDs and WRITEs in trains of packets, several small messages in one train. Runs in the
 * send task.
 */
#include "qp/message.h"

#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "net/train.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "qp/packet.h"
#include "qp/paging.h"
#include "qp/recovery.h"
#include "qp/sq.h"
#include "sgl.h"
#include "stats.h"

/*
 * Can a waiting work request start now? @qp: the caller owns its send task. @wqe: the next work
 * request. @wr: properties of its opcode. IBTA 10.8.3.3 for the fence. Returns false if it must
 * wait for the QP's state, or for READs and atomics.
 */
bool smr_message_may_begin(struct smr_qp *qp, const struct smr_swqe *wqe,
			   const struct smr_wr_info *wr)
{
	u32 rd = smr_rd_req_count(&qp->rd_req);

	if (READ_ONCE(qp->state) != IB_QPS_RTS)
		return false;
	if (wqe->send_flags & IB_SEND_FENCE && rd)
		return false;
	/* With max_rd_atomic 0 nothing is outstanding: it starts, and wqe_check() refuses it. */
	return !(wr->flags & SMR_WR_NONPOSTED) || !rd ||
	       rd < qp->attr.max_rd_atomic;
}

static void message_begin_at(struct smr_qp *qp, struct smr_swqe *wqe, u32 psn)
{
	wqe->psn = psn;
	wqe->state = SMR_SWQE_STARTED;
	smr_send_begin(qp, wqe, psn, wqe->npsn);
}

/*
 * Assign the next PSNs to a work request. @qp: the caller owns its send task. @wqe: the work
 * request; its npsn is set.
 */
void smr_message_begin(struct smr_qp *qp, struct smr_swqe *wqe)
{
	message_begin_at(qp, wqe, qp->snd.psn);
}

/* Count a refused key of a work request's list. Returns the status of the work request. */
u8 smr_message_key(struct smr_qp *qp, enum smr_key_verdict verdict)
{
	smr_qp_key(qp, verdict);
	return IB_WC_LOC_PROT_ERR;
}

/* Account for @n more PSNs in flight. */
static void psn_sent(struct smr_qp *qp, u32 n)
{
	struct smr_snd *snd = &qp->snd;
	bool fresh = smr_snd_is_fresh(snd);

	smr_snd_sent(snd, n);
	if (qp->service == SMR_TRANSPORT_UC) {
		smr_snd_settle(snd);
		return;
	}
	smr_rto_sent(&qp->rto, smr_psn_add(snd->psn, -1), fresh);
}

/* Fill in the header fields specific to packet @i of a message. */
static void packet_hdr(struct smr_message *m, u32 i)
{
	const struct smr_wr_info *wr = m->wr;
	bool last = i + 1 == m->wqe->npsn;
	struct smr_hdr *hdr = &m->qp->req.hdr;

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

/*
 * The number of packets from packet @i on with the same headers. The last one differs, since it
 * requests an ACK.
 */
static u32 packets_alike(const struct smr_message *m, u32 i)
{
	u32 last = m->end - 1;

	return m->qp->req.hdr.op->flags & SMR_OP_MIDDLE && i < last ? last - i : 1;
}

/*
 * Send a train. GSO needs packets of equal length; only the last may be shorter. A FIRST with
 * its RETH is longer, and is sent alone.
 */
static int train_send(struct smr_message *m, u32 *sent)
{
	struct smr_qp *qp = m->qp;
	const struct smr_hdr *hdr = &qp->req.hdr;
	struct smr_train train;
	u32 i = m->first, end, n;
	int ret;

	packet_hdr(m, i);
	n = hdr->op->flags & SMR_OP_RETH ? 1 : m->end - i;
	ret = smr_train_begin(&train, &qp->path, qp->egress, &qp->req.icrc, n,
			      smr_packet_len(hdr));
	if (ret)
		return ret;
	for (end = i + n; i < end; i += ret) {
		packet_hdr(m, i);
		/* A LAST with immediate data may be longer than a MIDDLE. */
		if (smr_packet_len(hdr) > train.seg_len)
			break;
		ret = smr_packet_append(&train, hdr, packets_alike(m, i),
					&qp->req.sgl);
		if (ret <= 0)
			break;
	}
	if (ret < 0) {
		smr_train_abort(&train);
		return ret;
	}
	*sent = i - m->first;
	return smr_packets_leave(qp, &train, &qp->req.refused);
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

/*
 * Handle the result of sending packets of a message. @sent: number of PSNs of these packets. @err:
 * 0, SMR_PAGE_MISSING, or an errno. A work request with a local error completes after all earlier
 * ones, see wqe_refuse(). Context: as @budget says; called by the send task. Returns the outcome of
 * the step.
 */
enum smr_step smr_message_sent(struct smr_message *m, struct smr_budget *budget,
			       u32 sent, int err)
{
	struct smr_qp *qp = m->qp;
	enum smr_step step;

	if (err == SMR_PAGE_MISSING) {
		step = smr_paging_fault(&qp->req.paging, budget, &qp->req.sgl, false, &err);
		if (step == SMR_STEP_DONE)
			m->wqe->status = smr_fault_status(err);
		return step;
	}
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
	smr_out_paced(qp, sent, m->wqe->len);
	budget->left -= sent * (qp->mtu + SMR_COST_PACKET);
	return SMR_STEP_DONE;
}

/*
 * Send as much of a SEND or WRITE as fits into the window and a train. @m: the message, of which
 * @first is set. Context: as @budget says; called by the send task. Returns the outcome of the
 * step.
 */
enum smr_step smr_message_send(struct smr_message *m, struct smr_budget *budget)
{
	struct smr_qp *qp = m->qp;
	enum smr_key_verdict verdict;
	enum smr_step ret;
	u32 sent = 0;
	int err;

	m->end = min(m->wqe->npsn, m->first + smr_out_train(qp));
	verdict = message_open(m);
	if (verdict != SMR_KEY_OK) {
		m->wqe->status = smr_message_key(qp, verdict);
		return SMR_STEP_DONE;
	}
	err = train_send(m, &sent);
	ret = smr_message_sent(m, budget, sent, err);
	smr_sgl_close(&qp->req.sgl);
	return ret;
}

/*
 * Finish a message that was sent completely. @qp: the caller owns its send task. @wqe: its next
 * work request.
 */
void smr_message_done(struct smr_qp *qp, struct smr_swqe *wqe)
{
	wqe->state = SMR_SWQE_SENT;
	smr_snd_next(&qp->snd);
	/* IBTA 9.8.2: UC has no answers */
	if (qp->service == SMR_TRANSPORT_UC)
		smr_send_retire(qp);
}

/* Has the work request @n after the next one been fetched? */
static bool is_fetched(struct smr_qp *qp, u32 n)
{
	return qp->snd.next + n != qp->sq.ring.idx || smr_sq_fetch_more(qp);
}

/*
 * The length of the packet of a message that can be sent in a train with others, with PSN @psn;
 * 0: it cannot.
 */
static u32 only_len(struct smr_qp *qp, const struct smr_swqe *wqe, u32 psn)
{
	const struct smr_wr_info *wr;

	if (wqe->status || wqe->len > qp->mtu)
		return 0;
	wr = smr_wr_info(qp->ibqp.qp_type, wqe->opcode);
	if (wr->flags & (SMR_WR_LOCAL | SMR_WR_NONPOSTED))
		return 0;
	if (wqe->state == SMR_SWQE_POSTED ? !smr_message_may_begin(qp, wqe, wr) :
					    wqe->psn != psn)
		return 0;
	return smr_wire_op(qp->service | wr->only)->hdr_len +
	       ALIGN(wqe->len, 4) + SMR_ICRC_LEN;
}

/*
 * The number of messages that can be sent in one train: this one, whose packet has @len bytes,
 * and those of the same length that follow it. The last may be shorter.
 */
static u32 messages_alike(const struct smr_message *m, u32 len)
{
	struct smr_qp *qp = m->qp;
	u32 next = len, n, max;
	struct smr_swqe *wqe;

	max = smr_out_train(qp);
	for (n = 1; n < max && next == len && is_fetched(qp, n); n++) {
		wqe = smr_sq_wqe(&qp->sq, qp->snd.next + n);
		next = only_len(qp, wqe, smr_psn_add(m->wqe->psn, n));
		if (!next || next > len)
			break;
		wqe->npsn = 1;
	}
	return n;
}

/* Add message @i of several to a train. Only the last one requests an ACK. */
static bool several_add(struct smr_message *one, struct smr_train *train, u32 i,
			u32 psn, bool last)
{
	struct smr_qp *qp = one->qp;
	struct smr_hdr *hdr = &qp->req.hdr;
	bool added;

	one->wqe = smr_sq_wqe(&qp->sq, qp->snd.next + i);
	one->wr = smr_wr_info(qp->ibqp.qp_type, one->wqe->opcode);
	if (message_open(one) != SMR_KEY_OK)
		return false;
	smr_req_hdr_init(qp, one->wqe, one->wr, hdr);
	packet_hdr(one, 0);
	hdr->psn = smr_psn_add(psn, i);
	hdr->ack_req &= last;
	added = smr_packet_append(train, hdr, 1, &qp->req.sgl) == 1;
	smr_sgl_close(&qp->req.sgl);
	return added;
}

/*
 * Build a train of @n messages with packets of @len bytes, or of as many as the device
 * supports. Return: their number. If @train->skb is NULL, there is no train: the message with
 * that index has an error, or there is no memory.
 */
static u32 several_build(const struct smr_message *m, struct smr_train *train,
			 u32 n, u32 len, struct smr_budget *budget)
{
	struct smr_message one = { .qp = m->qp, .end = 1 };
	struct smr_qp *qp = m->qp;
	u32 psn = m->wqe->psn, i;

	train->skb = NULL;
	if (smr_train_begin(train, &qp->path, qp->egress, &qp->req.icrc, n,
			    len))
		return 0;
	n = min(n, train->max);
	for (i = 0; i < n; i++)
		if (!several_add(&one, train, i, psn, i + 1 == n))
			break;
	if (i < n) {
		budget->left -= i * SMR_COST_PACKET + train->len;
		smr_train_abort(train);
	}
	return i;
}

/*
 * Start the messages after the first, which has already started. When they are retransmitted,
 * some of them have started before.
 */
static void several_begin(const struct smr_message *m, u32 n)
{
	struct smr_qp *qp = m->qp;
	struct smr_swqe *wqe;
	u32 i;

	for (i = 1; i < n; i++) {
		wqe = smr_sq_wqe(&qp->sq, qp->snd.next + i);
		if (wqe->state == SMR_SWQE_POSTED)
			message_begin_at(qp, wqe, smr_psn_add(m->wqe->psn, i));
	}
}

/*
 * Send a message and those that follow it in one train. @m: the message, which has started. @step:
 * set to the outcome of the step. Consecutive messages of one packet each are sent together if they
 * have the same length: a list was posted, or the consumer posts faster than this task sends. One
 * ACK acknowledges them all. A message whose key is refused, or whose page is missing, waits, with
 * all that follow it, for the next train. Not used on UC: if the stack splits a train and drops its
 * end, all of it is sent again. Context: as @budget says; called by the send task. Returns false if
 * nothing was sent; then send the message alone.
 */
bool smr_message_send_several(struct smr_message *m, struct smr_budget *budget,
			      enum smr_step *step)
{
	struct smr_qp *qp = m->qp;
	u32 psn = m->wqe->psn, len, n;
	struct smr_train train;

	/* Usually no other request is posted. */
	if (!smr_qp_is_reliable(qp) || !is_fetched(qp, 1))
		return false;
	len = only_len(qp, m->wqe, psn);
	n = len ? messages_alike(m, len) : 0;
	do {
		if (n < 2)
			return false;
		n = several_build(m, &train, n, len, budget);
	} while (!train.skb);
	several_begin(m, n);
	m->end = n;
	*step = smr_message_sent(m, budget, n,
				 smr_packets_leave(qp, &train,
						   &qp->req.refused));
	for (n = smr_psn_off(qp->snd.psn, psn); n--;)
		smr_message_done(qp, smr_sq_wqe(&qp->sq, qp->snd.next));
	return true;
}
