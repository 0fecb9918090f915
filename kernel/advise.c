// SPDX-License-Identifier: GPL-2.0
/* Prefetch: bring pages of on-demand regions in before they are needed. */
#include "advise.h"

#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat/compiler.h"
#include "key.h"
#include "odp.h"

/**
 * struct advise_work - ranges to bring in
 * @work: for a prefetch that is not waited for
 * @want: the access that is needed
 * @nr: how many ranges
 * @spans: the ranges, each with a reference until it is done
 */
struct advise_work {
	struct work_struct work;
	enum smr_odp_want want;
	u32 nr;
	struct smr_span spans[] __counted_by(nr);
};

static int advice_want(enum ib_uverbs_advise_mr_advice advice,
		       enum smr_odp_want *want)
{
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		*want = SMR_ODP_READ;
		return 0;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		*want = SMR_ODP_WRITE;
		return 0;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		*want = SMR_ODP_PRESENT;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int verdict_errno(enum smr_key_verdict verdict)
{
	switch (verdict) {
	case SMR_KEY_OK:
		return 0;
	case SMR_KEY_PD:
	case SMR_KEY_ACCESS:
		return -EPERM;
	case SMR_KEY_RANGE:
		/* the key of a window */
		return -EINVAL;
	default:
		return -ENOENT;
	}
}

/*
 * Open one range. A range that is not inside its region is an error only if
 * @strict, and empty otherwise.
 */
static int span_open(struct smr_keys *keys, const struct ib_pd *pd,
		     enum smr_odp_want want, const struct ib_sge *sge,
		     bool strict, struct smr_span *span)
{
	int access = want == SMR_ODP_WRITE ? IB_ACCESS_LOCAL_WRITE : 0;
	u64 iova, off;
	int ret;

	ret = verdict_errno(smr_key_open_all(keys, sge->lkey, pd, access, &iova,
					     span));
	if (ret)
		return ret;
	off = sge->addr - iova;
	if (!smr_odp_is(span->mem))
		ret = -ENOENT;
	else if (sge->addr >= iova && off <= span->len &&
		 sge->length <= span->len - off)
		*span = (struct smr_span){ span->mem, span->off + off,
					   sge->length, span->turn };
	else if (strict)
		ret = -EFAULT;
	else
		span->len = 0;
	if (ret)
		smr_span_put(span);
	return ret;
}

static void advise_free(struct advise_work *aw)
{
	u32 i;

	for (i = 0; i < aw->nr; i++)
		smr_span_put(&aw->spans[i]);
	kvfree(aw);
}

/* Try each range. Returns the first error. */
static int advise_run(struct advise_work *aw)
{
	int ret = 0, err;
	u32 i;

	for (i = 0; i < aw->nr; i++) {
		struct smr_span *span = &aw->spans[i];

		if (!span->len)
			continue;
		err = smr_odp_prefetch(span, aw->want);
		ret = ret ?: err;
		/* So that its region does not wait for the other ranges. */
		smr_span_put(span);
	}
	return ret;
}

static void advise_later(struct work_struct *work)
{
	struct advise_work *aw = container_of(work, struct advise_work, work);

	/* Best effort: a later access will find out what is wrong. */
	advise_run(aw);
	advise_free(aw);
}

static struct advise_work *advise_open(struct smr_keys *keys,
				       const struct ib_pd *pd,
				       enum smr_odp_want want, bool strict,
				       const struct ib_sge *sges, u32 num_sge)
{
	struct advise_work *aw;
	int ret;
	u32 i;

	aw = kvzalloc(struct_size(aw, spans, num_sge), GFP_KERNEL_ACCOUNT);
	if (!aw)
		return ERR_PTR(-ENOMEM);
	aw->nr = num_sge;
	aw->want = want;
	for (i = 0; i < num_sge; i++) {
		ret = span_open(keys, pd, want, &sges[i], strict,
				&aw->spans[i]);
		if (ret) {
			advise_free(aw);
			return ERR_PTR(ret);
		}
	}
	return aw;
}

/**
 * smr_mr_advise() - execute advise_mr
 * @keys: the device's keys
 * @wq: where prefetches go that are not waited for; flushed before the device
 *	goes
 * @pd: the caller's protection domain
 * @advice: which prefetch
 * @flags: enum ib_uverbs_advise_mr_flag: IB_UVERBS_ADVISE_MR_FLAG_FLUSH waits
 * @sges: ranges of on-demand regions
 * @num_sge: how many
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP (unknown advice), -EINVAL (unknown flag, no range, or
 * the key of a window), -ENOENT (no such region, or not an on-demand one),
 * -EPERM (of another PD, or a right that the region does not have), -EFAULT
 * (with FLUSH: a range that is outside of its region or that the process does
 * not have), -ENOMEM, -EINTR (killed), -ERESTARTNOINTR (the process has a signal
 * to handle first, before its memory is watched for the first time).
 */
int smr_mr_advise(struct smr_keys *keys, struct workqueue_struct *wq,
		  const struct ib_pd *pd,
		  enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  const struct ib_sge *sges, u32 num_sge)
{
	bool flush = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
	enum smr_odp_want want;
	struct advise_work *aw;
	int ret;

	ret = advice_want(advice, &want);
	if (ret)
		return ret;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH || !num_sge)
		return -EINVAL;
	aw = advise_open(keys, pd, want, flush, sges, num_sge);
	if (IS_ERR(aw))
		return PTR_ERR(aw);
	if (!flush) {
		INIT_WORK(&aw->work, advise_later);
		queue_work(wq, &aw->work);
		return 0;
	}
	ret = advise_run(aw);
	advise_free(aw);
	/* A fatal signal is an error. Another one is handled first, then it restarts. */
	return ret == -EINTR && !fatal_signal_pending(current) ?
	       -ERESTARTNOINTR : ret;
}
