// SPDX-License-Identifier: GPL-2.0
#include "qp/xrc.h"

/**
 * smr_xrc_enter() - take a reference on the queue that a request is for
 * @qp: the responder's QP
 * @srqn: the queue's number
 *
 * smr_xrc_leave() drops it in the same call of the task, so no peer can delay the end of
 * a queue. For a QP that is not XRC this does nothing.
 *
 * Context: any; called by the response task.
 * Return: false when the QP's domain has no such queue.
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
 * @qp: the responder's QP
 *
 * Context: any; called by the response task.
 */
void smr_xrc_leave(struct smr_qp *qp)
{
	if (qp->resp.xsrq)
		smr_srq_put(qp->resp.xsrq);
	qp->resp.xsrq = NULL;
}

/**
 * smr_xrc_check() - does the request name a valid queue?
 * @qp: the responder's QP, after smr_xrc_enter()
 * @op: the request
 *
 * Context: any; called by the response task.
 * Return: false when there is no such queue, or the message that has begun is
 * for another one.
 */
bool smr_xrc_check(const struct smr_qp *qp, const struct smr_op *op)
{
	const struct smr_responder *resp = &qp->resp;

	if (!smr_qp_is_xrc(qp))
		return true;
	return resp->xsrq && (!resp->in_message || resp->srqn == op->hdr.srqn);
}
