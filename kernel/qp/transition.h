/* SPDX-License-Identifier: GPL-2.0 */
/* The attributes that each transition of a QP requires, and allows. */
#ifndef SMR_QP_TRANSITION_H
#define SMR_QP_TRANSITION_H

#include <rdma/ib_verbs.h>

struct smr_reason;

struct smr_reason smr_transition_why(enum ib_qp_type type, enum ib_qp_state cur,
				     enum ib_qp_state next, int mask);

#endif /* SMR_QP_TRANSITION_H */
