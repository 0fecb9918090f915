// SPDX-License-Identifier: GPL-2.0
/* The memory of a datagram or a frame that is sent. Runs in the send task. */
#include "qp/payload.h"

#include "key.h"
#include "qp/core.h"
#include "qp/paging.h"
#include "qp/sq.h"
#include "sgl.h"
#include "stats.h"

/**
 * smr_payload_open() - open the memory of a work request to send
 * @qp: the caller owns its send task
 * @wqe: its oldest work request
 *
 * Return: true: @qp->req.sgl is open, and must be closed by smr_sgl_close(); false: the work
 *	request has failed.
 */
bool smr_payload_open(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	enum smr_key_verdict verdict;

	if (wqe->send_flags & IB_SEND_INLINE) {
		smr_sgl_inline(&qp->req.sgl, wqe->data, wqe->len);
		return true;
	}
	verdict = smr_sgl_open(&qp->req.sgl, qp->pd, qp->ibqp.qp_num, 0,
			       wqe->sge, wqe->num_sge, 0, wqe->len);
	if (verdict == SMR_KEY_OK)
		return true;
	smr_qp_key(qp, verdict);
	smr_send_fail(qp, IB_WC_LOC_PROT_ERR);
	return false;
}

/* Bring in a missing page of the message. If that is not possible, the work request fails. */
static enum smr_step payload_fault(struct smr_qp *qp, struct smr_budget *budget)
{
	enum smr_step step;
	int err;

	step = smr_paging_fault(&qp->req.paging, budget, &qp->req.sgl, false, &err);
	if (step != SMR_STEP_DONE)
		return step;
	smr_send_fail(qp, smr_fault_status(err));
	return SMR_STEP_AGAIN;
}

/**
 * smr_payload_result() - handle the result of sending a datagram or frame
 * @qp: the QP, its list still open
 * @err: 0, or the error of copying or sending it
 * @budget: the budget
 *
 * Context: as @budget says; called by the send task.
 * Return: SMR_STEP_DONE: the message was sent, or is lost, which the sender cannot tell;
 * SMR_STEP_AGAIN: the work request has failed, or must be retried; SMR_STEP_WAIT: the stack
 * does not accept packets, or a page is being brought in; SMR_STEP_DEFER.
 */
enum smr_step smr_payload_result(struct smr_qp *qp, int err,
				 struct smr_budget *budget)
{
	switch (err) {
	case SMR_PAGE_MISSING:
		return payload_fault(qp, budget);
	case -EFAULT:
		smr_send_fail(qp, IB_WC_LOC_PROT_ERR);
		return SMR_STEP_AGAIN;
	case -EAGAIN:
		smr_qp_inc(qp, SMR_CNT_BACKPRESSURE);
		return SMR_STEP_WAIT;
	default:
		return SMR_STEP_DONE;
	}
}
