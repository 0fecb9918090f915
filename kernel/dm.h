/* SPDX-License-Identifier: GPL-2.0 */
/* Device memory: a small store; processes allocate from it and map what they get. */
#ifndef SMR_DM_H
#define SMR_DM_H

#include <linux/container_of.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>

#include "account.h"

struct smr_mem;
struct smr_mmap;

/* Device memory of each device, in bytes */
#define SMR_DM_SIZE	SZ_1M

/**
 * struct smr_dm_store - the device memory of one device
 * @pool: its size, and the part in use
 */
struct smr_dm_store {
	struct smr_pool pool;
};

/**
 * struct smr_dm - an allocation of device memory
 * @ibdm: the core's part
 * @mmap: the memory
 *
 * Constant. The core does not free it while a region covers any of it.
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
			    const struct ib_dm_alloc_attr *attr);
void smr_dm_free(struct smr_dm *dm);
struct smr_mem *smr_dm_mem(struct smr_dm *dm, u64 off, u64 length);

#endif /* SMR_DM_H */
