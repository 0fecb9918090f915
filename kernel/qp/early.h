/* SPDX-License-Identifier: GPL-2.0 */
/* When a requester that hears nothing asks again, before its timeout. */
#ifndef SMR_EARLY_H
#define SMR_EARLY_H

#include <linux/types.h>

struct smr_qp;

void smr_early_init(struct smr_qp *qp);
void smr_early_stop(struct smr_qp *qp);
void smr_early_reset(struct smr_qp *qp);

void smr_early_sent(struct smr_qp *qp, u32 psn, bool fresh);
void smr_early_acked(struct smr_qp *qp);
void smr_early_forget(struct smr_qp *qp);
bool smr_early_due(struct smr_qp *qp);

#endif /* SMR_EARLY_H */
