/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Direct access to rings and doorbells without libibverbs, as defined in softmr-abi.h.
 * vt_rings_find() fails with EOPNOTSUPP on a device without them.
 */
#ifndef VT_RINGS_H
#define VT_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include <softmr-abi.h>

#include "endpoint.h"

/**
 * struct vt_ring - a ring that is mapped into this process
 * @hdr: where; NULL: not found
 * @len: its bytes, whole pages
 */
struct vt_ring {
	struct smr_ring_hdr *hdr;
	size_t len;
};

/**
 * struct vt_arena - a mapping that has rings
 * @p: where
 * @len: its bytes
 * @offset: what mmap() takes
 */
struct vt_arena {
	void *p;
	size_t len;
	uint64_t offset;
};

/**
 * struct vt_rings - the rings of an endpoint
 * @sq_stride: bytes from one entry to the next
 * @rq_stride: likewise
 * @depth: entries of @sq, and of @rq
 */
struct vt_rings {
	struct vt_ring scq;
	struct vt_ring rcq;
	struct vt_ring sq;
	struct vt_ring rq;
	uint32_t sq_stride;
	uint32_t rq_stride;
	uint32_t depth;
};

int vt_rings_find(struct vt_rings *rings, struct vt_ep *ep);
int vt_arena_find(const struct vt_ring *ring, struct vt_arena *arena);
int vt_ring_map_again(struct vt_ring *again, const struct vt_ring *ring, int fd);
int vt_doorbell(struct ibv_context *ctx, unsigned long request, uint32_t qpn);

static inline void *vt_sq_entry(const struct vt_rings *rings, uint32_t idx)
{
	return (uint8_t *)(rings->sq.hdr + 1) +
	       (size_t)(idx % rings->depth) * rings->sq_stride;
}

static inline void *vt_rq_entry(const struct vt_rings *rings, uint32_t idx)
{
	return (uint8_t *)(rings->rq.hdr + 1) +
	       (size_t)(idx % rings->depth) * rings->rq_stride;
}

static inline void vt_set_index(uint32_t *index, uint32_t value)
{
	__atomic_store_n(index, value, __ATOMIC_SEQ_CST);
}

/* Ring for an endpoint's send queue. */
static inline int vt_ring_sq(struct vt_ep *ep)
{
	return vt_doorbell(ep->dev.ctx, SMR_IOC_RING_SQ, ep->qp->qp_num);
}

#endif /* VT_RINGS_H */
