// SPDX-License-Identifier: GPL-2.0
#include "qp/outstanding.h"

#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "compat/timer.h"
#include "net/wire.h"
#include "qp/ahead.h"
#include "qp/core.h"
#include "qp/early.h"
#include "qp/opcode.h"
#include "qp/sq.h"
#include "qp/window.h"
#include "stats.h"
#include "trace.h"

/* IBTA 9.7.6.1.3: 4.096 us * 2 ^ timeout, times 2 ^ @late */
static unsigned long timeout_jiffies(const struct smr_qp *qp, u8 late)
{
	return nsecs_to_jiffies(4096ULL << (qp->attr.timeout + late)) + 1;
}

/**
 * smr_out_await() - start the ack timer anew
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_out_await(struct smr_qp *qp)
{
	/* IBTA 9.7.6.1.3: 0 is for ever */
	if (!qp->attr.timeout)
		return;
	qp->comp.deadline = jiffies + timeout_jiffies(qp, qp->comp.late);
	mod_timer(&qp->comp.ack_timer, qp->comp.deadline);
}

/**
 * smr_out_patience() - for how long the stack may refuse what a QP sends
 * @qp: the QP, paused; its timeout has been set
 *
 * A packet that is refused for a whole timeout is lost. The timeouts that follow use up
 * the retries.
 */
void smr_out_patience(struct smr_qp *qp)
{
	unsigned long patience = qp->attr.timeout ? timeout_jiffies(qp, 0) :
						    MAX_JIFFY_OFFSET;

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
	qp->comp.late = 0;
}

/**
 * smr_out_arm() - start the ack timer after a packet was sent
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_out_arm(struct smr_qp *qp)
{
	if (!timer_pending(&qp->comp.ack_timer))
		smr_out_await(qp);
}

/**
 * smr_out_advance() - the oldest unacknowledged PSN has moved on
 * @qp: the QP
 * @una: it is this one now
 *
 * The timer now watches the next.
 *
 * Context: any; called by the send task.
 */
void smr_out_advance(struct smr_qp *qp, u32 una)
{
	u32 psns = smr_psn_off(una, qp->comp.una);

	if (!psns)
		return;
	if (unlikely(qp->comp.ahead.any))
		smr_ahead_pass(&qp->comp.ahead, qp->comp.una, psns);
	qp->comp.una = una;
	smr_out_start(qp);
	smr_window_acked(qp, psns);
	smr_early_acked(qp);
	if (qp->comp.una == qp->req.psn)
		timer_delete(&qp->comp.ack_timer);
	else
		smr_out_await(qp);
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

	while (smr_psn_diff(psn, qp->comp.una) > 0) {
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
	trace_smr_retry(qp->ibqp.qp_num, qp->comp.una, qp->req.psn,
			qp->comp.retry);
	if (!qp->comp.retry) {
		smr_qp_inc(qp, SMR_CNT_RETRY_EXC);
		smr_send_fail(qp, IB_WC_RETRY_EXC_ERR);
		return false;
	}
	qp->comp.retry--;
	smr_early_forget(qp);
	return true;
}

/**
 * smr_out_retry() - send again from the oldest PSN, unless no retries are left
 * @qp: the QP
 * @late: the ack timer fired
 *
 * IBTA 9.7.5.2. Without retries the work request fails.
 *
 * Context: any; called by the send task.
 */
void smr_out_retry(struct smr_qp *qp, bool late)
{
	if (!charge(qp))
		return;
	smr_window_rewind(qp, late);
	smr_out_await(qp);
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
	u32 from = smr_ahead_from(&comp->ahead, comp->una);

	switch (smr_ahead_prove(&comp->ahead, comp->una, psn, answer,
				qp->req.max_psn, any_fetches(qp, from, psn))) {
	case SMR_AHEAD_KNOWN:
		return true;
	case SMR_AHEAD_MISSING:
		if (!comp->gap && !comp->asked)
			break;
		/* What is measured would contain that it was lost. */
		smr_early_forget(qp);
		return true;
	case SMR_AHEAD_AGAIN:
		break;
	}
	comp->asked = true;
	if (!charge(qp))
		return false;
	smr_window_lost(qp);
	smr_out_await(qp);
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
	struct smr_ahead *ahead = &qp->comp.ahead;

	for (; ahead->any; run->quota -= SMR_COST_RETIRE) {
		const struct smr_swqe *wqe = smr_out_head(qp);
		u32 una = qp->comp.una;
		u32 n = wqe->npsn - smr_psn_off(una, wqe->psn);

		n = fetches(qp, wqe) ? smr_ahead_got(ahead, una, n) :
				       min(n, smr_psn_off(ahead->end, una));
		if (!n) {
			smr_ahead_next(ahead, qp->req.max_psn);
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
