/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings: queues in memory that a process maps. One side is the kernel. The kernel does not
 * trust what the other side writes, and reads it only once.
 */
#ifndef SMR_RING_H
#define SMR_RING_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "arena.h"
#include "uapi/softmr-abi.h"

/**
 * struct smr_ring - the kernel's side of a ring
 * @hdr: the shared head; the entries follow it. NULL: there is no ring
 * @depth: entries, a power of two
 * @stride: bytes from one entry to the next
 * @size: bytes in all, page aligned
 * @idx: the kernel's own index (cons of a work queue, prod of a CQ); the copy in @hdr is only
 *	for the other side
 * @part: the memory; none for a kernel consumer's ring
 *
 * @idx belongs to the user of the ring (a task, or the CQ's lock). The others
 * are constant.
 */
struct smr_ring {
	struct smr_ring_hdr *hdr;
	u32 depth;
	u32 stride;
	size_t size;
	u32 idx;
	struct smr_arena_part part;
};

/**
 * struct smr_ring_user - owner of a ring
 * @uctx: the context of the process that maps it, and is charged for it; NULL: a kernel
 *	consumer
 * @info: set to the place of the ring
 */
struct smr_ring_user {
	struct ib_ucontext *uctx;
	struct smr_ring_info *info;
};

int smr_ring_create(struct smr_ring *ring, const struct smr_ring_user *user,
		    u32 depth, u32 stride, size_t extra);
void smr_ring_destroy(struct smr_ring *ring);
void smr_ring_reset(struct smr_ring *ring);

/* Is it a process's ring? That of a kernel consumer can be trusted. */
static inline bool smr_ring_is_user(const struct smr_ring *ring)
{
	return ring->part.arena;
}

/* The shared slot of any index. */
static inline void *smr_ring_slot(const struct smr_ring *ring, u32 idx)
{
	return (u8 *)(ring->hdr + 1) +
	       (size_t)(idx & (ring->depth - 1)) * ring->stride;
}

/*
 * The number of entries that wait for the kernel, for diagnosis: the user may have written any
 * value.
 */
static inline u32 smr_ring_waiting(const struct smr_ring *ring)
{
	/* The consumer may change @ring->idx concurrently. */
	u32 idx = data_race(READ_ONCE(ring->idx));

	return min(READ_ONCE(ring->hdr->prod) - idx, ring->depth);
}

/*
 * Work queues: the number of entries that the user has published and the kernel has not
 * consumed. -EIO: more than fit, so the user has corrupted its ring.
 */
static inline int smr_ring_pending(const struct smr_ring *ring)
{
	/* Pairs with the producer's release: its entries are complete. */
	u32 n = smp_load_acquire(&ring->hdr->prod) - ring->idx;

	return likely(n <= ring->depth) ? (int)n : -EIO;
}

/**
 * smr_ring_copy_at() - copy a part of an entry out of a ring
 * @ring: the ring
 * @idx: index of the entry
 * @off: offset of the part in the entry
 * @to: the copy
 * @len: bytes; the part ends within @ring->stride
 *
 * Check and use only the copy: the other side may change the shared entry at any time.
 */
static inline void smr_ring_copy_at(const struct smr_ring *ring, u32 idx,
				    size_t off, void *to, size_t len)
{
	memcpy(to, smr_ring_slot(ring, idx) + off, len);
	/* The compiler must not read a field from the shared entry again. */
	barrier();
}

/* smr_ring_copy_at() from the start of an entry */
static inline void smr_ring_copy(const struct smr_ring *ring, u32 idx,
				 void *to, size_t len)
{
	smr_ring_copy_at(ring, idx, 0, to, len);
}

/* Work queues: return the entries before @ring->idx to the user. */
static inline void smr_ring_publish_cons(struct smr_ring *ring)
{
	/* Pairs with the producer's acquire: the entries have been copied. */
	smp_store_release(&ring->hdr->cons, ring->idx);
}

/* CQs: publish the entries before @ring->idx to the user. */
static inline void smr_ring_publish_prod(struct smr_ring *ring)
{
	/* Pairs with the consumer's acquire: the entries are complete. */
	smp_store_release(&ring->hdr->prod, ring->idx);
}

/*
 * Set or clear the request for a doorbell: enum smr_ring_flags. After setting it, call
 * smr_ring_pending() again: the user rings no doorbell for entries that it published
 * before it saw the flag.
 */
static inline void smr_ring_set_flags(struct smr_ring *ring, u32 flags)
{
	WRITE_ONCE(ring->hdr->flags, flags);
	/* Pairs with the barrier that the producer needs. */
	smp_mb();
}

#endif /* SMR_RING_H */
