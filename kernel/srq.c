// SPDX-License-Identifier: GPL-2.0
#include "srq.h"

#include <linux/cleanup.h>

/**
 * smr_srq_create() - make a shared receive queue
 * @srq: allocated, zeroed, its core part filled in
 * @init: what is asked for
 * @uctx: whose process maps it; NULL for a consumer in the kernel
 * @info: tells the process of it
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP (type); -EINVAL (a limit); -ENOMEM.
 */
int smr_srq_create(struct smr_srq *srq, const struct ib_srq_init_attr *init,
		   struct ib_ucontext *uctx, struct smr_ring_info *info)
{
	const struct ib_device_attr *limits = &srq->ibsrq.device->attrs;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > limits->max_srq_wr ||
	    init->attr.max_sge > limits->max_srq_sge ||
	    init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	spin_lock_init(&srq->lock);
	srq->limit = init->attr.srq_limit;
	return smr_rq_create(&srq->rq, uctx, init->attr.max_wr,
			     init->attr.max_sge, info);
}

/**
 * smr_srq_destroy() - the end of a shared receive queue that no QP uses
 * @srq: the queue; the caller frees it
 */
void smr_srq_destroy(struct smr_srq *srq)
{
	smr_rq_destroy(&srq->rq);
}

/**
 * smr_srq_modify() - arm the limit event
 * @srq: the queue
 * @attr: the values
 * @mask: which of them
 *
 * Context: process.
 * Return: 0; -EINVAL (more than the queue has); -EOPNOTSUPP (resize).
 */
int smr_srq_modify(struct smr_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask)
{
	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	guard(spinlock_bh)(&srq->lock);
	if (attr->srq_limit > srq->rq.max_wr)
		return -EINVAL;
	srq->limit = attr->srq_limit;
	return 0;
}

/**
 * smr_srq_query() - the attributes of a shared receive queue
 * @srq: the queue
 * @attr: filled in
 *
 * Context: process.
 */
void smr_srq_query(struct smr_srq *srq, struct ib_srq_attr *attr)
{
	guard(spinlock_bh)(&srq->lock);
	attr->max_wr = srq->rq.max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
}

static void srq_event(struct smr_srq *srq, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = type,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}

/* IBTA 10.2.9.1: the limit is armed once, and then has to be armed again. */
static bool limit_reached(struct smr_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (!srq->limit || smr_ring_pending(&srq->rq.ring) >= (int)srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/**
 * smr_srq_take() - take the oldest receive work request
 * @srq: the queue
 * @rwqe: the copy
 *
 * Context: any; takes @srq->lock.
 * Return: as smr_rq_take().
 */
int smr_srq_take(struct smr_srq *srq, struct smr_rwqe *rwqe)
{
	bool reached = false;
	int err;

	spin_lock_bh(&srq->lock);
	err = smr_rq_take(&srq->rq, rwqe);
	if (!err)
		reached = limit_reached(srq);
	spin_unlock_bh(&srq->lock);
	if (reached)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	else if (err == -EIO)
		srq_event(srq, IB_EVENT_SRQ_ERR);
	return err;
}
