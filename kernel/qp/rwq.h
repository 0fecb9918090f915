/* SPDX-License-Identifier: GPL-2.0 */
/* Receive work queues: create, modify, destroy. */
#ifndef SMR_RWQ_H
#define SMR_RWQ_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct smr_create_wq_resp;
struct smr_env;
struct smr_rwq;
struct smr_why;

extern const struct uapi_definition smr_rwq_uapi[];

struct smr_rwq *smr_rwq_create(struct ib_pd *pd, struct smr_env *env,
			       struct ib_wq_init_attr *init,
			       struct ib_ucontext *uctx,
			       struct smr_create_wq_resp *resp,
			       struct smr_why *why);
int smr_rwq_modify(struct smr_rwq *rwq, const struct ib_wq_attr *attr, u32 mask,
		   struct smr_why *why);
void smr_rwq_destroy(struct smr_rwq *rwq);

#endif /* SMR_RWQ_H */
