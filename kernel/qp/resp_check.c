// SPDX-License-Identifier: GPL-2.0
#include "qp/resp_check.h"

#include "net/wire.h"
#include "qp/core.h"
#include "qp/recv.h"
#include "qp/resp_flush.h"
#include "qp/xrc.h"

#define OP_REQUEST	(SMR_OP_SEND | SMR_OP_WRITE | SMR_OP_READ | \
			 SMR_OP_ATOMIC | SMR_OP_ATOMIC_WRITE | SMR_OP_FLUSH)
#define OP_IN_MESSAGE	(SMR_OP_SEND | SMR_OP_WRITE)

/*
 * IBTA 9.7.4.1.2: a message is FIRST, MIDDLEs and LAST, or ONLY, all of one kind.
 * 9.8.2.2.1: on UC a message also ends where the next one begins, or where a packet is
 * missing.
 */
static bool sequence_ok(const struct smr_qp *qp, const struct smr_op *op)
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
static bool permitted(const struct smr_qp *qp, const struct smr_hdr *hdr)
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
static bool payload_ok(const struct smr_qp *qp, const struct smr_op *op)
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
static bool write_length_ok(const struct smr_qp *qp, const struct smr_op *op)
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
 * Will the execution open just the range that the check would, before it does anything
 * else? A WRITE with immediate data takes a receive work request first.
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

/* IBTA A19.4.2: needs REMOTE_WRITE only, since it returns no data */
static enum smr_resp_verdict check_atomic_write(struct smr_qp *qp,
						const struct smr_op *op)
{
	if (op->hdr.va & 7)
		return SMR_RESP_INV_REQ;
	return key_check(qp, &op->hdr, sizeof(u64), IB_ACCESS_REMOTE_WRITE);
}

/*
 * A request so many PSNs ahead does not follow a lost packet: no window is that large. It
 * does when a READ of that many PSNs was lost. Then the requester notices by its timeout.
 */
#define PSN_REACH	65536

/*
 * UC accepts any PSN. Otherwise: a gap, a duplicate, or the expected PSN. A PSN out of reach
 * is not answered, so that most guesses of a stranger's draw no NAK.
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
 * @qp: the responder's QP
 * @op: the request; its source was checked before
 *
 * The order is that of the IBTA figure "Inbound request packet validation". There are
 * no side effects except counters.
 *
 * Context: any; called by the response task.
 * Return: SMR_RESP_OK, or why not.
 */
enum smr_resp_verdict smr_resp_check(struct smr_qp *qp,
				     const struct smr_op *op)
{
	u32 flags = op->hdr.op->flags;
	enum smr_resp_verdict verdict;

	if ((op->hdr.opcode & SMR_TRANSPORT_MASK) != qp->service ||
	    qp->ibqp.qp_type == IB_QPT_XRC_INI)
		return SMR_RESP_DROP;
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
