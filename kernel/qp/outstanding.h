/* SPDX-License-Identifier: GPL-2.0 */
/* What a requester has sent: how much of it is acknowledged, and what is sent again. */
#ifndef SMR_OUTSTANDING_H
#define SMR_OUTSTANDING_H

#include <linux/types.h>

#include "qp/core.h"

/* What has become of the PSNs before one that was answered */
enum smr_out_acked {
	SMR_OUT_ACKED,		/* all are acknowledged */
	SMR_OUT_DATA_LOST,	/* a READ or an atomic still waits for its data */
	SMR_OUT_MORE,		/* the quota is used up, and some are left: call again */
};

void smr_out_patience(struct smr_qp *qp);
void smr_out_start(struct smr_qp *qp);
void smr_out_arm(struct smr_qp *qp);
void smr_out_await(struct smr_qp *qp);

void smr_out_advance(struct smr_qp *qp, u32 una);
void smr_out_head_done(struct smr_qp *qp, const struct smr_swqe *wqe);
enum smr_out_acked smr_out_acked_before(struct smr_qp *qp, u32 psn,
					struct smr_run *run);
void smr_out_catch_up(struct smr_qp *qp, struct smr_run *run);

void smr_out_retry(struct smr_qp *qp, bool late);
void smr_out_gap(struct smr_qp *qp);
bool smr_out_missing(struct smr_qp *qp, u32 psn, u32 answer);

/* The oldest work request that has been sent, at least in part; or NULL */
static inline struct smr_swqe *smr_out_head(struct smr_qp *qp)
{
	struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	if (qp->sq.head == qp->sq.ring.idx || wqe->state == SMR_SWQE_POSTED)
		return NULL;
	return wqe;
}

#endif /* SMR_OUTSTANDING_H */
