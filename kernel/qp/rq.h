/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues: the ring a process fills, and the kernel's copy of an entry. */
#ifndef SMR_RQ_H
#define SMR_RQ_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp/ring.h"

/**
 * struct smr_rwqe - the kernel's own copy of a receive work request
 * @wr_id: set by the consumer
 * @num_sge: entries of @sge
 * @len: bytes in all
 * @sge: the scatter list
 */
struct smr_rwqe {
	u64 wr_id;
	u32 num_sge;
	u64 len;
	struct smr_sge sge[SMR_MAX_SGE];
};

/**
 * struct smr_rq - a receive queue
 * @ring: shared with the consumer; @ring.idx is the next to take
 * @max_wr: maximum of outstanding work requests
 * @max_sge: maximum SGEs of each
 * @post_lock: guards the producer's side of a kernel consumer's ring; IRQ-safe
 *
 * Owned by the QP's response task. The queue of an SRQ is guarded by the lock of the SRQ.
 */
struct smr_rq {
	/* the producer's side of @ring, see above */
	spinlock_t post_lock;
	struct smr_ring ring;
	u32 max_wr;
	u32 max_sge;
};

int smr_rq_create(struct smr_rq *rq, const struct smr_ring_user *user,
		  u32 max_wr, u32 max_sge);
void smr_rq_destroy(struct smr_rq *rq);
int smr_rq_take(struct smr_rq *rq, struct smr_rwqe *rwqe);

#endif /* SMR_RQ_H */
