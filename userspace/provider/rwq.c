// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive work queues, and tables of them.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/softmrdv.h>

#include "abi.h"

enum {
	/* The kernel has no larger tables. */
	SMR_TABLE_LOG_MAX = IB_USER_VERBS_MAX_LOG_IND_TBL_SIZE,
};

/**
 * struct smr_rwq - a receive work queue
 * @wq: libibverbs' part
 * @home: see smr_object_alloc()
 * @ring_rq: its doorbell
 */
struct smr_rwq {
	struct ibv_wq wq;
	struct smr_home home;
	struct smr_wq rq;
	struct smr_doorbell ring_rq;
};

static struct smr_rwq *to_smr_rwq(struct ibv_wq *wq)
{
	return container_of(wq, struct smr_rwq, wq);
}

static int post_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	struct smr_rwq *rwq = to_smr_rwq(wq);

	if (wq->state == IBV_WQS_RESET) {
		*bad_wr = wr;
		return smr_wq_refuse(&rwq->rq, POST_STATE, IBV_QPS_RESET);
	}
	return smr_wq_post_recv(&rwq->rq, wq->context, &rwq->ring_rq,
				wr, bad_wr);
}

static int create_wq(struct smr_rwq *rwq, struct ibv_context *context,
		     struct ibv_wq_init_attr *attr)
{
	struct usmr_create_wq_resp resp = {};
	const struct smr_new_ring made = {
		&to_smr_context(context)->maps, &resp.drv_payload.rq,
		&resp.drv_payload.map,
	};
	struct usmr_create_wq cmd = {};
	int ret;

	ret = ibv_cmd_create_wq(context, attr, &rwq->wq, &cmd.ibv_cmd,
				sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	ret = made.info->depth ?
		      smr_wq_init(&rwq->rq, context, rwq->wq.wq_num, &made,
				  sizeof(struct smr_recv_wqe)) :
		      EPROTO;
	ret = smr_why_ring(context, ret);
	if (ret) {
		ibv_cmd_destroy_wq(&rwq->wq);
		return ret;
	}
	smr_doorbell_init_wq(&rwq->ring_rq, rwq->wq.handle,
			     rwq->wq.wq_num);
	rwq->wq.state = IBV_WQS_RESET;
	rwq->wq.post_recv = post_recv;
	return 0;
}

/**
 * smr_create_wq - create a receive work queue
 * @attr: its domain, CQ and sizes; the sizes it got are written back
 *
 * Return: the queue, in RESET; or NULL and errno.
 */
struct ibv_wq *smr_create_wq(struct ibv_context *context,
			     struct ibv_wq_init_attr *attr)
{
	struct smr_home home;
	struct smr_rwq *rwq;
	int ret;

	if (attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS) {
		ret = smr_refuse(context, 0, FIELDS_UNKNOWN, attr->comp_mask,
				 attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS);
		goto err;
	}
	rwq = smr_object_alloc(context,
			       attr->pd, sizeof(*rwq), SOFTMRDV_RES_TYPE_WQ,
			       &home);
	if (!rwq)
		return NULL;
	rwq->home = home;
	ret = create_wq(rwq, context, attr);
	if (!ret)
		return &rwq->wq;
	smr_object_free(rwq, SOFTMRDV_RES_TYPE_WQ, home);
err:
	errno = smr_why_old(context, ret);
	return NULL;
}

/**
 * smr_modify_wq - change a work queue's state
 * @attr: the state
 *
 * A change to RESET drops the queue's completions, and empties it.
 */
int smr_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	struct ibv_modify_wq cmd = {};
	int ret;

	ret = ibv_cmd_modify_wq(wq, attr, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if ((attr->attr_mask & IBV_WQ_ATTR_STATE) &&
	    attr->wq_state == IBV_WQS_RESET) {
		smr_cq_forget_qp(wq->cq, wq->wq_num);
		smr_wq_reset(&to_smr_rwq(wq)->rq);
	}
	return 0;
}

/**
 * smr_destroy_wq - destroy a work queue
 * @wq: the queue, which stays valid if the kernel refuses: EBUSY while it is in
 *	a table
 */
int smr_destroy_wq(struct ibv_wq *wq)
{
	struct smr_rwq *rwq = to_smr_rwq(wq);
	int ret = smr_ended(wq->context, wq->wq_num, SMR_KIND_WQ,
			    ibv_cmd_destroy_wq(wq));

	if (ret)
		return ret;
	smr_cq_forget_qp(wq->cq, wq->wq_num);
	smr_wq_fini(&rwq->rq);
	smr_object_free(rwq, SOFTMRDV_RES_TYPE_WQ, rwq->home);
	return 0;
}

/**
 * smr_create_rwq_ind_table - create a table of work queues
 * @attr: the queues
 *
 * Return: the table, or NULL and errno.
 */
struct ibv_rwq_ind_table *
smr_create_rwq_ind_table(struct ibv_context *context,
			 struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table;
	int ret;

	/* libibverbs allocates it on the stack. */
	if (attr->log_ind_tbl_size > SMR_TABLE_LOG_MAX) {
		ret = smr_refuse(context, 0, WQ_TABLE, attr->log_ind_tbl_size,
				 SMR_TABLE_LOG_MAX);
		goto err;
	}
	table = smr_zalloc(context, sizeof(*table));
	if (!table)
		return NULL;
	ret = ibv_cmd_create_rwq_ind_table(context, attr, table, &resp,
					   sizeof(resp));
	if (!ret)
		return table;
	free(table);
err:
	errno = ret;
	return NULL;
}

/**
 * smr_destroy_rwq_ind_table - destroy a table of work queues
 * @table: the table, which stays valid if the kernel refuses: EBUSY while a QP
 *	uses it
 */
int smr_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int ret = smr_ended(table->context, 0, SMR_KIND_TABLE,
			    ibv_cmd_destroy_rwq_ind_table(table));

	if (!ret)
		free(table);
	return ret;
}
