// SPDX-License-Identifier: GPL-2.0
/*
 * What a send side has under way: how much of it is acknowledged, and what is sent again.
 */
#include "qp/recovery.h"

#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/ooo.h"
#include "qp/opcode.h"
#include "qp/sq.h"
#include "stats.h"
#include "trace.h"

/**
 * smr_out_set_timeout() - set the consumer's timeout
 * @qp: the QP, paused
 *
 * For so long the stack may refuse what a QP sends: a packet that is refused for a whole
 * timeout is lost. The timeouts that follow use up the retries.
 */
void smr_out_set_timeout(struct smr_qp *qp)
{
	unsigned long patience = MAX_JIFFY_OFFSET;

	smr_rto_set(&qp->rto, qp->attr.timeout);
	if (qp->rto.timeout)
		patience = nsecs_to_jiffies(qp->rto.timeout) + 1;
	qp->req.refused.patience = patience;
	qp->resp.refused.patience = patience;
}

/**
 * smr_out_start() - load the retry counters
 * @qp: the QP, paused, on its way to RTS; or called by the send task after
 *	progress. IBTA 9.7.6.1.3
 */
void smr_out_start(struct smr_qp *qp)
{
	qp->comp.retry = qp->attr.retry_cnt;
	qp->comp.rnr_retry = qp->attr.rnr_retry;
	qp->comp.rnr_again = 0;
}

/**
 * smr_out_restart() - send next what is the oldest unacknowledged PSN
 * @qp: the QP
 *
 * What has come ahead of it is not asked for again.
 *
 * Context: any; called by the send task.
 */
void smr_out_restart(struct smr_qp *qp)
{
	smr_snd_rewind(&qp->snd, qp->sq.head);
	smr_rd_req_rewind(&qp->rd_req, &qp->snd);
	smr_ooo_rewind(&qp->comp.ooo, qp->snd.max_psn);
}

/**
 * smr_out_rewind() - go back to the oldest unacknowledged PSN after a loss
 * @qp: the QP
 * @late: a timer has fired
 *
 * IBTA 9.7.5.1: go back N. Loss also narrows the window.
 *
 * Context: any; called by the send task.
 */
void smr_out_rewind(struct smr_qp *qp, bool late)
{
	smr_qp_inc(qp, SMR_CNT_RETRANSMITS);
	smr_tally(&qp->req.sent.retransmits, 1);
	smr_out_restart(qp);
	smr_cwnd_lost(&qp->cwnd, qp->snd.max_psn, late);
}

/**
 * smr_out_advance() - the oldest unacknowledged PSN has moved on
 * @qp: the QP
 * @una: it is this one now
 *
 * The timer now waits for the next.
 *
 * Context: any; called by the send task.
 */
void smr_out_advance(struct smr_qp *qp, u32 una)
{
	u32 psns = smr_psn_off(una, qp->snd.una);

	if (!psns)
		return;
	if (unlikely(qp->comp.ooo.any))
		smr_ooo_pass(&qp->comp.ooo, qp->snd.una, psns);
	smr_snd_acked(&qp->snd, una, qp->sq.head);
	smr_out_start(qp);
	smr_rd_req_acked(&qp->rd_req, una);
	smr_cwnd_acked(&qp->cwnd, una, psns, smr_out_window_max(qp));
	smr_rto_acked(&qp->rto, una, smr_snd_in_flight(&qp->snd));
}

static bool fetches(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	return smr_wr_info(qp->ibqp.qp_type, wqe->opcode)->flags &
	       SMR_WR_FETCHES;
}

/**
 * smr_out_head_done() - the oldest work request is acknowledged in full
 * @qp: the QP
 * @wqe: the work request
 *
 * Context: any; called by the send task.
 */
void smr_out_head_done(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	u32 end = smr_psn_add(wqe->psn, wqe->npsn);

	smr_send_retire(qp);
	smr_out_advance(qp, end);
}

/**
 * smr_out_acked_before() - all PSNs before one are acknowledged
 * @qp: the QP
 * @psn: the PSN
 * @run: how to run: each request that completes reduces the quota
 *
 * Context: any; called by the send task.
 * Return: what has become of them.
 */
enum smr_out_acked smr_out_acked_before(struct smr_qp *qp, u32 psn,
					struct smr_run *run)
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
		if (run->quota <= 0)
			return SMR_OUT_MORE;
		run->quota -= SMR_COST_RETIRE;
		smr_out_head_done(qp, wqe);
	}
	return SMR_OUT_ACKED;
}

/* Use up a retry. False: there was none, and the work request has failed. */
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

/**
 * smr_out_retry() - send again from the oldest PSN, unless no retries are left
 * @qp: the QP
 * @late: the timeout is over
 *
 * IBTA 9.7.5.2. Without retries the work request fails.
 *
 * Context: any; called by the send task.
 */
void smr_out_retry(struct smr_qp *qp, bool late)
{
	if (!charge(qp))
		return;
	smr_out_rewind(qp, late);
	smr_rto_await(&qp->rto);
}

/**
 * smr_out_gap() - a response is missing, and something besides
 * @qp: the QP
 *
 * Each packet behind it shows the same gap, so send again only once. If that is lost, too,
 * the timer fires.
 *
 * Context: any; called by the send task.
 */
void smr_out_gap(struct smr_qp *qp)
{
	if (qp->comp.gap)
		return;
	qp->comp.gap = true;
	smr_out_retry(qp, false);
}

/* Does anything that waits for data lie between these PSNs, which were sent? */
static bool any_fetches(struct smr_qp *qp, u32 psn, u32 end)
{
	while (smr_psn_diff(psn, end) < 0) {
		const struct smr_swqe *wqe = smr_sq_find(&qp->sq, psn);

		if (fetches(qp, wqe))
			return true;
		psn = smr_psn_add(wqe->psn, wqe->npsn);
	}
	return false;
}

/**
 * smr_out_missing() - responses are missing, and nothing else
 * @qp: the QP
 * @psn: the responder has executed all before it
 * @answer: the PSN of the answer that says so
 *
 * Ask again for what is missing, once; and once more whenever it is found to be lost again.
 *
 * Context: any; called by the send task.
 * Return: false: no retry was left, and the work request has failed.
 */
bool smr_out_missing(struct smr_qp *qp, u32 psn, u32 answer)
{
	struct smr_completer *comp = &qp->comp;
	u32 from = smr_ooo_from(&comp->ooo, qp->snd.una);

	switch (smr_ooo_prove(&comp->ooo, qp->snd.una, psn, answer,
			      qp->snd.max_psn, any_fetches(qp, from, psn))) {
	case SMR_OOO_KNOWN:
		return true;
	case SMR_OOO_MISSING:
		if (!comp->gap && !comp->asked)
			break;
		/* What is measured would contain that it was lost. */
		smr_rto_forget(&qp->rto);
		return true;
	case SMR_OOO_AGAIN:
		break;
	}
	comp->asked = true;
	if (!charge(qp))
		return false;
	smr_qp_inc(qp, SMR_CNT_RETRANSMITS);
	smr_tally(&qp->req.sent.retransmits, 1);
	smr_cwnd_lost_once(&qp->cwnd, qp->snd.una, qp->snd.max_psn);
	smr_rto_await(&qp->rto);
	return true;
}

/**
 * smr_out_catch_up() - the oldest PSN has moved on to what came ahead of it
 * @qp: the QP
 * @run: how to run: each request that completes reduces the quota
 *
 * What came, and what is acknowledged by that, follows now, as far as the quota allows.
 *
 * Context: any; called by the send task.
 */
void smr_out_catch_up(struct smr_qp *qp, struct smr_run *run)
{
	struct smr_ooo *ooo = &qp->comp.ooo;

	for (; ooo->any; run->quota -= SMR_COST_RETIRE) {
		const struct smr_swqe *wqe = smr_out_head(qp);
		u32 una = qp->snd.una;
		u32 n = wqe->npsn - smr_psn_off(una, wqe->psn);

		n = fetches(qp, wqe) ? smr_ooo_got(ooo, una, n) :
				       min(n, smr_psn_off(ooo->end, una));
		if (!n) {
			smr_ooo_next(ooo, qp->snd.max_psn);
			break;
		}
		if (run->quota <= 0)
			return;
		if (smr_psn_add(una, n) == smr_psn_add(wqe->psn, wqe->npsn))
			smr_out_head_done(qp, wqe);
		else
			smr_out_advance(qp, smr_psn_add(una, n));
	}
	qp->comp.catch_up = false;
}
