// SPDX-License-Identifier: GPL-2.0
/*
 * Check a request as IBTA 9.7.4.1 requires, without side effects; and find the reason after a
 * refusal. Runs in the response task.
 */
#include "qp/resp_check.h"

#include <linux/indirect_call_wrapper.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/recv.h"
#include "qp/resp_class.h"
#include "qp/resp_data.h"
#include "qp/xrc.h"
#include "stats.h"
#include "why.h"

/*
 * These checks are __always_inline although why_invalid() also calls them, because they run for
 * each request.
 */

/*
 * IBTA 9.7.4.1.2: a message is FIRST, MIDDLEs and LAST, or ONLY, all of one class. 9.8.2.2.1: on
 * UC a message also ends where the next one begins, or where a packet is missing.
 */
static __always_inline bool sequence_ok(const struct smr_qp *qp,
					const struct smr_op *op)
{
	const struct smr_responder *resp = &qp->resp;
	u32 flags = op->hdr->op->flags;
	bool inside = resp->in_message && op->hdr->psn == resp->epsn;

	if (!inside ||
	    (flags & SMR_OP_FIRST && qp->service == SMR_TRANSPORT_UC))
		return flags & SMR_OP_FIRST;
	return !(flags & SMR_OP_FIRST) && op->hdr->op->class == resp->in_class;
}

static __always_inline int rights_of(const struct smr_resp_class *class, const struct smr_hdr *hdr)
{
	return class->rights ? class->rights(hdr) : class->access;
}

/* IBTA 9.7.4.1.4: do the access flags of the QP permit this? */
static __always_inline bool permitted(const struct smr_qp *qp, const struct smr_hdr *hdr,
				      const struct smr_resp_class *class)
{
	return !(rights_of(class, hdr) & ~qp->attr.qp_access_flags) &&
	       (!class->keeps || qp->resp.nr_res);
}

/* IBTA 9.7.4.1.6: the payload's length fits the position in the message. */
static __always_inline bool payload_ok(const struct smr_qp *qp, const struct smr_op *op,
				       const struct smr_resp_class *class)
{
	u32 flags = op->hdr->op->flags, len = op->hdr->len;

	if (!class->message)
		return len == op->hdr->op->operand;
	if (op->local)
		return true;
	if (!(flags & SMR_OP_LAST))
		return len == qp->mtu * op->count && !op->hdr->pad;
	if (!(flags & SMR_OP_FIRST) && !len)
		return false;
	return len <= qp->mtu;
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

/*
 * May this request be executed? @qp: the caller owns its response task. @op: the request; its
 * source was checked before. The order is that of the IBTA figure "Inbound request packet
 * validation". There are no side effects except counters, and the log of what is dropped. Returns
 * SMR_RESP_OK, or why not.
 */
enum smr_resp_verdict smr_resp_check(struct smr_qp *qp,
				     const struct smr_op *op)
{
	const struct smr_resp_class *class = smr_resp_class(op->hdr);
	enum smr_resp_verdict verdict;

	if ((op->hdr->opcode & SMR_TRANSPORT_MASK) != qp->service ||
	    qp->ibqp.qp_type == IB_QPT_XRC_INI) {
		smr_qp_drop(qp, DROP_SERVICE, SMR_CNT_DROPPED, NULL,
			    op->hdr->opcode, qp->ibqp.qp_type);
		return SMR_RESP_DROP;
	}
	verdict = check_psn(qp, op->hdr->psn);
	if (verdict != SMR_RESP_OK)
		return verdict;
	if (op->hdr->op->class == SMR_CLASS_NONE || !smr_xrc_check(qp, op) ||
	    !sequence_ok(qp, op) ||
	    !permitted(qp, op->hdr, class) ||
	    !payload_ok(qp, op, class))
		return SMR_RESP_INV_REQ;
	return INDIRECT_CALL_2(class->check, smr_check_write, smr_check_send, qp, op);
}

static struct smr_reason why_invalid(const struct smr_qp *qp,
				     const struct smr_op *op)
{
	const struct smr_resp_class *class = smr_resp_class(op->hdr);
	const struct smr_hdr *hdr = op->hdr;

	if (hdr->op->class == SMR_CLASS_NONE)
		return SMR_REASON(REQ_OPCODE, hdr->opcode);
	if (!smr_xrc_check(qp, op))
		return SMR_REASON(REQ_XRC, hdr->srqn);
	if (!sequence_ok(qp, op))
		return SMR_REASON(REQ_SEQUENCE, hdr->opcode, qp->resp.in_message);
	if (!permitted(qp, hdr, class))
		return SMR_REASON(REQ_FORBIDDEN, hdr->opcode,
				  qp->attr.qp_access_flags, qp->resp.nr_res);
	if (!payload_ok(qp, op, class))
		return SMR_REASON(REQ_PAYLOAD, hdr->opcode, hdr->len, qp->mtu);
	return class->why ? class->why(qp, op) : (struct smr_reason){};
}

/* The key of a request, or of the message that it continues, does not open the memory. */
static struct smr_reason why_no_access(const struct smr_qp *qp,
				       const struct smr_hdr *hdr)
{
	const struct smr_resp_class *class = smr_resp_class(hdr);
	u64 va = hdr->va, len = class->len ?: hdr->dma_len;
	u32 rkey = hdr->rkey;
	struct smr_reason why;

	if (hdr->op->flags & SMR_OP_IETH)
		return SMR_REASON(REQ_INVALIDATE, hdr->inv_rkey);
	if (!(hdr->op->flags & SMR_OP_FIRST)) {
		rkey = qp->resp.rkey;
		va = qp->resp.va;
		len = hdr->len;
	}
	why = smr_key_why(qp->env->keys, rkey, &smr_resp_pd(qp)->ibpd,
			  qp->ibqp.qp_num, rights_of(class, hdr), va, len);
	return why.id ? why : SMR_REASON(REQ_PAGE, rkey, va, len);
}

/*
 * Why was a request refused? @qp: the responder's QP, unchanged since the check. @op: the request,
 * with its verdict. Repeats the checks, so that the data path need not store reasons. Context: any;
 * called by the response task. Returns the reason; its id is 0 if the peer will retry, or caused
 * the error.
 */
struct smr_reason smr_resp_why(const struct smr_qp *qp, const struct smr_op *op)
{
	bool connected = op->hdr->op && qp->service != SMR_TRANSPORT_UD;
	struct smr_reason why = {};

	switch (op->verdict) {
	case SMR_RESP_INV_REQ:
		return connected ? why_invalid(qp, op) : why;
	case SMR_RESP_ACCESS:
	case SMR_RESP_IMM_ACCESS:
		return connected ? why_no_access(qp, op->hdr) : why;
	case SMR_RESP_TOO_LONG:
		return SMR_REASON(RECV_TOO_SHORT, qp->resp.rwqe.len,
				  connected ? qp->resp.received + op->hdr->len :
					      op->hdr->len);
	case SMR_RESP_BAD_RECV:
		return SMR_REASON(RECV_SGE, qp->rq.max_sge);
	case SMR_RESP_LOC_PROT:
		why = smr_recv_why(qp);
		return why.id ? why : SMR_REASON(RECV_PAGE, qp->resp.rwqe.len);
	case SMR_RESP_BROKEN:
		return SMR_REASON(RECV_RING);
	case SMR_RESP_NO_MEMORY:
		return SMR_REASON(REQ_NO_MEMORY);
	default:
		return why;
	}
}
