/* SPDX-License-Identifier: GPL-2.0 */
/* Ethernet frames: RAW_PACKET QPs, and the steering rules by which they receive. */
#ifndef SMR_RAW_H
#define SMR_RAW_H

#include <linux/kconfig.h>

#include "qp/core.h"
#include "why.h"

struct ib_flow;
struct ib_flow_attr;

#if IS_ENABLED(CONFIG_INFINIBAND_SOFTMR_RAW)
int smr_raw_open(struct smr_env *env);
void smr_raw_resync(struct smr_env *env);
void smr_raw_leave(struct smr_env *env);
void smr_raw_close(struct smr_env *env);
struct ib_flow *smr_rule_create(struct smr_qp *qp,
				const struct ib_flow_attr *attr);
void smr_rule_destroy(struct ib_flow *ibflow);
#else
static inline int smr_raw_open(struct smr_env *env)
{
	return 0;
}

static inline void smr_raw_resync(struct smr_env *env) { }
static inline void smr_raw_leave(struct smr_env *env) { }
static inline void smr_raw_close(struct smr_env *env) { }

static inline struct ib_flow *smr_rule_create(struct smr_qp *qp,
					      const struct ib_flow_attr *attr)
{
	return ERR_PTR(smr_qp_why(qp, FLOW_QP, qp->ibqp.qp_type));
}

static inline void smr_rule_destroy(struct ib_flow *ibflow) { }
#endif

#endif /* SMR_RAW_H */
