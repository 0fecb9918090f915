/* SPDX-License-Identifier: GPL-2.0 */
/* Datagrams: each is one packet; a work request completes when it was sent. */
#ifndef SMR_UD_H
#define SMR_UD_H

#include "qp/core.h"

enum smr_step smr_ud_send(struct smr_qp *qp, struct smr_swqe *wqe,
			  struct smr_budget *budget);

/* Bytes in front of each message: a GRH, or an IPv4 header at the end of them */
#define SMR_GRH_LEN	40

enum smr_step smr_ud_receive(struct smr_qp *qp, struct smr_op *op,
			     struct smr_budget *budget);

#endif /* SMR_UD_H */
