/* SPDX-License-Identifier: GPL-2.0 */
/* Reasons for failed send work requests. */
#ifndef SMR_SEND_WHY_H
#define SMR_SEND_WHY_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct smr_qp;
struct smr_swqe;
struct smr_reason;

struct smr_reason smr_send_why(const struct smr_qp *qp, const struct smr_swqe *wqe,
			       enum ib_wc_status status);

#endif /* SMR_SEND_WHY_H */
