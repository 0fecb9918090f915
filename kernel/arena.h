/* SPDX-License-Identifier: GPL-2.0 */
/* Arenas: memory that many rings of one process share, so that one mmap() maps them all. */
#ifndef SMR_ARENA_H
#define SMR_ARENA_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "uapi/softmr-abi.h"

struct smr_mmap;
struct smr_pool;

/**
 * struct smr_arenas - the memory of a context's rings
 * @lock: guards the others
 * @uctx: the context; constant
 * @pool: the pool that the memory is charged to; constant
 * @partial: arenas with free pages; tried from the front
 * @bytes: size of all rings of the context, in bytes
 * @last_id: id of the arena that was created last
 */
struct smr_arenas {
	struct mutex lock;	/* see above */
	struct ib_ucontext *uctx;
	struct smr_pool *pool;
	struct list_head partial;
	size_t bytes;
	u64 last_id;
};

void smr_arenas_init(struct smr_arenas *arenas, struct ib_ucontext *uctx,
		     struct smr_pool *pool);
void smr_arenas_fini(struct smr_arenas *arenas);
struct smr_mmap *smr_arenas_alloc(struct smr_arenas *arenas, size_t size,
				  size_t extra, struct smr_ring_map *map);

#endif /* SMR_ARENA_H */
