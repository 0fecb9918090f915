// SPDX-License-Identifier: GPL-2.0
/*
 * Execute binds, fast registrations and invalidates, which may have to wait for the spans of a
 * key. Runs in a QP's tasks.
 */
#include "qp/local_wr.h"

#include <linux/container_of.h>

#include "ref.h"
#include "kmr.h"
#include "pd.h"
#include "qp/core.h"
#include "qp/sq.h"

static bool inval_get(struct smr_ref_waiter *waiter)
{
	struct smr_task *task = container_of(waiter, struct smr_inval, waiter)->task;

	return task->get(task);
}

static void inval_run(struct smr_ref_waiter *waiter)
{
	struct smr_task *task = container_of(waiter, struct smr_inval, waiter)->task;

	smr_task_defer(task);
	task->put(task);
}

/*
 * Initialize a side's pending invalidate; none is pending. @task: of that side; it runs when the
 * invalidate can be finished.
 */
void smr_inval_init(struct smr_inval *inv, struct smr_task *task)
{
	inv->waiter.get = inval_get;
	inv->waiter.run = inval_run;
	inv->task = task;
}

/*
 * Invalidate a window, or a fast-registered region. @qp: the QP whose consumer, or whose peer, asks
 * for it. @inv: of that side; none is pending. @pd: the protection domain that the key must belong
 * to. Context: any; called by the task that owns @inv. Returns 0; -EAGAIN: it has begun: the key is
 * invalid, but spans are left. The task runs when they have ended, and calls smr_inval_finish(). Or
 * the errors of smr_mw_invalidate() and smr_kmr_invalidate().
 */
int smr_inval_exec(struct smr_qp *qp, struct smr_inval *inv,
		   const struct smr_pd *pd, u32 rkey)
{
	int err;

	err = smr_mw_invalidate(qp->env->keys, &qp->windows, &pd->ibpd, rkey,
				&inv->waiter);
	if (err == -ENOENT)
		err = smr_kmr_invalidate(qp->env->keys, &pd->ibpd, rkey,
					 &inv->waiter);
	inv->rkey = rkey;
	inv->begun = err == -EAGAIN;
	return err;
}

/*
 * Finish an invalidate or a bind that has begun. @qp: the QP, in any state. Context: any but hard
 * interrupts; called by the task that owns @inv, or while that is paused. Returns 0: none is
 * pending; -EAGAIN: spans are left, and the task runs when they have ended.
 */
int smr_inval_finish(struct smr_qp *qp, struct smr_inval *inv)
{
	int err;

	if (!inv->begun)
		return 0;
	/* Another event may have run the task. */
	if (smr_ref_waiter_listed(&inv->waiter))
		return -EAGAIN;
	/* The key is that of a window or of a region; the other call does nothing. */
	err = smr_mw_finish(qp->env->keys, &qp->windows, inv->rkey,
			    &inv->waiter);
	if (!err)
		err = smr_kmr_finish(qp->env->keys, inv->rkey, &inv->waiter);
	inv->begun = err;
	return err;
}

/* Wait until an invalidate or a bind that has begun is finished. */
void smr_inval_finish_sync(struct smr_qp *qp, struct smr_inval *inv)
{
	while (smr_inval_finish(qp, inv))
		smr_ref_wait(&inv->waiter);
}

static int bind_try(struct smr_qp *qp, const struct smr_mw_bind *bind)
{
	struct smr_inval *inv = &qp->req.inval;
	int err;

	err = smr_mw_bind(qp->env->keys, &qp->windows, &qp->pd->ibpd, bind,
			  &inv->waiter);
	inv->rkey = bind->mw_rkey;
	inv->begun = err == -EAGAIN;
	return err;
}

static int local_wr_try(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	struct smr_inval *inv = &qp->req.inval;

	if (inv->begun)
		return smr_inval_finish(qp, inv);
	switch (wqe->opcode) {
	case IB_UVERBS_WR_BIND_MW:
		return bind_try(qp, &wqe->bind);
	case IB_WR_REG_MR:
		return smr_kmr_register(qp->env->keys, &qp->pd->ibpd,
					&wqe->bind);
	default:
		return smr_inval_exec(qp, inv, qp->pd,
				      (__force u32)wqe->imm_or_rkey);
	}
}

/*
 * Execute a work request of the kind SMR_WR_LOCAL. @qp: the QP it was posted to. @wqe: the work
 * request; all earlier ones have completed. IBTA 10.6.7.2: a bind takes effect before any later
 * work request begins, and a local invalidate waits for those before it. A request that has begun,
 * and waits for spans, is finished even if the QP has failed. Context: any; called by the send
 * task. Returns SMR_STEP_DONE: it has completed; SMR_STEP_WAIT: other CPUs still copy through the
 * key that it ends, and the task runs when they are done; SMR_STEP_DEFER: another QP is about to
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
