// SPDX-License-Identifier: GPL-2.0
#include "qp/payload.h"

#include "key.h"
#include "qp/core.h"
#include "qp/packet.h"
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

/**
 * smr_payload_fault() - bring all pages of an open list in, if this run may
 * @run: how to run
 * @sgl: the list
 * @write: they will be written to
 *
 * Context: as @run says.
 * Return: 0: try once more; -EINTR: try in another context, for this one may
 * not fault, or whoever lent it is being killed; or why they can't be had,
 * see smr_span_fault().
 */
int smr_payload_fault(const struct smr_run *run, const struct smr_sgl *sgl,
		      bool write)
{
	return run->can_fault ? smr_sgl_fault(sgl, write) : -EINTR;
}

/* A page of the message is not there: it is to be, and then once more. */
static int payload_fault(struct smr_qp *qp, struct smr_run *run)
{
	int err = smr_payload_fault(run, &qp->req.sgl, false);

	if (err && err != -EINTR)
		smr_send_fail(qp, smr_fault_status(err));
	return err == -EINTR ? err : 0;
}

/**
 * smr_payload_result() - what became of the oldest work request
 * @qp: the QP, its list still open
 * @err: SMR_PAGE_MISSING, -EFAULT, -EAGAIN, 0 or another error
 * @run: how to run
 *
 * Context: as @run says; called by the send task.
 * Return: 1: it has left, or is lost, which is the same to the sender; 0: it
 * has failed, or is to be tried again; -EAGAIN when the stack has no room;
 * -EINTR to be called from process context.
 */
int smr_payload_result(struct smr_qp *qp, int err, struct smr_run *run)
{
	switch (err) {
	case SMR_PAGE_MISSING:
		return payload_fault(qp, run);
	case -EFAULT:
		smr_send_fail(qp, IB_WC_LOC_PROT_ERR);
		return 0;
	case -EAGAIN:
		smr_stat_inc(qp->env->stats, SMR_CNT_BACKPRESSURE);
		return err;
	default:
		return 1;
	}
}
