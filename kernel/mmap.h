/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel memory that processes map: arenas of rings, and device memory. */
#ifndef SMR_MMAP_H
#define SMR_MMAP_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "account.h"

/**
 * struct smr_mmap - memory that processes can map
 * @entry: the core's part, which counts references
 * @mem: the memory, zeroed at first; page aligned
 * @size: bytes, whole pages
 * @pool: the pool it is charged to
 * @charge: the charge; under the pool's lock
 * @node: in @pool->mmap after its object is destroyed
 *
 * Constant except @charge and @node.
 */
struct smr_mmap {
	struct rdma_user_mmap_entry entry;
	void *mem;
	size_t size;
	struct smr_pool *pool;
	struct smr_charge charge;
	struct list_head node;
};

struct smr_mmap *smr_mmap_alloc(struct smr_pool *pool,
				struct ib_ucontext *uctx, size_t size);
void smr_mmap_free(struct smr_mmap *m);
void smr_mmap_fini(struct smr_pool *pool);
int smr_mmap_charge(struct smr_pool *pool, size_t size, struct smr_charge *charge);
void smr_mmap_uncharge(struct smr_pool *pool, struct smr_charge *charge);

int smr_mmap_map(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void smr_mmap_unmapped(struct rdma_user_mmap_entry *entry);

#endif /* SMR_MMAP_H */
