// SPDX-License-Identifier: GPL-2.0
#include "qp/outstanding.h"

#include "compat/timer.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/early.h"
#include "qp/opcode.h"
#include "qp/sq.h"
#include "qp/window.h"
#include "stats.h"
#include "trace.h"

/**
 * smr_out_await() - start the ack timer anew
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_out_await(struct smr_qp *qp)
{
	/* IBTA 9.7.6.1.3: 4.096 us * 2 ^ timeout, and 0 is for ever */
	u64 ns = 4096ULL << (qp->attr.timeout + qp->comp.late);

	if (!qp->attr.timeout)
		return;
	qp->comp.deadline = jiffies + nsecs_to_jiffies(ns) + 1;
	mod_timer(&qp->comp.ack_timer, qp->comp.deadline);
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
 *
 * Context: any; called by the send task.
 * Return: false: a READ or an atomic among them still waits for its data, so that data is
 * lost.
 */
bool smr_out_acked_before(struct smr_qp *qp, u32 psn)
{
	struct smr_swqe *wqe;

	while (smr_psn_diff(psn, qp->comp.una) > 0) {
		wqe = smr_out_head(qp);
		if (!wqe)
			return true;
		if (fetches(qp, wqe))
			return false;
		if (smr_psn_off(psn, wqe->psn) < wqe->npsn) {
			smr_out_advance(qp, psn);
			return true;
		}
		smr_out_head_done(qp, wqe);
	}
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
	trace_smr_retry(qp->ibqp.qp_num, qp->comp.una, qp->req.psn,
			qp->comp.retry);
	if (!qp->comp.retry) {
		smr_qp_inc(qp, SMR_CNT_RETRY_EXC);
		smr_send_fail(qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->comp.retry--;
	smr_early_forget(qp);
	smr_window_rewind(qp, late);
	smr_out_await(qp);
}

/**
 * smr_out_gap() - a response is missing
 * @qp: the QP
 *
 * Each packet behind it shows the same gap, so ask again only once. If that is lost, too,
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
