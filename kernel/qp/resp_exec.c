// SPDX-License-Identifier: GPL-2.0
/*
 * What the classes of requests have in common: the keys of both sides, slices, and pages that are
 * missing. Runs in the response task.
 */
#include "qp/resp_exec.h"

#include "net/wire.h"
#include "pd.h"
#include "qp/core.h"
#include "qp/loopback.h"
#include "qp/paging.h"
#include "qp/xrc.h"

/*
 * Does a request's key open its memory? @qp: the caller owns its response task. @len: bytes of
 * memory, at least 1. Returns SMR_RESP_OK or SMR_RESP_ACCESS.
 */
enum smr_resp_verdict smr_check_key(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len,
				    int access)
{
	enum smr_key_verdict verdict;
	struct smr_span span;

	verdict = smr_key_open(qp->env->keys, hdr->rkey,
			       &smr_resp_pd(qp)->ibpd, qp->ibqp.qp_num, access,
			       hdr->va, len, &span);
	if (verdict != SMR_KEY_OK) {
		smr_qp_key(qp, verdict);
		return SMR_RESP_ACCESS;
	}
	smr_span_put(&span);
	return SMR_RESP_OK;
}

/*
 * Open the own list of a requester on this host. @x: the execution; its @theirs is set. If the
 * requester's task is further up this stack, it has opened the list when it checked the work
 * request. Otherwise the list's keys may have become invalid since. The completer does not use its
 * scratch list while an operation is handed over. Returns false: a key is refused.
 */
bool smr_exec_open_peer(struct smr_exec *x, int access)
{
	const struct smr_local *local = x->op->local;
	const struct smr_swqe *wqe = local->wqe;
	struct smr_qp *src = local->src;
	struct smr_sgl *sgl = &src->comp.sgl;
	enum smr_key_verdict verdict;

	if (local->err)
		return false;
	if (x->budget->here == local && local->opened) {
		x->theirs = &src->req.sgl;
		return true;
	}
	if (wqe->send_flags & IB_SEND_INLINE) {
		smr_sgl_inline(sgl, wqe->data + local->done, x->len);
		x->theirs = sgl;
		return true;
	}
	verdict = smr_sgl_open(sgl, src->pd, src->ibqp.qp_num, access,
			       wqe->sge, wqe->num_sge, local->done, x->len);
	smr_qp_key(src, verdict);
	if (verdict != SMR_KEY_OK)
		return false;
	x->theirs = sgl;
	return true;
}

/* Close the list of a requester on this host, if it is open. */
void smr_exec_close_peer(struct smr_exec *x)
{
	if (!x->theirs)
		return;
	smr_sgl_close(x->theirs);
	if (x->theirs == &x->op->local->src->req.sgl)
		x->op->local->opened = false;
	x->theirs = NULL;
}

/*
 * Open this side's memory by the peer's rkey. @x: the execution; @len bytes are opened. Returns
 * false: the key is refused.
 */
bool smr_exec_open(struct smr_exec *x, int access, u64 va, u32 rkey)
{
	struct smr_qp *qp = x->qp;
	enum smr_key_verdict verdict;

	verdict = smr_sgl_open_key(&qp->resp.sgl, smr_resp_pd(qp),
				   qp->ibqp.qp_num, access, rkey, va, x->len);
	smr_qp_key(qp, verdict);
	return verdict == SMR_KEY_OK;
}

/*
 * Bring in a page that is missing. @x: the execution, its lists open. @fetch: this side's memory is
 * only read. This side's pages are brought in first. A page that is missing after that belongs to
 * the requester, which brings it in. Returns the outcome of the step.
 */
enum smr_step smr_exec_fault(struct smr_exec *x, bool fetch)
{
	struct smr_local *local = x->op->local;
	struct smr_responder *resp = &x->qp->resp;
	enum smr_step step;
	int err;

	/* No page is missing: only a kernel thread may copy this memory. */
	if (x->theirs && smr_sgl_needs_thread(x->theirs))
		return SMR_STEP_DEFER;
	/* If this side's fault has just ended, smr_paging_fault() returns its result. */
	if (local && local->faulted && !resp->paging.fault)
		return SMR_STEP_PEER;
	step = smr_paging_fault(&resp->paging, x->budget, &resp->sgl, !fetch, &err);
	if (step == SMR_STEP_DONE)
		return smr_exec_end(x, smr_fault_verdict(err, SMR_RESP_ACCESS));
	if (local && step != SMR_STEP_DEFER)
		local->faulted = true;
	return step;
}

void smr_exec_close(struct smr_exec *x)
{
	smr_sgl_close(&x->qp->resp.sgl);
	smr_exec_close_peer(x);
}
