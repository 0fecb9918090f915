/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles, and the way from an address attribute to a path. */
#ifndef SMR_AH_H
#define SMR_AH_H

#include <rdma/ib_verbs.h>

#include "qp/av.h"

struct smr_env;

int smr_ah_create(struct smr_ah *ah, const struct smr_env *env,
		  const struct rdma_ah_attr *attr, gfp_t gfp);
void smr_ah_destroy(struct smr_ah *ah);

int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env);
void smr_ah_note(struct rdma_ah_attr *note, const struct rdma_ah_attr *attr);
void smr_ah_set_path(struct smr_path *path, const struct rdma_ah_attr *attr,
		     const struct smr_env *env, u32 qpn, u32 dest_qpn);

#endif /* SMR_AH_H */
