// SPDX-License-Identifier: GPL-2.0
#include "qp/local_wr.h"

#include <linux/delay.h>

#include "kmr.h"
#include "pd.h"
#include "qp/core.h"
#include "qp/sq.h"

/* Where those that are waited for wait for pages, do not look all the time. */
static int dawdle(int err, const struct smr_run *run)
{
	if (err == -EAGAIN && run->can_fault)
		usleep_range(20, 100);
	return err;
}

/**
 * smr_invalidate() - invalidate a window, or a fast-registered region
 * @qp: the QP that was asked to, by its consumer or by its peer
 * @pd: the protection domain that it must be in
 * @rkey: the key
 * @run: how the task may run
 *
 * Context: as @run says; called by one of the QP's tasks.
 * Return: 0; -EAGAIN: again, from process context, or smr_invalidate_undo(); or
 * why not, see smr_mw_invalidate() and smr_kmr_invalidate().
 */
int smr_invalidate(struct smr_qp *qp, const struct smr_pd *pd, u32 rkey,
		   const struct smr_run *run)
{
	int err = smr_mw_invalidate(qp->env->keys, &qp->windows, &pd->ibpd,
				    rkey);

	if (err == -ENOENT)
		err = smr_kmr_invalidate(qp->env->keys, &pd->ibpd, rkey);
	return dawdle(err, run);
}

/**
 * smr_invalidate_undo() - what was to be invalidated stays as it is
 * @qp: the QP that was asked to
 * @pd: the protection domain that it must be in
 * @rkey: the key; of anything, or nothing
 *
 * Context: any but hard interrupts.
 */
void smr_invalidate_undo(struct smr_qp *qp, const struct smr_pd *pd, u32 rkey)
{
	smr_mw_invalidate_undo(qp->env->keys, &qp->windows, &pd->ibpd, rkey);
	smr_kmr_invalidate_undo(qp->env->keys, &pd->ibpd, rkey);
}

static int local_wr_try(struct smr_qp *qp, const struct smr_swqe *wqe,
			const struct smr_run *run)
{
	struct smr_keys *keys = qp->env->keys;

	switch (wqe->opcode) {
	case IB_UVERBS_WR_BIND_MW:
		return dawdle(smr_mw_bind(keys, &qp->windows, &qp->pd->ibpd,
					  &wqe->bind), run);
	case IB_WR_REG_MR:
		return smr_kmr_register(keys, &qp->pd->ibpd, &wqe->bind);
	default:
		return smr_invalidate(qp, qp->pd,
				      (__force u32)wqe->imm_or_rkey, run);
	}
}

/**
 * smr_local_wr_undo() - the oldest work request is not to be executed now
 * @qp: the QP, whose send queue is being emptied, or has to drain
 *
 * If it is one that waited, what it was about is as it was before.
 *
 * Context: any but hard interrupts; called by the send task, or while it is
 * paused.
 */
void smr_local_wr_undo(struct smr_qp *qp)
{
	const struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	if (qp->sq.head == qp->sq.ring.idx || wqe->status)
		return;
	if (wqe->opcode == IB_UVERBS_WR_BIND_MW)
		smr_mw_bind_undo(qp->env->keys, &qp->windows, &qp->pd->ibpd,
				 &wqe->bind);
	else if (wqe->opcode == IB_WR_LOCAL_INV)
		smr_invalidate_undo(qp, qp->pd, (__force u32)wqe->imm_or_rkey);
}

/**
 * smr_local_wr_exec() - execute a work request of the kind SMR_WR_LOCAL
 * @qp: the QP it was posted to
 * @wqe: the work request; all before it have completed
 * @run: how it may run
 *
 * IBTA 10.6.7.2: a bind takes effect before any later work request begins,
 * and a local invalidate waits for those before it.
 *
 * Context: as @run says; called by the send task.
 * Return: true: it has completed; false: once more, from process context, as
 * other CPUs copy for a moment yet with what it ends.
 */
bool smr_local_wr_exec(struct smr_qp *qp, const struct smr_swqe *wqe,
		       const struct smr_run *run)
{
	int err = local_wr_try(qp, wqe, run);

	if (err == -EAGAIN)
		return false;
	/* IBTA 11.6.2: "memory management operation error" */
	if (err)
		smr_send_fail(qp, IB_WC_MW_BIND_ERR);
	else
		smr_send_retire(qp);
	return true;
}
