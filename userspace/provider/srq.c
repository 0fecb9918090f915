// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues, of the basic and of the XRC type.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/cmd_ioctl.h>
#include <infiniband/softmrdv.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"

static int check_srq_attr(struct ibv_context *context,
			  const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if (attr->comp_mask & ~known)
		return smr_refuse(context, 0, FIELDS_UNKNOWN, attr->comp_mask,
				  attr->comp_mask & ~known);
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    attr->srq_type != IBV_SRQT_BASIC && attr->srq_type != IBV_SRQT_XRC)
		return smr_refuse(context, 0, SRQ_TYPE, attr->srq_type);
	return 0;
}

static int create_srq(struct smr_srq *srq, struct ibv_context *context,
		      struct ibv_srq_init_attr_ex *attr)
{
	struct usmr_create_xsrq_resp resp = {};
	const struct smr_ring_info *info = &resp.drv_payload.rq;
	struct ibv_create_xsrq cmd = {};
	int ret;

	ret = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;

	srq->srqn = resp.drv_payload.srqn;
	ret = info->depth ?
		      smr_wq_init(&srq->rq, context, 0,
				  &to_smr_context(context)->maps, info,
				  sizeof(struct smr_recv_wqe)) :
		      EPROTO;
	ret = smr_why_ring(context, ret);
	if (ret)
		ibv_cmd_destroy_srq(&srq->vsrq.srq);
	return ret;
}

struct ibv_srq *smr_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr)
{
	struct smr_home home;
	struct smr_srq *srq;
	int ret;

	ret = check_srq_attr(context, attr);
	if (ret)
		goto err;

	srq = smr_object_alloc(context,
			       attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ?
				       attr->pd : NULL,
			       sizeof(*srq), SOFTMRDV_RES_TYPE_SRQ, &home);
	if (!srq)
		return NULL;
	srq->home = home;

	ret = create_srq(srq, context, attr);
	if (ret)
		goto err_free;

	srq->vsrq.srq.srq_context = attr->srq_context;
	/* libibverbs of rdma-core 56 does not set it */
	srq->vsrq.srq.pd = attr->pd;
	return &srq->vsrq.srq;

err_free:
	smr_object_free(srq, SOFTMRDV_RES_TYPE_SRQ, home);
err:
	errno = ret;
	return NULL;
}

struct ibv_srq *smr_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex attr_ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq = smr_create_srq_ex(pd->context, &attr_ex);

	if (srq)
		attr->attr = attr_ex.attr;
	return srq;
}

static int cmd_resize(struct ibv_srq *srq, const struct ibv_srq_attr *attr,
		      int attr_mask, struct smr_resize_srq_resp *resp)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_SRQ, SMR_METHOD_SRQ_RESIZE,
			       4);

	fill_attr_in_obj(cmd, SMR_ATTR_RESIZE_SRQ, srq->handle);
	fill_attr_in_uint32(cmd, SMR_ATTR_RESIZE_MAX_WR, attr->max_wr);
	if (attr_mask & IBV_SRQ_LIMIT)
		fill_attr_in_uint32(cmd, SMR_ATTR_RESIZE_LIMIT,
				    attr->srq_limit);
	fill_attr_out_ptr(cmd, SMR_ATTR_RESIZE_RING, resp);
	return execute_ioctl(srq->context, cmd);
}

/*
 * The kernel moves the posted requests into the new ring, between the indices
 * in the new ring's head, and consumes from there. Other posts wait during that
 * time. If the new ring cannot be mapped, nothing can be posted until another
 * resize succeeds.
 */
static int resize_srq(struct smr_srq *srq, const struct ibv_srq_attr *attr,
		      int attr_mask)
{
	struct ibv_srq *ibsrq = &srq->vsrq.srq;
	struct smr_resize_srq_resp resp = {};
	struct smr_maps *maps = &to_smr_context(ibsrq->context)->maps;
	struct smr_room room;
	int ret;

	smr_lock_for_long(&srq->rq.lock);
	ret = smr_room_reserve(&room, attr->max_wr, srq->rq.ring.stride);
	if (ret)
		goto unlock;
	ret = cmd_resize(ibsrq, attr, attr_mask, &resp);
	if (!ret)
		ret = smr_why_ring(ibsrq->context,
				   smr_wq_use_ring(&srq->rq, maps, &resp.rq,
						   sizeof(struct smr_recv_wqe),
						   &room));
	smr_room_release(&room);
unlock:
	smr_unlock_after_long(&srq->rq.lock);
	return ret;
}

int smr_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		   int attr_mask)
{
	struct ibv_modify_srq cmd = {};

	if (attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return smr_refuse(ibsrq->context, 0, SRQ_ATTR,
				  (uint32_t)attr_mask);
	if (attr_mask & IBV_SRQ_MAX_WR)
		return resize_srq(to_smr_srq(ibsrq), attr, attr_mask);
	return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
}

int smr_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int smr_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	struct smr_srq *srq = to_smr_srq(ibsrq);

	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return smr_refuse(ibsrq->context, 0, SRQ_NO_NUMBER,
				  srq->vsrq.srq_type);
	*srq_num = srq->srqn;
	return 0;
}

int smr_destroy_srq(struct ibv_srq *ibsrq)
{
	struct smr_srq *srq = to_smr_srq(ibsrq);
	int ret = smr_ended(ibsrq->context, 0, SMR_KIND_SRQ,
			    ibv_cmd_destroy_srq(ibsrq));

	if (ret)
		return ret;
	smr_wq_fini(&srq->rq);
	smr_object_free(srq, SOFTMRDV_RES_TYPE_SRQ, srq->home);
	return 0;
}
