// SPDX-License-Identifier: GPL-2.0
/*
 * What a send side has in flight: acknowledgment and retransmission.
 */
#include "qp/recovery.h"

#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/opcode.h"
#include "qp/sq.h"
#include "stats.h"
#include "trace.h"

/*
 * Set the consumer's timeout. The timeout also limits how long the stack may refuse a packet: one
 * that is refused for longer counts as lost, and the retries decide. A requester without a timeout
 * would never send a lost packet again, so it tries for ever. A responder without a timeout tries
 * for a second: its peer repeats a request whose answer is lost.
 */
void smr_out_set_timeout(struct smr_qp *qp)
{
	unsigned long patience;

	smr_rto_set(&qp->rto, qp->attr.timeout);
	patience = nsecs_to_jiffies(qp->rto.timeout) + 1;
	qp->req.refused.patience = qp->rto.timeout ? patience : MAX_JIFFY_OFFSET;
	qp->resp.refused.patience = qp->rto.timeout ? patience : HZ;
}

/*
 * Load the retry counters. @qp: the QP, paused, on its way to RTS; or called by the send task after
 * progress. IBTA 9.7.6.1.3.
 */
void smr_out_start(struct smr_qp *qp)
{
	qp->comp.retry = qp->attr.retry_cnt;
	qp->comp.rnr_retry = qp->attr.rnr_retry;
	qp->comp.rnr_again = 0;
}

/* Continue sending at the oldest unacknowledged PSN. @qp: the caller owns its send task. */
void smr_out_restart(struct smr_qp *qp)
{
	smr_snd_rewind(&qp->snd, qp->sq.head);
	smr_rd_req_rewind(&qp->rd_req, &qp->snd);
}

/*
 * Go back to the oldest unacknowledged PSN after a loss. @qp: the caller owns its send task. @late:
 * a timer has fired. IBTA 9.7.5.1: go back N. Loss also shrinks the window.
 */
void smr_out_rewind(struct smr_qp *qp, bool late)
{
	smr_qp_inc(qp, SMR_CNT_RETRANSMITS);
	smr_tally(&qp->req.sent.retransmits, 1);
	smr_out_restart(qp);
	smr_cwnd_lost(&qp->cwnd, qp->snd.max_psn, late);
}

/*
 * Advance the oldest unacknowledged PSN. @qp: the caller owns its send task. The timer restarts for
 * the next.
 */
void smr_out_advance(struct smr_qp *qp, u32 una)
{
	u32 psns = smr_psn_off(una, qp->snd.una);

	if (!psns)
		return;
	smr_snd_acked(&qp->snd, una, qp->sq.head);
	smr_out_start(qp);
	smr_rd_req_acked(&qp->rd_req, una);
	smr_cwnd_acked(&qp->cwnd, una, psns, qp->rto.least, qp->mtu);
	smr_rto_acked(&qp->rto, una, smr_snd_in_flight(&qp->snd));
}

static bool fetches(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	return smr_wr_info(qp->ibqp.qp_type, wqe->opcode)->flags &
	       SMR_WR_FETCHES;
}

/*
 * Retire the oldest work request, which is completely acknowledged. @qp: the caller owns its send
 * task.
 */
void smr_out_head_done(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	u32 end = smr_psn_add(wqe->psn, wqe->npsn);

	smr_send_retire(qp);
	smr_out_advance(qp, end);
}

/*
 * Handle an acknowledgment of all PSNs before one. @qp: the caller owns its send task. @budget: the
 * budget; each request that completes reduces it. Returns enum smr_out_acked.
 */
enum smr_out_acked smr_out_acked_before(struct smr_qp *qp, u32 psn,
					struct smr_budget *budget)
{
	struct smr_swqe *wqe;

	while (smr_psn_diff(psn, qp->snd.una) > 0) {
		wqe = smr_out_head(qp);
		if (!wqe)
			return SMR_OUT_ACKED;
		if (fetches(qp, wqe))
			return SMR_OUT_DATA_LOST;
		if (smr_psn_off(psn, wqe->psn) < wqe->npsn) {
			smr_out_advance(qp, psn);
			return SMR_OUT_ACKED;
		}
		if (budget->left <= 0)
			return SMR_OUT_MORE;
		budget->left -= SMR_COST_RETIRE;
		smr_out_head_done(qp, wqe);
	}
	return SMR_OUT_ACKED;
}

/* Use up a retry. False: none was left, and the work request has failed. */
static bool charge(struct smr_qp *qp)
{
	trace_smr_retry(&qp->ibqp, qp->snd.una, qp->snd.psn,
			qp->comp.retry);
	if (!qp->comp.retry) {
		smr_qp_inc(qp, SMR_CNT_RETRY_EXC);
		smr_send_fail(qp, IB_WC_RETRY_EXC_ERR);
		return false;
	}
	qp->comp.retry--;
	smr_rto_forget(&qp->rto);
	return true;
}

/*
 * Retransmit from the oldest PSN, unless no retries are left. @qp: the caller owns its send task.
 * @late: the timeout has expired. IBTA 9.7.5.2. Without retries the work request fails.
 */
void smr_out_retry(struct smr_qp *qp, bool late)
{
	if (!charge(qp))
		return;
	smr_out_rewind(qp, late);
	smr_rto_await(&qp->rto);
}

/*
 * Retransmit after a gap: a response is missing, and perhaps requests. @qp: the caller owns its
 * send task. @psn: of the answer that shows the gap. Each later answer shows the same gap, so
 * retransmit only once; and once more when the answer to a request that was sent after the
 * repetition shows that this is lost, too. If nothing shows that, the timer fires.
 */
void smr_out_gap(struct smr_qp *qp, u32 psn)
{
	struct smr_completer *comp = &qp->comp;

	if (comp->gap && smr_psn_diff(psn, comp->gap_end) < 0)
		return;
	comp->gap = true;
	comp->gap_end = qp->snd.max_psn;
	smr_out_retry(qp, false);
}

/*
 * Must packets wait, to keep to the rate of the congestion control? @qp: the caller owns its send
 * task; its rate is limited. @psns: PSNs that are left of the message. Returns true if they must; a
 * timer runs the send task when the wait is over.
 */
bool smr_out_is_early(struct smr_qp *qp, u32 psns, u32 len)
{
	struct smr_cc_event event = smr_ecn_event(qp);
	struct smr_cwnd *cwnd = &qp->cwnd;

	cwnd->ops->rate(cwnd, &event);
	if (!cwnd->rate)
		return false;
	smr_pace_adjust(qp->pace, cwnd->rate,
			smr_out_bytes(qp, cwnd->burst, qp->mtu));
	return smr_pace_wait(qp->pace,
			     smr_out_bytes(qp, min(psns, cwnd->burst), len));
}
