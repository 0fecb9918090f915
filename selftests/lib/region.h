/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A region over memory that a test has mapped, at one end of a pair, and all ways of RDMA
 * access to it. The other end uses its own buffer.
 */
#ifndef VT_REGION_H
#define VT_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "endpoint.h"

#define VT_ACCESS_ODP	(VT_ACCESS_ALL | IBV_ACCESS_ON_DEMAND)

/**
 * struct vt_region - memory at end b
 * @p: where it is
 * @len: bytes
 * @iova: the address that names the first byte
 * @mr: the registration
 */
struct vt_region {
	uint8_t *p;
	size_t len;
	uint64_t iova;
	struct ibv_mr *mr;
};

/* Ways to move bytes between the region and the peer's buffer */
enum vt_way {
	VT_WRITE,	/* a writes to the region */
	VT_READ,	/* a reads the region */
	VT_RECV,	/* a sends, b receives into the region */
	VT_SEND,	/* b sends from the region, a receives */
	VT_FETCH,	/* b reads a's buffer, into the region */
	VT_PUSH,	/* b writes to a's buffer, from the region */
	VT_WAYS,
};

int vt_need_odp(const struct vt_ep *ep, uint64_t caps);
void *vt_map(size_t len, size_t align, int flags, int fd);
int vt_region_reg(struct vt_region *r, struct ibv_pd *pd, void *p, size_t len,
		  uint64_t iova, int access);
void vt_region_close(struct vt_region *r);

int vt_region_post(struct vt_pair *pair, const struct vt_region *r,
		   enum vt_way way, size_t off, size_t len);
int vt_region_copy(struct vt_pair *pair, const struct vt_region *r,
		   enum vt_way way, size_t off, size_t len);
bool vt_region_moves(struct vt_pair *pair, const struct vt_region *r,
		     enum vt_way way, size_t off, size_t len);
bool vt_region_works(struct vt_pair *pair, const struct vt_region *r,
		     size_t off, size_t len);
int vt_pair_recover(struct vt_pair *pair);

#endif /* VT_REGION_H */
