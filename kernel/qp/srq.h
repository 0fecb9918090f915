/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues. */
#ifndef SMR_SRQ_H
#define SMR_SRQ_H

#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "qp/rq.h"

struct sk_buff;
struct smr_cq;
struct smr_srq;

/**
 * struct smr_srq_handle - RCU handle for looking up an XRC shared receive queue
 * @ref: one for its owner, one for each use by a QP
 * @srq: the queue; valid as long as @ref is not 0
 * @rcu: defers freeing: readers may still access @ref
 *
 * As struct smr_qp_handle: the RDMA core frees the queue, without a grace period.
 */
struct smr_srq_handle {
	refcount_t ref;
	struct smr_srq *srq;
	struct rcu_head rcu;
};

/**
 * struct smr_srqtab - the XRC shared receive queues of a device
 * @xa: number -> struct smr_srq_handle; RCU for readers
 */
struct smr_srqtab {
	struct xarray xa;
};

/**
 * struct smr_srq - a receive queue that several QPs take from
 * @ibsrq: the core's part
 * @resize_mutex: serialises resizes; held while the ring is copied, which @lock is not
 * @lock: guards all below; BH-safe
 * @rq: the queue
 * @limit: raise IB_EVENT_SRQ_LIMIT_REACHED when fewer requests are left; 0: disarmed
 * @broken: its ring was corrupt; no more requests are taken from it
 * @tab: XRC: its table
 * @cq: XRC: the CQ of its requests
 * @srqn: XRC: its number
 * @handle: XRC: has its reference count
 * @released: completed when the reference count has dropped to 0
 *
 * @tab, @cq, @srqn and @handle are constant.
 */
struct smr_srq {
	struct ib_srq ibsrq;
	/* see above */
	struct mutex resize_mutex;
	/* the queue's lock, see above */
	spinlock_t lock;
	struct smr_rq rq;
	u32 limit;
	bool broken;
	struct smr_srqtab *tab;
	struct smr_cq *cq;
	u32 srqn;
	struct smr_srq_handle *handle;
	struct completion released;
};

static inline struct smr_srq *to_smr_srq(const struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct smr_srq, ibsrq);
}

void smr_srqtab_init(struct smr_srqtab *tab);
void smr_srqtab_fini(struct smr_srqtab *tab);

int smr_srq_create(struct smr_srq *srq, struct smr_srqtab *tab,
		   const struct ib_srq_init_attr *init,
		   const struct smr_ring_user *user);
struct smr_srq *__must_check smr_srq_find(struct smr_srqtab *tab, u32 srqn,
					  const struct ib_xrcd *xrcd);
void smr_srq_put(struct smr_srq *srq);
void smr_srq_destroy(struct smr_srq *srq);
int smr_srq_modify(struct smr_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask);
int smr_srq_resize(struct smr_srq *srq, const struct smr_ring_user *user,
		   const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask);
int smr_srq_fill_res(struct sk_buff *msg, struct smr_srq *srq);
void smr_srq_query(struct smr_srq *srq, struct ib_srq_attr *attr);
bool smr_srq_available(struct smr_srq *srq);
int smr_srq_take(struct smr_srq *srq, struct smr_rwqe *rwqe);

extern const struct uapi_definition smr_srq_resize_uapi[];

#endif /* SMR_SRQ_H */
