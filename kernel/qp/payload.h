/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of messages of one packet. */
#ifndef SMR_PAYLOAD_H
#define SMR_PAYLOAD_H

#include <linux/types.h>

#include "qp/core.h"

bool smr_payload_open(struct smr_qp *qp, const struct smr_swqe *wqe);
enum smr_step smr_payload_result(struct smr_qp *qp, int err,
				 struct smr_budget *budget);

#endif /* SMR_PAYLOAD_H */
