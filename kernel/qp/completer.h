/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The completer: handles the responder's answers, retires work requests, and decides what to
 * retransmit.
 */
#ifndef SMR_COMPLETER_H
#define SMR_COMPLETER_H

#include "qp/task.h"

struct smr_qp;

void smr_completer_init(struct smr_qp *qp);
void smr_completer_reset(struct smr_qp *qp);
void smr_completer_fini(struct smr_qp *qp);
void smr_completer_stop(struct smr_qp *qp);
enum smr_step smr_completer_run(struct smr_qp *qp, struct smr_budget *budget);

#endif /* SMR_COMPLETER_H */
