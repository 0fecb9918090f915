/* SPDX-License-Identifier: GPL-2.0 */
/* Sending Ethernet frames. */
#ifndef SMR_RAW_SEND_H
#define SMR_RAW_SEND_H

#include "qp/task.h"

struct smr_qp;
struct smr_swqe;

int smr_raw_send(struct smr_qp *qp, struct smr_swqe *wqe, struct smr_run *run);

#endif /* SMR_RAW_SEND_H */
