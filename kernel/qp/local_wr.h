/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests that no peer hears of: windows are bound, regions registered,
 * and both invalidated.
 */
#ifndef SMR_LOCAL_WR_H
#define SMR_LOCAL_WR_H

#include <linux/types.h>

struct smr_pd;
struct smr_qp;
struct smr_run;
struct smr_swqe;

bool smr_local_wr_exec(struct smr_qp *qp, const struct smr_swqe *wqe,
		       const struct smr_run *run);
void smr_local_wr_undo(struct smr_qp *qp);
int smr_invalidate(struct smr_qp *qp, const struct smr_pd *pd, u32 rkey,
		   const struct smr_run *run);
void smr_invalidate_undo(struct smr_qp *qp, const struct smr_pd *pd, u32 rkey);

#endif /* SMR_LOCAL_WR_H */
