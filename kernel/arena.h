/* SPDX-License-Identifier: GPL-2.0 */
/* Arenas: memory that many rings of one process share, so that one mmap() maps them all. */
#ifndef SMR_ARENA_H
#define SMR_ARENA_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "account.h"

struct smr_arena;
struct smr_ring_info;

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

/**
 * struct smr_arena_part - the memory of a ring
 * @arena: NULL: there is none
 * @mem: zeroed at first; page aligned
 * @npages: its size
 * @charge: of memory that the ring's user allocates besides
 */
struct smr_arena_part {
	struct smr_arena *arena;
	void *mem;
	unsigned int npages;
	struct smr_charge charge;
};

void smr_arenas_init(struct smr_arenas *arenas, struct ib_ucontext *uctx,
		     struct smr_pool *pool);
void smr_arenas_fini(struct smr_arenas *arenas);
int smr_arenas_alloc(struct smr_arenas *arenas, struct smr_arena_part *part,
		     size_t size, size_t extra, struct smr_ring_info *info);
void smr_arenas_free(struct smr_arena_part *part);

#endif /* SMR_ARENA_H */
