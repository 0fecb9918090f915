// SPDX-License-Identifier: GPL-2.0
/*
 * These operations wrap those of verbs.c that create and destroy objects. They count
 * objects, and refuse a create beyond the limit. Objects of consumers in the kernel
 * count, too: the limit is the device's.
 */
#include "limits.h"

#include <linux/err.h>
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "compat/ib.h"
#include "verbs.h"

/**
 * smr_limits_init() - set the limits; no objects are counted yet
 * @limits: the limits
 * @max: objects of each kind at most; clamped to the range that is supported
 */
void smr_limits_init(struct smr_limits *limits, u32 max)
{
	int i;

	limits->max = clamp_t(u32, max, 1, SMR_LIMIT_MAX);
	for (i = 0; i < SMR_LIMIT_KINDS; i++)
		atomic_set(&limits->used[i], 0);
}

/* Count an object before it is made. IBTA calls the error a lack of resources. */
static int take(struct ib_device *ibdev, enum smr_limit kind)
{
	struct smr_limits *limits = &to_smr_verbs(ibdev)->limits;

	return atomic_add_unless(&limits->used[kind], 1, limits->max) ?
		0 : -ENOMEM;
}

static void give(struct ib_device *ibdev, enum smr_limit kind)
{
	atomic_dec(&to_smr_verbs(ibdev)->limits.used[kind]);
}

/* Uncount an object that was not made: @ret is the error, or 0. */
static int made(struct ib_device *ibdev, enum smr_limit kind, int ret)
{
	if (ret)
		give(ibdev, kind);
	return ret;
}

static struct ib_mr *made_mr(struct ib_device *ibdev, struct ib_mr *mr)
{
	if (IS_ERR(mr))
		give(ibdev, SMR_LIMIT_MR);
	return mr;
}

static int gone(struct ib_device *ibdev, enum smr_limit kind, int ret)
{
	if (!ret)
		give(ibdev, kind);
	return ret;
}

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int ret = take(pd->device, SMR_LIMIT_PD);

	return ret ?: made(pd->device, SMR_LIMIT_PD,
			   smr_verbs_ops.alloc_pd(pd, udata));
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return gone(pd->device, SMR_LIMIT_PD,
		    smr_verbs_ops.dealloc_pd(pd, udata));
}

static int create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	int ret = take(ah->device, SMR_LIMIT_AH);

	return ret ?: made(ah->device, SMR_LIMIT_AH,
			   smr_verbs_ops.create_ah(ah, init, udata));
}

static int create_user_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init,
			  struct ib_udata *udata)
{
	int ret = take(ah->device, SMR_LIMIT_AH);

	return ret ?: made(ah->device, SMR_LIMIT_AH,
			   smr_verbs_ops.create_user_ah(ah, init, udata));
}

static int destroy_ah(struct ib_ah *ah, u32 flags)
{
	return gone(ah->device, SMR_LIMIT_AH,
		    smr_verbs_ops.destroy_ah(ah, flags));
}

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		     struct smr_create_cq_attrs *attrs)
{
	int ret = take(cq->device, SMR_LIMIT_CQ);

	return ret ?: made(cq->device, SMR_LIMIT_CQ,
			   smr_verbs_ops.create_cq(cq, attr, attrs));
}

static int destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	return gone(cq->device, SMR_LIMIT_CQ,
		    smr_verbs_ops.destroy_cq(cq, udata));
}

static int create_srq(struct ib_srq *srq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	int ret = take(srq->device, SMR_LIMIT_SRQ);

	return ret ?: made(srq->device, SMR_LIMIT_SRQ,
			   smr_verbs_ops.create_srq(srq, init, udata));
}

static int destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	return gone(srq->device, SMR_LIMIT_SRQ,
		    smr_verbs_ops.destroy_srq(srq, udata));
}

static int create_qp(struct ib_qp *qp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	int ret = take(qp->device, SMR_LIMIT_QP);

	return ret ?: made(qp->device, SMR_LIMIT_QP,
			   smr_verbs_ops.create_qp(qp, init, udata));
}

static int destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	return gone(qp->device, SMR_LIMIT_QP,
		    smr_verbs_ops.destroy_qp(qp, udata));
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	int ret = take(pd->device, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device, smr_verbs_ops.get_dma_mr(pd, access));
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			      u32 max_num_sg)
{
	int ret = take(pd->device, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device,
			     smr_verbs_ops.alloc_mr(pd, type, max_num_sg));
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access, SMR_PARAM_DMAH(dmah)
				 struct ib_udata *udata)
{
	int ret = take(pd->device, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device,
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
	int ret = take(pd->device, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device,
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
	int ret = take(pd->device, SMR_LIMIT_MR);

	return ret ? ERR_PTR(ret) :
		     made_mr(pd->device,
			     smr_verbs_ops.reg_dm_mr(pd, dm, attr, attrs));
}

static int dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	/* The region is freed by this. */
	struct ib_device *ibdev = mr->device;

	return gone(ibdev, SMR_LIMIT_MR, smr_verbs_ops.dereg_mr(mr, udata));
}

static int alloc_mw(struct ib_mw *mw, struct ib_udata *udata)
{
	int ret = take(mw->device, SMR_LIMIT_MW);

	return ret ?: made(mw->device, SMR_LIMIT_MW,
			   smr_verbs_ops.alloc_mw(mw, udata));
}

static int dealloc_mw(struct ib_mw *mw)
{
	return gone(mw->device, SMR_LIMIT_MW, smr_verbs_ops.dealloc_mw(mw));
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
	.create_qp = create_qp,
	.destroy_qp = destroy_qp,
	.get_dma_mr = get_dma_mr,
	.alloc_mr = alloc_mr,
	.reg_user_mr = reg_user_mr,
	.reg_user_mr_dmabuf = reg_user_mr_dmabuf,
	.reg_dm_mr = reg_dm_mr,
	.dereg_mr = dereg_mr,
	.alloc_mw = alloc_mw,
	.dealloc_mw = dealloc_mw,
};
