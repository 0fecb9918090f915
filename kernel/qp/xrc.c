// SPDX-License-Identifier: GPL-2.0
/* References on the SRQ that an XRC request is for. Runs in the response task. */
#include "qp/xrc.h"

/**
 * smr_xrc_enter() - take a reference on the SRQ that a request is for
 * @qp: the caller owns its response task
 * @srqn: the queue's number
 *
 * smr_xrc_leave() drops it in the same call of the task, so no peer can delay the destruction
 * of an SRQ. For a QP that is not XRC this does nothing.
 *
 * Return: false if the QP's domain has no such SRQ.
 */
bool smr_xrc_enter(struct smr_qp *qp, u32 srqn)
{
	if (!smr_qp_is_xrc(qp))
		return true;
	qp->resp.xsrq = smr_srq_find(qp->env->srqs, srqn, qp->ibqp.xrcd);
	return qp->resp.xsrq;
}

/**
 * smr_xrc_leave() - drop the reference on the queue
 * @qp: the caller owns its response task
 */
void smr_xrc_leave(struct smr_qp *qp)
{
	if (qp->resp.xsrq)
		smr_srq_put(qp->resp.xsrq);
	qp->resp.xsrq = NULL;
}

/**
 * smr_xrc_check() - is the SRQ of a request valid?
 * @qp: the responder's QP, after smr_xrc_enter()
 * @op: the request
 *
 * Context: any; called by the response task.
 * Return: false if there is no such SRQ, or the message in progress is for another one.
 */
bool smr_xrc_check(const struct smr_qp *qp, const struct smr_op *op)
{
	const struct smr_responder *resp = &qp->resp;

	if (!smr_qp_is_xrc(qp))
		return true;
	return resp->xsrq && (!resp->in_message || resp->srqn == op->hdr->srqn);
}
