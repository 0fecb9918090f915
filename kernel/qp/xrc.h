/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Extended reliable connections at the responder, IBTA annex A14: each request contains the
 * number of its SRQ. Keys are checked against the PD of that SRQ.
 */
#ifndef SMR_XRC_H
#define SMR_XRC_H

#include <linux/types.h>

#include "pd.h"
#include "qp/srq.h"
#include "qp/core.h"
#include "net/wire.h"

struct smr_op;
struct smr_why_log;

/**
 * struct smr_xrcd - an XRC domain; compared by its address only
 * @ibxrcd: the core's part
 * @user: the user that created it, a reference: another user who has opened the domain may keep
 *	it longer than the context exists. NULL: a kernel consumer
 * @whys: the refusals of that context, a reference; NULL likewise
 * @limits: of @user, or of the device
 */
struct smr_xrcd {
	struct ib_xrcd ibxrcd;
	struct smr_user *user;
	struct smr_why_log *whys;
	struct smr_limits *limits;
};

static inline struct smr_xrcd *to_smr_xrcd(const struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct smr_xrcd, ibxrcd);
}

static inline bool smr_qp_is_xrc(const struct smr_qp *qp)
{
	return qp->service == SMR_TRANSPORT_XRC;
}

/* The SRQ that receives are taken from now, or NULL. */
static inline struct smr_srq *smr_recv_srq(const struct smr_qp *qp)
{
	return smr_qp_is_xrc(qp) ? qp->resp.xsrq : qp->srq;
}

/* The protection domain that a request's keys must belong to. */
static inline const struct smr_pd *smr_resp_pd(const struct smr_qp *qp)
{
	return smr_qp_is_xrc(qp) ? to_smr_pd(qp->resp.xsrq->ibsrq.pd) : qp->pd;
}

bool smr_xrc_enter(struct smr_qp *qp, u32 srqn);
void smr_xrc_leave(struct smr_qp *qp);
bool smr_xrc_check(const struct smr_qp *qp, const struct smr_op *op);

#endif /* SMR_XRC_H */
