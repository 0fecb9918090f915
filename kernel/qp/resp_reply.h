/* SPDX-License-Identifier: GPL-2.0 */
/* What a responder does about a request that it does not execute. */
#ifndef SMR_REACTION_H
#define SMR_REACTION_H

#include <linux/types.h>

#include "qp/core.h"

/**
 * struct smr_reaction - what follows from a verdict
 * @nak: answer with @syndrome
 * @syndrome: AETH syndrome; a RNR's timer value is the QP's
 * @fatal: IBTA 9.9.3: the QP goes to the error state
 * @event: raised when @fatal
 * @recv: when @fatal, how the receive work request in use completes, if any
 * @shared: how it completes when it is from a shared queue, which it cannot
 *	be given back to; IBTA's class E
 */
struct smr_reaction {
	bool nak;
	u8 syndrome;
	bool fatal;
	u8 event;
	u8 recv;
	u8 shared;
};

const struct smr_reaction *smr_reaction(const struct smr_qp *qp,
					enum smr_resp_verdict verdict);

#endif /* SMR_REACTION_H */
