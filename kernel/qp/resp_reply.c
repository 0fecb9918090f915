// SPDX-License-Identifier: GPL-2.0
#include "qp/resp_reply.h"

#include <rdma/ib_verbs.h>

#include "net/wire.h"
#include "qp/core.h"

#define NAK(code)	.nak = true, .syndrome = SMR_AETH_NAK | (code)

/* IBTA table 59, "Responder error behavior summary", for RC */
static const struct smr_reaction reactions[SMR_RESP_NR] = {
	[SMR_RESP_GAP] = { NAK(SMR_NAK_PSN_SEQ) },
	[SMR_RESP_RNR] = { .nak = true, .syndrome = SMR_AETH_RNR },
	[SMR_RESP_INV_REQ] = { NAK(SMR_NAK_INV_REQ), .fatal = true,
		.event = IB_EVENT_QP_REQ_ERR, .recv = IB_WC_REM_INV_REQ_ERR },
	[SMR_RESP_ACCESS] = { NAK(SMR_NAK_REM_ACCESS), .fatal = true,
		.event = IB_EVENT_QP_ACCESS_ERR, .recv = IB_WC_REM_ACCESS_ERR },
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
 * The same for UC, UD and frames: silence, and the receive work request in use
 * is there for the next message, unless it is itself what is wrong.
 */
static const struct smr_reaction unreliable_reactions[SMR_RESP_NR] = {
	[SMR_RESP_TOO_LONG] = { .shared = IB_WC_LOC_LEN_ERR },
	[SMR_RESP_BAD_RECV] = { .fatal = true, .recv = IB_WC_LOC_QP_OP_ERR },
	[SMR_RESP_LOC_PROT] = { .fatal = true, .recv = IB_WC_LOC_PROT_ERR },
	[SMR_RESP_BROKEN] = { .fatal = true, .event = IB_EVENT_QP_FATAL },
};

/**
 * smr_reaction() - what follows from a verdict
 * @qp: the responder's QP
 * @verdict: none of those that a request is executed by, or comes again
 *
 * Context: any.
 * Return: it, for as long as the module is there.
 */
const struct smr_reaction *smr_reaction(const struct smr_qp *qp,
					enum smr_resp_verdict verdict)
{
	return smr_qp_is_reliable(qp) ? &reactions[verdict] :
					&unreliable_reactions[verdict];
}
