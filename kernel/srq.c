// SPDX-License-Identifier: GPL-2.0
#include "srq.h"

#include <linux/cleanup.h>
#include <linux/minmax.h>
#include <linux/sched.h>

/**
 * smr_srq_create() - make a shared receive queue
 * @srq: allocated, zeroed, its core part filled in
 * @init: what is asked for; the limit is armed by smr_srq_modify() only
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
	    init->attr.max_sge > limits->max_srq_sge)
		return -EINVAL;
	mutex_init(&srq->resize_mutex);
	spin_lock_init(&srq->lock);
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
 * smr_srq_modify() - arm the limit event
 * @srq: the queue
 * @attr: the values
 * @mask: which of them
 *
 * With fewer requests in the queue than that the event comes at once: nobody
 * would raise it when there is none that could be taken.
 *
 * Context: process.
 * Return: 0; -EINVAL (more than the queue has, or an unknown attribute);
 * -EOPNOTSUPP (the size: see smr_srq_resize()).
 */
int smr_srq_modify(struct smr_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask)
{
	bool reached;

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (mask & ~IB_SRQ_LIMIT)
		return -EINVAL;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	scoped_guard(spinlock_bh, &srq->lock) {
		if (attr->srq_limit > srq->rq.max_wr)
			return -EINVAL;
		srq->limit = attr->srq_limit;
		reached = limit_reached(srq);
	}
	if (reached)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return 0;
}

/*
 * What is posted, each at its index in the new ring. QPs may take requests
 * meanwhile: those were copied for nothing. It is the process's that posts
 * none meanwhile, and only its own requests that it loses otherwise.
 */
static int srq_copy(struct smr_srq *srq, struct smr_rq *to)
{
	const struct smr_ring *from = &srq->rq.ring;
	u32 first, i;
	int pending;

	scoped_guard(spinlock_bh, &srq->lock) {
		first = from->idx;
		pending = smr_ring_pending(from);
	}
	if (pending < 0 || pending > (int)to->max_wr)
		return -EINVAL;
	for (i = first; i != first + pending; i++) {
		memcpy(smr_ring_slot(&to->ring, i), smr_ring_slot(from, i),
		       to->ring.stride);
		cond_resched();
	}
	to->ring.idx = first;
	to->ring.hdr->prod = first + pending;
	return 0;
}

/* From here on requests are taken from the new ring. */
static int srq_switch(struct smr_srq *srq, struct smr_rq *to,
		      const struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, bool *reached)
{
	u32 limit;

	guard(spinlock_bh)(&srq->lock);
	limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : srq->limit;
	if (srq->broken || limit > to->max_wr)
		return -EINVAL;
	to->ring.idx = srq->rq.ring.idx;
	smr_ring_publish_cons(&to->ring);
	swap(srq->rq.ring, to->ring);
	srq->rq.max_wr = to->max_wr;
	srq->limit = limit;
	*reached = limit_reached(srq);
	return 0;
}

/**
 * smr_srq_resize() - give a process's queue another number of entries
 * @srq: the queue
 * @uctx: the process's context
 * @attr: max_wr, and with IB_SRQ_LIMIT the limit to arm
 * @mask: which of them
 * @info: where the process finds the new ring
 *
 * No request is lost, provided that the process posts none meanwhile: it
 * continues, with the same indices, in the new ring.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL (out of range, more requests are posted than would fit,
 * or the limit is larger), -ENOMEM. On failure nothing has changed.
 */
int smr_srq_resize(struct smr_srq *srq, struct ib_ucontext *uctx,
		   const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct smr_ring_info *info)
{
	u32 max = srq->ibsrq.device->attrs.max_srq_wr;
	bool reached = false;
	struct smr_rq rq = {};
	int ret;

	if (!attr->max_wr || attr->max_wr > max)
		return -EINVAL;
	guard(mutex)(&srq->resize_mutex);
	ret = smr_rq_create(&rq, uctx, attr->max_wr, srq->rq.max_sge, info);
	if (ret)
		return ret;
	ret = srq_copy(srq, &rq);
	if (!ret)
		ret = srq_switch(srq, &rq, attr, mask, &reached);
	/* Either the old ring, or the new one that is not needed. */
	smr_rq_destroy(&rq);
	if (reached)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return ret;
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

/**
 * smr_srq_available() - would smr_srq_take() find something?
 * @srq: the queue
 *
 * Context: any; takes @srq->lock.
 * Return: true when there is a request, good or not, or the queue is broken.
 */
bool smr_srq_available(struct smr_srq *srq)
{
	guard(spinlock_bh)(&srq->lock);
	return srq->broken || smr_ring_pending(&srq->rq.ring);
}

/**
 * smr_srq_take() - take the oldest receive work request
 * @srq: the queue
 * @rwqe: the copy
 *
 * A queue whose ring is broken is in error, and does not recover.
 *
 * Context: any; takes @srq->lock.
 * Return: as smr_rq_take().
 */
int smr_srq_take(struct smr_srq *srq, struct smr_rwqe *rwqe)
{
	bool reached = false, broke = false;
	int err = -EIO;

	spin_lock_bh(&srq->lock);
	if (!srq->broken) {
		err = smr_rq_take(&srq->rq, rwqe);
		broke = err == -EIO;
		srq->broken = broke;
		reached = !broke && err != -ENOENT && limit_reached(srq);
	}
	spin_unlock_bh(&srq->lock);
	if (reached)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	if (broke)
		srq_event(srq, IB_EVENT_SRQ_ERR);
	return err;
}
