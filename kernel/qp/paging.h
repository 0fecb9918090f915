/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a side of a QP does when a page of its memory is missing: it has a fault begun,
 * and its task runs again when that has ended. Meanwhile it holds nothing.
 */
#ifndef SMR_PAGING_H
#define SMR_PAGING_H

#include <linux/types.h>

#include "qp/core.h"

void smr_paging_init(struct smr_paging *paging, struct smr_task *task);
bool smr_paging_waits(const struct smr_paging *paging);
int smr_paging_fault(struct smr_paging *paging, const struct smr_run *run,
		     const struct smr_sgl *sgl, bool write);
void smr_paging_settle(struct smr_paging *paging);
void smr_paging_cancel(struct smr_paging *paging);

#endif /* SMR_PAGING_H */
