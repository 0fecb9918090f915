/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a QP: initialize, publish, pause, reset and destroy it. */
#ifndef SMR_QP_LIFE_H
#define SMR_QP_LIFE_H

#include <linux/types.h>

struct smr_env;
struct smr_qp;

int __must_check smr_qp_init(struct smr_qp *qp, struct smr_env *env);
int smr_qp_publish(struct smr_qp *qp);
void smr_qp_fini(struct smr_qp *qp);
void smr_qp_pause(struct smr_qp *qp);
void smr_qp_resume(struct smr_qp *qp);
void smr_qp_reset(struct smr_qp *qp);
void smr_qp_ring_sq(struct smr_qp *qp);
void smr_qp_ring_rq(struct smr_qp *qp);

#endif /* SMR_QP_LIFE_H */
