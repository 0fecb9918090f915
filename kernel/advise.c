// SPDX-License-Identifier: GPL-2.0
/* Prefetch: bring pages of on-demand regions in before they are needed. */
#include "advise.h"

#include <linux/err.h>
#include <linux/sched.h>

#include "await.h"
#include "fault.h"
#include "key.h"
#include "pd.h"
#include "why.h"

static int advice_want(enum ib_uverbs_advise_mr_advice advice,
		       enum smr_want *want, struct smr_why_log *log)
{
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		*want = SMR_WANT_READ;
		return 0;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		*want = SMR_WANT_WRITE;
		return 0;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		*want = SMR_WANT_PRESENT;
		return 0;
	default:
		return smr_why(log, ADVICE, advice);
	}
}

/**
 * struct advise_range - one of the ranges
 * @sge: the range
 * @n: its number
 * @log: logs a refusal
 */
struct advise_range {
	const struct ib_sge *sge;
	u32 n;
	struct smr_why_log *log;
};

static int why_no_key(const struct advise_range *r, enum smr_key_verdict verdict)
{
	switch (verdict) {
	case SMR_KEY_OK:
		return 0;
	case SMR_KEY_PD:
		return smr_why(r->log, ADVISE_PD, r->n, r->sge->lkey);
	case SMR_KEY_ACCESS:
		return smr_why(r->log, ADVISE_RIGHT, r->n, r->sge->lkey);
	case SMR_KEY_RANGE:
		/* the key of a window */
		return smr_why(r->log, ADVISE_WINDOW, r->n, r->sge->lkey);
	default:
		return smr_why(r->log, ADVISE_NO_KEY, r->n, r->sge->lkey);
	}
}

/*
 * Add one range. A range that is not inside its region is an error only if
 * @strict, and empty otherwise.
 */
static int advise_add(struct smr_fault *fault, struct smr_keys *keys,
		      const struct ib_pd *pd, const struct advise_range *r,
		      bool strict)
{
	int access = fault->want == SMR_WANT_WRITE ? IB_ACCESS_LOCAL_WRITE : 0;
	const struct ib_sge *sge = r->sge;
	struct smr_span span;
	u64 iova, off;
	int ret;

	ret = why_no_key(r, smr_key_open_all(keys, sge->lkey, pd, access, &iova,
					     &span));
	if (ret)
		return ret;
	off = sge->addr - iova;
	if (!span.mem->ops->fault || span.mem->ops->thread)
		ret = smr_why(r->log, ADVISE_PINNED, r->n, sge->lkey);
	else if (sge->addr >= iova && off <= span.len &&
		 sge->length <= span.len - off)
		smr_fault_add(fault, &span, off, sge->length);
	else if (strict)
		ret = smr_why(r->log, ADVISE_RANGE, r->n, sge->lkey, sge->addr,
			      sge->length, iova, span.len);
	smr_span_put(&span);
	return ret;
}

static struct smr_fault *advise_open(struct smr_keys *keys,
				     const struct ib_pd *pd,
				     enum smr_want want, bool strict,
				     const struct ib_sge *sges, u32 num_sge,
				     struct smr_why_log *log)
{
	struct smr_fault *fault;
	int ret;
	u32 i;

	fault = smr_fault_alloc(num_sge, want, GFP_KERNEL_ACCOUNT);
	if (!fault)
		return smr_why_ptr(log, NO_MEMORY);
	fault->advice = true;
	for (i = 0; i < num_sge; i++) {
		const struct advise_range r = { &sges[i], i, log };

		ret = advise_add(fault, keys, pd, &r, strict);
		if (ret) {
			smr_fault_discard(fault);
			return ERR_PTR(ret);
		}
	}
	return fault;
}

/*
 * Execute advise_mr. @awaits: where a verb waits for its prefetch. @pd: the caller's protection
 * domain. @flags: enum ib_uverbs_advise_mr_flag: IB_UVERBS_ADVISE_MR_FLAG_FLUSH waits. @sges:
 * ranges of on-demand regions. @num_sge: number of ranges, at least one; the core has checked this
 * and @flags. Context: process; interruptible. Returns 0; -EOPNOTSUPP (unknown advice), -EINVAL
 * (the key of a window), -ENOENT (no such region, or not an on-demand one), -EPERM (the region is
 * of another PD or lacks the right), -EFAULT (with FLUSH: a range is outside its region, or not
 * mapped by the process), -EAGAIN (with FLUSH: a page is unmapped again each time it is brought
 * in), -ENOMEM, -ERESTARTSYS (a signal), -EIO (the device is being removed).
 */
int smr_mr_advise(struct smr_keys *keys, struct smr_awaits *awaits,
		  const struct ib_pd *pd,
		  enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  const struct ib_sge *sges, u32 num_sge)
{
	struct smr_why_log *log = to_smr_pd(pd)->whys;
	bool flush = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
	struct smr_fault *fault;
	enum smr_want want;
	int ret;

	ret = advice_want(advice, &want, log);
	if (ret)
		return ret;
	fault = advise_open(keys, pd, want, flush, sges, num_sge, log);
	if (IS_ERR(fault))
		return PTR_ERR(fault);
	if (!fault->nr) {
		smr_fault_discard(fault);
		return 0;
	}
	if (flush) {
		ret = smr_fault_await(fault, awaits, TASK_INTERRUPTIBLE);
		return ret == -EFAULT ? smr_why(log, ADVISE_UNMAPPED, num_sge) :
					smr_why_errno(log, 0, ret);
	}
	smr_fault_start_alone(fault);
	return 0;
}
