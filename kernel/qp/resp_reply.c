// SPDX-License-Identifier: GPL-2.0
/*
 * The reactions to each verdict on a request, as a table, and sending of ACKs and NAKs. Runs in
 * the response task.
 */
#include "qp/resp_reply.h"

#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/loopback.h"
#include "qp/packet.h"
#include "qp/recv.h"
#include "why.h"

#define NAK(code)	.nak = true, .syndrome = SMR_AETH_NAK | (code)

/* IBTA table 59, "Responder error behavior summary", for RC */
static const struct smr_reaction reactions[SMR_RESP_NR] = {
	[SMR_RESP_GAP] = { NAK(SMR_NAK_PSN_SEQ) },
	[SMR_RESP_RNR] = { .nak = true, .syndrome = SMR_AETH_RNR },
	[SMR_RESP_INV_REQ] = { NAK(SMR_NAK_INV_REQ), .fatal = true,
		.event = IB_EVENT_QP_REQ_ERR, .recv = IB_WC_REM_INV_REQ_ERR },
	[SMR_RESP_ACCESS] = { NAK(SMR_NAK_REM_ACCESS), .fatal = true,
		.event = IB_EVENT_QP_ACCESS_ERR, .recv = IB_WC_REM_ACCESS_ERR },
	/* IBTA 11.6.2, "Local Access Error" */
	[SMR_RESP_IMM_ACCESS] = { NAK(SMR_NAK_REM_ACCESS), .fatal = true,
		.event = IB_EVENT_QP_ACCESS_ERR, .take = true,
		.recv = IB_WC_LOC_ACCESS_ERR },
	[SMR_RESP_TOO_LONG] = { NAK(SMR_NAK_INV_REQ), .fatal = true,
		.recv = IB_WC_LOC_LEN_ERR },
	[SMR_RESP_BAD_RECV] = { NAK(SMR_NAK_REM_OP), .fatal = true,
		.recv = IB_WC_LOC_QP_OP_ERR },
	[SMR_RESP_LOC_PROT] = { NAK(SMR_NAK_REM_OP), .fatal = true,
		.recv = IB_WC_LOC_PROT_ERR },
	[SMR_RESP_BROKEN] = { NAK(SMR_NAK_REM_OP), .fatal = true,
		.event = IB_EVENT_QP_FATAL },
	[SMR_RESP_NO_MEMORY] = { NAK(SMR_NAK_REM_OP), .fatal = true,
		.recv = IB_WC_LOC_QP_OP_ERR },
};

/*
 * The same for UC, UD and frames: no answer. The receive work request in use is kept
 * for the next message, unless it is the cause.
 */
static const struct smr_reaction unreliable_reactions[SMR_RESP_NR] = {
	[SMR_RESP_TOO_LONG] = { .shared = IB_WC_LOC_LEN_ERR },
	[SMR_RESP_BAD_RECV] = { .fatal = true, .recv = IB_WC_LOC_QP_OP_ERR },
	[SMR_RESP_LOC_PROT] = { .fatal = true, .recv = IB_WC_LOC_PROT_ERR },
	[SMR_RESP_BROKEN] = { .fatal = true, .event = IB_EVENT_QP_FATAL },
};

/*
 * Look up the reaction to a verdict. @verdict: a refusal: not SMR_RESP_OK. Returns an entry of a
 * constant table.
 */
const struct smr_reaction *smr_reaction(const struct smr_qp *qp,
					enum smr_resp_verdict verdict)
{
	return smr_qp_is_reliable(qp) ? &reactions[verdict] :
					&unreliable_reactions[verdict];
}

/* Send an acknowledge packet, ahead of bulk packets. -EAGAIN: the stack does not accept packets. */
static int aeth_send(struct smr_qp *qp, u8 syndrome, u32 psn)
{
	u8 opcode = qp->service | IB_OPCODE_ACKNOWLEDGE;
	struct smr_hdr hdr = {
		.opcode = opcode,
		.op = smr_wire_op(opcode),
		.pkey = SMR_DEFAULT_PKEY,
		.migreq = true,
		.qpn = qp->attr.dest_qp_num,
		.psn = psn,
		.syndrome = syndrome,
		.msn = qp->resp.msn,
	};

	return smr_packet_send_urgent(qp, &hdr, &qp->resp.refused);
}

/*
 * Acknowledge all executed requests. @qp: the responder's QP; an ACK is due. Context: any; called
 * by the response task, or while it is paused. Returns true if it was sent; false: not now, and the
 * task runs again when the stack accepts packets.
 */
bool smr_reply_acks(struct smr_qp *qp)
{
	if (aeth_send(qp, SMR_AETH_ACK | SMR_AETH_CREDIT_INVALID,
		      smr_psn_add(qp->resp.epsn, -1)) == -EAGAIN)
		return false;
	smr_qp_inc(qp, SMR_CNT_ACKS_TX);
	qp->resp.acks = 0;
	qp->resp.unasked = false;
	return true;
}

/*
 * Send the NAK that the stack has refused. @qp: the responder's QP; a NAK is due. Context: as
 * smr_reply_acks(). Returns as smr_reply_acks().
 */
bool smr_reply_nak_again(struct smr_qp *qp)
{
	struct smr_responder *resp = &qp->resp;

	resp->nak_due = aeth_send(qp, resp->nak_syndrome,
				  resp->nak_psn) == -EAGAIN;
	return !resp->nak_due;
}

/* A NAK acknowledges the requests before it. If the stack does not accept it, it stays due. */
static void nak_send(struct smr_qp *qp, u8 syndrome, u32 psn)
{
	qp->resp.acks = 0;
	qp->resp.unasked = false;
	qp->resp.nak_due = true;
	qp->resp.nak_syndrome = syndrome;
	qp->resp.nak_psn = psn;
	smr_reply_nak_again(qp);
}

static void nak_count(struct smr_qp *qp, u8 syndrome)
{
	smr_qp_inc(qp, SMR_CNT_NAKS_TX);
	if (syndrome == (SMR_AETH_NAK | SMR_NAK_REM_ACCESS))
		smr_qp_inc(qp, SMR_CNT_RESP_ACCESS);
	smr_tally(&qp->resp.served.naks, 1);
}

/*
 * Refuse a request. @qp: the caller owns its response task. @syndrome: AETH syndrome; for RNR, the
 * timer value is that of the QP. IBTA 9.7.5.1.1: after a NAK for a gap, and after a RNR NAK,
 * nothing is answered until the expected PSN arrives. Context: as @budget says.
 */
void smr_reply_nak(struct smr_qp *qp, const struct smr_op *op, u8 syndrome,
		   struct smr_budget *budget)
{
	u8 type = syndrome & SMR_AETH_TYPE_MASK;
	bool gap = syndrome == (SMR_AETH_NAK | SMR_NAK_PSN_SEQ);

	if (gap && qp->resp.nak_sent && !op->local)
		return;
	if (type == SMR_AETH_RNR) {
		syndrome |= qp->attr.min_rnr_timer;
		smr_tally(&qp->resp.served.rnr, 1);
	} else {
		nak_count(qp, syndrome);
	}
	if (op->local) {
		smr_loopback_answer(qp, op->local, SMR_LOCAL_REPLY, syndrome,
				    op->hdr->psn, budget);
		return;
	}
	qp->resp.nak_sent = gap || type == SMR_AETH_RNR;
	nak_send(qp, syndrome, qp->resp.epsn);
}

/*
 * Put the responder into the error state because of a request. @qp: the caller owns its response
 * task. @r: the reaction to the verdict. @why: the reason: enum smr_why_id. The state changes
 * before the completion, so a consumer that sees the completion also sees the state.
 */
void smr_reply_fatal(struct smr_qp *qp, const struct smr_reaction *r, u32 why)
{
	if (r->take)
		smr_recv_take(qp);
	smr_qp_set_error(qp);
	if (qp->resp.have_rwqe && r->recv)
		smr_recv_fail(qp, r->recv, why);
	smr_qp_flush(qp);
	if (r->event)
		smr_qp_event(qp, r->event);
}

/*
 * Refuse the rest of a READ. @qp: the caller owns its response task. @psn: PSN of the response that
 * the NAK replaces.
 */
void smr_reply_read_error(struct smr_qp *qp, u32 psn,
			  enum smr_resp_verdict verdict, struct smr_reason why)
{
	const struct smr_reaction *r = smr_reaction(qp, verdict);

	smr_qp_refused(qp, why, r->recv, 0, qp->service | IB_OPCODE_RDMA_READ_REQUEST,
		       psn);
	smr_reply_fatal(qp, r, why.id);
	nak_count(qp, r->syndrome);
	nak_send(qp, r->syndrome, psn);
}
