/* SPDX-License-Identifier: GPL-2.0 */
/* How much a requester may have under way, which adapts to the network. */
#ifndef SMR_REQ_WINDOW_H
#define SMR_REQ_WINDOW_H

#include <linux/types.h>

struct smr_qp;
struct smr_swqe;

void smr_window_reset(struct smr_qp *qp);
void smr_window_acked(struct smr_qp *qp, u32 psns);
void smr_window_restart(struct smr_qp *qp);
void smr_window_rewind(struct smr_qp *qp, bool late);
void smr_window_lost(struct smr_qp *qp);
void smr_window_slow(struct smr_qp *qp);

u32 smr_window_room(const struct smr_qp *qp);
u32 smr_window_part(const struct smr_qp *qp, u32 first, u32 npsn);
u32 smr_window_least(u32 first);
u32 smr_window_request_left(const struct smr_qp *qp, u32 psn);
u32 smr_window_reads(const struct smr_qp *qp);
u32 smr_window_middles(const struct smr_qp *qp, u32 psn);
bool smr_window_response_fits(const struct smr_qp *qp,
			      const struct smr_swqe *wqe, u32 psn,
			      u32 op_flags);
void smr_window_add_read(struct smr_qp *qp);
bool smr_window_may_repeat(const struct smr_qp *qp, u32 psn, u32 n);
void smr_window_mix(struct smr_qp *qp, u32 psn);

#endif /* SMR_REQ_WINDOW_H */
