/* SPDX-License-Identifier: GPL-2.0 */
/* Checks of a request before it is executed; no side effects. */
#ifndef SMR_RESP_CHECK_H
#define SMR_RESP_CHECK_H

#include "qp/core.h"

struct smr_reason;

struct smr_reason smr_resp_why(const struct smr_qp *qp, const struct smr_op *op);
enum smr_resp_verdict smr_resp_check(struct smr_qp *qp,
				     const struct smr_op *op);

#endif /* SMR_RESP_CHECK_H */
