// SPDX-License-Identifier: GPL-2.0
/* Open the memory of a message, and react to missing pages. Runs in a QP's tasks. */
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

/**
 * smr_payload_fault() - bring in the pages of a requester's open list
 * @paging: of the side that owns the list
 * @budget: the budget
 * @sgl: the list
 * @write: the pages will be written to
 * @status: set, on SMR_STEP_DONE only, to the status of the failed work request
 *
 * Context: as @budget says.
 * Return: SMR_STEP_AGAIN: the pages were brought in, retry the copy; SMR_STEP_WAIT: the task
 *	runs when they are present; SMR_STEP_DEFER; SMR_STEP_DONE: the pages cannot be brought
 *	in.
 */
enum smr_step smr_payload_fault(struct smr_paging *paging,
				struct smr_budget *budget,
				const struct smr_sgl *sgl, bool write,
				u8 *status)
{
	int err = smr_paging_fault(paging, budget, sgl, write);

	switch (err) {
	case 0:
		return SMR_STEP_AGAIN;
	case -EINPROGRESS:
		return SMR_STEP_WAIT;
	case -EAGAIN:
		return SMR_STEP_DEFER;
	default:
		*status = smr_fault_status(err);
		return SMR_STEP_DONE;
	}
}

/**
 * smr_resp_fault() - bring in the pages of a responder's open list
 * @qp: the responder's QP; the list is @qp->resp.sgl
 * @budget: the budget
 * @write: the pages will be written to
 * @refused: the verdict if the memory cannot be used
 *
 * Context: as @budget says; called by the response task.
 * Return: SMR_RESP_MORE: they were brought in, retry; SMR_RESP_WAIT: the task runs when they
 *	are present; SMR_RESP_DEFER; SMR_RESP_NO_MEMORY; or @refused.
 */
enum smr_resp_verdict smr_resp_fault(struct smr_qp *qp,
				     struct smr_budget *budget, bool write,
				     enum smr_resp_verdict refused)
{
	switch (smr_paging_fault(&qp->resp.paging, budget, &qp->resp.sgl, write)) {
	case 0:
		return SMR_RESP_MORE;
	case -EINPROGRESS:
		return SMR_RESP_WAIT;
	case -EAGAIN:
		return SMR_RESP_DEFER;
	case -ENOMEM:
		return SMR_RESP_NO_MEMORY;
	default:
		return refused;
	}
}

/* Bring in a missing page of the message. If that is not possible, the work request fails. */
static enum smr_step payload_fault(struct smr_qp *qp, struct smr_budget *budget)
{
	u8 status = IB_WC_SUCCESS;
	enum smr_step step;

	step = smr_payload_fault(&qp->req.paging, budget, &qp->req.sgl, false,
				 &status);
	if (status)
		smr_send_fail(qp, status);
	return step == SMR_STEP_DONE ? SMR_STEP_AGAIN : step;
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
