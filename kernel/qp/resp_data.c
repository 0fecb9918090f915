// SPDX-License-Identifier: GPL-2.0
/* Check and execute SENDs and WRITEs. Runs in the response task. */
#include "qp/resp_data.h"

#include "net/wire.h"
#include "qp/core.h"
#include "qp/local_wr.h"
#include "qp/recv.h"
#include "qp/resp_exec.h"
#include "qp/rx_train.h"
#include "qp/xrc.h"
#include "why.h"

/*
 * A SEND needs a receive work request. @qp: the caller owns its response task. Returns SMR_RESP_OK
 * or SMR_RESP_RNR.
 */
enum smr_resp_verdict smr_check_send(struct smr_qp *qp, const struct smr_op *op)
{
	return smr_recv_available(qp) ? SMR_RESP_OK : SMR_RESP_RNR;
}

/* The payloads of a WRITE must add up to the length in its RETH. */
static bool write_length_ok(const struct smr_qp *qp, const struct smr_op *op)
{
	u32 flags = op->hdr->op->flags;
	u32 left = flags & SMR_OP_FIRST ? op->hdr->dma_len : qp->resp.left;

	if (left > SMR_MESSAGE_MAX || op->hdr->len > left)
		return false;
	return flags & SMR_OP_LAST ? op->hdr->len == left : op->hdr->len < left;
}

/*
 * Will the execution open exactly the same range before it has any side effect? Then the check
 * can be skipped. A WRITE with immediate data takes a receive work request first.
 */
static bool write_exec_checks(const struct smr_op *op)
{
	u32 flags = op->hdr->op->flags;

	return flags & SMR_OP_LAST && !(flags & SMR_OP_IMM) &&
	       (!op->local || op->hdr->dma_len <= SMR_RESP_SLICE);
}

/*
 * Check the length, the key and the receive work request of a WRITE. @qp: the caller owns its
 * response task. Returns SMR_RESP_OK, or why not.
 */
enum smr_resp_verdict smr_check_write(struct smr_qp *qp, const struct smr_op *op)
{
	u32 flags = op->hdr->op->flags;
	enum smr_resp_verdict verdict;

	if (!write_length_ok(qp, op))
		return SMR_RESP_INV_REQ;
	if (flags & SMR_OP_FIRST && op->hdr->dma_len && !write_exec_checks(op)) {
		verdict = smr_check_key(qp, op->hdr, op->hdr->dma_len, IB_ACCESS_REMOTE_WRITE);
		if (verdict != SMR_RESP_OK)
			return flags & SMR_OP_IMM ? SMR_RESP_IMM_ACCESS :
						    verdict;
	}
	if (flags & SMR_OP_IMM && !smr_recv_available(qp))
		return SMR_RESP_RNR;
	return SMR_RESP_OK;
}

static struct smr_reason invalid_write(const struct smr_qp *qp, const struct smr_op *op)
{
	const struct smr_hdr *hdr = op->hdr;

	return SMR_REASON(REQ_WRITE_LENGTH, hdr->len,
			  hdr->op->flags & SMR_OP_FIRST ? hdr->dma_len : qp->resp.left);
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

/* Copy the payloads of packets. The request then has as many packets as were copied. */
static int packets_copy(struct smr_exec *x, struct smr_sgl *sgl, size_t tail)
{
	struct smr_op *op = x->op;
	u32 count = op->count, each = x->len / count;
	int err;

	err = smr_rx_train_copy(op->train, sgl, op->hdr, &count, tail, x->budget);
	if (err || count == op->count)
		return err;
	op->count = count;
	op->npsn = count;
	op->hdr->len = count * each;
	x->len = op->hdr->len;
	return 0;
}

/*
 * Copy the payload to the open list. The last @tail bytes become visible after all
 * bytes before them.
 */
static enum smr_step payload_in(struct smr_exec *x, size_t tail)
{
	struct smr_sgl *sgl = &x->qp->resp.sgl;
	int err = 0;

	if (x->op->local) {
		if (!smr_exec_open_peer(x, 0))
			return smr_exec_end(x, SMR_RESP_PEER_PROT);
		err = local_copy(sgl, x->theirs, x->len, tail);
	} else if (x->len) {
		err = packets_copy(x, sgl, tail);
	}
	if (err == SMR_PAGE_MISSING)
		return smr_exec_fault(x, false);
	if (err == -EBADMSG)
		return SMR_STEP_AGAIN;
	if (err)
		return smr_exec_end(x, err == -ENXIO ? SMR_RESP_PEER_PROT : SMR_RESP_ACCESS);
	return SMR_STEP_DONE;
}

/* Account for the copied bytes. AGAIN: the operation has further slices. */
static enum smr_step payload_done(struct smr_exec *x)
{
	struct smr_responder *resp = &x->qp->resp;

	if (x->op->local) {
		resp->received = x->op->local->done + x->len;
		return smr_exec_slice_done(x, x->op->hdr->len);
	}
	x->budget->left -= x->len;
	resp->received += x->len;
	return SMR_STEP_DONE;
}

/*
 * The flag of a SEND that was executed, except for its completion: it waits for its invalidate,
 * and runs again when that is finished.
 */
static bool *send_executed(const struct smr_exec *x)
{
	return x->op->local ? &x->op->local->executed :
			      &x->qp->resp.executed;
}

/* All of a SEND has been copied. Its invalidate precedes its completion. */
static enum smr_step send_last(struct smr_exec *x)
{
	const struct smr_hdr *hdr = x->op->hdr;
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
			return smr_exec_end(x, SMR_RESP_ACCESS);
	}
	smr_recv_done(qp, hdr, qp->resp.received);
	return SMR_STEP_DONE;
}

/* SEND: copy into the receive work request. Returns as smr_resp_exec(). */
enum smr_step smr_exec_send(struct smr_exec *x)
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
	if (before + op->hdr->len > min(resp->rwqe.len, SMR_MESSAGE_MAX))
		return smr_exec_end(x, SMR_RESP_TOO_LONG);
	op->verdict = smr_recv_open(x->qp, resp->received, x->len);
	if (op->verdict != SMR_RESP_OK)
		return SMR_STEP_DONE;
	step = payload_in(x, 0);
	smr_exec_close(x);
	if (op->verdict == SMR_RESP_ACCESS)
		op->verdict = SMR_RESP_LOC_PROT;
	if (smr_exec_ok(x, step))
		step = payload_done(x);
	return smr_exec_ok(x, step) && op->hdr->op->flags & SMR_OP_LAST ? send_last(x) : step;
}

/*
 * The number of bytes of a WRITE's last packet, or slice, that are copied last. Many programs do
 * not wait for a completion but poll the last word of the data, and a CPU that reorders stores
 * (arm64) may make it visible first. x86 does not reorder stores, and needs no copy in two parts.
 */
static size_t write_tail(const struct smr_exec *x, u64 va)
{
	size_t len = x->len;

	if (IS_ENABLED(CONFIG_X86) || !(x->op->hdr->op->flags & SMR_OP_LAST))
		return 0;
	return min_t(size_t, len, ((va + len - 1) & 7) + 1);
}

/* The payload of a WRITE. */
static enum smr_step write_in(struct smr_exec *x)
{
	struct smr_responder *resp = &x->qp->resp;
	bool first = x->op->hdr->op->flags & SMR_OP_FIRST;
	u64 va = first ? x->op->hdr->va : resp->va;
	u32 rkey = first ? x->op->hdr->rkey : resp->rkey;
	enum smr_step step;

	if (x->op->local)
		va += x->op->local->done;
	if (!smr_exec_open(x, IB_ACCESS_REMOTE_WRITE, va, rkey))
		return smr_exec_end(x, SMR_RESP_ACCESS);
	step = payload_in(x, write_tail(x, va));
	smr_exec_close(x);
	return smr_exec_ok(x, step) ? payload_done(x) : step;
}

/* WRITE: copy to the memory of the rkey. Returns as smr_resp_exec(). */
enum smr_step smr_exec_write(struct smr_exec *x)
{
	const struct smr_hdr *hdr = x->op->hdr;
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
		if (!smr_exec_ok(x, step))
			return step;
	}
	if (hdr->op->flags & SMR_OP_IMM)
		smr_recv_done(x->qp, hdr, x->qp->resp.received);
	return SMR_STEP_DONE;
}

const struct smr_resp_class smr_class_send = {
	.message = true,
	.check = smr_check_send,
	.exec = smr_exec_send,
};

const struct smr_resp_class smr_class_write = {
	.message = true,
	.access = IB_ACCESS_REMOTE_WRITE,
	.check = smr_check_write,
	.exec = smr_exec_write,
	.why = invalid_write,
};
