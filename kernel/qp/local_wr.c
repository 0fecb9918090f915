// SPDX-License-Identifier: GPL-2.0
/*
 * Execute binds, fast registrations and invalidates, which may have to wait for the spans of a
 * key. Runs in a QP's tasks.
 */
#include "qp/local_wr.h"

#include <linux/container_of.h>

#include "grant.h"
#include "kmr.h"
#include "pd.h"
#include "qp/core.h"
#include "qp/sq.h"

static void inval_drained(struct smr_drain *drain)
{
	smr_task_defer(container_of(drain, struct smr_inval, drain)->task);
}

/**
 * smr_inval_init() - initialize a side's pending invalidate; none is pending
 * @inv: zeroed
 * @task: of that side; it runs when the invalidate can be retried
 */
void smr_inval_init(struct smr_inval *inv, struct smr_task *task)
{
	smr_drain_init(&inv->drain, inval_drained);
	inv->task = task;
}

static void inval_set(struct smr_inval *inv, const struct smr_pd *pd, u32 rkey)
{
	inv->pd = pd;
	inv->rkey = rkey;
	inv->local = false;
}

/**
 * smr_inval_exec() - invalidate a window, or a fast-registered region
 * @qp: the QP whose consumer, or whose peer, asks for it
 * @inv: the side's pending invalidate; set on -EAGAIN, cleared otherwise
 * @pd: the protection domain that the key must belong to
 * @rkey: the key
 *
 * If an invalidate of another key is pending in @inv, the request of that key will not be
 * retried, so it is undone first.
 *
 * Context: any; called by the task that owns @inv.
 * Return: 0; -EAGAIN: the key is invalid, but spans are left. The task runs when they have
 * ended, to retry or to call smr_inval_undo(). Or the errors of smr_mw_invalidate() and
 * smr_kmr_invalidate().
 */
int smr_inval_exec(struct smr_qp *qp, struct smr_inval *inv,
		   const struct smr_pd *pd, u32 rkey)
{
	int err;

	if (inv->pd && (inv->pd != pd || inv->rkey != rkey))
		smr_inval_undo(qp, inv);
	err = smr_mw_invalidate(qp->env->keys, &qp->windows, &pd->ibpd, rkey,
				&inv->drain);
	if (err == -ENOENT)
		err = smr_kmr_invalidate(qp->env->keys, &pd->ibpd, rkey,
					 &inv->drain);
	if (err == -EAGAIN) {
		inval_set(inv, pd, rkey);
		return err;
	}
	smr_drain_forget(&inv->drain);
	inval_set(inv, NULL, 0);
	return err;
}

/**
 * smr_inval_undo() - undo a pending invalidate: its key becomes valid again
 * @qp: the QP
 * @inv: the side's pending invalidate; cleared. If none is pending, this does nothing
 *
 * Context: any but hard interrupts; called by the task that owns @inv, or
 * while that is paused.
 */
void smr_inval_undo(struct smr_qp *qp, struct smr_inval *inv)
{
	if (!inv->pd)
		return;
	smr_drain_forget(&inv->drain);
	smr_mw_invalidate_undo(qp->env->keys, &qp->windows, &inv->pd->ibpd,
			       inv->rkey);
	smr_kmr_invalidate_undo(qp->env->keys, &inv->pd->ibpd, inv->rkey);
	inval_set(inv, NULL, 0);
}

static int bind_try(struct smr_qp *qp, const struct smr_mw_bind *bind)
{
	struct smr_drain *drain = &qp->req.inval.drain;
	int err;

	err = smr_mw_bind(qp->env->keys, &qp->windows, &qp->pd->ibpd, bind,
			  drain);
	if (err != -EAGAIN && err != -EBUSY)
		smr_drain_forget(drain);
	return err;
}

static int local_wr_try(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	struct smr_keys *keys = qp->env->keys;

	switch (wqe->opcode) {
	case IB_UVERBS_WR_BIND_MW:
		return bind_try(qp, &wqe->bind);
	case IB_WR_REG_MR:
		return smr_kmr_register(keys, &qp->pd->ibpd, &wqe->bind);
	default:
		return smr_inval_exec(qp, &qp->req.inval, qp->pd,
				      (__force u32)wqe->imm_or_rkey);
	}
}

/**
 * smr_local_wr_undo() - undo the oldest work request if it waits for spans to end
 * @qp: its send queue is being flushed or drained
 *
 * The key that the bind or invalidate has made invalid becomes valid again.
 *
 * Context: any but hard interrupts; called by the send task, or while it is
 * paused.
 */
void smr_local_wr_undo(struct smr_qp *qp)
{
	const struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	smr_inval_undo(qp, &qp->req.inval);
	if (qp->sq.head == qp->sq.ring.idx || wqe->status)
		return;
	if (wqe->opcode != IB_UVERBS_WR_BIND_MW)
		return;
	smr_drain_forget(&qp->req.inval.drain);
	smr_mw_bind_undo(qp->env->keys, &qp->windows, &qp->pd->ibpd,
			 &wqe->bind);
}

/**
 * smr_local_wr_exec() - execute a work request of the kind SMR_WR_LOCAL
 * @qp: the QP it was posted to
 * @wqe: the work request; all earlier ones have completed
 *
 * IBTA 10.6.7.2: a bind takes effect before any later work request begins,
 * and a local invalidate waits for those before it.
 *
 * Context: any; called by the send task.
 * Return: SMR_STEP_DONE: it has completed; SMR_STEP_WAIT: other CPUs still copy through the key
 * that it ends, and the task runs when they are done; SMR_STEP_DEFER: another QP is about to
 * bind the window.
 */
enum smr_step smr_local_wr_exec(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	int err = local_wr_try(qp, wqe);

	if (err == -EAGAIN)
		return SMR_STEP_WAIT;
	if (err == -EBUSY)
		return SMR_STEP_DEFER;
	/* IBTA 11.6.2: "memory management operation error" */
	if (err)
		smr_send_fail(qp, IB_WC_MW_BIND_ERR);
	else
		smr_send_retire(qp);
	return SMR_STEP_DONE;
}
