/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests that are executed without a peer: they bind windows, register regions and
 * invalidate both. Also the invalidate of SEND_WITH_INV.
 */
#ifndef SMR_LOCAL_WR_H
#define SMR_LOCAL_WR_H

#include <linux/types.h>

#include "qp/task.h"

struct smr_inval;
struct smr_pd;
struct smr_qp;
struct smr_swqe;

enum smr_step smr_local_wr_exec(struct smr_qp *qp, const struct smr_swqe *wqe);
void smr_inval_init(struct smr_inval *inv, struct smr_task *task);
int smr_inval_exec(struct smr_qp *qp, struct smr_inval *inv,
		   const struct smr_pd *pd, u32 rkey);
int smr_inval_finish(struct smr_qp *qp, struct smr_inval *inv);
void smr_inval_finish_sync(struct smr_qp *qp, struct smr_inval *inv);

#endif /* SMR_LOCAL_WR_H */
