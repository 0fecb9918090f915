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
#include "qp/paging.h"
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
	struct smr_op *op;
	struct smr_budget *budget;
	struct smr_sgl *theirs;	/* the local requester's list, when open */
	u32 len;	/* bytes to copy now */
};

/* The execution ends with a verdict. */
static enum smr_step exec_end(struct exec *x, enum smr_resp_verdict verdict)
{
	x->op->verdict = verdict;
	return SMR_STEP_DONE;
}

/* Was the part that has returned @step the last, and without a refusal? */
static bool exec_ok(const struct exec *x, enum smr_step step)
{
	return step == SMR_STEP_DONE && x->op->verdict == SMR_RESP_OK;
}

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
static enum smr_step exec_fault(struct exec *x, bool fetch)
{
	struct smr_local *local = x->op->local;
	struct smr_responder *resp = &x->qp->resp;
	enum smr_step step;
	int err;

	/* A fault does not help if this is the wrong context. */
	if (x->theirs && smr_sgl_needs_thread(x->theirs))
		return SMR_STEP_DEFER;
	/* If a fault has ended, smr_paging_fault() has its result. */
	if (local && local->faulted && !resp->paging.fault)
		return SMR_STEP_PEER;
	step = smr_paging_fault(&resp->paging, x->budget, &resp->sgl, !fetch, &err);
	if (step == SMR_STEP_DONE)
		return exec_end(x, smr_fault_verdict(err, SMR_RESP_ACCESS));
	if (local && step != SMR_STEP_DEFER)
		local->faulted = true;
	return step;
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
static enum smr_step payload_in(struct exec *x, size_t tail)
{
	struct smr_sgl *sgl = &x->qp->resp.sgl;
	const struct smr_op *op = x->op;
	int err = 0;

	if (op->local) {
		if (!peer_open(x, 0))
			return exec_end(x, SMR_RESP_PEER_PROT);
		err = local_copy(sgl, x->theirs, x->len, tail);
	} else if (x->len) {
		err = smr_rx_train_copy(op->train, sgl, op->off,
					x->len / op->count, x->len, tail);
	}
	if (err == SMR_PAGE_MISSING)
		return exec_fault(x, false);
	if (err == -EBADMSG)
		return SMR_STEP_AGAIN;
	if (err)
		return exec_end(x, err == -ENXIO ? SMR_RESP_PEER_PROT : SMR_RESP_ACCESS);
	return SMR_STEP_DONE;
}

static void payload_close(struct exec *x)
{
	smr_sgl_close(&x->qp->resp.sgl);
	peer_close(x);
}

/* A slice of a local operation of @len bytes was copied. AGAIN: it has further ones. */
static enum smr_step slice_done(struct exec *x, u32 len)
{
	struct smr_local *local = x->op->local;

	x->budget->left -= x->len;
	local->done += x->len;
	local->faulted = false;
	if (READ_ONCE(local->cancel))
		return exec_end(x, SMR_RESP_DROP);
	return local->done < len ? SMR_STEP_AGAIN : SMR_STEP_DONE;
}

/* Account for the copied bytes. AGAIN: the operation has further slices. */
static enum smr_step payload_done(struct exec *x)
{
	struct smr_responder *resp = &x->qp->resp;

	if (x->op->local) {
		resp->received = x->op->local->done + x->len;
		return slice_done(x, x->op->hdr.len);
	}
	x->budget->left -= x->len;
	resp->received += x->len;
	return SMR_STEP_DONE;
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
static enum smr_step send_last(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	struct smr_qp *qp = x->qp;
	int err;

	if (hdr->op->flags & SMR_OP_IETH && !*send_executed(x)) {
		err = smr_inval_exec(qp, &qp->resp.inval, smr_resp_pd(qp),
				     hdr->inv_rkey);
		if (err == -EAGAIN) {
			*send_executed(x) = true;
			return SMR_STEP_WAIT;
		}
		if (err)
			return exec_end(x, SMR_RESP_ACCESS);
	}
	smr_recv_done(qp, hdr, qp->resp.received);
	return SMR_STEP_DONE;
}

/* SEND: copy into the receive work request. */
static enum smr_step exec_send(struct exec *x)
{
	struct smr_responder *resp = &x->qp->resp;
	struct smr_op *op = x->op;
	enum smr_step step;
	u64 before;

	op->verdict = smr_recv_take(x->qp);
	if (op->verdict != SMR_RESP_OK)
		return SMR_STEP_DONE;
	if (*send_executed(x))
		return send_last(x);
	before = op->local ? 0 : resp->received;
	if (before + op->hdr.len > min(resp->rwqe.len, SMR_MESSAGE_MAX))
		return exec_end(x, SMR_RESP_TOO_LONG);
	op->verdict = smr_recv_open(x->qp, resp->received, x->len);
	if (op->verdict != SMR_RESP_OK)
		return SMR_STEP_DONE;
	step = payload_in(x, 0);
	payload_close(x);
	if (op->verdict == SMR_RESP_ACCESS)
		op->verdict = SMR_RESP_LOC_PROT;
	if (exec_ok(x, step))
		step = payload_done(x);
	return exec_ok(x, step) && op->hdr.op->flags & SMR_OP_LAST ? send_last(x) : step;
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
static enum smr_step write_in(struct exec *x)
{
	struct smr_responder *resp = &x->qp->resp;
	bool first = x->op->hdr.op->flags & SMR_OP_FIRST;
	u64 va = first ? x->op->hdr.va : resp->va;
	u32 rkey = first ? x->op->hdr.rkey : resp->rkey;
	enum smr_step step;

	if (x->op->local)
		va += x->op->local->done;
	if (!remote_open(x, IB_ACCESS_REMOTE_WRITE, va, rkey))
		return exec_end(x, SMR_RESP_ACCESS);
	step = payload_in(x, write_tail(va, x->len));
	payload_close(x);
	return exec_ok(x, step) ? payload_done(x) : step;
}

static enum smr_step exec_write(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_step step;

	/* Before the data, so that RNR leaves the memory unchanged. */
	if (hdr->op->flags & SMR_OP_IMM) {
		x->op->verdict = smr_recv_take(x->qp);
		if (x->op->verdict != SMR_RESP_OK)
			return SMR_STEP_DONE;
	}
	if (x->len) {
		step = write_in(x);
		if (x->op->verdict == SMR_RESP_ACCESS && hdr->op->flags & SMR_OP_IMM)
			x->op->verdict = SMR_RESP_IMM_ACCESS;
		if (!exec_ok(x, step))
			return step;
	}
	if (hdr->op->flags & SMR_OP_LAST)
		smr_comp_count(x->qp, SMR_COMP_REMOTE_WRITE, false,
			       x->qp->resp.received);
	if (hdr->op->flags & SMR_OP_IMM)
		smr_recv_done(x->qp, hdr, x->qp->resp.received);
	return SMR_STEP_DONE;
}

/* Copy a slice of a READ directly into the memory of a peer on this host. */
static enum smr_step read_out(struct exec *x)
{
	int err;

	if (!peer_open(x, IB_ACCESS_LOCAL_WRITE))
		return exec_end(x, SMR_RESP_PEER_PROT);
	err = smr_sgl_copy(x->theirs, &x->qp->resp.sgl, x->len);
	if (err == SMR_PAGE_MISSING)
		return exec_fault(x, true);
	if (err)
		return exec_end(x, err == -EFAULT ? SMR_RESP_PEER_PROT : SMR_RESP_ACCESS);
	return SMR_STEP_DONE;
}

/* The next slice of a READ by a peer on this host */
static enum smr_step read_slice(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_step step;

	x->len = slice(x->op, x->budget, hdr->dma_len);
	if (!x->len)
		return SMR_STEP_DONE;
	if (!remote_open(x, IB_ACCESS_REMOTE_READ, hdr->va + x->op->local->done,
			 hdr->rkey))
		return exec_end(x, SMR_RESP_ACCESS);
	step = read_out(x);
	payload_close(x);
	return exec_ok(x, step) ? slice_done(x, hdr->dma_len) : step;
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

static enum smr_step read_local(struct exec *x)
{
	enum smr_step step = read_slice(x);

	if (exec_ok(x, step))
		smr_comp_count(x->qp, SMR_COMP_REMOTE_READ, false,
			       x->op->hdr.dma_len);
	return step;
}

static enum smr_step exec_read(struct exec *x)
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
	return SMR_STEP_DONE;
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
static enum smr_step peer_page(const struct exec *x)
{
	return smr_sgl_needs_thread(x->theirs) ? SMR_STEP_DEFER : SMR_STEP_PEER;
}

/*
 * Give the original value to a requester on this host. If its page is missing, the operation is
 * retried, and the atomic must not be executed twice.
 */
static enum smr_step atomic_local(struct exec *x, u64 orig)
{
	struct smr_local *local = x->op->local;
	enum smr_step step = SMR_STEP_DONE;
	int err;

	if (!peer_open(x, IB_ACCESS_LOCAL_WRITE))
		return exec_end(x, SMR_RESP_PEER_PROT);
	err = smr_sgl_write(x->theirs, &orig, sizeof(orig));
	if (err == SMR_PAGE_MISSING) {
		local->hdr.orig = orig;
		local->executed = true;
		step = peer_page(x);
	} else if (err) {
		step = exec_end(x, SMR_RESP_PEER_PROT);
	}
	peer_close(x);
	return step;
}

/* After an access of 8 bytes to the open list */
static enum smr_step word_done(struct exec *x, int err)
{
	if (err == SMR_PAGE_MISSING)
		return exec_fault(x, false);
	return err ? exec_end(x, SMR_RESP_ACCESS) : SMR_STEP_DONE;
}

/* IBTA 9.7.4.2: an atomic is executed once, even if its answer is lost. */
static enum smr_step exec_atomic(struct exec *x)
{
	struct smr_read_stream *read = &x->qp->resp.read;
	struct smr_rd_res *res;
	enum smr_step step;
	u64 orig = 0;

	x->len = sizeof(orig);
	if (x->op->local && x->op->local->executed)
		return atomic_local(x, x->op->hdr.orig);
	if (!remote_open(x, IB_ACCESS_REMOTE_ATOMIC, x->op->hdr.va,
			 x->op->hdr.rkey))
		return exec_end(x, SMR_RESP_ACCESS);
	step = word_done(x, atomic_op(x, &orig));
	smr_sgl_close(&x->qp->resp.sgl);
	if (!exec_ok(x, step))
		return step;
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
	return SMR_STEP_DONE;
}

/* Get the operand: from the packet, or from the requester on this host. */
static enum smr_step operand_get(struct exec *x, u64 *value)
{
	enum smr_step step = SMR_STEP_DONE;
	int err;

	if (!x->op->local)
		return skb_copy_bits(x->op->skb, x->op->off, value, sizeof(*value)) ?
		       exec_end(x, SMR_RESP_DROP) : SMR_STEP_DONE;
	if (!peer_open(x, 0))
		return exec_end(x, SMR_RESP_PEER_PROT);
	err = smr_sgl_read(x->theirs, value, sizeof(*value));
	if (err == SMR_PAGE_MISSING)
		step = peer_page(x);
	else if (err)
		step = exec_end(x, SMR_RESP_PEER_PROT);
	peer_close(x);
	return step;
}

/* IBTA A19.4.2: one store of 8 bytes. */
static enum smr_step exec_atomic_write(struct exec *x)
{
	const struct smr_hdr *hdr = &x->op->hdr;
	enum smr_step step;
	u64 value;

	x->len = sizeof(value);
	step = operand_get(x, &value);
	if (!exec_ok(x, step))
		return step;
	if (!remote_open(x, IB_ACCESS_REMOTE_WRITE, hdr->va, hdr->rkey))
		return exec_end(x, SMR_RESP_ACCESS);
	step = word_done(x, smr_span_store8(&x->qp->resp.sgl.spans[0], value));
	smr_sgl_close(&x->qp->resp.sgl);
	if (exec_ok(x, step) && !x->op->local)
		smr_resp_confirm(x->qp, hdr);
	return step;
}

static enum smr_step exec_flush(struct exec *x)
{
	enum smr_step step = smr_resp_flush_exec(x->qp, x->op, x->budget);

	if (exec_ok(x, step) && !x->op->local)
		smr_resp_confirm(x->qp, &x->op->hdr);
	return step;
}

/**
 * smr_resp_exec() - execute a request, or the next slice of it
 * @qp: the caller owns its response task
 * @op: the request; smr_resp_check() returned SMR_RESP_OK, which is its verdict so far
 * @budget: the budget
 *
 * It copies data, and takes and completes receive work requests. The caller advances
 * the PSN.
 *
 * Context: as @budget says.
 * Return: SMR_STEP_DONE: the verdict of @op says how it has ended; otherwise call again with the
 *	same request.
 */
enum smr_step smr_resp_exec(struct smr_qp *qp, struct smr_op *op, struct smr_budget *budget)
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
