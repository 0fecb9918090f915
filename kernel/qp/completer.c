// SPDX-License-Identifier: GPL-2.0
/*
 * The receiving half of the send task: each step handles a response, an answer of a local peer,
 * or the timer.
 */
#include "qp/completer.h"

#include <linux/minmax.h>
#include <rdma/ib_pack.h>

#include "compat/timer.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/loopback.h"
#include "qp/opcode.h"
#include "qp/recovery.h"
#include "qp/paging.h"
#include "qp/rx_queue.h"
#include "qp/rx_train.h"
#include "qp/sq.h"
#include "stats.h"
#include "trace.h"

/* rnr_retry value for unlimited retries, IBTA 9.7.5.2.8 */
#define RNR_RETRY_FOREVER	7

/* After RNR_PATIENCE RNR NAKs without progress the wait doubles, up to a maximum in us. */
#define RNR_PATIENCE	16
#define RNR_SLOW_US	1000ULL

/* IBTA table 45: RNR NAK timer values, in units of 10 us */
static const u16 rnr_delay[32] = {
	65536 - 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
	384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};

/*
 * The timer only sets a flag and runs the task, which decides what to do. It has no reference
 * on its QP: smr_completer_stop() waits for it before the QP is freed.
 */
static enum hrtimer_restart rto_timer_fn(struct hrtimer *timer)
{
	struct smr_qp *qp = container_of(timer, struct smr_qp, rto.timer);

	WRITE_ONCE(qp->rto.fired, true);
	smr_task_kick(&qp->send_task);
	return HRTIMER_NORESTART;
}

void smr_completer_init(struct smr_qp *qp)
{
	skb_queue_head_init(&qp->comp.queue);
	smr_rto_init(&qp->rto, rto_timer_fn);
}

/* Stop the timer. @qp: paused, so that its tasks do not restart the timer. */
void smr_completer_stop(struct smr_qp *qp)
{
	smr_rto_stop(&qp->rto);
}

/* Free the resources of a completer. @qp: its tasks will not run again. */
void smr_completer_fini(struct smr_qp *qp)
{
	skb_queue_purge(&qp->comp.queue);
}

/* Return a completer to its initial state. @qp: paused; its timer is stopped. */
void smr_completer_reset(struct smr_qp *qp)
{
	struct smr_completer *comp = &qp->comp;

	smr_completer_fini(qp);
	comp->seg = 0;
	comp->gap = false;
	comp->again = false;
	smr_rto_reset(&qp->rto);
}

/*
 * Wait at least as long as the receiver asks for, in us. A receiver that has repeatedly asked
 * for a short time will not be ready soon: retry less often.
 */
static u64 rnr_wait_us(struct smr_completer *comp, u8 syndrome)
{
	u64 us = rnr_delay[syndrome & SMR_AETH_VALUE_MASK] * 10ULL;
	u32 doublings = comp->rnr_again++ / RNR_PATIENCE;

	return max(us, min(us << min(doublings, 7U), RNR_SLOW_US));
}

/* IBTA 9.7.5.2.8: the receiver is not ready. */
static void comp_rnr(struct smr_qp *qp, u8 syndrome)
{
	struct smr_completer *comp = &qp->comp;

	smr_qp_inc(qp, SMR_CNT_RNR_RX);
	smr_tally(&qp->req.sent.rnr, 1);
	if (smr_rto_waits(&qp->rto))
		return;
	if (!comp->rnr_retry) {
		smr_qp_inc(qp, SMR_CNT_RNR_EXC);
		smr_send_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	smr_qp_inc(qp, SMR_CNT_RNR_AGAIN);
	if (comp->rnr_retry != RNR_RETRY_FOREVER)
		comp->rnr_retry--;
	smr_out_restart(qp);
	smr_rto_wait(&qp->rto, rnr_wait_us(comp, syndrome) * NSEC_PER_USEC);
}

/* The status of a work request that a NAK ends; IBTA table 46 */
static enum ib_wc_status nak_status(u8 syndrome)
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

static void comp_nak(struct smr_qp *qp, u8 syndrome)
{
	smr_qp_inc(qp, SMR_CNT_NAKS_RX);
	smr_tally(&qp->req.sent.naks, 1);
	if ((syndrome & SMR_AETH_VALUE_MASK) == SMR_NAK_PSN_SEQ)
		smr_out_retry(qp, false);
	else
		smr_send_fail(qp, nak_status(syndrome));
}

/*
 * Is this a fatal NAK for the request whose data is missing? Then the peer's QP is in the error
 * state, and would not answer a repeated request.
 */
static bool nak_is_final(struct smr_qp *qp, u8 syndrome, u32 psn)
{
	const struct smr_swqe *wqe = smr_out_head(qp);

	return wqe && (syndrome & SMR_AETH_TYPE_MASK) == SMR_AETH_NAK &&
	       (syndrome & SMR_AETH_VALUE_MASK) != SMR_NAK_PSN_SEQ &&
	       smr_psn_off(psn, wqe->psn) < wqe->npsn;
}

/* Handle an AETH, of a packet or of a peer on this host. AGAIN: only a part was handled. */
static enum smr_step comp_aeth(struct smr_qp *qp, u8 syndrome, u32 psn,
			       struct smr_budget *budget)
{
	u8 type = syndrome & SMR_AETH_TYPE_MASK;
	bool ack = type == SMR_AETH_ACK;
	enum smr_out_acked acked;
	u32 end;

	if (smr_psn_diff(psn, qp->snd.una) < 0 ||
	    smr_psn_diff(psn, qp->snd.max_psn) >= 0)
		return SMR_STEP_DONE;
	end = ack ? smr_psn_add(psn, 1) : psn;
	acked = smr_out_acked_before(qp, end, budget);
	if (acked == SMR_OUT_MORE)
		return SMR_STEP_AGAIN;
	if (acked == SMR_OUT_DATA_LOST && !nak_is_final(qp, syndrome, psn)) {
		if (type == SMR_AETH_RNR && qp->comp.rnr_retry)
			/* When the wait ends, what is missing is also sent again. */
			comp_rnr(qp, syndrome);
		else
			smr_out_gap(qp, psn);
	} else if (type == SMR_AETH_RNR && smr_out_head(qp)) {
		comp_rnr(qp, syndrome);
	} else if (type == SMR_AETH_NAK && smr_out_head(qp)) {
		comp_nak(qp, syndrome);
	}
	return SMR_STEP_DONE;
}

/* What to do with a response that carries data */
enum comp_data {
	COMP_DATA_OK,
	COMP_DATA_CONFIRMED,	/* it answers a FLUSH or ATOMIC WRITE */
	COMP_DATA_DROP,
	COMP_DATA_GAP,		/* an older one is missing */
	COMP_DATA_BAD,
	COMP_DATA_MORE,		/* complete the requests before it, then check it again */
};

/* A response, or several similar ones of a train */
struct response {
	struct smr_rx_train train;
	struct smr_hdr *hdr;	/* of the first one */
	struct smr_swqe *wqe;	/* what it answers */
	u32 count;
};

/*
 * Is this a valid response to a READ or atomic? Its AETH must be an ACK: a NAK or RNR NAK is
 * sent in an acknowledge packet (IBTA 9.7.5.2.1).
 */
static bool data_fits(const struct smr_qp *qp, const struct smr_swqe *wqe,
		      const struct smr_hdr *hdr, u32 wr_flags)
{
	u32 off = smr_psn_off(hdr->psn, wqe->psn) * qp->mtu;

	if (hdr->op->flags & SMR_OP_AETH &&
	    (hdr->syndrome & SMR_AETH_TYPE_MASK) != SMR_AETH_ACK)
		return false;
	if (wr_flags & SMR_WR_CONFIRMED)
		return !hdr->len && hdr->op->flags & SMR_OP_FIRST &&
		       hdr->op->flags & SMR_OP_LAST;
	if (wr_flags & SMR_WR_READ)
		return hdr->len == min(wqe->len - off, qp->mtu) &&
		       smr_rd_req_fits(&qp->rd_req, wqe->psn, wqe->npsn,
				       hdr->psn, hdr->op->flags);
	return wr_flags & SMR_WR_ATOMIC;
}

/*
 * A response must be the next one of the oldest READ or atomic, or a later one. IBTA 9.7.6.1: a
 * response that was not requested, or has arrived before, is dropped. IBTA 11.6.2: one that
 * does not match its request is a "bad response".
 */
static enum comp_data data_check(struct smr_qp *qp, struct response *r,
				 u16 want, struct smr_budget *budget)
{
	const struct smr_hdr *hdr = r->hdr;
	u32 flags;

	if (smr_psn_diff(hdr->psn, qp->snd.una) < 0 ||
	    smr_psn_diff(hdr->psn, qp->snd.max_psn) >= 0)
		return COMP_DATA_DROP;
	switch (smr_out_acked_before(qp, hdr->psn, budget)) {
	case SMR_OUT_ACKED:
		break;
	case SMR_OUT_DATA_LOST:
		return COMP_DATA_GAP;
	case SMR_OUT_MORE:
		return COMP_DATA_MORE;
	}
	r->wqe = smr_out_head(qp);
	if (!r->wqe || qp->snd.una != hdr->psn)
		return COMP_DATA_BAD;
	flags = smr_wr_info(qp->ibqp.qp_type, r->wqe->opcode)->flags & want;
	if (!data_fits(qp, r->wqe, hdr, flags))
		return COMP_DATA_BAD;
	return flags & SMR_WR_CONFIRMED ? COMP_DATA_CONFIRMED : COMP_DATA_OK;
}

/*
 * Copy the data of responses to the work request's list. DONE: it is copied, or *status is the
 * error of the work request. AGAIN, WAIT, DEFER: a page was missing. AGAIN also: an ICRC is
 * wrong.
 */
static enum smr_step data_place(struct smr_qp *qp, struct response *r,
				struct smr_budget *budget, u8 *status)
{
	bool atomic = r->hdr->op->flags & SMR_OP_ATOMICACK;
	struct smr_sgl *sgl = &qp->comp.sgl;
	const struct smr_swqe *wqe = r->wqe;
	u64 skip = atomic ? 0 :
		   (u64)smr_psn_off(r->hdr->psn, wqe->psn) * qp->mtu;
	u32 len = atomic ? sizeof(r->hdr->orig) : r->hdr->len * r->count;
	enum smr_step step = SMR_STEP_DONE;
	enum smr_key_verdict verdict;
	int err = 0;

	verdict = smr_sgl_open(sgl, qp->pd, qp->ibqp.qp_num,
			       IB_ACCESS_LOCAL_WRITE, wqe->sge, wqe->num_sge,
			       skip, len);
	smr_qp_key(qp, verdict);
	if (verdict != SMR_KEY_OK) {
		*status = IB_WC_LOC_PROT_ERR;
		return SMR_STEP_DONE;
	}
	if (atomic)
		err = smr_sgl_write(sgl, &r->hdr->orig, len);
	else if (len)
		err = smr_rx_train_copy(&r->train, sgl, r->hdr, &r->count, 0, budget);
	if (err == SMR_PAGE_MISSING)
		step = smr_paging_fault(&qp->comp.paging, budget, sgl, true, &err);
	else if (err == -EBADMSG)
		step = SMR_STEP_AGAIN;
	if (step == SMR_STEP_DONE && err)
		*status = smr_fault_status(err);
	smr_sgl_close(sgl);
	return step;
}

/* The data of the packets has been copied. The last packet completes the request. */
static void data_placed(struct smr_qp *qp, const struct response *r)
{
	u32 next = smr_psn_add(r->hdr->psn, r->count);

	qp->comp.gap = false;
	if (next == smr_psn_add(r->wqe->psn, r->wqe->npsn))
		smr_out_head_done(qp, r->wqe);
	else
		smr_out_advance(qp, next);
}

/* A response of a READ or of an atomic. AGAIN, WAIT, DEFER: it is not consumed. */
static enum smr_step comp_data(struct smr_qp *qp, struct response *r,
			       struct smr_budget *budget)
{
	bool atomic = r->hdr->op->flags & SMR_OP_ATOMICACK;
	u8 status = IB_WC_SUCCESS;
	enum comp_data data;
	enum smr_step step;
	u32 max;

	data = data_check(qp, r, atomic ? SMR_WR_ATOMIC :
					  SMR_WR_READ | SMR_WR_CONFIRMED, budget);
	switch (data) {
	case COMP_DATA_OK:
		break;
	case COMP_DATA_CONFIRMED:
		data_placed(qp, r);
		return SMR_STEP_DONE;
	case COMP_DATA_DROP:
		return SMR_STEP_DONE;
	case COMP_DATA_GAP:
		smr_out_gap(qp, r->hdr->psn);
		return SMR_STEP_DONE;
	case COMP_DATA_BAD:
		if (smr_rx_train_doubt(&r->train, r->count))
			return SMR_STEP_AGAIN;
		if (smr_out_head(qp))
			smr_send_fail(qp, IB_WC_BAD_RESP_ERR);
		return SMR_STEP_DONE;
	case COMP_DATA_MORE:
		return SMR_STEP_AGAIN;
	}
	if (r->hdr->op->flags & SMR_OP_MIDDLE)
		r->count = smr_rx_train_max(&r->train,
					    smr_rd_req_middles(&qp->rd_req, r->hdr->psn), budget);
	max = r->count;
	step = data_place(qp, r, budget, &status);
	if (step != SMR_STEP_DONE)
		return step;
	if (status && smr_rx_train_doubt(&r->train, max))
		return SMR_STEP_AGAIN;
	if (status)
		smr_send_fail(qp, status);
	else
		data_placed(qp, r);
	return SMR_STEP_DONE;
}

/* Handle one or several valid packets. AGAIN, WAIT, DEFER: they are not consumed. */
static enum smr_step comp_take(struct smr_qp *qp, struct response *r,
			       struct smr_budget *budget)
{
	const struct smr_hdr *hdr = r->hdr;
	bool first = !qp->comp.again;

	/* The oldest work request is handed to a local peer: a stale packet must not retire it. */
	if (qp->handed.state != SMR_LOCAL_IDLE)
		return SMR_STEP_DONE;
	if (hdr->op->flags & SMR_OP_AETH && first)
		trace_smr_aeth(&qp->ibqp, hdr->opcode, hdr->syndrome,
			       hdr->msn, hdr->psn, qp->snd.una);
	if (hdr->op->flags & (SMR_OP_PAYLOAD | SMR_OP_ATOMICACK))
		return comp_data(qp, r, budget);
	if (first)
		smr_qp_inc(qp, SMR_CNT_ACKS_RX);
	return comp_aeth(qp, hdr->syndrome, hdr->psn, budget);
}

/* Is this the next packet of a READ? Then the PSN says where its payload belongs. */
static bool data_is_next(const struct smr_qp *qp, const struct smr_hdr *hdr)
{
	return hdr->op->flags & SMR_OP_MIDDLE && hdr->len && hdr->psn == qp->snd.una;
}

/* Check and handle one or several packets. AGAIN, WAIT, DEFER: they are not consumed. */
static enum smr_step comp_packet(struct smr_qp *qp, struct response *r,
				 unsigned int seg, struct smr_budget *budget)
{
	enum smr_step step;

	if (!smr_rx_train_parse(qp, &r->train, seg, true, r->hdr, budget) ||
	    !smr_rx_train_check(qp, &r->train, data_is_next(qp, r->hdr), r->hdr))
		return SMR_STEP_DONE;
	if (r->hdr->op->flags & SMR_OP_CNP) {
		smr_ecn_notified(qp, r->hdr);
		return SMR_STEP_DONE;
	}
	step = comp_take(qp, r, budget);
	qp->comp.again = step == SMR_STEP_AGAIN;
	if (step == SMR_STEP_DONE)
		smr_ecn_look(qp, r->train.skb, r->hdr, r->count);
	return step;
}

/*
 * Handle the next packets of the queue's first skb. Not inlined into comp_next(), which usually
 * finds none: the kernel may be configured to zero this function's stack variables.
 */
static noinline enum smr_step comp_skb(struct smr_qp *qp, struct sk_buff *skb,
				       struct smr_budget *budget)
{
	struct smr_completer *comp = &qp->comp;
	struct response r;
	enum smr_step step;

	r.hdr = &comp->hdr;
	r.count = 1;
	smr_rx_train_init(&r.train, skb, &comp->icrc);
	step = comp_packet(qp, &r, smr_rx_part(skb)->first + comp->seg, budget);
	if (step != SMR_STEP_DONE)
		return step;
	comp->seg += r.count;
	if (comp->seg == smr_rx_part(skb)->count) {
		comp->seg = 0;
		smr_rx_done(&comp->queue, skb);
	}
	return SMR_STEP_DONE;
}

/* Handle the next packets of the queue. WAIT: the queue is empty, or a page is missing. */
static enum smr_step comp_next(struct smr_qp *qp, struct smr_budget *budget)
{
	struct sk_buff *skb = smr_rx_peek(&qp->comp.queue);

	return skb ? comp_skb(qp, skb, budget) : SMR_STEP_WAIT;
}

/* IBTA 9.8.2: UC completes whether or not the peer has received the message. */
static void comp_local_uc(struct smr_qp *qp)
{
	smr_snd_settle(&qp->snd);
	if (qp->handed.answer == SMR_LOCAL_FAILED)
		smr_send_fail(qp, smr_fault_status(qp->handed.err));
	else
		smr_send_retire(qp);
}

/* The peer on this host has answered. */
static void comp_local(struct smr_qp *qp, struct smr_budget *budget)
{
	struct smr_local *local = &qp->handed;

	local->state = SMR_LOCAL_IDLE;
	if (qp->service == SMR_TRANSPORT_UC) {
		comp_local_uc(qp);
		return;
	}
	switch (local->answer) {
	case SMR_LOCAL_REPLY:
		trace_smr_aeth(&qp->ibqp,
			       qp->service | IB_OPCODE_ACKNOWLEDGE,
			       local->syndrome, 0, local->psn, qp->snd.una);
		if ((local->syndrome & SMR_AETH_TYPE_MASK) == SMR_AETH_ACK)
			smr_out_head_done(qp, local->wqe);
		else
			/* It is the oldest: see smr_loopback_usable(). */
			comp_aeth(qp, local->syndrome, local->psn, budget);
		break;
	case SMR_LOCAL_DROPPED:
		smr_rto_await(&qp->rto);
		break;
	case SMR_LOCAL_FAILED:
		smr_send_fail(qp, smr_fault_status(local->err));
		break;
	}
}

/* Is there a request whose answer can arrive from the network? */
static bool comp_awaits(struct smr_qp *qp)
{
	return !smr_snd_is_settled(&qp->snd) && !smr_rto_waits(&qp->rto) &&
	       qp->handed.state == SMR_LOCAL_IDLE && smr_out_head(qp);
}

/*
 * An answer is later than usual, but not timed out: probe. The timeout continues, and no retry
 * is used up.
 */
static void comp_probe(struct smr_qp *qp)
{
	if (!comp_awaits(qp) || !smr_snd_in_flight(&qp->snd))
		return;
	trace_smr_retry(&qp->ibqp, qp->snd.una, qp->snd.psn,
			qp->comp.retry);
	smr_qp_inc(qp, SMR_CNT_EARLY);
	qp->comp.gap = false;
	smr_out_rewind(qp, true);
}

/* The timeout that the consumer has set expired. */
static void comp_timeout(struct smr_qp *qp)
{
	if (!comp_awaits(qp))
		return;
	/* Nothing was sent since the last rewind, so nothing is late. */
	if (!smr_snd_in_flight(&qp->snd)) {
		smr_rto_await(&qp->rto);
		return;
	}
	smr_qp_inc(qp, SMR_CNT_TIMEOUTS);
	smr_tally(&qp->req.sent.timeouts, 1);
	qp->comp.gap = false;
	smr_rto_back_off(&qp->rto);
	smr_out_retry(qp, true);
}

/*
 * Handle one answer. @qp: the caller owns its send task. Context: as @budget says. Returns
 * SMR_STEP_WAIT if no other answer is queued.
 */
enum smr_step smr_completer_run(struct smr_qp *qp, struct smr_budget *budget)
{
	struct smr_completer *comp = &qp->comp;
	bool up = READ_ONCE(qp->state) == IB_QPS_RTS ||
		  READ_ONCE(qp->state) == IB_QPS_SQD;
	enum smr_local_state handed;
	enum smr_step step;

	/* Pairs with the release in qp/loopback.c: the answer is complete. */
	handed = smp_load_acquire(&qp->handed.state);
	if (handed == SMR_LOCAL_FAULT)
		return smr_loopback_resume(qp, up, budget);
	if (handed == SMR_LOCAL_ANSWERED) {
		if (!up) {
			qp->handed.state = SMR_LOCAL_IDLE;
			return SMR_STEP_DONE;
		}
		comp_local(qp, budget);
		/*
		 * Usually nothing else has arrived, and it is the requester's turn. The timer
		 * may have triggered this step, and is not restarted before its expiry is
		 * handled.
		 */
		return skb_queue_empty_lockless(&comp->queue) &&
		       !READ_ONCE(qp->rto.fired) ?
		       SMR_STEP_WAIT : SMR_STEP_DONE;
	}
	if (!up) {
		skb_queue_purge(&comp->queue);
		comp->seg = 0;
		comp->again = false;
		return SMR_STEP_WAIT;
	}
	step = comp_next(qp, budget);
	/* A queued response is not late, so a timeout counts only without one. */
	if (step != SMR_STEP_WAIT)
		return step;
	switch (smr_rto_due(&qp->rto)) {
	case SMR_RTO_NONE:
		return SMR_STEP_WAIT;
	case SMR_RTO_RNR:
		break;
	case SMR_RTO_ACK:
		comp_timeout(qp);
		break;
	case SMR_RTO_PROBE:
		comp_probe(qp);
		break;
	}
	return SMR_STEP_DONE;
}
