// SPDX-License-Identifier: GPL-2.0
/* Check and execute FLUSH (IBTA annex A19). Runs in the response task. */
#include "qp/resp_exec.h"

#include <linux/minmax.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>

#include "compat/ib.h"
#include "net/wire.h"
#include "persist.h"
#include "qp/core.h"
#include "qp/resp_read.h"
#include "qp/xrc.h"

/*
 * Maximum bytes written back per call. In softirq, bytes are written back only if at most
 * SMR_RESP_SLICE of the FLUSH are left.
 */
#define SLICE_MAX	SZ_256K

static bool flush_persists(const struct smr_hdr *hdr)
{
	return hdr->feth & IB_FLUSH_PERSISTENT;
}

/* Is it for the whole region, rather than a range? */
static bool flush_whole(const struct smr_hdr *hdr)
{
	return hdr->feth & SMR_FETH_LEVEL_MASK;
}

/*
 * The rights that the placement types of a FLUSH need; -1, which no QP permits: the FETH is
 * malformed.
 */
static int flush_rights(const struct smr_hdr *hdr)
{
	u32 types = hdr->feth & SMR_FETH_TYPE_MASK;
	u32 level = (hdr->feth & SMR_FETH_LEVEL_MASK) >> SMR_FETH_LEVEL_SHIFT;
	int access = 0;

	if (types & ~(IB_FLUSH_GLOBAL | IB_FLUSH_PERSISTENT) ||
	    level > IB_FLUSH_MR || !types)
		return -1;
	if (types & IB_FLUSH_GLOBAL)
		access |= IB_ACCESS_FLUSH_GLOBAL;
	if (types & IB_FLUSH_PERSISTENT)
		access |= IB_ACCESS_FLUSH_PERSISTENT;
	return access;
}

/*
 * IBTA A19.4.1: a range must lie within that of the key. At region level the range is ignored,
 * and the key must be that of a region. A range of 0 bytes needs no key, as for a WRITE.
 */
static enum smr_key_verdict flush_open(struct smr_qp *qp,
				       const struct smr_hdr *hdr,
				       struct smr_span *span)
{
	enum smr_key_verdict verdict;
	u64 iova;

	if (flush_whole(hdr))
		verdict = smr_key_open_all(qp->env->keys, hdr->rkey,
					   &smr_resp_pd(qp)->ibpd,
					   flush_rights(hdr), &iova, span);
	else
		verdict = smr_key_open(qp->env->keys, hdr->rkey,
				       &smr_resp_pd(qp)->ibpd, qp->ibqp.qp_num,
				       flush_rights(hdr), hdr->va,
				       hdr->dma_len, span);
	smr_qp_key(qp, verdict);
	return verdict;
}

static enum smr_resp_verdict flush_check(struct smr_qp *qp, const struct smr_op *op)
{
	struct smr_span span;

	if (flush_open(qp, op->hdr, &span) != SMR_KEY_OK)
		return SMR_RESP_ACCESS;
	smr_span_put(&span);
	return SMR_RESP_OK;
}

/*
 * The number of bytes of the FLUSH that have been written back. Of the requests that arrive in
 * packets, one at a time is executed, so one counter is enough.
 */
static u64 *flush_done(struct smr_qp *qp, const struct smr_op *op)
{
	return op->local ? &op->local->done : &qp->resp.flushed;
}

/* Write back the next slice of the open range. AGAIN: there are further slices. */
static enum smr_step flush_slice(struct smr_op *op, const struct smr_span *span,
				 u64 *done, struct smr_budget *budget)
{
	/* A rereg may have made the region shorter. */
	u64 left = span->len - min(span->len, *done);
	u64 len = min_t(u64, left, SLICE_MAX);

	if (!budget->can_sleep && left > SMR_RESP_SLICE)
		return SMR_STEP_DEFER;
	if (smr_span_persist(span, *done, len)) {
		op->verdict = SMR_RESP_ACCESS;
		return SMR_STEP_DONE;
	}
	*done += len;
	budget->left -= len;
	return left > len ? SMR_STEP_AGAIN : SMR_STEP_DONE;
}

/*
 * CPUs have copied the earlier data, and their caches are coherent. So a barrier before the
 * answer makes the data visible to all. Data is persistent when its cache lines have been
 * written back. That is done in slices, because deregistering the region, destroying the QP and
 * the exit of the process wait for the span.
 */
static enum smr_step write_back(struct smr_qp *qp, struct smr_op *op, struct smr_budget *budget)
{
	u64 *done = flush_done(qp, op);
	struct smr_span span;
	enum smr_step step;

	if (!flush_persists(op->hdr)) {
		smp_mb(); /* the data is visible before the answer */
		return SMR_STEP_DONE;
	}
	if (flush_open(qp, op->hdr, &span) != SMR_KEY_OK) {
		op->verdict = SMR_RESP_ACCESS;
		return SMR_STEP_DONE;
	}
	step = flush_slice(op, &span, done, budget);
	smr_span_put(&span);
	if (op->local && READ_ONCE(op->local->cancel)) {
		op->verdict = SMR_RESP_DROP;
		return SMR_STEP_DONE;
	}
	if (step == SMR_STEP_DONE)
		qp->resp.flushed = 0;
	return step;
}

static enum smr_step flush_exec(struct smr_exec *x)
{
	enum smr_step step = write_back(x->qp, x->op, x->budget);

	if (smr_exec_ok(x, step) && !x->op->local)
		smr_resp_confirm(x->qp, x->op->hdr);
	return step;
}

const struct smr_resp_class smr_class_flush = {
	.rights = flush_rights,
	.check = flush_check,
	.exec = flush_exec,
	.repeat = smr_repeat_confirmed,
};
