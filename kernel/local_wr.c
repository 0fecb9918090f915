// SPDX-License-Identifier: GPL-2.0
#include "local_wr.h"

#include <linux/delay.h>

#include "complete.h"
#include "kmr.h"
#include "pd.h"
#include "transport.h"

/**
 * smr_invalidate() - invalidate a window, or a fast-registered region
 * @qp: the QP that was asked to, by its consumer or by its peer
 * @pd: the protection domain that it must be in
 * @rkey: the key
 *
 * Context: any but hard interrupts; called by one of the QP's tasks.
 * Return: 0; -EAGAIN: again, from process context; or why not, see
 * smr_mw_invalidate() and smr_kmr_invalidate().
 */
int smr_invalidate(struct smr_qp *qp, const struct smr_pd *pd, u32 rkey)
{
	int err = smr_mw_invalidate(qp->env->keys, &qp->windows, &pd->ibpd,
				    rkey);

	if (err != -ENOENT)
		return err;
	return smr_kmr_invalidate(qp->env->keys, &pd->ibpd, rkey);
}

static int local_wr_try(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	struct smr_keys *keys = qp->env->keys;

	switch (wqe->opcode) {
	case IB_UVERBS_WR_BIND_MW:
		return smr_mw_bind(keys, &qp->windows, &qp->pd->ibpd,
				   &wqe->bind);
	case IB_WR_REG_MR:
		return smr_kmr_register(keys, &qp->pd->ibpd, &wqe->bind);
	default:
		return smr_invalidate(qp, qp->pd,
				      (__force u32)wqe->imm_or_rkey);
	}
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
	int err = local_wr_try(qp, wqe);

	if (err == -EAGAIN) {
		/* Where they wait for pages, do not look all the time. */
		if (run->can_fault)
			usleep_range(20, 100);
		return false;
	}
	/* IBTA 11.6.2: "memory management operation error" */
	if (err)
		smr_send_fail(qp, IB_WC_MW_BIND_ERR);
	else
		smr_send_retire(qp);
	return true;
}
