/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same-host shortcut: a requester hands its work request to the peer's
 * responder, which copies from one process's memory to the other's.
 */
#ifndef SMR_LOOPBACK_H
#define SMR_LOOPBACK_H

#include <linux/types.h>

#include "qp/core.h"

bool smr_loopback_usable(struct smr_qp *qp);
bool __cold smr_loopback_returns_all(struct smr_qp *qp);

/*
 * Must a new message wait because the capture has ended for which earlier ones, in flight, were
 * sent as packets? Otherwise a QP that always has packets in flight would not use the shortcut
 * again.
 */
static inline bool smr_loopback_returns(struct smr_qp *qp)
{
	return unlikely(qp->req.diverted) && smr_loopback_returns_all(qp);
}

void smr_loopback_hand(struct smr_qp *qp, struct smr_swqe *wqe,
		       struct smr_budget *budget);
bool smr_loopback_check(struct smr_qp *qp, const struct smr_local *local);
void smr_loopback_dropped(struct smr_qp *qp, const struct smr_local *local);
void smr_loopback_answer(struct smr_qp *qp, struct smr_local *local,
			 enum smr_local_answer answer, u8 syndrome, u32 psn,
			 struct smr_budget *budget);
void smr_loopback_fault(struct smr_local *local, struct smr_budget *budget);
enum smr_step smr_loopback_resume(struct smr_qp *qp, bool up,
				  struct smr_budget *budget);
void smr_loopback_cancel(struct smr_qp *qp, struct smr_budget *budget);
void smr_loopback_refuse(struct smr_qp *qp);
void smr_loopback_flush(struct smr_qp *qp);

#endif /* SMR_LOOPBACK_H */
