// SPDX-License-Identifier: GPL-2.0
#include "qp/payload.h"

#include "key.h"
#include "qp/core.h"
#include "qp/sq.h"
#include "sgl.h"
#include "stats.h"

/**
 * smr_payload_open() - open the memory of what is to be sent
 * @qp: the QP
 * @wqe: its oldest work request
 *
 * Context: any; called by the send task.
 * Return: true: @qp->req.sgl is open, to be ended with smr_sgl_close(); false:
 * the work request has failed.
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
	smr_key_count(qp->env->stats, verdict);
	smr_send_fail(qp, IB_WC_LOC_PROT_ERR);
	return false;
}

/* 0, the errors of smr_sgl_fault(), or -EINTR where this run may not fault. */
static int run_fault(const struct smr_run *run, const struct smr_sgl *sgl,
		     bool write)
{
	return run->can_fault ? smr_sgl_fault(sgl, write) : -EINTR;
}

/**
 * smr_payload_fault() - bring in the pages of a requester's open list
 * @run: how to run
 * @sgl: the list
 * @write: the pages will be written to
 * @status: set, on SMR_STEP_DONE only, to how the work request fails
 *
 * Context: as @run says.
 * Return: SMR_STEP_AGAIN: the pages were brought in, try the copy again;
 * SMR_STEP_DEFER: this run may not fault, or the process that lent it is being
 * killed; SMR_STEP_DONE: the pages cannot be had.
 */
enum smr_step smr_payload_fault(const struct smr_run *run,
				const struct smr_sgl *sgl, bool write,
				u8 *status)
{
	int err = run_fault(run, sgl, write);

	if (!err)
		return SMR_STEP_AGAIN;
	if (err == -EINTR)
		return SMR_STEP_DEFER;
	*status = smr_fault_status(err);
	return SMR_STEP_DONE;
}

/**
 * smr_fault_verdict() - turn the result of a responder's fault into a verdict
 * @err: what smr_sgl_fault() has returned
 * @refused: the verdict if the memory is to blame
 *
 * Context: any.
 * Return: SMR_RESP_MORE after success; SMR_RESP_DEFER after -EINTR, since only
 * the process that lent its context is being killed; SMR_RESP_NO_MEMORY; or
 * @refused.
 */
enum smr_resp_verdict smr_fault_verdict(int err, enum smr_resp_verdict refused)
{
	switch (err) {
	case 0:
		return SMR_RESP_MORE;
	case -EINTR:
		return SMR_RESP_DEFER;
	case -ENOMEM:
		return SMR_RESP_NO_MEMORY;
	default:
		return refused;
	}
}

/**
 * smr_resp_fault() - bring in the pages of a responder's open list
 * @run: how to run
 * @sgl: the list
 * @write: the pages will be written to
 * @refused: the verdict if the memory is to blame
 *
 * Context: as @run says.
 * Return: as smr_fault_verdict(); SMR_RESP_DEFER also where this run may not
 * fault.
 */
enum smr_resp_verdict smr_resp_fault(const struct smr_run *run,
				     const struct smr_sgl *sgl, bool write,
				     enum smr_resp_verdict refused)
{
	return smr_fault_verdict(run_fault(run, sgl, write), refused);
}

/* A page of the message is missing. Without it the work request fails. */
static enum smr_step payload_fault(struct smr_qp *qp, struct smr_run *run)
{
	u8 status = IB_WC_SUCCESS;
	enum smr_step step;

	step = smr_payload_fault(run, &qp->req.sgl, false, &status);
	if (status)
		smr_send_fail(qp, status);
	return step == SMR_STEP_DEFER ? SMR_STEP_DEFER : SMR_STEP_AGAIN;
}

/**
 * smr_payload_result() - handle the result of sending a datagram or frame
 * @qp: the QP, its list still open
 * @err: 0, or the error of copying or sending it
 * @run: how to run
 *
 * Context: as @run says; called by the send task.
 * Return: SMR_STEP_DONE: the message has left, or is lost, which is the same
 * to the sender; SMR_STEP_AGAIN: the work request has failed, or is to be
 * tried again; SMR_STEP_WAIT: the stack has no room; SMR_STEP_DEFER.
 */
enum smr_step smr_payload_result(struct smr_qp *qp, int err,
				 struct smr_run *run)
{
	switch (err) {
	case SMR_PAGE_MISSING:
		return payload_fault(qp, run);
	case -EFAULT:
		smr_send_fail(qp, IB_WC_LOC_PROT_ERR);
		return SMR_STEP_AGAIN;
	case -EAGAIN:
		smr_stat_inc(qp->env->stats, SMR_CNT_BACKPRESSURE);
		return SMR_STEP_WAIT;
	default:
		return SMR_STEP_DONE;
	}
}
