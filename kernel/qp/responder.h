/* SPDX-License-Identifier: GPL-2.0 */
/* The responder: executes what a peer requests, and answers. */
#ifndef SMR_RESPONDER_H
#define SMR_RESPONDER_H

#include <linux/types.h>

#include "qp/task.h"

struct smr_qp;
struct smr_rd_res;

void smr_responder_init(struct smr_qp *qp);
void smr_responder_resize(struct smr_qp *qp, struct smr_rd_res *res, u32 nr);
void smr_responder_start(struct smr_qp *qp, u32 psn);
void smr_responder_ack_executed(struct smr_qp *qp);
void smr_responder_reset(struct smr_qp *qp);
void smr_responder_fini(struct smr_qp *qp);
enum smr_step smr_responder_run(struct smr_qp *qp, struct smr_budget *budget);

#endif /* SMR_RESPONDER_H */
