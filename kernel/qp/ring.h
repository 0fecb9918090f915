/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings: queues in memory that a process maps. One side is the kernel. The kernel does
 * not trust what the other side writes, and does not read it twice.
 */
#ifndef SMR_RING_H
#define SMR_RING_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "uapi/softmr-abi.h"

struct smr_mmap;

/**
 * struct smr_ring - a ring of the kernel's
 * @hdr: the shared head; the entries follow it. NULL: there is no ring
 * @depth: entries, a power of two
 * @stride: bytes from one entry to the next
 * @size: bytes in all, page aligned
 * @idx: the kernel's own index (cons of a work queue, prod of a CQ); what it
 *	writes into the head is only for the other side
 * @mmap: the memory; NULL for a kernel consumer's ring
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
	struct smr_mmap *mmap;
};

/**
 * struct smr_ring_user - whose a ring is to be
 * @uctx: the context of the process that maps it, and pays for it; NULL: a consumer in
 *	the kernel
 * @info: the answer: the ring
 * @map: the answer: the mapping that it shares with others. Not touched if there is none
 */
struct smr_ring_user {
	struct ib_ucontext *uctx;
	struct smr_ring_info *info;
	struct smr_ring_map *map;
};

int smr_ring_create(struct smr_ring *ring, const struct smr_ring_user *user,
		    u32 depth, u32 stride, size_t extra);
void smr_ring_destroy(struct smr_ring *ring);
void smr_ring_reset(struct smr_ring *ring);

/* Does a process map it? A kernel consumer's ring can be trusted. */
static inline bool smr_ring_is_user(const struct smr_ring *ring)
{
	return ring->mmap;
}

/* The shared slot of any index. */
static inline void *smr_ring_slot(const struct smr_ring *ring, u32 idx)
{
	return (u8 *)(ring->hdr + 1) +
	       (size_t)(idx & (ring->depth - 1)) * ring->stride;
}

/*
 * How many entries wait for the kernel, for diagnosis: what the user writes may be
 * anything.
 */
static inline u32 smr_ring_waiting(const struct smr_ring *ring)
{
	/* The consumer may move @ring->idx meanwhile. */
	u32 idx = data_race(READ_ONCE(ring->idx));

	return min(READ_ONCE(ring->hdr->prod) - idx, ring->depth);
}

/*
 * Work queues: how many entries the user has published and the kernel has not consumed.
 * -EIO: more than fit, so the user has corrupted its ring.
 */
static inline int smr_ring_pending(const struct smr_ring *ring)
{
	/* Pairs with the producer's release: its entries are there to copy. */
	u32 n = smp_load_acquire(&ring->hdr->prod) - ring->idx;

	return likely(n <= ring->depth) ? (int)n : -EIO;
}

/**
 * smr_ring_copy_at() - take the kernel's own copy of a part of an entry
 * @ring: the ring
 * @idx: which entry
 * @off: where in the entry the part begins
 * @to: the copy
 * @len: bytes; the part ends within @ring->stride
 *
 * Check and use only the copy: the other side may change the shared entry at any time.
 */
static inline void smr_ring_copy_at(const struct smr_ring *ring, u32 idx,
				    size_t off, void *to, size_t len)
{
	memcpy(to, smr_ring_slot(ring, idx) + off, len);
	/* The compiler may not go back to the shared entry for a field. */
	barrier();
}

/* smr_ring_copy_at() from the start of an entry */
static inline void smr_ring_copy(const struct smr_ring *ring, u32 idx,
				 void *to, size_t len)
{
	smr_ring_copy_at(ring, idx, 0, to, len);
}

/* Work queues: give the entries before @ring->idx back to the user. */
static inline void smr_ring_publish_cons(struct smr_ring *ring)
{
	/* Pairs with the producer's acquire: the entries have been copied. */
	smp_store_release(&ring->hdr->cons, ring->idx);
}

/* CQs: let the user see the entries before @ring->idx. */
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
