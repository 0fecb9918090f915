/* SPDX-License-Identifier: GPL-2.0 */
/* What a requester has in flight: acknowledgment and retransmission. */
#ifndef SMR_RECOVERY_H
#define SMR_RECOVERY_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "net/train.h"
#include "qp/core.h"
#include "qp/pace.h"

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

void smr_out_restart(struct smr_qp *qp);
void smr_out_rewind(struct smr_qp *qp, bool late);
void smr_out_retry(struct smr_qp *qp, bool late);
void smr_out_gap(struct smr_qp *qp, u32 psn);
bool smr_out_is_early(struct smr_qp *qp, u32 psns, u32 len);

/* The oldest work request that has been sent, at least in part; or NULL */
static inline struct smr_swqe *smr_out_head(struct smr_qp *qp)
{
	struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	if (qp->sq.head == qp->sq.ring.idx || wqe->state == SMR_SWQE_POSTED)
		return NULL;
	return wqe;
}

/* Bytes of a packet on the wire besides its payload, about: Ethernet, IPv4, UDP, BTH, ICRC */
#define SMR_OUT_OVERHEAD	64

/* Bytes on the wire of @psns packets with up to @len bytes */
static inline u32 smr_out_bytes(const struct smr_qp *qp, u32 psns, u32 len)
{
	return psns * (min(len, qp->mtu) + SMR_OUT_OVERHEAD);
}

/* The number of PSNs that may be sent now */
static inline u32 smr_out_room(const struct smr_qp *qp)
{
	return smr_cwnd_room(&qp->cwnd, smr_snd_in_flight(&qp->snd));
}

/* The number of PSNs that may be sent now in one train */
static inline u32 smr_out_train(const struct smr_qp *qp)
{
	return min3(smr_out_room(qp), qp->cwnd.burst, (u32)SMR_TRAIN_SEGS);
}

/*
 * Account for @psns PSNs of up to @len bytes, sent or requested, if the congestion control limits
 * the rate.
 */
static inline void smr_out_paced(struct smr_qp *qp, u32 psns, u32 len)
{
	if (unlikely(qp->cwnd.rate))
		smr_pace_sent(qp->pace, smr_out_bytes(qp, psns, len));
}

#endif /* SMR_RECOVERY_H */
