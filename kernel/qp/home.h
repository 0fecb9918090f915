/* SPDX-License-Identifier: GPL-2.0 */
/* When a kernel thread looks into a send queue by itself, so that nobody rings its doorbell. */
#ifndef SMR_HOME_H
#define SMR_HOME_H

#include "qp/task.h"

struct smr_qp;

int smr_homes_init(void);
void smr_homes_exit(void);

void smr_home_init(struct smr_qp *qp);
void smr_home_fini(struct smr_qp *qp);
void smr_home_close(struct smr_qp *qp);
void smr_home_rung(struct smr_qp *qp);
enum smr_step smr_home_step(struct smr_qp *qp, struct smr_run *run,
			    enum smr_step step);

#endif /* SMR_HOME_H */
