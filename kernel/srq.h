/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues. */
#ifndef SMR_SRQ_H
#define SMR_SRQ_H

#include <linux/container_of.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "rq.h"

/**
 * struct smr_srq - a receive queue that several QPs take from
 * @ibsrq: the core's part
 * @resize_mutex: one resize at a time
 * @lock: guards all below; BH-safe
 * @rq: the queue
 * @limit: raise IB_EVENT_SRQ_LIMIT_REACHED when fewer are left; 0: do not
 * @broken: its ring was; it is in error, and nothing more is taken from it
 */
struct smr_srq {
	struct ib_srq ibsrq;
	/* held while the ring is copied, which @lock is not */
	struct mutex resize_mutex;
	/* the queue's lock, see above */
	spinlock_t lock;
	struct smr_rq rq;
	u32 limit;
	bool broken;
};

static inline struct smr_srq *to_smr_srq(const struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct smr_srq, ibsrq);
}

int smr_srq_create(struct smr_srq *srq, const struct ib_srq_init_attr *init,
		   struct ib_ucontext *uctx, struct smr_ring_info *info);
void smr_srq_destroy(struct smr_srq *srq);
int smr_srq_modify(struct smr_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask);
int smr_srq_resize(struct smr_srq *srq, struct ib_ucontext *uctx,
		   const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct smr_ring_info *info);
void smr_srq_query(struct smr_srq *srq, struct ib_srq_attr *attr);
bool smr_srq_available(struct smr_srq *srq);
int smr_srq_take(struct smr_srq *srq, struct smr_rwqe *rwqe);

#endif /* SMR_SRQ_H */
