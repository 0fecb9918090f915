/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send queues: the ring that a process fills, the kernel's copies of its entries, and the
 * completion of work requests: in order, each exactly once.
 */
#ifndef SMR_SQ_H
#define SMR_SQ_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct ib_qp_cap;
struct ib_ucontext;
struct smr_qp;
struct smr_ring_user;
struct smr_sq;
struct smr_swqe;

int smr_sq_create(struct smr_sq *sq, const struct smr_ring_user *user,
		  const struct ib_qp_cap *cap);
void smr_sq_destroy(struct smr_sq *sq);
bool smr_sq_fetch(struct smr_qp *qp);
bool smr_sq_fetch_more(struct smr_qp *qp);

void smr_send_begin(struct smr_qp *qp, const struct smr_swqe *wqe, u32 psn,
		    u32 npsn);
void smr_send_retire(struct smr_qp *qp);
void smr_send_flush(struct smr_qp *qp);
void smr_send_fail(struct smr_qp *qp, enum ib_wc_status status);

#endif /* SMR_SQ_H */
