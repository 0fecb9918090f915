/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Missing pages of a side of a QP: it begins a fault, and its task runs again when the fault
 * has ended. While it waits, it holds no span.
 */
#ifndef SMR_PAGING_H
#define SMR_PAGING_H

#include <linux/errno.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "fault.h"
#include "qp/core.h"

void smr_paging_init(struct smr_paging *paging, struct smr_task *task);
enum smr_step smr_paging_fault(struct smr_paging *paging, struct smr_budget *budget,
			       const struct smr_sgl *sgl, bool write, int *err);
void smr_paging_cancel(struct smr_paging *paging);

/* The status of a work request whose pages cannot be brought in, because of @err */
static inline enum ib_wc_status smr_fault_status(int err)
{
	return err == -ENOMEM ? IB_WC_LOC_QP_OP_ERR : IB_WC_LOC_PROT_ERR;
}

/* The verdict on a request whose pages cannot be brought in; @refused unless memory ran out */
static inline enum smr_resp_verdict
smr_fault_verdict(int err, enum smr_resp_verdict refused)
{
	return err == -ENOMEM ? SMR_RESP_NO_MEMORY : refused;
}

/* Does a side wait for pages? Then its task will run when the fault has ended. */
static inline bool smr_paging_waits(const struct smr_paging *paging)
{
	return unlikely(paging->fault) && !smr_fault_is_done(paging->fault);
}

/*
 * After each step of a side: drop the result of a fault if it was not used. The copy that had
 * missed the pages was retried, and did not need the result.
 */
static inline void smr_paging_settle(struct smr_paging *paging)
{
	if (unlikely(paging->fault) && smr_fault_is_done(paging->fault))
		smr_paging_cancel(paging);
}

#endif /* SMR_PAGING_H */
