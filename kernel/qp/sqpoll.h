/* SPDX-License-Identifier: GPL-2.0 */
/* Pollers: a kernel thread polls a send queue, so that its process need not ring the doorbell. */
#ifndef SMR_SQPOLL_H
#define SMR_SQPOLL_H

#include "qp/task.h"

struct smr_qp;

int smr_sqpolls_init(void);
void smr_sqpolls_exit(void);

void smr_sqpoll_init(struct smr_qp *qp);
void smr_sqpoll_fini(struct smr_qp *qp);
void smr_sqpoll_close(struct smr_qp *qp);
void smr_sqpoll_rung(struct smr_qp *qp);
enum smr_step smr_sqpoll_step(struct smr_qp *qp, struct smr_budget *budget,
			      enum smr_step step);

#endif /* SMR_SQPOLL_H */
