/* SPDX-License-Identifier: GPL-2.0 */
/* The requester: takes work requests from the send queue and sends them. */
#ifndef SMR_REQUESTER_H
#define SMR_REQUESTER_H

#include <linux/types.h>

#include "qp/task.h"

struct smr_qp;

enum smr_step smr_requester_run(struct smr_qp *qp, struct smr_budget *budget);
void smr_requester_start(struct smr_qp *qp, u32 psn);
void smr_requester_reset(struct smr_qp *qp);

void smr_send_flush_all(struct smr_qp *qp);

#endif /* SMR_REQUESTER_H */
