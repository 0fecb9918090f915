/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Missing pages of a side of a QP: it begins a fault, and its task runs again when the fault
 * has ended. While it waits, it holds no span.
 */
#ifndef SMR_PAGING_H
#define SMR_PAGING_H

#include <linux/types.h>

#include "fault.h"
#include "qp/core.h"

void smr_paging_init(struct smr_paging *paging, struct smr_task *task);
int smr_paging_fault(struct smr_paging *paging, struct smr_budget *budget,
		     const struct smr_sgl *sgl, bool write);
void smr_paging_cancel(struct smr_paging *paging);

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
