// SPDX-License-Identifier: GPL-2.0
/*
 * A receive work queue is a RAW_PACKET QP that the core does not know. Create it, change its
 * state, destroy it.
 */
#include "qp/rwq.h"

#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/cleanup.h"
#include "limits.h"
#include "qp/life.h"
#include "qp/modify.h"
#include "steer/rss.h"
#include "uapi/softmr-abi.h"
#include "why.h"

/* The states of the QP that receives for a queue */
static const enum ib_qp_state qp_states[] = {
	[IB_WQS_RESET] = IB_QPS_RESET,
	[IB_WQS_RDY] = IB_QPS_RTR,
	[IB_WQS_ERR] = IB_QPS_ERR,
};

/* The QP's IB_EVENT_QP_FATAL becomes an event of the work queue; it has no other events. */
static void rwq_event(struct ib_event *event, void *context)
{
	struct smr_rwq *rwq = context;
	struct ib_event ev = {
		.device = event->device,
		.element.wq = &rwq->ibwq,
		.event = IB_EVENT_WQ_FATAL,
	};

	if (event->event == IB_EVENT_QP_FATAL && rwq->ibwq.event_handler)
		rwq->ibwq.event_handler(&ev, rwq->ibwq.wq_context);
}

static int init_check(const struct ib_device_attr *limit,
		      const struct ib_wq_init_attr *init, struct smr_why *why)
{
	if (init->wq_type != IB_WQT_RQ)
		return smr_why(why, WQ_TYPE, init->wq_type);
	if (init->create_flags)
		return smr_why(why, WQ_FLAGS, init->create_flags);
	if (!(limit->device_cap_flags & IB_DEVICE_MANAGED_FLOW_STEERING))
		return smr_why(why, QP_TYPE, IB_QPT_RAW_PACKET);
	return init->max_wr ? 0 : smr_why(why, WQ_NO_WR);
}

/**
 * smr_rwq_create() - create a receive work queue
 * @pd: its PD
 * @env: the device
 * @init: requested attributes; its sizes are updated to the actual ones
 * @uctx: the process's context
 * @resp: filled in with the place of the ring
 * @why: receives the reason of a refusal
 *
 * Context: process, may sleep.
 * Return: the queue, in RESET; -EINVAL, -EOPNOTSUPP (flags, or a netdev that is not Ethernet),
 * or as smr_qp_create().
 */
struct smr_rwq *smr_rwq_create(struct ib_pd *pd, struct smr_env *env,
			       struct ib_wq_init_attr *init,
			       struct ib_ucontext *uctx,
			       struct smr_create_wq_resp *resp,
			       struct smr_why *why)
{
	struct smr_create_qp_resp rings = {};
	struct ib_qp_init_attr qp_init = {
		.qp_type = IB_QPT_RAW_PACKET,
		.recv_cq = init->cq,
		.cap.max_recv_wr = init->max_wr,
		.cap.max_recv_sge = init->max_sge,
	};
	struct smr_rwq *rwq;
	int ret;

	ret = init_check(&pd->device->attrs, init, why);
	if (ret)
		return ERR_PTR(ret);
	rwq = kzalloc(sizeof(*rwq), GFP_KERNEL_ACCOUNT);
	if (!rwq)
		return ERR_PTR(-ENOMEM);
	rwq->qp.ibqp.device = pd->device;
	rwq->qp.ibqp.pd = pd;
	rwq->qp.ibqp.qp_type = qp_init.qp_type;
	rwq->qp.ibqp.event_handler = rwq_event;
	rwq->qp.ibqp.qp_context = rwq;
	rwq->qp.limit_kind = SMR_LIMIT_WQ;
	ret = smr_qp_create(&rwq->qp, env, &qp_init, uctx, NULL, &rings,
			    why);
	if (ret) {
		kfree(rwq);
		return ERR_PTR(ret);
	}
	mutex_init(&rwq->mutex);
	rwq->ibwq.wq_num = rwq->qp.ibqp.qp_num;
	rwq->ibwq.state = IB_WQS_RESET;
	rwq->ibwq.event_handler = init->event_handler;
	rwq->ibwq.wq_context = init->wq_context;
	init->max_wr = qp_init.cap.max_recv_wr;
	init->max_sge = qp_init.cap.max_recv_sge;
	resp->rq = rings.rq;
	resp->map = rings.rq_map;
	return rwq;
}

/* To receive, a QP must pass through INIT. */
static int rwq_enter(struct smr_rwq *rwq, enum ib_wq_state next,
		     struct smr_why *why)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	int ret = 0;

	if (next == IB_WQS_RDY)
		ret = smr_qp_modify(&rwq->qp, &attr, IB_QP_STATE | IB_QP_PORT,
				    NULL, why);
	attr.qp_state = qp_states[next];
	if (!ret)
		ret = smr_qp_modify(&rwq->qp, &attr, IB_QP_STATE, NULL, why);
	if (!ret)
		rwq->ibwq.state = next;
	return ret;
}

/**
 * smr_rwq_modify() - change a queue's state
 * @rwq: the queue; the core does not serialise its calls
 * @attr: the new state, and the assumed current state
 * @mask: enum ib_wq_attr_mask
 * @why: receives the reason of a refusal
 *
 * Allowed: any state to RESET, RESET to RDY, RDY to ERR.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: not in the assumed state, or a transition that is not allowed;
 *	-EOPNOTSUPP: flags.
 */
int smr_rwq_modify(struct smr_rwq *rwq, const struct ib_wq_attr *attr, u32 mask,
		   struct smr_why *why)
{
	enum ib_wq_state cur, next = attr->wq_state;

	if (mask & IB_WQ_FLAGS)
		return smr_why(why, WQ_FLAGS, attr->flags);
	guard(mutex)(&rwq->mutex);
	cur = READ_ONCE(rwq->qp.state) == IB_QPS_ERR ? IB_WQS_ERR :
						       rwq->ibwq.state;
	if (mask & IB_WQ_CUR_STATE && attr->curr_wq_state != cur)
		return smr_why(why, WQ_CUR_STATE, attr->curr_wq_state, cur);
	if (!(mask & IB_WQ_STATE) || next == cur)
		return 0;
	if (next != IB_WQS_RESET &&
	    cur != (next == IB_WQS_RDY ? IB_WQS_RESET : IB_WQS_RDY))
		return smr_why(why, WQ_TRANSITION, cur, next);
	return rwq_enter(rwq, next, why);
}

/**
 * smr_rwq_destroy() - end a queue in any state, and free it
 * @rwq: the queue, in no table
 *
 * Context: process, may sleep.
 */
void smr_rwq_destroy(struct smr_rwq *rwq)
{
	smr_qp_destroy(&rwq->qp);
	mutex_destroy(&rwq->mutex);
	kfree(rwq);
}

static int UVERBS_HANDLER(SMR_METHOD_WQ_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_wq *ibwq = uverbs_attr_get_obj(attrs, SMR_ATTR_DOORBELL_WQ);

	smr_qp_doorbell(&to_smr_rwq(ibwq)->qp, SMR_DOORBELL_RQ);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_WQ_DOORBELL,
			    UVERBS_ATTR_IDR(SMR_ATTR_DOORBELL_WQ,
					    UVERBS_OBJECT_WQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(rwq_methods, UVERBS_OBJECT_WQ,
		   &UVERBS_METHOD(SMR_METHOD_WQ_DOORBELL));

const struct uapi_definition smr_rwq_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_WQ, &rwq_methods),
	{}
};
