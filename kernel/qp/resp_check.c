// SPDX-License-Identifier: GPL-2.0
/*
 * Check a request as IBTA 9.7.4.1 requires, without side effects; and find the reason after a
 * refusal. Runs in the response task.
 */
#include "qp/resp_check.h"

#include "net/wire.h"
#include "qp/core.h"
#include "qp/recv.h"
#include "qp/resp_flush.h"
#include "qp/xrc.h"
#include "stats.h"
#include "why.h"

#define OP_REQUEST	(SMR_OP_SEND | SMR_OP_WRITE | SMR_OP_READ | \
			 SMR_OP_ATOMIC | SMR_OP_ATOMIC_WRITE | SMR_OP_FLUSH)
#define OP_IN_MESSAGE	(SMR_OP_SEND | SMR_OP_WRITE)

/*
 * These checks are __always_inline although why_invalid() also calls them, because they run for
 * each request.
 */

/*
 * IBTA 9.7.4.1.2: a message is FIRST, MIDDLEs and LAST, or ONLY, all of one kind. 9.8.2.2.1: on
 * UC a message also ends where the next one begins, or where a packet is missing.
 */
static __always_inline bool sequence_ok(const struct smr_qp *qp,
					const struct smr_op *op)
{
	const struct smr_responder *resp = &qp->resp;
	u32 flags = op->hdr.op->flags;
	bool inside = resp->in_message && op->hdr.psn == resp->epsn;

	if (!inside ||
	    (flags & SMR_OP_FIRST && qp->service == SMR_TRANSPORT_UC))
		return flags & SMR_OP_FIRST || !(flags & OP_IN_MESSAGE);
	if (flags & SMR_OP_FIRST || !(flags & OP_IN_MESSAGE))
		return false;
	return (flags & OP_IN_MESSAGE) == (resp->last_flags & OP_IN_MESSAGE);
}

/* IBTA 9.7.4.1.4: do the access flags of the QP permit this? */
static __always_inline bool permitted(const struct smr_qp *qp,
				      const struct smr_hdr *hdr)
{
	int access = qp->attr.qp_access_flags;
	u32 flags = hdr->op->flags;

	if (flags & SMR_OP_FLUSH)
		return smr_resp_flush_permitted(qp, hdr);
	if (flags & (SMR_OP_WRITE | SMR_OP_ATOMIC_WRITE))
		return access & IB_ACCESS_REMOTE_WRITE;
	if (flags & SMR_OP_READ)
		return access & IB_ACCESS_REMOTE_READ && qp->resp.nr_res;
	if (flags & SMR_OP_ATOMIC)
		return access & IB_ACCESS_REMOTE_ATOMIC && qp->resp.nr_res;
	return true;
}

/* IBTA 9.7.4.1.6: the payload's length fits the position in the message. */
static __always_inline bool payload_ok(const struct smr_qp *qp,
				       const struct smr_op *op)
{
	u32 flags = op->hdr.op->flags, len = op->hdr.len;

	/* A19.4.2: the operand of an ATOMIC WRITE */
	if (op->hdr.op->operand)
		return len == op->hdr.op->operand && op->hdr.dma_len == len;
	if (!(flags & OP_IN_MESSAGE))
		return !len;
	if (op->local)
		return true;
	if (!(flags & SMR_OP_LAST))
		return len == qp->mtu * op->count && !op->hdr.pad;
	if (!(flags & SMR_OP_FIRST) && !len)
		return false;
	return len <= qp->mtu;
}

/* The payloads of a WRITE must add up to the length in its RETH. */
static __always_inline bool write_length_ok(const struct smr_qp *qp,
					    const struct smr_op *op)
{
	u32 flags = op->hdr.op->flags;
	u32 left = flags & SMR_OP_FIRST ? op->hdr.dma_len : qp->resp.left;

	if (left > SMR_MESSAGE_MAX || op->hdr.len > left)
		return false;
	return flags & SMR_OP_LAST ? op->hdr.len == left : op->hdr.len < left;
}

static enum smr_resp_verdict key_check(struct smr_qp *qp,
				       const struct smr_hdr *hdr, u32 len,
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
 * Will the execution open exactly the same range before it has any side effect? Then the check
 * can be skipped. A WRITE with immediate data takes a receive work request first.
 */
static bool exec_checks(const struct smr_op *op, u32 len)
{
	u32 flags = op->hdr.op->flags;

	return flags & SMR_OP_LAST && !(flags & SMR_OP_IMM) &&
	       (op->local ? len <= SMR_RESP_SLICE : flags & SMR_OP_WRITE);
}

static enum smr_resp_verdict check_send(struct smr_qp *qp,
					const struct smr_op *op)
{
	if (!smr_recv_available(qp))
		return SMR_RESP_RNR;
	return SMR_RESP_OK;
}

static enum smr_resp_verdict check_write(struct smr_qp *qp,
					 const struct smr_op *op)
{
	u32 flags = op->hdr.op->flags;
	enum smr_resp_verdict verdict;

	if (!write_length_ok(qp, op))
		return SMR_RESP_INV_REQ;
	if (flags & SMR_OP_FIRST && op->hdr.dma_len &&
	    !exec_checks(op, op->hdr.dma_len)) {
		verdict = key_check(qp, &op->hdr, op->hdr.dma_len,
				    IB_ACCESS_REMOTE_WRITE);
		if (verdict != SMR_RESP_OK)
			return flags & SMR_OP_IMM ? SMR_RESP_IMM_ACCESS :
						    verdict;
	}
	if (flags & SMR_OP_IMM && !smr_recv_available(qp))
		return SMR_RESP_RNR;
	return SMR_RESP_OK;
}

static enum smr_resp_verdict check_read(struct smr_qp *qp,
					const struct smr_op *op)
{
	if (op->hdr.dma_len > SMR_MESSAGE_MAX)
		return SMR_RESP_INV_REQ;
	if (!op->hdr.dma_len || exec_checks(op, op->hdr.dma_len))
		return SMR_RESP_OK;
	return key_check(qp, &op->hdr, op->hdr.dma_len, IB_ACCESS_REMOTE_READ);
}

static enum smr_resp_verdict check_atomic(struct smr_qp *qp,
					  const struct smr_op *op)
{
	/* IBTA 9.4.5 */
	if (op->hdr.va & 7)
		return SMR_RESP_INV_REQ;
	return key_check(qp, &op->hdr, sizeof(u64), IB_ACCESS_REMOTE_ATOMIC);
}

/* IBTA A19.4.2: needs only REMOTE_WRITE, since it returns no data */
static enum smr_resp_verdict check_atomic_write(struct smr_qp *qp,
						const struct smr_op *op)
{
	if (op->hdr.va & 7)
		return SMR_RESP_INV_REQ;
	return key_check(qp, &op->hdr, sizeof(u64), IB_ACCESS_REMOTE_WRITE);
}

/*
 * A request this many PSNs ahead does not follow a lost packet: no window is that large. It can
 * follow a lost READ of that many PSNs; then the requester's timeout detects the loss.
 */
#define PSN_REACH	65536

/*
 * UC accepts any PSN. Otherwise the PSN is expected, a duplicate or after a gap. A PSN out of
 * reach is not answered, so that most guesses of an attacker get no NAK.
 */
static enum smr_resp_verdict check_psn(const struct smr_qp *qp, u32 psn)
{
	int diff = smr_psn_diff(psn, qp->resp.epsn);

	if (qp->service == SMR_TRANSPORT_UC)
		return SMR_RESP_OK;
	if (diff > PSN_REACH)
		return SMR_RESP_FAR;
	if (diff > 0)
		return SMR_RESP_GAP;
	return diff < 0 ? SMR_RESP_DUPLICATE : SMR_RESP_OK;
}

/**
 * smr_resp_check() - may this request be executed?
 * @qp: the caller owns its response task
 * @op: the request; its source was checked before
 *
 * The order is that of the IBTA figure "Inbound request packet validation". There are
 * no side effects except counters, and the log of what is dropped.
 *
 * Return: SMR_RESP_OK, or why not.
 */
enum smr_resp_verdict smr_resp_check(struct smr_qp *qp,
				     const struct smr_op *op)
{
	u32 flags = op->hdr.op->flags;
	enum smr_resp_verdict verdict;

	if ((op->hdr.opcode & SMR_TRANSPORT_MASK) != qp->service ||
	    qp->ibqp.qp_type == IB_QPT_XRC_INI) {
		smr_qp_drop(qp, DROP_SERVICE, SMR_CNT_DROPPED, NULL,
			    op->hdr.opcode, qp->ibqp.qp_type);
		return SMR_RESP_DROP;
	}
	verdict = check_psn(qp, op->hdr.psn);
	if (verdict != SMR_RESP_OK)
		return verdict;
	if (!(flags & OP_REQUEST) || !smr_xrc_check(qp, op) ||
	    !sequence_ok(qp, op) ||
	    !permitted(qp, &op->hdr) ||
	    !payload_ok(qp, op))
		return SMR_RESP_INV_REQ;
	if (flags & SMR_OP_SEND)
		return check_send(qp, op);
	if (flags & SMR_OP_WRITE)
		return check_write(qp, op);
	if (flags & SMR_OP_READ)
		return check_read(qp, op);
	if (flags & SMR_OP_ATOMIC_WRITE)
		return check_atomic_write(qp, op);
	if (flags & SMR_OP_FLUSH)
		return smr_resp_flush_check(qp, &op->hdr);
	return check_atomic(qp, op);
}

static void why_invalid(const struct smr_qp *qp, const struct smr_op *op,
			struct smr_why *why)
{
	const struct smr_hdr *hdr = &op->hdr;
	u32 flags = hdr->op->flags;

	if (!(flags & OP_REQUEST))
		smr_why(why, REQ_OPCODE, hdr->opcode);
	else if (!smr_xrc_check(qp, op))
		smr_why(why, REQ_XRC, hdr->srqn);
	else if (!sequence_ok(qp, op))
		smr_why(why, REQ_SEQUENCE, hdr->opcode, qp->resp.in_message);
	else if (!permitted(qp, hdr))
		smr_why(why, REQ_FORBIDDEN, hdr->opcode,
			qp->attr.qp_access_flags, qp->resp.nr_res);
	else if (!payload_ok(qp, op))
		smr_why(why, REQ_PAYLOAD, hdr->opcode, hdr->len, qp->mtu);
	else if (flags & SMR_OP_WRITE && !write_length_ok(qp, op))
		smr_why(why, REQ_WRITE_LENGTH, hdr->len,
			flags & SMR_OP_FIRST ? hdr->dma_len : qp->resp.left);
	else if (flags & SMR_OP_READ)
		smr_why(why, REQ_READ_LENGTH, hdr->dma_len, SMR_MESSAGE_MAX);
	else
		smr_why(why, REQ_UNALIGNED, hdr->va);
}

/* The memory of this side that a request refers to */
struct reach {
	u32 rkey;
	u64 va;
	u64 len;
	int access;
};

static struct reach reach_of(const struct smr_qp *qp, const struct smr_hdr *hdr)
{
	struct reach reach = { hdr->rkey, hdr->va, hdr->dma_len };
	u32 flags = hdr->op->flags;

	if (flags & SMR_OP_READ) {
		reach.access = IB_ACCESS_REMOTE_READ;
	} else if (flags & SMR_OP_FLUSH) {
		reach.access = smr_resp_flush_access(hdr);
	} else if (flags & SMR_OP_ATOMIC) {
		reach.access = IB_ACCESS_REMOTE_ATOMIC;
		reach.len = sizeof(u64);
	} else {
		reach.access = IB_ACCESS_REMOTE_WRITE;
		if (flags & SMR_OP_ATOMIC_WRITE)
			reach.len = sizeof(u64);
		else if (!(flags & SMR_OP_FIRST))
			reach = (struct reach){ qp->resp.rkey, qp->resp.va,
						hdr->len, reach.access };
	}
	return reach;
}

static void why_no_access(const struct smr_qp *qp, const struct smr_hdr *hdr,
			  struct smr_why *why)
{
	struct reach reach = reach_of(qp, hdr);

	if (hdr->op->flags & SMR_OP_IETH) {
		smr_why(why, REQ_INVALIDATE, hdr->inv_rkey);
		return;
	}
	if (smr_key_why(qp->env->keys, reach.rkey, &smr_resp_pd(qp)->ibpd,
			qp->ibqp.qp_num, reach.access, reach.va, reach.len,
			why) == SMR_KEY_OK)
		smr_why(why, REQ_PAGE, reach.rkey, reach.va, reach.len);
}

/**
 * smr_resp_why() - why was a request refused?
 * @qp: the responder's QP, unchanged since the check
 * @op: the request, with its verdict
 * @why: filled in; its id is 0 if the peer will retry, or caused the error
 *
 * Repeats the checks, so that the data path need not store reasons.
 *
 * Context: any; called by the response task.
 */
void smr_resp_why(const struct smr_qp *qp, const struct smr_op *op,
		  struct smr_why *why)
{
	bool connected = op->hdr.op && qp->service != SMR_TRANSPORT_UD;

	why->id = SMR_WHY_NONE;
	switch (op->verdict) {
	case SMR_RESP_INV_REQ:
		if (connected)
			why_invalid(qp, op, why);
		break;
	case SMR_RESP_ACCESS:
	case SMR_RESP_IMM_ACCESS:
		if (connected)
			why_no_access(qp, &op->hdr, why);
		break;
	case SMR_RESP_TOO_LONG:
		smr_why(why, RECV_TOO_SHORT, qp->resp.rwqe.len,
			connected ? qp->resp.received + op->hdr.len :
				    op->hdr.len);
		break;
	case SMR_RESP_BAD_RECV:
		smr_why(why, RECV_SGE, qp->rq.max_sge);
		break;
	case SMR_RESP_LOC_PROT:
		if (!smr_recv_why(qp, why))
			smr_why(why, RECV_PAGE, qp->resp.rwqe.len);
		break;
	case SMR_RESP_BROKEN:
		smr_why(why, RECV_RING);
		break;
	case SMR_RESP_NO_MEMORY:
		smr_why(why, REQ_NO_MEMORY);
		break;
	default:
		break;
	}
}
