// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: create, open, modify, query, destroy.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/softmrdv.h>

#include "abi.h"
#include "wqe.h"

enum {
	/* the limits that the device's attributes report */
	SMR_VENDOR_ID = 0xffffff,
};

enum {
	SMR_RAW_OPS = 1 << IBV_WR_SEND,
	SMR_UD_OPS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
	SMR_UC_OPS = SMR_UD_OPS | 1 << IBV_WR_RDMA_WRITE |
		     1 << IBV_WR_RDMA_WRITE_WITH_IMM | 1 << IBV_WR_BIND_MW |
		     1 << IBV_WR_LOCAL_INV,
	SMR_RC_OPS = SMR_UC_OPS | 1 << IBV_WR_SEND_WITH_INV |
		     1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP |
		     1 << IBV_WR_ATOMIC_FETCH_AND_ADD | 1 << IBV_WR_FLUSH |
		     1 << IBV_WR_ATOMIC_WRITE,
	SMR_QP_COMP_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			   IBV_QP_INIT_ATTR_CREATE_FLAGS |
			   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
};

/* The opcodes that a type of QP can send, as bits 1 << opcode */
static uint32_t ops_of_type(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return SMR_RC_OPS;
	case IBV_QPT_UC:
		return SMR_UC_OPS;
	case IBV_QPT_UD:
		return SMR_UD_OPS;
	case IBV_QPT_RAW_PACKET:
		return SMR_RAW_OPS;
	default:
		return 0;
	}
}

static int map_queues(struct smr_qp *qp, const struct smr_create_qp_resp *resp)
{
	struct ibv_context *context = qp->vqp.qp.context;
	struct smr_maps *maps = &to_smr_context(context)->maps;
	uint32_t qpn = qp->vqp.qp.qp_num;
	int ret;

	ret = smr_wq_init(&qp->sq, context, qpn, maps, &resp->sq,
			  sizeof(struct smr_send_wqe));
	if (ret)
		return ret;

	ret = smr_wq_init(&qp->rq, context, qpn, maps, &resp->rq,
			  sizeof(struct smr_recv_wqe));
	if (ret)
		smr_wq_fini(&qp->sq);
	return ret;
}

static int create_qp(struct smr_qp *qp, struct ibv_context *context,
		     struct ibv_qp_init_attr_ex *attr)
{
	struct usmr_create_qp_resp resp = {};
	struct ibv_create_qp_ex cmd = {};
	int ret;

	ret = ibv_cmd_create_qp_ex2(context, &qp->vqp, attr, &cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp), NULL);
	if (ret)
		return ret;

	ret = smr_why_ring(context, map_queues(qp, &resp.drv_payload));
	if (ret) {
		ibv_cmd_destroy_qp(&qp->vqp.qp);
		return ret;
	}
	return 0;
}

/**
 * smr_create_qp_ex - create a queue pair
 * @attr: its type, CQs and sizes; the sizes it got are written back
 *
 * Return: the QP, or NULL and errno.
 */
struct ibv_qp *smr_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr)
{
	bool wr_api = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct smr_home home;
	struct smr_qp *qp;
	int ret;

	if (attr->comp_mask & ~(uint32_t)SMR_QP_COMP_MASK) {
		ret = smr_refuse(context, 0, FIELDS_UNKNOWN, attr->comp_mask,
				 attr->comp_mask & ~(uint32_t)SMR_QP_COMP_MASK);
		goto err;
	}

	qp = smr_object_alloc(context,
			      attr->comp_mask & IBV_QP_INIT_ATTR_PD ?
				      attr->pd : NULL,
			      sizeof(*qp), SOFTMRDV_RES_TYPE_QP, &home);
	if (!qp)
		return NULL;
	qp->home = home;

	qp->send_ops = ops_of_type(attr->qp_type);
	if (wr_api) {
		ret = smr_qp_set_wr_ops(qp, attr->qp_type,
					attr->send_ops_flags);
		if (ret) {
			smr_refuse(context, 0, QP_SEND_OPS, attr->qp_type,
				   attr->send_ops_flags);
			goto err_free;
		}
	}

	ret = create_qp(qp, context, attr);
	if (ret)
		goto err_free;

	/*
	 * Set after libibverbs has initialised the struct, which would clear
	 * it.
	 */
	if (wr_api)
		smr_layout_add_comp_mask(&qp->vqp, VERBS_QP_EX);
	return &qp->vqp.qp;

err_free:
	smr_object_free(qp, SOFTMRDV_RES_TYPE_QP, home);
err:
	errno = ret;
	return NULL;
}

/**
 * smr_create_qp - create a queue pair by the older call
 * @pd: its protection domain
 * @attr: its type, CQs and sizes; the sizes it got are written back
 *
 * Return: the QP, or NULL and errno.
 */
struct ibv_qp *smr_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
		.qp_type = attr->qp_type,
		.qp_context = attr->qp_context,
		.cap = attr->cap,
		.sq_sig_all = attr->sq_sig_all,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
	};
	struct ibv_qp *qp = smr_create_qp_ex(pd->context, &attr_ex);

	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/**
 * smr_open_qp - open an XRC receive QP of another process
 * @attr: its XRC domain and number
 *
 * Return: a QP without queues, or NULL and errno.
 */
struct ibv_qp *smr_open_qp(struct ibv_context *context,
			   struct ibv_qp_open_attr *attr)
{
	static const struct smr_create_qp_resp no_queues;
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	struct smr_qp *qp;
	int ret;

	qp = smr_zalloc(context, sizeof(*qp));
	if (!qp)
		return NULL;

	ret = ibv_cmd_open_qp(context, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(qp);
		errno = ret;
		return NULL;
	}
	ret = map_queues(qp, &no_queues);
	if (ret) {
		ibv_cmd_destroy_qp(&qp->vqp.qp);
		free(qp);
		errno = ret;
		return NULL;
	}
	return &qp->vqp.qp;
}

/* Drop the QP's completions from its CQs. The kernel adds no more. */
static void forget_completions(struct ibv_qp *qp)
{
	smr_cq_forget_qp(qp->send_cq, qp->qp_num);
	if (qp->recv_cq != qp->send_cq)
		smr_cq_forget_qp(qp->recv_cq, qp->qp_num);
}

/* Only the newer command has a rate limit and driver data. */
static int modify_rate(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		       int attr_mask, const struct smr_modify_qp *how)
{
	bool has_input = how->max_burst_sz || how->typical_pkt_sz;
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct usmr_modify_qp cmd = { .drv_payload = *how };

	return ibv_cmd_modify_qp_ex(qp, attr, attr_mask, &cmd.ibv_cmd,
				    has_input ? sizeof(cmd) :
						sizeof(cmd.ibv_cmd),
				    &resp, sizeof(resp));
}

/**
 * smr_modify_qp_rate_limit - set how fast a QP sends
 * @qp: a RAW_PACKET QP, in RTS
 * @limit: the rate and, each optional, bursts and packets
 */
int smr_modify_qp_rate_limit(struct ibv_qp *qp,
			     struct ibv_qp_rate_limit_attr *limit)
{
	const struct smr_modify_qp how = {
		.max_burst_sz = limit->max_burst_sz,
		.typical_pkt_sz = limit->typical_pkt_sz,
	};
	struct ibv_qp_attr attr = { .rate_limit = limit->rate_limit };

	if (limit->comp_mask)
		return smr_refuse(qp->context, qp->qp_num, FIELDS_INVALID,
				  limit->comp_mask, limit->comp_mask);
	return modify_rate(qp, &attr, IBV_QP_RATE_LIMIT, &how);
}

/**
 * smr_modify_qp - change a QP's attributes or state
 * @attr: the attributes
 * @attr_mask: which of them, enum ibv_qp_attr_mask
 *
 * A change to RESET drops the QP's completions, and empties its queues.
 */
int smr_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	static const struct smr_modify_qp default_bursts;
	struct smr_qp *qp = to_smr_qp(ibqp);
	uint64_t since = smr_why_now();
	struct ibv_modify_qp cmd = {};
	int ret;

	if (attr_mask & IBV_QP_RATE_LIMIT)
		ret = modify_rate(ibqp, attr, attr_mask, &default_bursts);
	else
		ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd,
					sizeof(cmd));
	if (ret) {
		smr_why_modify(ibqp, attr, attr_mask, since, ret);
		return ret;
	}

	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		forget_completions(ibqp);
		smr_wq_reset(&qp->sq);
		smr_wq_reset(&qp->rq);
	}
	return 0;
}

/**
 * smr_query_qp - a QP's attributes
 * @attr: the answer
 * @wanted: which attributes, enum ibv_qp_attr_mask
 * @created: what it was created with
 */
int smr_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int wanted,
		 struct ibv_qp_init_attr *created)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(qp, attr, wanted, created, &cmd, sizeof(cmd));
}

/**
 * smr_set_ece - set the options that the peers have negotiated
 * @qp: a QP in RESET or INIT
 * @ece: of any vendor
 *
 * softmr has no options, so all are ignored: smr_query_ece() returns the active
 * ones.
 */
int smr_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (ece->comp_mask ||
	    (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT))
		return smr_refuse(qp->context, qp->qp_num, QP_ECE,
				  ece->comp_mask, qp->state);
	return 0;
}

/**
 * smr_query_ece - the active options
 * @ece: the answer: none
 */
int smr_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	*ece = (struct ibv_ece){ .vendor_id = SMR_VENDOR_ID };
	return 0;
}

/**
 * smr_destroy_qp - destroy a queue pair
 * @ibqp: the QP, which stays valid if the kernel refuses
 */
int smr_destroy_qp(struct ibv_qp *ibqp)
{
	struct smr_qp *qp = to_smr_qp(ibqp);
	int ret = smr_ended(ibqp->context, ibqp->qp_num, SMR_KIND_QP,
			    ibv_cmd_destroy_qp(ibqp));

	if (ret)
		return ret;
	forget_completions(ibqp);
	smr_wq_fini(&qp->rq);
	smr_wq_fini(&qp->sq);
	smr_object_free(qp, SOFTMRDV_RES_TYPE_QP, qp->home);
	return 0;
}
