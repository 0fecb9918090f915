// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters. The kernel counts; the provider only queries it.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"

static int check_attr(struct ibv_context *context,
		      const struct ibv_comp_cntr_init_attr *attr)
{
	if (attr->comp_mask)
		return smr_refuse(context, 0, FIELDS_UNKNOWN, attr->comp_mask,
				  attr->comp_mask);
	if (attr->flags || (attr->type != IBV_COMP_CNTR_TYPE_WRS &&
			    attr->type != IBV_COMP_CNTR_TYPE_BYTES))
		return smr_refuse(context, 0, CNTR_ATTRS, attr->type,
				  attr->flags);
	return 0;
}

/**
 * smr_create_comp_cntr - create a completion counter
 * @attr: what it counts: work requests, or their bytes
 *
 * Return: the counter, or NULL and errno.
 */
struct ibv_comp_cntr *smr_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	DECLARE_COMMAND_BUFFER_LINK(cmd, UVERBS_OBJECT_COMP_CNTR,
				    UVERBS_METHOD_COMP_CNTR_CREATE, 1, NULL);
	struct ibv_comp_cntr *cntr;
	int ret;

	ret = check_attr(context, attr);
	if (ret)
		goto err;
	cntr = smr_zalloc(context, sizeof(*cntr));
	if (!cntr)
		return NULL;
	if (attr->type == IBV_COMP_CNTR_TYPE_BYTES)
		fill_attr_const_in(cmd, SMR_ATTR_COMP_CNTR_TYPE,
				   SMR_COMP_CNTR_BYTES);
	ret = ibv_cmd_create_comp_cntr(context, cntr, cmd);
	if (ret)
		goto err_free;
	return cntr;

err_free:
	free(cntr);
err:
	errno = ret;
	return NULL;
}

/**
 * smr_destroy_comp_cntr - destroy a completion counter
 * @cntr: the counter, which stays valid if the kernel refuses: EBUSY while it
 *	is attached to a QP
 */
int smr_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	int ret = smr_ended(cntr->context, 0, SMR_KIND_COMP_CNTR,
			    ibv_cmd_destroy_comp_cntr(cntr));

	if (!ret)
		free(cntr);
	return ret;
}

/**
 * smr_attach_comp_cntr - have a counter count operations of a QP
 * @qp: the QP, in RESET or INIT
 * @attr: which kinds of operations
 */
int smr_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			 struct ibv_qp_attach_comp_cntr_attr *attr)
{
	const uint32_t known = IBV_QP_ATTACH_COMP_CNTR_OP_SEND |
			       IBV_QP_ATTACH_COMP_CNTR_OP_RECV |
			       IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ |
			       IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ |
			       IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE |
			       IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE;

	/* libibverbs would drop unknown bits */
	if (attr->comp_mask)
		return smr_refuse(qp->context, qp->qp_num, FIELDS_UNKNOWN,
				  attr->comp_mask, attr->comp_mask);
	if (attr->op_mask & ~known)
		return smr_refuse(qp->context, qp->qp_num, CNTR_MASK,
				  attr->op_mask, attr->op_mask & ~known);
	return ibv_cmd_qp_attach_comp_cntr(qp, cntr, attr);
}

