// SPDX-License-Identifier: GPL-2.0
/*
 * Check and execute requests for one word of 8 bytes: atomics and ATOMIC WRITE. Runs in the
 * response task.
 */
#include "qp/resp_exec.h"

#include <linux/atomic.h>
#include <linux/skbuff.h>
#include <rdma/ib_pack.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/resp_read.h"
#include "why.h"

static bool is_aligned(const struct smr_hdr *hdr)
{
	return !(hdr->va & (sizeof(u64) - 1));
}

/* IBTA 9.4.5: an atomic is aligned. */
static enum smr_resp_verdict atomic_check(struct smr_qp *qp, const struct smr_op *op)
{
	return is_aligned(op->hdr) ? smr_check_key(qp, op->hdr, sizeof(u64),
						    IB_ACCESS_REMOTE_ATOMIC) : SMR_RESP_INV_REQ;
}

static enum smr_resp_verdict atomic_write_check(struct smr_qp *qp, const struct smr_op *op)
{
	if (op->hdr->dma_len != sizeof(u64) || !is_aligned(op->hdr))
		return SMR_RESP_INV_REQ;
	return smr_check_key(qp, op->hdr, sizeof(u64), IB_ACCESS_REMOTE_WRITE);
}

static struct smr_reason invalid_word(const struct smr_qp *qp, const struct smr_op *op)
{
	if (is_aligned(op->hdr))
		return SMR_REASON(REQ_PAYLOAD, op->hdr->opcode, op->hdr->dma_len, qp->mtu);
	return SMR_REASON(REQ_UNALIGNED, op->hdr->va);
}

static void word_unmap(const struct smr_span *span, struct smr_map *map)
{
	smr_span_unmap(span, map);
	smr_span_moved(span, sizeof(u64));
}

/* Atomic with respect to other atomics and to the CPU; in host order. */
static int atomic_op(struct smr_exec *x, u64 *orig)
{
	const struct smr_span *span = &x->qp->resp.sgl.spans[0];
	const struct smr_hdr *hdr = x->op->hdr;
	struct smr_map map;
	int err = smr_span_map_word(span, true, &map);

	if (err)
		return err;
	/* The flags are the same for both atomics. */
	if ((hdr->opcode & ~SMR_TRANSPORT_MASK) == IB_OPCODE_COMPARE_SWAP)
		*orig = atomic64_cmpxchg(map.addr, hdr->compare, hdr->swap_add);
	else
		*orig = atomic64_fetch_add(hdr->swap_add, map.addr);
	word_unmap(span, &map);
	return 0;
}

/* No reader sees a part of the value. */
static int store_op(struct smr_exec *x, u64 value)
{
	const struct smr_span *span = &x->qp->resp.sgl.spans[0];
	struct smr_map map;
	int err = smr_span_map_word(span, false, &map);

	if (err)
		return err;
	/* A reader that sees the value sees all earlier writes. */
	smp_store_release((u64 *)map.addr, value);
	word_unmap(span, &map);
	return 0;
}

/* A page of the requester's list is missing, or present but not usable in this context. */
static enum smr_step peer_page(const struct smr_exec *x)
{
	return smr_sgl_needs_thread(x->theirs) ? SMR_STEP_DEFER : SMR_STEP_PEER;
}

/*
 * Give the original value to a requester on this host. If its page is missing, the operation is
 * retried, and the atomic must not be executed twice.
 */
static enum smr_step atomic_local(struct smr_exec *x, u64 orig)
{
	struct smr_local *local = x->op->local;
	enum smr_step step = SMR_STEP_DONE;
	int err;

	if (!smr_exec_open_peer(x, IB_ACCESS_LOCAL_WRITE))
		return smr_exec_end(x, SMR_RESP_PEER_PROT);
	err = smr_sgl_write(x->theirs, &orig, sizeof(orig));
	if (err == SMR_PAGE_MISSING) {
		local->hdr->orig = orig;
		local->executed = true;
		step = peer_page(x);
	} else if (err) {
		step = smr_exec_end(x, SMR_RESP_PEER_PROT);
	}
	smr_exec_close_peer(x);
	return step;
}

/* After an access of 8 bytes to the open list */
static enum smr_step word_done(struct smr_exec *x, int err)
{
	if (err == SMR_PAGE_MISSING)
		return smr_exec_fault(x, false);
	return err ? smr_exec_end(x, SMR_RESP_ACCESS) : SMR_STEP_DONE;
}

/* IBTA 9.7.4.2: an atomic is executed once, even if its answer is lost. */
static enum smr_step atomic_exec(struct smr_exec *x)
{
	struct smr_rd_res *res;
	enum smr_step step;
	u64 orig = 0;

	x->len = sizeof(orig);
	if (x->op->local && x->op->local->executed)
		return atomic_local(x, x->op->hdr->orig);
	if (!smr_exec_open(x, IB_ACCESS_REMOTE_ATOMIC, x->op->hdr->va, x->op->hdr->rkey))
		return smr_exec_end(x, SMR_RESP_ACCESS);
	step = word_done(x, atomic_op(x, &orig));
	smr_sgl_close(&x->qp->resp.sgl);
	if (!smr_exec_ok(x, step))
		return step;
	if (x->op->local)
		return atomic_local(x, orig);
	res = smr_rd_res_add(x->qp, x->op, 1);
	res->atomic = true;
	res->orig = orig;
	smr_resp_orig(x->qp, x->op->hdr, orig, false);
	return SMR_STEP_DONE;
}

/* Get the operand: from the packet, or from the requester on this host. */
static enum smr_step operand_get(struct smr_exec *x, u64 *value)
{
	enum smr_step step = SMR_STEP_DONE;
	int err;

	if (!x->op->local)
		return skb_copy_bits(x->op->skb, x->op->off, value, sizeof(*value)) ?
		       smr_exec_end(x, SMR_RESP_DROP) : SMR_STEP_DONE;
	if (!smr_exec_open_peer(x, 0))
		return smr_exec_end(x, SMR_RESP_PEER_PROT);
	err = smr_sgl_read(x->theirs, value, sizeof(*value));
	if (err == SMR_PAGE_MISSING)
		step = peer_page(x);
	else if (err)
		step = smr_exec_end(x, SMR_RESP_PEER_PROT);
	smr_exec_close_peer(x);
	return step;
}

/* IBTA A19.4.2: one store of 8 bytes */
static enum smr_step atomic_write_exec(struct smr_exec *x)
{
	const struct smr_hdr *hdr = x->op->hdr;
	enum smr_step step;
	u64 value;

	x->len = sizeof(value);
	step = operand_get(x, &value);
	if (!smr_exec_ok(x, step))
		return step;
	if (!smr_exec_open(x, IB_ACCESS_REMOTE_WRITE, hdr->va, hdr->rkey))
		return smr_exec_end(x, SMR_RESP_ACCESS);
	step = word_done(x, store_op(x, value));
	smr_sgl_close(&x->qp->resp.sgl);
	if (smr_exec_ok(x, step) && !x->op->local)
		smr_resp_confirm(x->qp, hdr);
	return step;
}

const struct smr_resp_class smr_class_atomic = {
	.keeps = true,
	.access = IB_ACCESS_REMOTE_ATOMIC,
	.len = sizeof(u64),
	.check = atomic_check,
	.exec = atomic_exec,
	.repeat = smr_repeat_atomic,
	.why = invalid_word,
};

/* A19.4.2: it needs only REMOTE_WRITE, since it returns no data. */
const struct smr_resp_class smr_class_atomic_write = {
	.access = IB_ACCESS_REMOTE_WRITE,
	.len = sizeof(u64),
	.check = atomic_write_check,
	.exec = atomic_write_exec,
	.repeat = smr_repeat_confirmed,
	.why = invalid_word,
};
