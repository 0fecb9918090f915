/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles, and the way from an address attribute to a path. */
#ifndef SMR_AH_H
#define SMR_AH_H

#include <linux/container_of.h>
#include <rdma/ib_verbs.h>

#include "av.h"

struct smr_env;

/**
 * struct smr_ah - an address handle
 * @ibah: the core's part
 * @tab: where @av can be found
 * @attr: as it was created, without references
 * @av: what work requests use; they name it by @av->number
 *
 * Constant while it lives.
 */
struct smr_ah {
	struct ib_ah ibah;
	struct smr_ahtab *tab;
	struct rdma_ah_attr attr;
	struct smr_av *av;
};

static inline struct smr_ah *to_smr_ah(const struct ib_ah *ibah)
{
	return container_of(ibah, struct smr_ah, ibah);
}

int smr_ah_create(struct smr_ah *ah, const struct smr_env *env,
		  const struct rdma_ah_attr *attr, gfp_t gfp);
void smr_ah_destroy(struct smr_ah *ah);

int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env);
void smr_ah_set_path(struct smr_path *path, const struct rdma_ah_attr *attr,
		     const struct smr_env *env, u32 qpn, u32 dest_qpn);

#endif /* SMR_AH_H */
