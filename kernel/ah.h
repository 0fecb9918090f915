/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles, and the way from an address attribute to a path. */
#ifndef SMR_AH_H
#define SMR_AH_H

#include <linux/container_of.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "xmit.h"

struct smr_env;

/**
 * struct smr_ahtab - the address handles of a device that processes made
 * @xa: handle -> struct smr_ah
 */
struct smr_ahtab {
	struct xarray xa;
};

/**
 * struct smr_ah - an address handle
 * @ibah: the core's part
 * @tab: where @handle is from
 * @handle: what a process's work request names it by; 0: none
 * @attr: as it was created, without references
 * @path: how to reach the address
 *
 * Constant while it lives, but for what @path guards itself.
 */
struct smr_ah {
	struct ib_ah ibah;
	struct smr_ahtab *tab;
	u32 handle;
	struct rdma_ah_attr attr;
	struct smr_path path;
};

static inline struct smr_ah *to_smr_ah(const struct ib_ah *ibah)
{
	return container_of(ibah, struct smr_ah, ibah);
}

void smr_ahtab_init(struct smr_ahtab *tab);
void smr_ahtab_fini(struct smr_ahtab *tab);

int smr_ah_create(struct smr_ah *ah, struct smr_ahtab *tab,
		  const struct smr_env *env, const struct rdma_ah_attr *attr,
		  bool user);
void smr_ah_destroy(struct smr_ah *ah);

int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env);
void smr_ah_set_path(struct smr_path *path, const struct rdma_ah_attr *attr,
		     const struct smr_env *env, u32 qpn, u32 dest_qpn);

#endif /* SMR_AH_H */
