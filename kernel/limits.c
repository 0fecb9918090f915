// SPDX-License-Identifier: GPL-2.0
/*
 * These operations wrap those of verbs.c that create and destroy objects. They count objects,
 * and refuse to create more than a limit. There are two limits: one per device, which also
 * counts objects of kernel consumers; and one per user, so that one user cannot use up the
 * device's.
 *
 * All objects of a context are destroyed before it, and it holds a reference on the user. So
 * objects only point to the account. A QP or XRC domain may outlive its context in another
 * process, and holds its own reference on the user.
 */
#include "limits.h"

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "account.h"
#include "compat/ib.h"
#include "dmah.h"
#include "mr.h"
#include "mw.h"
#include "pd.h"
#include "qp/ah.h"
#include "qp/comp_cntr.h"
#include "qp/core.h"
#include "qp/cq.h"
#include "qp/srq.h"
#include "qp/user.h"
#include "qp/xrc.h"
#include "steer/flow_count.h"
#include "steer/rss.h"
#include "ucontext.h"
#include "verbs.h"
#include "verbs_wq.h"
#include "why.h"

#define COMPLAIN_S	10
#define CORE_MS		20

/**
 * smr_limits_init() - set the limits; no objects are counted yet
 * @limits: of a device
 * @max: objects of each kind at most; clamped to the range that is supported
 */
void smr_limits_init(struct smr_limits *limits, u32 max)
{
	int i;

	limits->max = clamp_t(u32, max, 1, SMR_LIMIT_MAX);
	for (i = 0; i < SMR_LIMIT_KINDS; i++)
		atomic_set(&limits->used[i], 0);
}

/* Objects that use the netdev or a socket. The others are memory and completion queues. */
#define KINDS_NET	(BIT(SMR_LIMIT_AH) | BIT(SMR_LIMIT_QP) | BIT(SMR_LIMIT_RULE) | \
			 BIT(SMR_LIMIT_MCAST) | BIT(SMR_LIMIT_WQ) | \
			 BIT(SMR_LIMIT_WQ_TABLE))
#define KINDS_ALL	(BIT(SMR_LIMIT_KINDS) - 1)

static unsigned int objects_left(const struct smr_limits *limits,
				 unsigned long kinds)
{
	unsigned int n = 0;
	int i;

	for_each_set_bit(i, &kinds, SMR_LIMIT_KINDS)
		n += atomic_read(&limits->used[i]);
	return n;
}

static void drain(struct ib_device *ibdev, unsigned long kinds)
{
	struct smr_limits *limits = &to_smr_verbs(ibdev)->limits;

	if (!objects_left(limits, kinds))
		return;
	while (!wait_var_event_timeout(limits, !objects_left(limits, kinds),
				       COMPLAIN_S * HZ))
		ibdev_warn(ibdev,
			   "waiting for %u objects, which a module of the kernel has left behind\n",
			   objects_left(limits, kinds));
	/*
	 * The core has not yet removed the last object from its lists, nor freed the GID that
	 * it used. It does not report when the former is done.
	 */
	msleep(CORE_MS);
	flush_workqueue(ib_wq);
}

/**
 * smr_limits_drain_net() - wait until no object of a device uses the netdev or a socket
 * @ibdev: the device; all of its clients are removed
 *
 * A client of the core destroys its objects before its remove() returns. RDS leaves that to a
 * work item, and does not wait for it.
 *
 * Context: process, sleeps until they are destroyed, without a limit, and logs a warning every
 *	%COMPLAIN_S seconds.
 */
void smr_limits_drain_net(struct ib_device *ibdev)
{
	drain(ibdev, KINDS_NET);
}

/**
 * smr_limits_drain() - wait until a device has no object left
 * @ibdev: the device; all of its clients are removed
 *
 * An object that outlived the device would be destroyed through freed memory.
 *
 * Context: as smr_limits_drain_net().
 */
void smr_limits_drain(struct ib_device *ibdev)
{
	drain(ibdev, KINDS_ALL);
}

/*
 * Count an object before it is created. IBTA calls the error "insufficient resources". @log is
 * NULL for a kernel consumer.
 */
static int take(struct ib_device *ibdev, struct smr_account *account,
		struct smr_why_log *log, enum smr_limit kind)
{
	struct smr_limits *limits = &to_smr_verbs(ibdev)->limits;
	u32 most = limits->max;
	struct smr_why why;

	if (smr_account_take(account, kind)) {
		most = account->max[kind];
	} else {
		if (atomic_add_unless(&limits->used[kind], 1, most))
			return 0;
		smr_account_give(account, kind);
	}
	return smr_why_verb(log ?: to_smr_verbs(ibdev)->env.kernel_whys, &why, 0,
			    smr_why(&why, LIMIT, kind, most));
}

static void give(struct ib_device *ibdev, struct smr_account *account,
		 enum smr_limit kind)
{
	struct smr_limits *limits = &to_smr_verbs(ibdev)->limits;

	smr_account_give(account, kind);
	if (atomic_dec_and_test(&limits->used[kind]))
		wake_up_var(limits);
}

/* Uncount an object if creating it failed; @ret is the error, or 0. */
static int made(struct ib_device *ibdev, struct smr_account *account,
		enum smr_limit kind, int ret)
{
	if (ret)
		give(ibdev, account, kind);
	return ret;
}

static struct ib_mr *made_mr(struct ib_device *ibdev,
			     struct smr_account *account, struct ib_mr *mr)
{
	if (IS_ERR(mr))
		give(ibdev, account, SMR_LIMIT_MR);
	else
		to_smr_mr(mr)->account = account;
	return mr;
}

static int gone(struct ib_device *ibdev, struct smr_account *account,
		enum smr_limit kind, int ret)
{
	if (!ret)
		give(ibdev, account, kind);
	return ret;
}

static struct smr_account *attrs_account(const struct uverbs_attr_bundle *attrs)
{
	return attrs ? smr_uctx_account(attrs->context) : NULL;
}

static struct smr_account *udata_account(struct ib_udata *udata)
{
	return udata ? attrs_account(rdma_udata_to_uverbs_attr_bundle(udata)) :
		       NULL;
}

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(pd->device, account, smr_udata_whys(udata), SMR_LIMIT_PD);

	to_smr_pd(pd)->account = account;
	return ret ?: made(pd->device, account, SMR_LIMIT_PD,
			   smr_verbs_ops.alloc_pd(pd, udata));
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return gone(pd->device, to_smr_pd(pd)->account, SMR_LIMIT_PD,
		    smr_verbs_ops.dealloc_pd(pd, udata));
}

static int create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	int ret = take(ah->device, NULL, NULL, SMR_LIMIT_AH);

	return ret ?: made(ah->device, NULL, SMR_LIMIT_AH,
			   smr_verbs_ops.create_ah(ah, init, udata));
}

static int create_user_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
			  struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(ah->device, account, smr_udata_whys(udata), SMR_LIMIT_AH);

	to_smr_ah(ah)->account = account;
	return ret ?: made(ah->device, account, SMR_LIMIT_AH,
			   smr_verbs_ops.create_user_ah(ah, init, udata));
}

static int destroy_ah(struct ib_ah *ah, u32 flags)
{
	return gone(ah->device, to_smr_ah(ah)->account, SMR_LIMIT_AH,
		    smr_verbs_ops.destroy_ah(ah, flags));
}

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		     struct smr_create_cq_attrs *attrs)
{
	struct smr_account *account =
		udata_account(smr_compat_create_cq_udata(attrs));
	int ret = take(cq->device, account, smr_udata_whys(smr_compat_create_cq_udata(attrs)),
		       SMR_LIMIT_CQ);

	to_smr_cq(cq)->account = account;
	return ret ?: made(cq->device, account, SMR_LIMIT_CQ,
			   smr_verbs_ops.create_cq(cq, attr, attrs));
}

static int destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	return gone(cq->device, to_smr_cq(cq)->account, SMR_LIMIT_CQ,
		    smr_verbs_ops.destroy_cq(cq, udata));
}

static int create_srq(struct ib_srq *srq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(srq->device, account, smr_udata_whys(udata), SMR_LIMIT_SRQ);

	to_smr_srq(srq)->account = account;
	return ret ?: made(srq->device, account, SMR_LIMIT_SRQ,
			   smr_verbs_ops.create_srq(srq, init, udata));
}

static int destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	return gone(srq->device, to_smr_srq(srq)->account, SMR_LIMIT_SRQ,
		    smr_verbs_ops.destroy_srq(srq, udata));
}

static int create_qp(struct ib_qp *qp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(qp->device, account, smr_udata_whys(udata), SMR_LIMIT_QP);

	return ret ?: made(qp->device, account, SMR_LIMIT_QP,
			   smr_verbs_ops.create_qp(qp, init, udata));
}

/* Return: NULL for a kernel consumer. */
static struct smr_account *user_account(struct smr_user *user)
{
	return user ? &user->account : NULL;
}

static int destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	struct smr_user *user = smr_user_share(to_smr_qp(qp)->user);
	int ret;

	ret = gone(qp->device, user_account(user), SMR_LIMIT_QP,
		   smr_verbs_ops.destroy_qp(qp, udata));
	smr_user_put(user);
	return ret;
}

static struct smr_account *qp_account(struct ib_qp *qp)
{
	return user_account(to_smr_qp(qp)->user);
}

static int attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	struct smr_account *account = qp_account(qp);
	int ret = take(qp->device, account, to_smr_qp(qp)->whys,
		       SMR_LIMIT_MCAST);

	return ret ?: made(qp->device, account, SMR_LIMIT_MCAST,
			   smr_verbs_ops.attach_mcast(qp, gid, lid));
}

static int detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	return gone(qp->device, qp_account(qp), SMR_LIMIT_MCAST,
		    smr_verbs_ops.detach_mcast(qp, gid, lid));
}

static struct ib_flow *create_flow(struct ib_qp *qp, struct ib_flow_attr *attr,
				   struct ib_udata *udata)
{
	struct smr_account *account = qp_account(qp);
	int ret = take(qp->device, account, to_smr_qp(qp)->whys,
		       SMR_LIMIT_RULE);
	struct ib_flow *flow;

	if (ret)
		return ERR_PTR(ret);
	flow = smr_verbs_ops.create_flow(qp, attr, udata);
	if (IS_ERR(flow))
		give(qp->device, account, SMR_LIMIT_RULE);
	return flow;
}

/* The core destroys all rules of a QP before the QP. */
static int destroy_flow(struct ib_flow *flow)
{
	struct ib_qp *qp = flow->qp;

	return gone(qp->device, qp_account(qp), SMR_LIMIT_RULE,
		    smr_verbs_ops.destroy_flow(flow));
}

static int create_counters(struct ib_counters *counters,
			   struct uverbs_attr_bundle *attrs)
{
	struct smr_account *account = attrs_account(attrs);
	int ret = take(counters->device, account, smr_attrs_whys(attrs),
		       SMR_LIMIT_FLOW_COUNTERS);

	to_smr_flow_counters(counters)->account = account;
	return ret ?: made(counters->device, account, SMR_LIMIT_FLOW_COUNTERS,
			   smr_verbs_ops.create_counters(counters, attrs));
}

static int destroy_counters(struct ib_counters *counters)
{
	return gone(counters->device, to_smr_flow_counters(counters)->account,
		    SMR_LIMIT_FLOW_COUNTERS,
		    smr_verbs_ops.destroy_counters(counters));
}

static struct ib_wq *create_wq(struct ib_pd *pd, struct ib_wq_init_attr *init,
			       struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(pd->device, account, smr_udata_whys(udata), SMR_LIMIT_WQ);
	struct ib_wq *wq;

	if (ret)
		return ERR_PTR(ret);
	wq = smr_wq_ops.create_wq(pd, init, udata);
	if (IS_ERR(wq))
		give(pd->device, account, SMR_LIMIT_WQ);
	else
		to_smr_rwq(wq)->account = account;
	return wq;
}

static int destroy_wq(struct ib_wq *wq, struct ib_udata *udata)
{
	/* The queue is freed by this. */
	struct smr_account *account = to_smr_rwq(wq)->account;
	struct ib_device *ibdev = wq->device;

	return gone(ibdev, account, SMR_LIMIT_WQ,
		    smr_wq_ops.destroy_wq(wq, udata));
}

static int create_rwq_ind_table(struct ib_rwq_ind_table *table,
				struct ib_rwq_ind_table_init_attr *init,
				struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(table->device, account, smr_udata_whys(udata),
		       SMR_LIMIT_WQ_TABLE);

	to_smr_rwq_table(table)->account = account;
	return ret ?: made(table->device, account, SMR_LIMIT_WQ_TABLE,
			   smr_wq_ops.create_rwq_ind_table(table, init, udata));
}

static int destroy_rwq_ind_table(struct ib_rwq_ind_table *table)
{
	return gone(table->device, to_smr_rwq_table(table)->account,
		    SMR_LIMIT_WQ_TABLE,
		    smr_wq_ops.destroy_rwq_ind_table(table));
}

static int alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(xrcd->device, account, smr_udata_whys(udata),
		       SMR_LIMIT_XRCD);

	return ret ?: made(xrcd->device, account, SMR_LIMIT_XRCD,
			   smr_verbs_ops.alloc_xrcd(xrcd, udata));
}

static int dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	struct smr_user *user = smr_user_share(to_smr_xrcd(xrcd)->user);
	int ret;

	ret = gone(xrcd->device, user_account(user), SMR_LIMIT_XRCD,
		   smr_verbs_ops.dealloc_xrcd(xrcd, udata));
	smr_user_put(user);
	return ret;
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	int ret = take(pd->device, NULL, NULL, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device, NULL,
			     smr_verbs_ops.get_dma_mr(pd, access));
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			      u32 max_num_sg)
{
	int ret = take(pd->device, NULL, NULL, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device, NULL,
			     smr_verbs_ops.alloc_mr(pd, type, max_num_sg));
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access, SMR_PARAM_DMAH(dmah)
				 struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(pd->device, account, smr_udata_whys(udata), SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device, account,
			     smr_verbs_ops.reg_user_mr(pd, start, length, iova,
						       access,
						       SMR_ARG_DMAH(dmah)
						       udata));
}

static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset,
					u64 length, u64 iova, int fd,
					int access, SMR_PARAM_DMAH(dmah)
					struct smr_reg_dmabuf_attrs *attrs)
{
	struct smr_account *account =
		udata_account(smr_compat_reg_dmabuf_udata(attrs));
	int ret = take(pd->device, account, smr_udata_whys(smr_compat_reg_dmabuf_udata(attrs)),
		       SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device, account,
			     smr_verbs_ops.reg_user_mr_dmabuf(pd, offset,
							      length, iova, fd,
							      access,
							      SMR_ARG_DMAH(dmah)
							      attrs));
}

static struct ib_mr *reg_dm_mr(struct ib_pd *pd, struct ib_dm *dm,
			       struct ib_dm_mr_attr *attr,
			       struct uverbs_attr_bundle *attrs)
{
	struct smr_account *account = attrs_account(attrs);
	int ret = take(pd->device, account, smr_attrs_whys(attrs), SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device, account,
			     smr_verbs_ops.reg_dm_mr(pd, dm, attr, attrs));
}

static int dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	/* The region is freed by this. */
	struct smr_account *account = to_smr_mr(mr)->account;
	struct ib_device *ibdev = mr->device;

	return gone(ibdev, account, SMR_LIMIT_MR,
		    smr_verbs_ops.dereg_mr(mr, udata));
}

static int alloc_mw(struct ib_mw *mw, struct ib_udata *udata)
{
	struct smr_account *account = udata_account(udata);
	int ret = take(mw->device, account, smr_udata_whys(udata), SMR_LIMIT_MW);

	to_smr_mw(mw)->account = account;
	return ret ?: made(mw->device, account, SMR_LIMIT_MW,
			   smr_verbs_ops.alloc_mw(mw, udata));
}

static int dealloc_mw(struct ib_mw *mw)
{
	return gone(mw->device, to_smr_mw(mw)->account, SMR_LIMIT_MW,
		    smr_verbs_ops.dealloc_mw(mw));
}

/* A handle is only counted: see dmah.h. */
static int __maybe_unused alloc_dmah(struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs)
{
	struct smr_account *account = attrs_account(attrs);

	to_smr_dmah(dmah)->account = account;
	return take(dmah->device, account, smr_attrs_whys(attrs), SMR_LIMIT_DMAH);
}

static int __maybe_unused dealloc_dmah(struct ib_dmah *dmah,
				       struct uverbs_attr_bundle *attrs)
{
	give(dmah->device, to_smr_dmah(dmah)->account, SMR_LIMIT_DMAH);
	return 0;
}

static int __maybe_unused create_comp_cntr(struct ib_comp_cntr *cntr,
					   struct uverbs_attr_bundle *attrs)
{
	struct smr_account *account = attrs_account(attrs);
	int ret = take(cntr->device, account, smr_attrs_whys(attrs),
		       SMR_LIMIT_COMP_CNTR);

	to_smr_comp_cntr(cntr)->account = account;
	return ret ?: made(cntr->device, account, SMR_LIMIT_COMP_CNTR,
			   smr_comp_cntr_create(cntr, attrs));
}

/* The core destroys a counter only after the QPs that it is attached to. */
static int __maybe_unused destroy_comp_cntr(struct ib_comp_cntr *cntr)
{
	give(cntr->device, to_smr_comp_cntr(cntr)->account,
	     SMR_LIMIT_COMP_CNTR);
	return 0;
}

const struct ib_device_ops smr_limit_ops = {
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.create_ah = create_ah,
	.create_user_ah = create_user_ah,
	.destroy_ah = destroy_ah,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.create_srq = create_srq,
	.destroy_srq = destroy_srq,
	.alloc_xrcd = alloc_xrcd,
	.dealloc_xrcd = dealloc_xrcd,
	.create_qp = create_qp,
	.destroy_qp = destroy_qp,
	.attach_mcast = attach_mcast,
	.detach_mcast = detach_mcast,
	.create_flow = create_flow,
	.destroy_flow = destroy_flow,
	.create_wq = create_wq,
	.destroy_wq = destroy_wq,
	.create_rwq_ind_table = create_rwq_ind_table,
	.destroy_rwq_ind_table = destroy_rwq_ind_table,
	.create_counters = create_counters,
	.destroy_counters = destroy_counters,
	.get_dma_mr = get_dma_mr,
	.alloc_mr = alloc_mr,
	.reg_user_mr = reg_user_mr,
	.reg_user_mr_dmabuf = reg_user_mr_dmabuf,
	.reg_dm_mr = reg_dm_mr,
	.dereg_mr = dereg_mr,
	.alloc_mw = alloc_mw,
	.dealloc_mw = dealloc_mw,
	SMR_OPS_DMAH(alloc_dmah, dealloc_dmah)
	SMR_OPS_CNTR(create_comp_cntr, destroy_comp_cntr)
};
