/* SPDX-License-Identifier: GPL-2.0 */
/* Which attributes a QP's way from state to state needs, and which it allows. */
#ifndef SMR_QP_TRANSITION_H
#define SMR_QP_TRANSITION_H

#include <rdma/ib_verbs.h>

struct smr_why;

int smr_transition_check(enum ib_qp_type type, enum ib_qp_state cur,
			 enum ib_qp_state next, int mask, struct smr_why *why);

#endif /* SMR_QP_TRANSITION_H */
