/* SPDX-License-Identifier: GPL-2.0 */
/* A responder's answers, and the reactions to requests that it refuses. */
#ifndef SMR_RESP_REPLY_H
#define SMR_RESP_REPLY_H

#include <linux/types.h>

#include "qp/core.h"

struct smr_reason;

/**
 * struct smr_reaction - the reaction to a verdict
 * @nak: answer with @syndrome
 * @syndrome: AETH syndrome; for RNR, the timer value is that of the QP
 * @fatal: IBTA 9.9.3: the QP goes to the error state
 * @event: raised if @fatal
 * @take: take a receive work request, which then is in use
 * @recv: if @fatal, status of the receive work request in use, if any
 * @shared: its status if it is from an SRQ, to which it cannot be returned; IBTA's class E
 */
struct smr_reaction {
	bool nak;
	u8 syndrome;
	bool fatal;
	bool take;
	u8 event;
	u8 recv;
	u8 shared;
};

const struct smr_reaction *smr_reaction(const struct smr_qp *qp,
					enum smr_resp_verdict verdict);

bool smr_reply_acks(struct smr_qp *qp);
bool smr_reply_nak_again(struct smr_qp *qp);
void smr_reply_nak(struct smr_qp *qp, const struct smr_op *op, u8 syndrome,
		   struct smr_budget *budget);
void smr_reply_fatal(struct smr_qp *qp, const struct smr_reaction *r, u32 why);
void smr_reply_read_error(struct smr_qp *qp, u32 psn,
			  enum smr_resp_verdict verdict, struct smr_reason why);

/* Acknowledge all executed requests. True: no ACK is due. */
static inline bool smr_reply_acks_flush(struct smr_qp *qp)
{
	return !qp->resp.acks || smr_reply_acks(qp);
}

/* The same, including requests that were executed without a request for an ACK. */
static inline bool smr_reply_unasked_flush(struct smr_qp *qp)
{
	return (!qp->resp.acks && !qp->resp.unasked) || smr_reply_acks(qp);
}

/* Send the NAK that the stack has refused. True: no NAK is due. */
static inline bool smr_reply_nak_flush(struct smr_qp *qp)
{
	return !qp->resp.nak_due || smr_reply_nak_again(qp);
}

#endif /* SMR_RESP_REPLY_H */
