// SPDX-License-Identifier: GPL-2.0
/*
 * Check and execute READs, send their responses in trains, and repeat earlier answers. Runs in the
 * response task.
 */
#include "qp/resp_read.h"

#include <rdma/ib_pack.h>

#include "net/train.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/packet.h"
#include "qp/paging.h"
#include "qp/resp_exec.h"
#include "qp/resp_reply.h"
#include "qp/xrc.h"
#include "stats.h"
#include "why.h"

/* One train of responses under construction. */
struct answer {
	struct smr_qp *qp;
	struct smr_read_stream next;	/* state after the last packet on the train */
	struct smr_hdr hdr;
};

static u8 read_opcode(const struct smr_qp *qp,
		      const struct smr_read_stream *read)
{
	bool last = read->left <= qp->mtu;

	if (read->first)
		return last ? IB_OPCODE_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RDMA_READ_RESPONSE_LAST :
		      IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE;
}

/* Fill in the headers of the next packet. */
static void answer_hdr(struct answer *a)
{
	struct smr_hdr *hdr = &a->hdr;

	hdr->opcode = a->qp->service |
		      (a->next.atomic ? IB_OPCODE_ATOMIC_ACKNOWLEDGE :
					read_opcode(a->qp, &a->next));
	hdr->op = smr_wire_op(hdr->opcode);
	hdr->psn = a->next.psn;
	hdr->orig = a->next.va;
	hdr->len = a->next.atomic ? 0 : min(a->next.left, a->qp->mtu);
	hdr->pad = -hdr->len & 3;
}

/* Account for @n more such packets on the train. */
static void answer_advance(struct answer *a, unsigned int n)
{
	struct smr_read_stream *next = &a->next;

	next->psn = smr_psn_add(next->psn, n);
	next->first = false;
	if (next->atomic || next->left <= a->qp->mtu)
		next->active = false;
	next->va += n * a->hdr.len;
	next->left -= n * a->hdr.len;
}

/* The number of packets with the same headers, at most @max. The LAST differs. */
static unsigned int answer_alike(const struct answer *a, unsigned int max)
{
	if (!(a->hdr.op->flags & SMR_OP_MIDDLE))
		return 1;
	return min(max, DIV_ROUND_UP(a->next.left, a->qp->mtu) - 1);
}

/* A FIRST is longer than the MIDDLEs, and is sent alone. */
static unsigned int answer_nsegs(const struct answer *a)
{
	if (a->next.atomic || a->next.first)
		return 1;
	return min_t(u32, SMR_TRAIN_SEGS,
		     DIV_ROUND_UP(a->next.left, a->qp->mtu));
}

/* A LAST has an AETH. If that makes it longer than a MIDDLE, it is sent alone. */
static int answer_fill(struct answer *a, struct smr_train *train,
		       unsigned int nsegs)
{
	int ret;

	do {
		ret = smr_packet_append(train, &a->hdr, answer_alike(a, nsegs),
					&a->qp->resp.sgl);
		if (ret <= 0)
			break;
		answer_advance(a, ret);
		if (!a->next.active)
			break;
		answer_hdr(a);
		nsegs -= ret;
	} while (nsegs && smr_packet_len(&a->hdr) <= train->seg_len);
	return ret < 0 ? ret : 0;
}

static int answer_send(struct answer *a)
{
	struct smr_qp *qp = a->qp;
	struct smr_train train;
	unsigned int nsegs;
	int err;

	answer_hdr(a);
	nsegs = answer_nsegs(a);
	err = smr_train_begin(&train, &qp->path, qp->egress,
			      &qp->resp.icrc, nsegs,
			      smr_packet_len(&a->hdr));
	if (err)
		return err;
	err = answer_fill(a, &train, nsegs);
	if (err) {
		smr_train_abort(&train);
		return err;
	}
	return smr_packets_leave(qp, &train, &qp->resp.refused);
}

/* Open as much of the memory as fits one train. */
static bool read_open(struct smr_qp *qp)
{
	const struct smr_read_stream *read = &qp->resp.read;
	u32 len = min_t(u32, read->left, SMR_TRAIN_SEGS * qp->mtu);
	enum smr_key_verdict verdict;

	if (read->atomic || !len)
		return true;
	verdict = smr_sgl_open_key(&qp->resp.sgl, smr_resp_pd(qp),
				   qp->ibqp.qp_num, IB_ACCESS_REMOTE_READ,
				   read->rkey, read->va, len);
	smr_qp_key(qp, verdict);
	return verdict == SMR_KEY_OK;
}

static struct smr_reason read_why(const struct smr_qp *qp, enum smr_resp_verdict verdict)
{
	const struct smr_read_stream *read = &qp->resp.read;
	struct smr_reason why;

	if (verdict == SMR_RESP_NO_MEMORY)
		return SMR_REASON(REQ_NO_MEMORY);
	if (smr_qp_is_xrc(qp) && !qp->resp.xsrq)
		return SMR_REASON(REQ_XRC, read->srqn);
	why = smr_key_why(qp->env->keys, read->rkey, &smr_resp_pd(qp)->ibpd,
			  qp->ibqp.qp_num, IB_ACCESS_REMOTE_READ, read->va,
			  read->left);
	return why.id ? why : SMR_REASON(REQ_PAGE, read->rkey, read->va, read->left);
}

/*
 * The key no longer opens the memory: IBTA 9.7.5.2.7, send a NAK instead. Not for a repeated
 * request: it may have been delayed in the network, or here, until after its requester got the
 * first answer and the memory was deregistered.
 */
static enum smr_step read_broken(struct smr_qp *qp,
				 enum smr_resp_verdict verdict)
{
	qp->resp.read.active = false;
	if (qp->resp.read.repeat)
		return SMR_STEP_DONE;
	smr_reply_read_error(qp, qp->resp.read.psn, verdict, read_why(qp, verdict));
	return SMR_STEP_DONE;
}

static enum smr_step read_fault(struct smr_qp *qp, struct smr_budget *budget)
{
	struct smr_responder *resp = &qp->resp;
	enum smr_step step;
	int err;

	step = smr_paging_fault(&resp->paging, budget, &resp->sgl, false, &err);
	return step == SMR_STEP_DONE ?
	       read_broken(qp, smr_fault_verdict(err, SMR_RESP_ACCESS)) : step;
}

static enum smr_step read_sent(struct answer *a, struct smr_budget *budget, int err)
{
	struct smr_read_stream *read = &a->qp->resp.read;

	switch (err) {
	case SMR_PAGE_MISSING:
		return read_fault(a->qp, budget);
	case -EFAULT:
		return read_broken(a->qp, SMR_RESP_ACCESS);
	case -EAGAIN:
		smr_qp_inc(a->qp, SMR_CNT_BACKPRESSURE);
		return SMR_STEP_WAIT;
	case 0:
		budget->left -= smr_psn_off(a->next.psn, read->psn) *
			      (a->qp->mtu + SMR_COST_PACKET);
		*read = a->next;
		return SMR_STEP_DONE;
	default:
		/* Treat it as lost by the network; the requester will repeat the request. */
		read->active = false;
		return SMR_STEP_DONE;
	}
}

/*
 * Send the next responses of the READ or atomic in progress. @qp: the responder's QP;
 * @qp->resp.read.active is true. Context: as @budget says; called by the response task. Returns
 * SMR_STEP_WAIT if the stack does not accept packets now.
 */
enum smr_step smr_resp_read(struct smr_qp *qp, struct smr_budget *budget)
{
	struct answer a = {
		.qp = qp,
		.next = qp->resp.read,
		.hdr = {
			.pkey = SMR_DEFAULT_PKEY,
			.migreq = true,
			.qpn = qp->attr.dest_qp_num,
			.syndrome = SMR_AETH_ACK | SMR_AETH_CREDIT_INVALID,
			.msn = qp->resp.msn,
		},
	};
	enum smr_step step;

	smr_sgl_inline(&qp->resp.sgl, NULL, 0);
	if (smr_xrc_enter(qp, qp->resp.read.srqn) && read_open(qp)) {
		step = read_sent(&a, budget, answer_send(&a));
		smr_sgl_close(&qp->resp.sgl);
	} else {
		step = read_broken(qp, SMR_RESP_ACCESS);
	}
	smr_xrc_leave(qp);
	return step;
}

/*
 * Keep a READ or an atomic, to answer its duplicates. @qp: the caller owns its response task.
 * @npsn: number of its PSNs. Returns its entry, so far that of a READ.
 */
struct smr_rd_res *smr_rd_res_add(struct smr_qp *qp, const struct smr_op *op,
				  u32 npsn)
{
	struct smr_responder *resp = &qp->resp;
	struct smr_rd_res *res = &resp->res[resp->res_next];

	resp->res_next = (resp->res_next + 1) % resp->nr_res;
	res->psn = op->hdr->psn;
	res->npsn = npsn;
	res->atomic = false;
	res->va = op->hdr->va;
	res->rkey = op->hdr->rkey;
	res->len = op->hdr->dma_len;
	return res;
}

/* Copy a slice of a READ directly into the memory of a peer on this host. */
static enum smr_step read_out(struct smr_exec *x)
{
	int err;

	if (!smr_exec_open_peer(x, IB_ACCESS_LOCAL_WRITE))
		return smr_exec_end(x, SMR_RESP_PEER_PROT);
	err = smr_sgl_copy(x->theirs, &x->qp->resp.sgl, x->len);
	if (err == SMR_PAGE_MISSING)
		return smr_exec_fault(x, true);
	if (err)
		return smr_exec_end(x, err == -EFAULT ? SMR_RESP_PEER_PROT : SMR_RESP_ACCESS);
	return SMR_STEP_DONE;
}

/* The next slice of a READ by a peer on this host */
static enum smr_step read_slice(struct smr_exec *x)
{
	const struct smr_hdr *hdr = x->op->hdr;
	enum smr_step step;

	x->len = smr_exec_slice(x, hdr->dma_len);
	if (!x->len)
		return SMR_STEP_DONE;
	if (!smr_exec_open(x, IB_ACCESS_REMOTE_READ, hdr->va + x->op->local->done,
			   hdr->rkey))
		return smr_exec_end(x, SMR_RESP_ACCESS);
	step = read_out(x);
	smr_exec_close(x);
	return smr_exec_ok(x, step) ? smr_exec_slice_done(x, hdr->dma_len) : step;
}

static void read_begin(struct smr_qp *qp, const struct smr_hdr *hdr, bool repeat)
{
	struct smr_read_stream *read = &qp->resp.read;

	read->psn = hdr->psn;
	read->va = hdr->va;
	read->rkey = hdr->rkey;
	read->srqn = hdr->srqn;
	read->left = hdr->dma_len;
	read->first = true;
	read->atomic = false;
	read->repeat = repeat;
	read->active = true;
}

/*
 * Answer an atomic. @qp: the caller owns its response task. @orig: the value before it. @repeat: it
 * was answered before.
 */
void smr_resp_orig(struct smr_qp *qp, const struct smr_hdr *hdr, u64 orig, bool repeat)
{
	struct smr_read_stream *read = &qp->resp.read;

	read->psn = hdr->psn;
	read->va = orig;
	read->srqn = hdr->srqn;
	read->left = 0;
	read->first = true;
	read->atomic = true;
	read->repeat = repeat;
	read->active = true;
}

/*
 * Will the execution open exactly the same range before it has any side effect? Then the check
 * can be skipped.
 */
static bool read_exec_checks(const struct smr_op *op)
{
	return op->local && op->hdr->dma_len <= SMR_RESP_SLICE;
}

static enum smr_resp_verdict read_check(struct smr_qp *qp, const struct smr_op *op)
{
	if (op->hdr->dma_len > SMR_MESSAGE_MAX)
		return SMR_RESP_INV_REQ;
	if (!op->hdr->dma_len || read_exec_checks(op))
		return SMR_RESP_OK;
	return smr_check_key(qp, op->hdr, op->hdr->dma_len, IB_ACCESS_REMOTE_READ);
}

static struct smr_reason invalid_read(const struct smr_qp *qp, const struct smr_op *op)
{
	return SMR_REASON(REQ_READ_LENGTH, op->hdr->dma_len, SMR_MESSAGE_MAX);
}

static enum smr_step read_exec(struct smr_exec *x)
{
	if (x->op->local)
		return read_slice(x);
	smr_rd_res_add(x->qp, x->op, x->op->npsn);
	read_begin(x->qp, x->op->hdr, false);
	return SMR_STEP_DONE;
}

/* A repeated READ must lie within the original one. */
static bool read_within(const struct smr_qp *qp, const struct smr_rd_res *res,
			const struct smr_hdr *hdr)
{
	u64 skip = (u64)smr_psn_off(hdr->psn, res->psn) * qp->mtu;

	return hdr->rkey == res->rkey && skip <= res->len &&
	       hdr->va == res->va + skip && hdr->dma_len <= res->len - skip;
}

/* Newest first: the PSN of an old entry may be from before a wrap. */
static const struct smr_rd_res *res_find(const struct smr_qp *qp, u32 psn)
{
	const struct smr_responder *resp = &qp->resp;
	const struct smr_rd_res *res;
	u32 i;

	for (i = 1; i <= resp->nr_res; i++) {
		res = &resp->res[(resp->res_next + resp->nr_res - i) %
				 resp->nr_res];
		if (smr_psn_off(psn, res->psn) < res->npsn)
			return res;
	}
	return NULL;
}

/*
 * Answer an ATOMIC WRITE or a FLUSH. @qp: the caller owns its response task. IBTA A19.4.3: the
 * answer is a READ response without data.
 */
void smr_resp_confirm(struct smr_qp *qp, const struct smr_hdr *hdr)
{
	qp->resp.read = (struct smr_read_stream){
		.psn = hdr->psn,
		.srqn = hdr->srqn,
		.first = true,
		.active = true,
	};
}

/*
 * Answer a repeated ATOMIC WRITE or FLUSH. @qp: the caller owns its response task. They leave no
 * entry, and are confirmed again.
 */
void smr_repeat_confirmed(struct smr_qp *qp, const struct smr_hdr *hdr)
{
	smr_resp_confirm(qp, hdr);
	qp->resp.read.repeat = true;
}

/*
 * IBTA 9.7.4.1.1, C9-105: a request without a matching entry is not answered, nor is one that
 * the QP no longer permits, or whose key no longer opens.
 */
static void read_repeat(struct smr_qp *qp, const struct smr_hdr *hdr)
{
	const struct smr_rd_res *res = res_find(qp, hdr->psn);

	if (!res || res->atomic || !(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_READ) ||
	    !read_within(qp, res, hdr))
		return;
	read_begin(qp, hdr, true);
}

/*
 * Give the answer of an atomic again, which is not executed again. @qp: the caller owns its
 * response task. IBTA 9.7.4.1.1, C9-105. A request without a matching entry is not answered.
 */
void smr_repeat_atomic(struct smr_qp *qp, const struct smr_hdr *hdr)
{
	const struct smr_rd_res *res = res_find(qp, hdr->psn);

	if (res && res->atomic)
		smr_resp_orig(qp, hdr, res->orig, true);
}

const struct smr_resp_class smr_class_read = {
	.keeps = true,
	.access = IB_ACCESS_REMOTE_READ,
	.check = read_check,
	.exec = read_exec,
	.repeat = read_repeat,
	.why = invalid_read,
};
