// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the RDMA device: read the command of a process, call the file that does the
 * work, and write the response.
 */
#include "verbs.h"

#include <linux/atomic.h>
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "advise.h"
#include "capture.h"
#include "compat/ib.h"
#include "compat/udata.h"
#include "doorbell.h"
#include "give_fd.h"
#include "kmr.h"
#include "limits.h"
#include "mmap.h"
#include "mr.h"
#include "mr_query.h"
#include "mw.h"
#include "pd.h"
#include "qp/ah.h"
#include "qp/cq.h"
#include "qp/life.h"
#include "qp/mcast.h"
#include "qp/modify.h"
#include "qp/post.h"
#include "qp/show.h"
#include "qp/srq.h"
#include "qp/xrc.h"
#include "raw/raw.h"
#include "stats.h"
#include "trace.h"
#include "ucontext.h"
#include "why.h"
#include "why_query.h"

/* NULL for a kernel consumer. */
static struct ib_ucontext *udata_uctx(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_uverbs_attr_bundle(udata)->context : NULL;
}

/* The log of the caller of a verb */
static struct smr_why_log *caller_whys(const struct ib_device *ibdev,
				       struct ib_udata *udata)
{
	return smr_udata_whys(udata) ?: to_smr_verbs(ibdev)->env.kernel_whys;
}

/* The limits on what the caller of a verb creates */
static struct smr_limits *caller_limits(const struct ib_device *ibdev,
					struct ib_udata *udata)
{
	struct ib_ucontext *uctx = udata_uctx(udata);

	return uctx ? smr_uctx_limits(uctx) : &to_smr_verbs(ibdev)->env.limits;
}

static struct ib_mr *made_mr(struct smr_mr *mr)
{
	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ibmr;
}

/* Number of contexts created so far: the id of the last one */
static atomic64_t contexts = ATOMIC64_INIT(0);

static int alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	const struct smr_alloc_ucontext_resp resp = {
		.abi_version = SMR_ABI_VERSION,
		.abi_minor = SMR_ABI_MINOR,
	};
	struct smr_ucontext *ctx = to_smr_ucontext(uctx);
	struct smr_verbs *verbs = to_smr_verbs(uctx->device);
	int ret;

	ret = ib_is_udata_in_empty(udata);
	if (ret)
		return ret;
	ctx->user = smr_user_get(&verbs->users);
	if (IS_ERR(ctx->user))
		return PTR_ERR(ctx->user);
	ctx->account = &ctx->user->account;
	ctx->env = &verbs->env;
	INIT_LIST_HEAD(&ctx->captures);
	ctx->id = atomic64_inc_return(&contexts);
	ret = -ENOMEM;
	ctx->whys = smr_why_log_create(verbs->env.whys, uctx->device);
	if (!ctx->whys)
		goto put_user;
	ctx->bell = smr_bell_create(verbs->env.tab, ctx->id);
	if (!ctx->bell)
		goto end_log;
	smr_arenas_init(&ctx->arenas, uctx, &ctx->account->queues);
	ret = ib_respond_udata(udata, resp);
	if (!ret)
		return 0;
	smr_bell_end(ctx->bell);
end_log:
	smr_why_log_end(ctx->whys, ctx->env->whys);
put_user:
	smr_user_put(ctx->user);
	return ret;
}

/* For a process that shares a context created by another process. */
static int query_ucontext(struct ib_ucontext *uctx,
			  struct uverbs_attr_bundle *attrs)
{
	const struct smr_alloc_ucontext_resp resp = {
		.abi_version = SMR_ABI_VERSION,
		.abi_minor = SMR_ABI_MINOR,
	};

	return uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_QUERY_CONTEXT_RESP,
					     &resp, sizeof(resp));
}

static void dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct smr_ucontext *ctx = to_smr_ucontext(uctx);

	smr_captures_end(ctx);
	smr_bell_end(ctx->bell);
	smr_arenas_fini(&ctx->arenas);
	smr_why_log_end(ctx->whys, ctx->env->whys);
	smr_user_put(ctx->user);
}

/* Rings are ordinary memory, so processes may keep their mappings. */
static void disassociate_ucontext(struct ib_ucontext *uctx)
{
	smr_bell_silence(to_smr_ucontext(uctx)->bell);
}

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct smr_verbs *verbs = to_smr_verbs(ibpd->device);
	struct smr_pd *pd = to_smr_pd(ibpd);
	int ret = smr_udata_result(udata, ib_no_udata_io(udata));

	pd->keys = verbs->env.keys;
	pd->stats = verbs->env.stats;
	pd->awaits = &verbs->awaits;
	pd->limits = caller_limits(ibpd->device, udata);
	pd->whys = caller_whys(ibpd->device, udata);
	return ret ?: smr_limit_take(pd->limits, SMR_LIMIT_PD, pd->whys);
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	smr_limit_give(to_smr_pd(ibpd)->limits, SMR_LIMIT_PD);
	return 0;
}

static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL :
							     GFP_ATOMIC;
	struct smr_env *env = &to_smr_verbs(ibah->device)->env;

	return smr_ah_create(to_smr_ah(ibah), env, init->ah_attr, gfp);
}

static int create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			  struct ib_udata *udata)
{
	struct smr_verbs *verbs = to_smr_verbs(ibah->device);
	struct smr_create_ah_resp resp = {};
	struct smr_ah *ah = to_smr_ah(ibah);
	int ret;

	ret = smr_udata_result(udata, ib_is_udata_in_empty(udata));
	if (ret)
		return ret;
	ret = smr_ah_create(ah, &verbs->env, init->ah_attr, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	resp.ah_handle = ah->av->number;
	ret = smr_udata_result(udata, ib_respond_udata(udata, resp));
	if (ret)
		smr_ah_destroy(ah);
	return ret;
}

static int query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_smr_ah(ibah)->attr;
	return 0;
}

static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	smr_ah_destroy(to_smr_ah(ibah));
	return 0;
}

static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct smr_create_cq_attrs *attrs)
{
	struct ib_udata *udata = smr_compat_create_cq_udata(attrs);
	struct smr_create_cq_resp resp = {};
	struct smr_ring_user user = { udata_uctx(udata), &resp.cq };
	struct smr_cq *cq = to_smr_cq(ibcq);
	int ret;

	ret = smr_udata_result(udata, ib_is_udata_in_empty(udata));
	if (ret)
		return ret;
	cq->limits = caller_limits(ibcq->device, udata);
	ret = smr_cq_create(cq, attr, &user, caller_whys(ibcq->device, udata));
	if (ret || !udata)
		return ret;
	ret = smr_udata_result(udata, ib_respond_udata(udata, resp));
	if (ret)
		smr_cq_destroy(cq);
	return ret;
}

/*
 * Once the CQ has the new ring, the response must not fail, or the provider could not find the
 * ring. So check first that the provider's response buffer is large enough.
 */
static int resize_user_cq(struct ib_cq *ibcq, SMR_RESIZE_CQE_TYPE cqe,
			  struct ib_udata *udata)
{
	struct smr_resize_cq_resp resp = {};
	struct smr_ring_user user = { udata_uctx(udata), &resp.cq };
	struct smr_why_log *log = smr_udata_whys(udata);
	int ret;

	ret = smr_udata_result(udata, ib_is_udata_in_empty(udata));
	if (ret)
		return ret;
	if (!udata || udata->outlen < offsetofend(typeof(resp), cq))
		return smr_why(log, CQ_RESPONSE, cqe);
	ret = smr_udata_result(udata, ib_respond_empty_udata(udata)) ?:
	      smr_cq_resize(to_smr_cq(ibcq), &user, cqe, log);
	return ret ?: smr_udata_result(udata, ib_respond_udata(udata, resp));
}

static int modify_cq(struct ib_cq *ibcq, u16 count, u16 usecs)
{
	smr_cq_moderate(to_smr_cq(ibcq), count, usecs);
	return 0;
}

static int destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	smr_cq_destroy(to_smr_cq(ibcq));
	return 0;
}

static int req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	return smr_cq_notify(to_smr_cq(ibcq), flags);
}

static int poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	return smr_cq_poll(to_smr_cq(ibcq), num, wc);
}

static int create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct smr_create_srq_resp resp = {};
	struct smr_ring_user user = { udata_uctx(udata), &resp.rq };
	struct smr_srq *srq = to_smr_srq(ibsrq);
	int ret;

	ret = smr_udata_result(udata, ib_is_udata_in_empty(udata));
	if (ret)
		return ret;
	ret = smr_srq_create(srq, &to_smr_verbs(ibsrq->device)->srqs, init,
			     &user);
	if (ret || !udata)
		return ret;
	resp.srqn = srq->srqn;
	ret = smr_udata_result(udata, ib_respond_udata(udata, resp));
	if (ret)
		smr_srq_destroy(srq);
	return ret;
}

static int modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	int ret = smr_udata_result(udata, ib_no_udata_io(udata));

	return ret ?: smr_srq_modify(to_smr_srq(ibsrq), attr, mask);
}

static int query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	smr_srq_query(to_smr_srq(ibsrq), attr);
	return 0;
}

static int destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	smr_srq_destroy(to_smr_srq(ibsrq));
	return 0;
}

static int post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	return smr_post_srq_recv(to_smr_srq(ibsrq), wr, bad);
}

/* The core tracks the objects of a domain. */
static int alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct ib_ucontext *uctx = udata_uctx(udata);
	struct smr_xrcd *xrcd = to_smr_xrcd(ibxrcd);
	int ret = smr_udata_result(udata, ib_no_udata_io(udata));

	xrcd->limits = caller_limits(ibxrcd->device, udata);
	if (!ret)
		ret = smr_limit_take(xrcd->limits, SMR_LIMIT_XRCD,
				     caller_whys(ibxrcd->device, udata));
	if (!ret && uctx) {
		xrcd->user = smr_user_share(to_smr_ucontext(uctx)->user);
		xrcd->whys = smr_why_log_get(to_smr_ucontext(uctx)->whys);
	}
	return ret;
}

static int dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct smr_xrcd *xrcd = to_smr_xrcd(ibxrcd);

	smr_why_log_put(xrcd->whys);
	smr_limit_give(xrcd->limits, SMR_LIMIT_XRCD);
	smr_user_put(xrcd->user);
	return 0;
}

static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct smr_verbs *verbs = to_smr_verbs(ibqp->device);
	struct smr_create_qp_resp resp = {};
	struct smr_qp *qp = to_smr_qp(ibqp);
	int ret;

	ret = smr_udata_result(udata, ib_is_udata_in_empty(udata));
	if (ret)
		return ret;
	ret = smr_qp_create(qp, &verbs->env, init, udata_uctx(udata), &resp);
	if (ret || !udata)
		return ret;
	ret = smr_udata_result(udata, ib_respond_udata(udata, resp));
	if (ret)
		smr_qp_destroy(qp);
	return ret;
}

/* Only the extended command, which has a rate limit, has driver input. */
static int modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	struct smr_why_log *log = caller_whys(ibqp->device, udata);
	struct smr_modify_qp how = {};
	int ret;

	if (mask & IB_QP_RATE_LIMIT)
		ret = smr_compat_udata_in(udata, &how, sizeof(how)) ?:
		      ib_respond_empty_udata(udata);
	else
		ret = ib_no_udata_io(udata);
	if (ret)
		return smr_why_errno(log, ibqp->qp_num, ret);
	if (how.rsvd)
		return smr_why_qp(log, ibqp->qp_num, INPUT_UNKNOWN);
	return smr_qp_modify(to_smr_qp(ibqp), attr, mask, &how, log);
}

static int query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	smr_qp_query(to_smr_qp(ibqp), attr, mask, init);
	return 0;
}

static int fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	return smr_cq_fill_res(msg, to_smr_cq(ibcq));
}

static int __maybe_unused fill_res_srq_entry(struct sk_buff *msg,
					     struct ib_srq *ibsrq)
{
	return smr_srq_fill_res(msg, to_smr_srq(ibsrq));
}

static int fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	return smr_qp_fill_res(msg, to_smr_qp(ibqp));
}

static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	smr_qp_destroy(to_smr_qp(ibqp));
	return 0;
}

static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	return smr_post_send(to_smr_qp(ibqp), wr, bad);
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	return smr_post_recv(to_smr_qp(ibqp), wr, bad);
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	return made_mr(smr_kmr_dma(to_smr_pd(pd)->keys, pd, access));
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			      u32 max_num_sg)
{
	if (type != IB_MR_TYPE_MEM_REG)
		return smr_why_ptr(to_smr_pd(pd)->whys, MR_TYPE, type);
	return made_mr(smr_kmr_alloc(to_smr_pd(pd)->keys, pd, max_num_sg));
}

static int map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		     unsigned int *offset)
{
	return smr_kmr_map_sg(to_smr_mr(ibmr), sg, nents, offset);
}

static int attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return smr_mcast_attach(to_smr_qp(ibqp), (struct in6_addr *)gid);
}

static int detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return smr_mcast_detach(to_smr_qp(ibqp), (struct in6_addr *)gid);
}

static struct ib_flow *create_flow(struct ib_qp *ibqp,
				   struct ib_flow_attr *attr,
				   struct ib_udata *udata)
{
	int ret;

	ret = smr_udata_result(udata, ib_no_udata_io(udata));
	if (ret)
		return ERR_PTR(ret);
	return smr_rule_create(to_smr_qp(ibqp), attr);
}

static int destroy_flow(struct ib_flow *ibflow)
{
	smr_rule_destroy(ibflow);
	return 0;
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access, SMR_PARAM_DMAH(dmah)
				 struct ib_udata *udata)
{
	int ret;

	ret = smr_udata_result(udata, ib_no_udata_io(udata));
	if (ret)
		return ERR_PTR(ret);
	return made_mr(smr_mr_reg(to_smr_pd(pd), start, length, iova, access));
}

static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset,
					u64 length, u64 iova, int fd,
					int access, SMR_PARAM_DMAH(dmah)
					struct smr_reg_dmabuf_attrs *attrs)
{
	struct ib_udata *udata = smr_compat_reg_dmabuf_udata(attrs);
	int ret;

	ret = smr_udata_result(udata, ib_no_udata_io(udata));
	if (ret)
		return ERR_PTR(ret);
	return made_mr(smr_mr_reg_dmabuf(to_smr_pd(pd), offset, length, iova, fd,
					 access));
}

/*
 * Log that windows are bound to a region. They were bound at the check, and may already be
 * unbound. Return: the rkey of one, or 0.
 */
static u32 why_busy(struct smr_mr *mr, struct smr_why_log *log)
{
	struct smr_abi_window first = {};
	u64 pos = 0;

	smr_mw_list(mr, &pos, &first, 1);
	smr_why(log, MR_BUSY, mr->ibmr.lkey, smr_mr_windows(mr), first.rkey);
	return first.rkey;
}

/* Changes the region in place. The core updates its own fields of the region. */
static struct ib_mr *rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				   u64 length, u64 iova, int access,
				   struct ib_pd *pd, struct ib_udata *udata)
{
	struct smr_why_log *log = to_smr_pd(pd)->whys;
	int ret = smr_udata_result(udata, ib_no_udata_io(udata));

	if (!ret)
		ret = smr_mr_rereg(to_smr_mr(ibmr), flags, start, length, iova,
				   access, pd);
	if (ret == -EBUSY)
		why_busy(to_smr_mr(ibmr), log);
	return ret ? ERR_PTR(ret) : NULL;
}

static int advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		     u32 flags, struct ib_sge *sges, u32 num_sge,
		     struct uverbs_attr_bundle *attrs)
{
	struct smr_verbs *verbs = to_smr_verbs(pd->device);

	return smr_mr_advise(verbs->env.keys, &verbs->awaits, pd, advice, flags,
			     sges, num_sge);
}

/* Count, trace and report a refused deregistration. */
static void dereg_refused(struct smr_verbs *verbs, struct smr_mr *mr,
			  struct smr_why_log *log)
{
	u32 first = why_busy(mr, log);

	smr_stat_inc(verbs->env.stats, SMR_CNT_DEREG_BUSY);
	trace_smr_dereg_busy(&verbs->ibdev, mr->ibmr.lkey, smr_mr_windows(mr), first);
}

/*
 * When a process exits or the device is removed, the core destroys the newest objects first. So
 * it tries to destroy a region before an older window that is bound to it, and retries later.
 */
static bool is_clean_up(const struct smr_verbs *verbs)
{
	return current->flags & PF_EXITING || READ_ONCE(verbs->awaits.stop);
}

static int dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct smr_verbs *verbs = to_smr_verbs(ibmr->device);
	int ret = smr_mr_dereg(to_smr_mr(ibmr));

	if (ret == -EBUSY && !is_clean_up(verbs))
		dereg_refused(verbs, to_smr_mr(ibmr), caller_whys(ibmr->device, udata));
	return ret;
}

static struct ib_dm *alloc_dm(struct ib_device *ibdev,
			      struct ib_ucontext *uctx,
			      struct ib_dm_alloc_attr *attr,
			      struct uverbs_attr_bundle *attrs)
{
	struct smr_dm *dm;

	dm = smr_dm_alloc(&to_smr_verbs(ibdev)->dms, uctx, attr);
	return IS_ERR(dm) ? ERR_CAST(dm) : &dm->ibdm;
}

static int dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	smr_dm_free(to_smr_dm(ibdm));
	return 0;
}

static struct ib_mr *reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm,
			       struct ib_dm_mr_attr *attr,
			       struct uverbs_attr_bundle *attrs)
{
	return made_mr(smr_mr_reg_dm(to_smr_pd(pd), to_smr_dm(ibdm), attr->offset,
				     attr->length, attr->access_flags));
}

static int alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	int ret = smr_udata_result(udata, ib_no_udata_io(udata));

	return ret ?: smr_mw_alloc(to_smr_mw(ibmw),
				   to_smr_verbs(ibmw->device)->env.keys);
}

static int dealloc_mw(struct ib_mw *ibmw)
{
	smr_mw_dealloc(to_smr_mw(ibmw));
	return 0;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(smr_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(SMR_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_STRUCT(struct smr_alloc_ucontext_resp,
								    abi_minor),
						 UA_MANDATORY));

static int UVERBS_HANDLER(SMR_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, SMR_ATTR_DM_QUERY_DM);
	const struct smr_dm *dm = to_smr_dm(ibdm);
	const struct smr_dm_info info = {
		.mmap_offset = rdma_user_mmap_get_offset(&dm->mmap->entry),
		.mmap_size = dm->mmap->size,
		.length = ibdm->length,
	};

	return uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_DM_QUERY_INFO,
					     &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(SMR_ATTR_DM_QUERY_DM,
					    UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_DM_QUERY_INFO,
						UVERBS_ATTR_STRUCT(struct smr_dm_info,
								   length),
						UA_MANDATORY));

ADD_UVERBS_METHODS(smr_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(SMR_METHOD_DM_QUERY));

const struct uapi_definition smr_verbs_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &smr_query_context),
	UAPI_DEF_CHAIN(smr_mr_query_uapi),
	UAPI_DEF_CHAIN(smr_why_query_uapi),
	UAPI_DEF_CHAIN(smr_bell_uapi),
	UAPI_DEF_CHAIN(smr_capture_uapi),
	UAPI_DEF_CHAIN(smr_srq_resize_uapi),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &smr_dm_methods),
	{}
};

const struct ib_device_ops smr_verbs_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)SMR_DRIVER_ID,
	.uverbs_abi_ver = SMR_ABI_VERSION,

	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.query_ucontext = query_ucontext,
	.disassociate_ucontext = disassociate_ucontext,
	.mmap = smr_mmap_map,
	.mmap_free = smr_mmap_unmapped,

	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,

	.create_ah = create_ah,
	.create_user_ah = create_user_ah,
	.query_ah = query_ah,
	.destroy_ah = destroy_ah,

	.create_cq = create_cq,
	.SMR_OP_RESIZE_USER_CQ = resize_user_cq,
	.modify_cq = modify_cq,
	.destroy_cq = destroy_cq,
	.poll_cq = poll_cq,
	.req_notify_cq = req_notify_cq,

	.create_srq = create_srq,
	.modify_srq = modify_srq,
	.query_srq = query_srq,
	.destroy_srq = destroy_srq,
	.post_srq_recv = post_srq_recv,

	.alloc_xrcd = alloc_xrcd,
	.dealloc_xrcd = dealloc_xrcd,

	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.destroy_qp = destroy_qp,
	.attach_mcast = attach_mcast,
	.detach_mcast = detach_mcast,
	.create_flow = create_flow,
	.destroy_flow = destroy_flow,
	.post_send = post_send,
	.post_recv = post_recv,

	.get_dma_mr = get_dma_mr,
	.alloc_mr = alloc_mr,
	.map_mr_sg = map_mr_sg,
	.reg_user_mr = reg_user_mr,
	.reg_user_mr_dmabuf = reg_user_mr_dmabuf,
	.rereg_user_mr = rereg_user_mr,
	.advise_mr = advise_mr,
	.dereg_mr = dereg_mr,
	.fill_res_mr_entry = smr_mr_query_fill,
	.fill_res_cq_entry = fill_res_cq_entry,
	SMR_OP_FILL_RES_SRQ(fill_res_srq_entry)
	.fill_res_qp_entry = fill_res_qp_entry,

	.alloc_dm = alloc_dm,
	.dealloc_dm = dealloc_dm,
	.reg_dm_mr = reg_dm_mr,

	.alloc_mw = alloc_mw,
	.dealloc_mw = dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_ah, smr_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, smr_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, smr_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, smr_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, smr_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, smr_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, smr_xrcd, ibxrcd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, smr_ucontext, ibuctx),
};
