/* SPDX-License-Identifier: GPL-2.0 */
/* Device memory: a small store that processes allocate from, and map. */
#ifndef SMR_DM_H
#define SMR_DM_H

#include <linux/container_of.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>

#include "account.h"

struct smr_mem;
struct smr_mmap;
struct smr_why;

/* How much a device has, in bytes */
#define SMR_DM_SIZE	SZ_1M

/**
 * struct smr_dm_store - the device memory of one device
 * @pool: how much of it is in use
 */
struct smr_dm_store {
	struct smr_pool pool;
};

/**
 * struct smr_dm - a piece of device memory
 * @ibdm: the core's part
 * @mmap: the memory
 *
 * Constant. The core does not let it go while a region is on it.
 */
struct smr_dm {
	struct ib_dm ibdm;
	struct smr_mmap *mmap;
};

static inline struct smr_dm *to_smr_dm(const struct ib_dm *ibdm)
{
	return container_of(ibdm, struct smr_dm, ibdm);
}

void smr_dm_store_init(struct smr_dm_store *store);
void smr_dm_store_fini(struct smr_dm_store *store);
struct smr_dm *smr_dm_alloc(struct smr_dm_store *store,
			    struct ib_ucontext *uctx,
			    const struct ib_dm_alloc_attr *attr,
			    struct smr_why *why);
void smr_dm_free(struct smr_dm *dm);
struct smr_mem *smr_dm_mem(struct smr_dm *dm, u64 off, u64 length);

#endif /* SMR_DM_H */
