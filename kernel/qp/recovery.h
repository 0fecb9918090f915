/* SPDX-License-Identifier: GPL-2.0 */
/* What a requester has in flight: acknowledgment and retransmission. */
#ifndef SMR_RECOVERY_H
#define SMR_RECOVERY_H

#include <linux/types.h>

#include "qp/core.h"

/* Result of an acknowledgment of all PSNs before one */
enum smr_out_acked {
	SMR_OUT_ACKED,		/* all are acknowledged */
	SMR_OUT_DATA_LOST,	/* a READ or an atomic still waits for its data */
	SMR_OUT_MORE,		/* the budget is used up, but some are left: call again */
};

void smr_out_set_timeout(struct smr_qp *qp);
void smr_out_start(struct smr_qp *qp);

void smr_out_advance(struct smr_qp *qp, u32 una);
void smr_out_head_done(struct smr_qp *qp, const struct smr_swqe *wqe);
enum smr_out_acked smr_out_acked_before(struct smr_qp *qp, u32 psn,
					struct smr_budget *budget);
void smr_out_catch_up(struct smr_qp *qp, struct smr_budget *budget);

void smr_out_restart(struct smr_qp *qp);
void smr_out_rewind(struct smr_qp *qp, bool late);
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

static inline u32 smr_out_window_max(const struct smr_qp *qp)
{
	return smr_cwnd_max(qp->rto.least, qp->mtu);
}

/*
 * The number of PSNs from @psn on that may be sent. PSNs whose responses have arrived do not
 * count as in flight.
 */
static inline u32 smr_out_room_at(const struct smr_qp *qp, u32 psn)
{
	u32 kept = unlikely(qp->comp.ooo.any) ? qp->comp.ooo.kept : 0;

	return smr_cwnd_room(&qp->cwnd, smr_psn_diff(psn, qp->snd.una), kept,
			     kept ? smr_out_window_max(qp) : 0);
}

/* The number of PSNs that may be sent now */
static inline u32 smr_out_room(const struct smr_qp *qp)
{
	return smr_out_room_at(qp, qp->snd.psn);
}

#endif /* SMR_RECOVERY_H */
