// SPDX-License-Identifier: GPL-2.0
/* Create, modify, resize and destroy shared receive queues, and find those of XRC by number. */
#include "qp/srq.h"

#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/cleanup.h"
#include "compat/udata.h"
#include "limits.h"
#include "net/wire.h"
#include "pd.h"
#include "qp/cq.h"
#include "ucontext.h"
#include "uapi/softmr-abi.h"
#include "why.h"

/* Numbers have 24 bits. 0 is not used, since it is the value of an unset field. */
#define SRQN_FIRST	1
#define SRQN_LAST	SMR_QPN_MASK

/**
 * smr_srqtab_init() - initialize a table of XRC shared receive queues
 * @tab: the table
 */
void smr_srqtab_init(struct smr_srqtab *tab)
{
	xa_init_flags(&tab->xa, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
				 XA_FLAGS_ACCOUNT);
}

/**
 * smr_srqtab_fini() - free a table
 * @tab: the table, empty
 */
void smr_srqtab_fini(struct smr_srqtab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->xa));
	xa_destroy(&tab->xa);
}

/* Assign a random number, which peers can hardly guess, and publish the SRQ. */
static int srq_publish(struct smr_srq *srq, struct smr_srqtab *tab)
{
	u32 start = get_random_u32_inclusive(SRQN_FIRST, SRQN_LAST);
	int err;

	srq->handle = kzalloc(sizeof(*srq->handle), GFP_KERNEL_ACCOUNT);
	if (!srq->handle)
		return -ENOMEM;
	refcount_set(&srq->handle->ref, 1);
	srq->handle->srq = srq;
	init_completion(&srq->released);
	err = xa_alloc_bh(&tab->xa, &srq->srqn, srq->handle,
			  XA_LIMIT(start, SRQN_LAST), GFP_KERNEL);
	if (err == -EBUSY)
		err = xa_alloc_bh(&tab->xa, &srq->srqn, srq->handle,
				  XA_LIMIT(SRQN_FIRST, start), GFP_KERNEL);
	if (err) {
		kfree(srq->handle);
		return err;
	}
	srq->tab = tab;
	srq->ibsrq.ext.xrc.srq_num = srq->srqn;
	return 0;
}

/* Unpublish it, and wait for tasks that have found it before. */
static void srq_withdraw(struct smr_srq *srq)
{
	if (!srq->tab)
		return;
	xa_erase_bh(&srq->tab->xa, srq->srqn);
	smr_srq_put(srq);
	/* A task holds a reference only during one call. */
	wait_for_completion(&srq->released);
	kfree_rcu(srq->handle, rcu);
}

/**
 * smr_srq_find() - find an XRC shared receive queue
 * @tab: the device's table
 * @srqn: its number
 * @xrcd: the domain that it must belong to
 *
 * Return: the queue with a reference, which smr_srq_put() drops; or NULL.
 */
struct smr_srq *smr_srq_find(struct smr_srqtab *tab, u32 srqn,
			     const struct ib_xrcd *xrcd)
{
	struct smr_srq_handle *handle;

	guard(rcu)();
	handle = xa_load(&tab->xa, srqn);
	if (!handle || !refcount_inc_not_zero(&handle->ref))
		return NULL;
	if (handle->srq->ibsrq.ext.xrc.xrcd == xrcd)
		return handle->srq;
	smr_srq_put(handle->srq);
	return NULL;
}

/**
 * smr_srq_put() - drop a reference
 * @srq: the queue
 */
void smr_srq_put(struct smr_srq *srq)
{
	if (refcount_dec_and_test(&srq->handle->ref))
		complete(&srq->released);
}

static struct smr_why_log *srq_whys(const struct smr_srq *srq)
{
	return to_smr_pd(srq->ibsrq.pd)->whys;
}

static int max_wr_check(const struct smr_srq *srq, u32 max_wr)
{
	u32 most = srq->ibsrq.device->attrs.max_srq_wr;

	if (!max_wr || max_wr > most)
		return smr_why(srq_whys(srq), SRQ_WR, max_wr, most);
	return 0;
}

/**
 * smr_srq_create() - create a shared receive queue
 * @srq: allocated, zeroed, its core part filled in
 * @tab: the table for an XRC queue
 * @init: requested attributes; the limit is armed only by smr_srq_modify()
 * @user: its owner
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP (type); -EINVAL (a limit); -ENOMEM; -EBUSY if no number is left.
 */
int smr_srq_create(struct smr_srq *srq, struct smr_srqtab *tab,
		   const struct ib_srq_init_attr *init,
		   const struct smr_ring_user *user)
{
	const struct ib_device_attr *limits = &srq->ibsrq.device->attrs;
	const struct smr_pd *pd = to_smr_pd(srq->ibsrq.pd);
	int err;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return smr_why(pd->whys, SRQ_TYPE, init->srq_type);
	err = max_wr_check(srq, init->attr.max_wr);
	if (err)
		return err;
	if (init->attr.max_sge > limits->max_srq_sge)
		return smr_why(pd->whys, SRQ_SGE, init->attr.max_sge,
			       limits->max_srq_sge);
	mutex_init(&srq->resize_mutex);
	spin_lock_init(&srq->lock);
	err = smr_limit_take(pd->limits, SMR_LIMIT_SRQ, pd->whys);
	if (err)
		return err;
	err = smr_rq_create(&srq->rq, user, init->attr.max_wr,
			    init->attr.max_sge);
	if (err)
		goto give;
	if (init->srq_type != IB_SRQT_XRC)
		return 0;
	srq->cq = to_smr_cq(init->ext.cq);
	err = srq_publish(srq, tab);
	if (!err)
		return 0;
	smr_rq_destroy(&srq->rq);
give:
	smr_limit_give(pd->limits, SMR_LIMIT_SRQ);
	return smr_why_errno(pd->whys, 0, err);
}

/**
 * smr_srq_destroy() - destroy a shared receive queue
 * @srq: not used by a QP, unless it is an XRC SRQ; the caller frees it
 *
 * Context: process, may sleep.
 */
void smr_srq_destroy(struct smr_srq *srq)
{
	srq_withdraw(srq);
	smr_rq_destroy(&srq->rq);
	smr_limit_give(to_smr_pd(srq->ibsrq.pd)->limits, SMR_LIMIT_SRQ);
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

/* IBTA 10.2.9.1: the event disarms the limit. */
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
 * @mask: enum ib_srq_attr_mask
 *
 * If the queue already has fewer requests, the event is raised at once: taking a request would
 * raise it, but there may be none left.
 *
 * Context: process.
 * Return: 0; -EINVAL (more than the size of the queue, or an unknown attribute); -EOPNOTSUPP
 * (the size: see smr_srq_resize()).
 */
int smr_srq_modify(struct smr_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask)
{
	struct smr_why_log *log = srq_whys(srq);
	bool reached;

	if (mask & IB_SRQ_MAX_WR)
		return smr_why(log, SRQ_SIZE, attr->max_wr);
	if (mask & ~IB_SRQ_LIMIT)
		return smr_why(log, SRQ_ATTR, mask);
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	scoped_guard(spinlock_bh, &srq->lock) {
		if (attr->srq_limit > srq->rq.max_wr)
			return smr_why(log, SRQ_LIMIT, attr->srq_limit,
				       srq->rq.max_wr);
		srq->limit = attr->srq_limit;
		reached = limit_reached(srq);
	}
	if (reached)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return 0;
}

/*
 * Copy the posted requests, each to its index in the new ring. QPs may take requests
 * concurrently; copies of those are ignored. The process must not post during the copy, or its
 * requests are lost.
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
		return smr_why(srq_whys(srq), SRQ_FULL, to->max_wr, pending);
	for (i = first; i != first + pending; i++) {
		memcpy(smr_ring_slot(&to->ring, i), smr_ring_slot(from, i),
		       to->ring.stride);
		cond_resched();
	}
	to->ring.idx = first;
	to->ring.hdr->prod = first + pending;
	return 0;
}

/* Switch to the new ring. */
static int srq_switch(struct smr_srq *srq, struct smr_rq *to,
		      const struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, bool *reached)
{
	u32 limit;

	guard(spinlock_bh)(&srq->lock);
	limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : srq->limit;
	if (srq->broken || limit > to->max_wr)
		return smr_why(srq_whys(srq), SRQ_LIMIT, limit, to->max_wr);
	to->ring.idx = srq->rq.ring.idx;
	smr_ring_publish_cons(&to->ring);
	swap(srq->rq.ring, to->ring);
	srq->rq.max_wr = to->max_wr;
	srq->limit = limit;
	*reached = limit_reached(srq);
	return 0;
}

/**
 * smr_srq_resize() - change the number of entries of a process's queue
 * @srq: the queue
 * @user: the process
 * @attr: max_wr, and with IB_SRQ_LIMIT the limit to arm
 * @mask: enum ib_srq_attr_mask
 *
 * No request is lost, provided that the process posts none during the resize. It continues with
 * the same indices in the new ring.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL (out of range, more posted requests than would fit, or a larger limit),
 *	-ENOMEM. On failure nothing has changed.
 */
int smr_srq_resize(struct smr_srq *srq, const struct smr_ring_user *user,
		   const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask)
{
	bool reached = false;
	struct smr_rq rq = {};
	int ret;

	ret = max_wr_check(srq, attr->max_wr);
	if (ret)
		return ret;
	guard(mutex)(&srq->resize_mutex);
	ret = smr_rq_create(&rq, user, attr->max_wr, srq->rq.max_sge);
	if (ret)
		return smr_why_errno(srq_whys(srq), 0, ret);
	ret = srq_copy(srq, &rq);
	if (!ret)
		ret = srq_switch(srq, &rq, attr, mask, &reached);
	/* The old ring; after an error the new one. */
	smr_rq_destroy(&rq);
	if (reached)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return ret;
}

/**
 * smr_srq_query() - query the attributes of a shared receive queue
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
 * Return: true if there is a request, valid or not, or the queue is broken.
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

/**
 * smr_srq_fill_res() - add softmr's part to `rdma resource show srq -dd`
 * @msg: the message
 * @srq: the queue
 *
 * Adds the number of work requests left, and the limit below which the event is raised.
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int smr_srq_fill_res(struct sk_buff *msg, struct smr_srq *srq)
{
	struct nlattr *table;
	u32 pending, limit;

	scoped_guard(spinlock_bh, &srq->lock) {
		pending = smr_ring_waiting(&srq->rq.ring);
		limit = srq->limit;
	}
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "pending", pending) ||
	    rdma_nl_put_driver_u32(msg, "limit", limit)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/*
 * Once the queue has the new ring, the response must not fail. So check first that the response
 * can be written.
 */
static int UVERBS_HANDLER(SMR_METHOD_SRQ_RESIZE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ibsrq = uverbs_attr_get_obj(attrs, SMR_ATTR_RESIZE_SRQ);
	struct smr_resize_srq_resp resp = {};
	struct smr_ring_user user = { attrs->context, &resp.rq };
	struct ib_srq_attr attr = {};
	enum ib_srq_attr_mask mask = IB_SRQ_MAX_WR;
	int ret;

	ret = uverbs_copy_from_or_zero(&attr.max_wr, attrs,
				       SMR_ATTR_RESIZE_MAX_WR);
	if (ret)
		return ret;
	if (uverbs_attr_is_valid(attrs, SMR_ATTR_RESIZE_LIMIT)) {
		ret = uverbs_copy_from_or_zero(&attr.srq_limit, attrs,
					       SMR_ATTR_RESIZE_LIMIT);
		if (ret)
			return ret;
		mask |= IB_SRQ_LIMIT;
	}
	ret = uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_RESIZE_RING, &resp,
					    sizeof(resp));
	if (ret)
		return ret;
	ret = smr_srq_resize(to_smr_srq(ibsrq), &user, &attr, mask);
	return ret ?: uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_RESIZE_RING,
						    &resp, sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_SRQ_RESIZE,
			    UVERBS_ATTR_IDR(SMR_ATTR_RESIZE_SRQ,
					    UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_RESIZE_MAX_WR,
					       SMR_ATTR_NUMBER(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_RESIZE_LIMIT,
					       SMR_ATTR_NUMBER(u32),
					       UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_RESIZE_RING,
						UVERBS_ATTR_STRUCT(struct smr_resize_srq_resp,
								   rq),
						UA_MANDATORY));

ADD_UVERBS_METHODS(smr_srq_methods, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(SMR_METHOD_SRQ_RESIZE));

const struct uapi_definition smr_srq_resize_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &smr_srq_methods),
	{}
};
