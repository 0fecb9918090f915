// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs for receive work queues and their tables: check the command, and call qp/rwq.c and
 * steer/rss.c.
 */
#include "verbs_wq.h"

#include <linux/err.h>
#include <rdma/uverbs_ioctl.h>

#include "compat/udata.h"
#include "limits.h"
#include "qp/rwq.h"
#include "steer/rss.h"
#include "uapi/softmr-abi.h"
#include "ucontext.h"
#include "verbs.h"
#include "why.h"

static struct ib_wq *create_wq(struct ib_pd *pd, struct ib_wq_init_attr *init,
			       struct ib_udata *udata)
{
	struct ib_ucontext *uctx =
		rdma_udata_to_uverbs_attr_bundle(udata)->context;
	struct smr_verbs *verbs = to_smr_verbs(pd->device);
	struct smr_create_wq_resp resp = {};
	struct smr_why why = {};
	struct smr_rwq *rwq;
	int ret;

	ret = smr_udata_result(udata, ib_is_udata_in_empty(udata));
	if (ret)
		return ERR_PTR(ret);
	rwq = smr_rwq_create(pd, &verbs->env, init, uctx, &resp, &why);
	if (IS_ERR(rwq)) {
		ret = PTR_ERR(rwq);
		return ERR_PTR(smr_why_verb(smr_udata_whys(udata), &why, 0, ret));
	}
	ret = smr_udata_result(udata, ib_respond_udata(udata, resp));
	if (!ret)
		return &rwq->ibwq;
	smr_rwq_destroy(rwq);
	return ERR_PTR(ret);
}

static int modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		     struct ib_udata *udata)
{
	struct smr_rwq *rwq = to_smr_rwq(ibwq);
	int ret = ib_no_udata_io(udata);
	struct smr_why why = {};

	if (!ret)
		ret = smr_rwq_modify(rwq, attr, mask, &why);
	return smr_why_verb(rwq->qp.whys, &why, ibwq->wq_num, ret);
}

static int destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	smr_rwq_destroy(to_smr_rwq(ibwq));
	return 0;
}

/* The core has checked the queues, and does not destroy them before the table. */
static int create_rwq_ind_table(struct ib_rwq_ind_table *table,
				struct ib_rwq_ind_table_init_attr *init,
				struct ib_udata *udata)
{
	int ret = ib_no_udata_io(udata);
	struct smr_why why = {};

	if (!ret && init->log_ind_tbl_size > SMR_RWQ_TABLE_LOG)
		ret = smr_why(&why, WQ_TABLE, init->log_ind_tbl_size,
			      SMR_RWQ_TABLE_LOG);
	if (!ret)
		ret = smr_limit_take(smr_uctx_limits(table->uobject->context),
				     SMR_LIMIT_WQ_TABLE, &why);
	if (!ret)
		table->ind_tbl_num = table->uobject->id;
	return smr_why_verb(smr_udata_whys(udata), &why, 0, ret);
}

static int destroy_rwq_ind_table(struct ib_rwq_ind_table *table)
{
	smr_limit_give(smr_uctx_limits(table->uobject->context),
		       SMR_LIMIT_WQ_TABLE);
	return 0;
}

const struct ib_device_ops smr_wq_ops = {
	.create_wq = create_wq,
	.modify_wq = modify_wq,
	.destroy_wq = destroy_wq,
	.create_rwq_ind_table = create_rwq_ind_table,
	.destroy_rwq_ind_table = destroy_rwq_ind_table,

	.size_ib_rwq_ind_table = sizeof(struct ib_rwq_ind_table),
};
