/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a request may be executed: verdicts without side effects. */
#ifndef SMR_RESP_CHECK_H
#define SMR_RESP_CHECK_H

#include <linux/types.h>

struct smr_op;
struct smr_qp;

/* What is to become of a request; see the tables in qp/resp_reply.c. */
enum smr_resp_verdict {
	SMR_RESP_OK,		/* execute it */
	SMR_RESP_MORE,		/* partly executed, call again */
	SMR_RESP_DEFER,		/* execute it in process context */
	SMR_RESP_PEER_PAGE,	/* local: the requester is to bring a page in */
	SMR_RESP_GONE,		/* local: the requester has taken it back */
	SMR_RESP_DROP,		/* as if it had never come */
	SMR_RESP_DUPLICATE,	/* executed before */
	SMR_RESP_GAP,		/* one before it is missing */
	SMR_RESP_RNR,		/* no receive work request */
	SMR_RESP_INV_REQ,	/* malformed, or not for this QP */
	SMR_RESP_ACCESS,	/* its key does not open that */
	SMR_RESP_TOO_LONG,	/* does not fit the receive work request */
	SMR_RESP_BAD_RECV,	/* the receive work request is malformed */
	SMR_RESP_LOC_PROT,	/* the receive work request's keys do not open */
	SMR_RESP_BROKEN,	/* the receive queue is */
	SMR_RESP_NO_MEMORY,	/* for what bringing pages in takes */
	SMR_RESP_PEER_PROT,	/* local: the requester's memory is no good */
	SMR_RESP_NR,
};

enum smr_resp_verdict smr_resp_check(struct smr_qp *qp,
				     const struct smr_op *op);

#endif /* SMR_RESP_CHECK_H */
