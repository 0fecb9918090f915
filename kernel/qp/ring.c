// SPDX-License-Identifier: GPL-2.0
/* The memory of rings. */
#include "qp/ring.h"

#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/vmalloc.h>

#include "arena.h"
#include "ucontext.h"

/* Set depth, stride and size. -EINVAL: too large for the ABI. */
static int ring_set_size(struct smr_ring *ring, u32 depth, u32 stride)
{
	size_t size;

	if (!depth || depth > INT_MAX / 2 + 1)
		return -EINVAL;
	ring->depth = roundup_pow_of_two(depth);
	ring->stride = stride;
	size = size_add(size_mul(ring->depth, stride),
			sizeof(struct smr_ring_hdr));
	if (size > INT_MAX - PAGE_SIZE)
		return -EINVAL;
	ring->size = PAGE_ALIGN(size);
	return 0;
}

/**
 * smr_ring_create() - create an empty ring
 * @ring: filled in
 * @user: its owner; for a process all but max_* is set in its info
 * @depth: entries wanted; rounded up to a power of two
 * @stride: bytes from one entry to the next, a multiple of 8
 * @extra: additional bytes of kernel memory of the queue, charged with the ring
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (no depth, or too large), -ENOMEM (also: more than the user's
 * allowance and RLIMIT_MEMLOCK).
 */
int smr_ring_create(struct smr_ring *ring, const struct smr_ring_user *user,
		    u32 depth, u32 stride, size_t extra)
{
	int ret;

	ret = ring_set_size(ring, depth, stride);
	if (ret)
		return ret;
	ring->idx = 0;
	ring->part.arena = NULL;
	if (!user->uctx) {
		ring->hdr = __vmalloc(ring->size, GFP_KERNEL | __GFP_ZERO |
				      __GFP_NOWARN);
		return ring->hdr ? 0 : -ENOMEM;
	}
	ret = smr_arenas_alloc(&to_smr_ucontext(user->uctx)->arenas, &ring->part,
			       ring->size, extra, user->info);
	if (ret)
		return ret;
	ring->hdr = ring->part.mem;
	user->info->depth = ring->depth;
	user->info->stride = ring->stride;
	return 0;
}

/**
 * smr_ring_destroy() - end a ring
 * @ring: the ring, no longer used; or zeroed
 *
 * A process that still maps it keeps the pages until it unmaps them.
 *
 * Context: process, may sleep.
 */
void smr_ring_destroy(struct smr_ring *ring)
{
	if (ring->part.arena)
		smr_arenas_free(&ring->part);
	else
		vfree(ring->hdr);
	ring->hdr = NULL;
}

/**
 * smr_ring_reset() - empty a ring and set its indices to 0
 * @ring: the ring
 *
 * The process must do the same on its side, or it corrupts its own ring.
 *
 * Context: the owner of @ring->idx.
 */
void smr_ring_reset(struct smr_ring *ring)
{
	ring->idx = 0;
	WRITE_ONCE(ring->hdr->prod, 0);
	WRITE_ONCE(ring->hdr->cons, 0);
	WRITE_ONCE(ring->hdr->flags, 0);
}
