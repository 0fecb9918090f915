// SPDX-License-Identifier: GPL-2.0
#include "local_wr.h"

#include "pd.h"
#include "transport.h"

static int local_invalidate(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	return smr_mw_invalidate(qp->env->keys, &qp->windows, &qp->pd->ibpd,
				 (__force u32)wqe->imm_or_rkey);
}

static int bind_window(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	return smr_mw_bind(qp->env->keys, &qp->windows, &qp->pd->ibpd,
			   &wqe->bind);
}

/**
 * smr_local_wr_exec() - execute a work request of the kind SMR_WR_LOCAL
 * @qp: the QP it was posted to
 * @wqe: the work request; all before it have completed
 *
 * IBTA 10.6.7.2: a bind takes effect before any later work request begins,
 * and a local invalidate waits for those before it.
 *
 * Context: any; called by the send task.
 * Return: enum ib_wc_status.
 */
u8 smr_local_wr_exec(struct smr_qp *qp, const struct smr_swqe *wqe)
{
	int err = wqe->opcode == IB_UVERBS_WR_BIND_MW ? bind_window(qp, wqe) :
						 local_invalidate(qp, wqe);

	/* IBTA 11.6.2: "memory management operation error" */
	return err ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}
