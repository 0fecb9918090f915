/* SPDX-License-Identifier: GPL-2.0 */
/* Send queues: the ring a process fills, and the kernel's copies of it. */
#ifndef SMR_SQ_H
#define SMR_SQ_H

#include <linux/types.h>

struct ib_qp_cap;
struct ib_ucontext;
struct smr_qp;
struct smr_ring_info;
struct smr_sq;

int smr_sq_create(struct smr_sq *sq, struct ib_ucontext *uctx,
		  const struct ib_qp_cap *cap, struct smr_ring_info *info);
void smr_sq_destroy(struct smr_sq *sq);
bool smr_sq_fetch(struct smr_qp *qp);

#endif /* SMR_SQ_H */
