// SPDX-License-Identifier: GPL-2.0
/*
 * Execute requests: copy data, consume receive work requests, execute atomics. Runs in the
 * response task.
 */
#include "qp/resp_exec.h"

#include <rdma/ib_pack.h>

#include "net/wire.h"
#include "pd.h"
#include "qp/comp_cntr.h"
#include "qp/core.h"
#include "qp/local_wr.h"
#include "qp/loopback.h"
#include "qp/payload.h"
#include "qp/recv.h"
#include "qp/resp_flush.h"
#include "qp/resp_read.h"
#include "qp/rx_train.h"
#include "qp/xrc.h"

/* Maximum bytes of a local operation that one call copies in process context */
#define SLICE_PROCESS	(4 * SMR_RESP_SLICE)

/* One payload, or one slice of it, that is being copied. */
struct exec {
	struct smr_qp *qp;
	const struct smr_op *op;
	struct smr_budget *budget;
	struct smr_sgl *theirs;	/* the local requester's list, when open */
	u32 len;	/* bytes to copy now */
};

static u32 slice(const struct smr_op *op, const struct smr_budget *budget, u64 total)
{
	u64 max = budget->can_sleep ? SLICE_PROCESS : SMR_RESP_SLICE;

	return min_t(u64, max, total - op->local->done);
}

/*
 * The requester's own list of a local operation. If the requester's task is further up this
 * stack, it has opened the list when it checked the work request. Otherwise the list's keys may
 * have become invalid since. The completer does not use its scratch list while an operation is
 * handed over.
 */
static bool peer_open(struct exec *x, int access)
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

static void peer_close(struct exec *x)
{
	if (!x->theirs)
		return;
	smr_sgl_close(x->theirs);
	if (x->theirs == &x->op->local->src->req.sgl)
		x->op->local->opened = false;
	x->theirs = NULL;
}

/* Open this side's memory by the peer's rkey. */
static bool remote_open(struct exec *x, int access, u64 va, u32 rkey)
{
	struct smr_qp *qp = x->qp;
	enum smr_key_verdict verdict;

	verdict = smr_sgl_open_key(&qp->resp.sgl, smr_resp_pd(qp),
				   qp->ibqp.qp_num, access, rkey, va, x->len);
	smr_qp_key(qp, verdict);
	return verdict == SMR_KEY_OK;
}

/*
 * A page is missing. This side's pages are brought in first. If one is missing after that, it
 * belongs to the requester, which then brings it in.
 */
static enum smr_resp_verdict exec_fault(struct exec *x, bool fetch)
{
	struct smr_local *local = x->op->local;
	enum smr_resp_verdict verdict;

	/* A fault does not help if this is the wrong context. */
	if (x->theirs && smr_sgl_needs_thread(x->theirs))
		return SMR_RESP_DEFER;
	/* If a fault has ended, smr_resp_fault() returns its result. */
	if (local && local->faulted && !x->qp->resp.paging.fault)
		return SMR_RESP_PEER_PAGE;
	verdict = smr_resp_fault(x->qp, x->budget, !fetch, SMR_RESP_ACCESS);
	if (local && (verdict == SMR_RESP_MORE || verdict == SMR_RESP_WAIT))
		local->faulted = true;
	return verdict;
}

/* Copy from one list to another on this host, in two parts if there is a tail. */
static int local_copy(struct smr_sgl *to, struct smr_sgl *from, size_t len,
		      size_t tail)
{
	int err = smr_sgl_copy(to, from, len - tail);

	if (err || !tail)
		return err;
	/* Pairs with the read barrier of a program that polls the tail. */
	smp_wmb();
	return smr_sgl_copy(to, from, tail);
}

/*
 * Copy the payload to the open list. The last @tail bytes become visible after all
 * bytes before them.
 */
static enum smr_resp_verdict payload_in(struct exec *x, size_t tail)
{
	struct smr_sgl *sgl = &x->qp->resp.sgl;
	const struct smr_op *op = x->op;
	int err = 0;

	if (op->local) {
		if (!peer_open(x, 0))
			return SMR_RESP_PEER_PROT;
		err = local_copy(sgl, x->theirs, x->len, tail);
	} else if (x->len) {
		err = smr_rx_train_copy(op->train, sgl, op->off,
					x->len / op->count, x->len, tail);
	}
	if (err == SMR_PAGE_MISSING)
		return exec_fault(x, false);
	if (err == -ENXIO)
		return SMR_RESP_PEER_PROT;
	if (err == -EBADMSG)
		return SMR_RESP_MORE;
	return err ? SMR_RESP_ACCESS : SMR_RESP_OK;
}

static void payload_close(struct exec *x)
{
	smr_sgl_close(&x->qp->resp.sgl);
	peer_close(x);
}

/* Account for the copied bytes. MORE: the operation has further slices. */
static enum smr_resp_verdict payload_done(struct exec *x)
{
	struct smr_local *local = x->op->local;

	x->budget->left -= x->len;
	if (!local) {
		x->qp->resp.received += x->len;
		return SMR_RESP_OK;
	}
	local->done += x->len;
	local->faulted = false;
	x->qp->resp.received = local->done;
	if (READ_ONCE(local->cancel))
		return SMR_RESP_DROP;
	return local->done < x->op->hdr.len ? SMR_RESP_MORE : SMR_RESP_OK;
}

static u32 payload_now(const struct smr_op *op, const struct smr_budget *budget)
{
	return op->local ? slice(op, budget, op->hdr.len) : op->hdr.len;
}

/* Is all of a SEND done but its completion? Its invalidate has been finished since. */
static bool *send_executed(const struct exec *x)
{
	return x->op->local ? &x->op->local->executed :
			      &x->qp->resp.executed;
}

/* All of a SEND has been copied. Its invalidate precedes its completion. */
static enum smr_resp_verdict send_last(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	struct smr_qp *qp = x->qp;
	int err;

	if (hdr->op->flags & SMR_OP_IETH && !*send_executed(x)) {
		err = smr_inval_exec(qp, &qp->resp.inval, smr_resp_pd(qp),
				     hdr->inv_rkey);
		if (err == -EAGAIN) {
			*send_executed(x) = true;
			return SMR_RESP_WAIT;
		}
		if (err)
			return SMR_RESP_ACCESS;
	}
	smr_recv_done(qp, hdr, qp->resp.received);
	return SMR_RESP_OK;
}

/* SEND: copy into the receive work request. */
static enum smr_resp_verdict exec_send(struct exec *x)
{
	struct smr_responder *resp = &x->qp->resp;
	enum smr_resp_verdict verdict;
	u64 before;

	verdict = smr_recv_take(x->qp);
	if (verdict != SMR_RESP_OK)
		return verdict;
	if (*send_executed(x))
		return send_last(x);
	before = x->op->local ? 0 : resp->received;
	if (before + x->op->hdr.len > min(resp->rwqe.len, SMR_MESSAGE_MAX))
		return SMR_RESP_TOO_LONG;
	verdict = smr_recv_open(x->qp, resp->received, x->len);
	if (verdict != SMR_RESP_OK)
		return verdict;
	verdict = payload_in(x, 0);
	payload_close(x);
	if (verdict == SMR_RESP_ACCESS)
		return SMR_RESP_LOC_PROT;
	if (verdict == SMR_RESP_OK)
		verdict = payload_done(x);
	if (verdict == SMR_RESP_OK && x->op->hdr.op->flags & SMR_OP_LAST)
		return send_last(x);
	return verdict;
}

/*
 * The number of bytes of a WRITE that are copied last. Many programs do not wait for a
 * completion but poll the last word of the data, and a CPU that reorders stores (arm64) may
 * make it visible first. x86 does not reorder stores, and needs no copy in two parts.
 */
static size_t write_tail(u64 va, size_t len)
{
	if (IS_ENABLED(CONFIG_X86))
		return 0;
	return min_t(size_t, len, ((va + len - 1) & 7) + 1);
}

/* The payload of a WRITE. */
static enum smr_resp_verdict write_in(struct exec *x)
{
	struct smr_responder *resp = &x->qp->resp;
	bool first = x->op->hdr.op->flags & SMR_OP_FIRST;
	u64 va = first ? x->op->hdr.va : resp->va;
	u32 rkey = first ? x->op->hdr.rkey : resp->rkey;
	enum smr_resp_verdict verdict;

	if (x->op->local)
		va += x->op->local->done;
	if (!remote_open(x, IB_ACCESS_REMOTE_WRITE, va, rkey))
		return SMR_RESP_ACCESS;
	verdict = payload_in(x, write_tail(va, x->len));
	payload_close(x);
	return verdict == SMR_RESP_OK ? payload_done(x) : verdict;
}

static enum smr_resp_verdict exec_write(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_resp_verdict verdict;

	/* Before the data, so that RNR leaves the memory unchanged. */
	if (hdr->op->flags & SMR_OP_IMM) {
		verdict = smr_recv_take(x->qp);
		if (verdict != SMR_RESP_OK)
			return verdict;
	}
	if (x->len) {
		verdict = write_in(x);
		if (verdict == SMR_RESP_ACCESS && hdr->op->flags & SMR_OP_IMM)
			return SMR_RESP_IMM_ACCESS;
		if (verdict != SMR_RESP_OK)
			return verdict;
	}
	if (hdr->op->flags & SMR_OP_LAST)
		smr_comp_count(x->qp, SMR_COMP_REMOTE_WRITE, false,
			       x->qp->resp.received);
	if (hdr->op->flags & SMR_OP_IMM)
		smr_recv_done(x->qp, hdr, x->qp->resp.received);
	return SMR_RESP_OK;
}

/* The next slice of a READ by a peer on this host, copied directly into its memory. */
static enum smr_resp_verdict read_slice(struct exec *x)
{
	struct smr_local *local = x->op->local;
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_resp_verdict verdict;
	int err;

	x->len = slice(x->op, x->budget, hdr->dma_len);
	if (!x->len)
		return SMR_RESP_OK;
	if (!remote_open(x, IB_ACCESS_REMOTE_READ, hdr->va + local->done,
			 hdr->rkey))
		return SMR_RESP_ACCESS;
	verdict = SMR_RESP_PEER_PROT;
	if (peer_open(x, IB_ACCESS_LOCAL_WRITE)) {
		err = smr_sgl_copy(x->theirs, &x->qp->resp.sgl, x->len);
		if (err == SMR_PAGE_MISSING)
			verdict = exec_fault(x, true);
		else if (err != -EFAULT)
			verdict = err ? SMR_RESP_ACCESS : SMR_RESP_OK;
	}
	payload_close(x);
	if (verdict != SMR_RESP_OK)
		return verdict;
	local->done += x->len;
	local->faulted = false;
	x->budget->left -= x->len;
	if (READ_ONCE(local->cancel))
		return SMR_RESP_DROP;
	return local->done < hdr->dma_len ? SMR_RESP_MORE : SMR_RESP_OK;
}

/* Store a READ or an atomic, to answer its duplicates. */
static struct smr_rd_res *res_add(struct smr_qp *qp, const struct smr_op *op,
				  u32 npsn)
{
	struct smr_responder *resp = &qp->resp;
	struct smr_rd_res *res = &resp->res[resp->res_next];

	resp->res_next = (resp->res_next + 1) % resp->nr_res;
	res->psn = op->hdr.psn;
	res->npsn = npsn;
	res->atomic = false;
	res->va = op->hdr.va;
	res->rkey = op->hdr.rkey;
	res->len = op->hdr.dma_len;
	return res;
}

static enum smr_resp_verdict read_local(struct exec *x)
{
	enum smr_resp_verdict verdict = read_slice(x);

	if (verdict == SMR_RESP_OK)
		smr_comp_count(x->qp, SMR_COMP_REMOTE_READ, false,
			       x->op->hdr.dma_len);
	return verdict;
}

static enum smr_resp_verdict exec_read(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	struct smr_read_stream *read = &x->qp->resp.read;

	if (x->op->local)
		return read_local(x);
	res_add(x->qp, x->op, x->op->npsn);
	read->psn = hdr->psn;
	read->va = hdr->va;
	read->rkey = hdr->rkey;
	read->srqn = hdr->srqn;
	read->left = hdr->dma_len;
	read->first = true;
	read->atomic = false;
	read->counts = (u64)hdr->dma_len + 1;
	read->repeat = false;
	read->active = true;
	return SMR_RESP_OK;
}

static int atomic_op(struct exec *x, u64 *orig)
{
	const struct smr_span *span = &x->qp->resp.sgl.spans[0];
	const struct smr_hdr *hdr = &x->op->hdr;

	/* The flags are the same for both atomics. */
	if ((hdr->opcode & ~SMR_TRANSPORT_MASK) == IB_OPCODE_COMPARE_SWAP)
		return smr_span_cmp_swap(span, hdr->compare, hdr->swap_add,
					 orig);
	return smr_span_fetch_add(span, hdr->swap_add, orig);
}

/* A page of the requester's list is missing, or present but not usable in this context. */
static enum smr_resp_verdict peer_page(const struct exec *x)
{
	return smr_sgl_needs_thread(x->theirs) ? SMR_RESP_DEFER :
						 SMR_RESP_PEER_PAGE;
}

/*
 * Give the original value to a requester on this host. If its page is missing, the operation is
 * retried, and the atomic must not be executed twice.
 */
static enum smr_resp_verdict atomic_local(struct exec *x, u64 orig)
{
	enum smr_resp_verdict verdict = SMR_RESP_PEER_PROT;
	struct smr_local *local = x->op->local;
	int err;

	if (!peer_open(x, IB_ACCESS_LOCAL_WRITE))
		return verdict;
	err = smr_sgl_write(x->theirs, &orig, sizeof(orig));
	if (err == SMR_PAGE_MISSING) {
		local->hdr.orig = orig;
		local->executed = true;
		verdict = peer_page(x);
	} else if (!err) {
		verdict = SMR_RESP_OK;
	}
	peer_close(x);
	return verdict;
}

/* IBTA 9.7.4.2: an atomic is executed once, even if its answer is lost. */
static enum smr_resp_verdict exec_atomic(struct exec *x)
{
	struct smr_read_stream *read = &x->qp->resp.read;
	enum smr_resp_verdict verdict = SMR_RESP_OK;
	struct smr_rd_res *res;
	u64 orig = 0;
	int err;

	x->len = sizeof(orig);
	if (x->op->local && x->op->local->executed)
		return atomic_local(x, x->op->hdr.orig);
	if (!remote_open(x, IB_ACCESS_REMOTE_ATOMIC, x->op->hdr.va,
			 x->op->hdr.rkey))
		return SMR_RESP_ACCESS;
	err = atomic_op(x, &orig);
	if (err)
		verdict = err == SMR_PAGE_MISSING ? exec_fault(x, false) :
						    SMR_RESP_ACCESS;
	smr_sgl_close(&x->qp->resp.sgl);
	if (verdict != SMR_RESP_OK)
		return verdict;
	if (x->op->local)
		return atomic_local(x, orig);
	res = res_add(x->qp, x->op, 1);
	res->atomic = true;
	res->orig = orig;
	read->psn = x->op->hdr.psn;
	read->va = orig;
	read->srqn = x->op->hdr.srqn;
	read->atomic = true;
	read->counts = 0;
	read->repeat = false;
	read->active = true;
	return SMR_RESP_OK;
}

/* Get the operand: from the packet, or from the requester on this host. */
static enum smr_resp_verdict operand_get(struct exec *x, u64 *value)
{
	enum smr_resp_verdict verdict = SMR_RESP_PEER_PROT;
	int err;

	if (!x->op->local)
		return skb_copy_bits(x->op->skb, x->op->off, value,
				     sizeof(*value)) ? SMR_RESP_DROP :
						       SMR_RESP_OK;
	if (!peer_open(x, 0))
		return verdict;
	err = smr_sgl_read(x->theirs, value, sizeof(*value));
	if (err == SMR_PAGE_MISSING)
		verdict = peer_page(x);
	else if (!err)
		verdict = SMR_RESP_OK;
	peer_close(x);
	return verdict;
}

/* IBTA A19.4.2: one store of 8 bytes. */
static enum smr_resp_verdict exec_atomic_write(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_resp_verdict verdict;
	u64 value;
	int err;

	x->len = sizeof(value);
	verdict = operand_get(x, &value);
	if (verdict != SMR_RESP_OK)
		return verdict;
	if (!remote_open(x, IB_ACCESS_REMOTE_WRITE, hdr->va, hdr->rkey))
		return SMR_RESP_ACCESS;
	err = smr_span_store8(&x->qp->resp.sgl.spans[0], value);
	if (err)
		verdict = err == SMR_PAGE_MISSING ? exec_fault(x, false) :
						    SMR_RESP_ACCESS;
	smr_sgl_close(&x->qp->resp.sgl);
	if (verdict == SMR_RESP_OK && !x->op->local)
		smr_resp_confirm(x->qp, hdr);
	return verdict;
}

static enum smr_resp_verdict exec_flush(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_resp_verdict verdict;

	verdict = smr_resp_flush_exec(x->qp, x->op, x->budget);
	if (verdict == SMR_RESP_OK && !x->op->local)
		smr_resp_confirm(x->qp, hdr);
	return verdict;
}

/**
 * smr_resp_exec() - execute a request, or the next slice of it
 * @qp: the caller owns its response task
 * @op: the request; smr_resp_check() returned SMR_RESP_OK
 * @budget: the budget
 *
 * It copies data, and takes and completes receive work requests. The caller advances
 * the PSN.
 *
 * Context: as @budget says.
 * Return: SMR_RESP_OK if it is done; SMR_RESP_MORE, SMR_RESP_WAIT, SMR_RESP_DEFER: call again
 *	with the same request; or the error.
 */
enum smr_resp_verdict smr_resp_exec(struct smr_qp *qp, const struct smr_op *op,
				    struct smr_budget *budget)
{
	struct exec x = {
		.qp = qp,
		.op = op,
		.budget = budget,
		.len = payload_now(op, budget),
	};
	u32 flags = op->hdr.op->flags;

	/* A local operation is executed in slices; only the first one begins it. */
	if (flags & SMR_OP_FIRST && !(op->local ? op->local->done :
						  qp->resp.executed))
		qp->resp.received = 0;
	if (flags & SMR_OP_SEND)
		return exec_send(&x);
	if (flags & SMR_OP_WRITE)
		return exec_write(&x);
	if (flags & SMR_OP_READ)
		return exec_read(&x);
	if (flags & SMR_OP_ATOMIC_WRITE)
		return exec_atomic_write(&x);
	if (flags & SMR_OP_FLUSH)
		return exec_flush(&x);
	return exec_atomic(&x);
}
