/* SPDX-License-Identifier: GPL-2.0 */
/* Sending and receiving of Ethernet frames by RAW_PACKET QPs. */
#ifndef SMR_RAW_H
#define SMR_RAW_H

#include "qp/core.h"

enum smr_step smr_raw_send(struct smr_qp *qp, struct smr_swqe *wqe,
			   struct smr_budget *budget);

enum smr_step smr_raw_receive(struct smr_qp *qp, struct smr_op *op,
			      struct smr_budget *budget);

#endif /* SMR_RAW_H */
