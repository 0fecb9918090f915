/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kinds of memory to register, single operations on it, and checks that a region allows exactly
 * what its rights say.
 */
#ifndef VT_RIGHTS_H
#define VT_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "endpoint.h"
#include "region.h"

enum vt_mem {
	VT_MEM_PLAIN,		/* anonymous, and not touched yet */
	VT_MEM_READ,		/* the same; each page has been read */
	VT_MEM_HUGE,		/* the same, of the size of a huge page, which may be of zeros */
	VT_MEM_FILE,		/* a private mapping of a file */
	VT_MEM_FILE_READ,	/* the same; each page has been read */
	VT_MEM_SHARED,		/* a shared mapping of a file */
	VT_MEM_READ_ONLY,	/* written to, and mapped read-only since */
	VT_MEM_SHARED_READ_ONLY,	/* a shared mapping of a file, read-only */
	VT_MEM_NONE,		/* not mapped */
	VT_MEM_HOLE,		/* all but the last page is mapped */
};

/**
 * struct vt_place - memory and its registration
 * @base: the mapping; NULL: there is none
 * @room: bytes of it
 * @p: the first byte of the region, which is not the first of a page
 * @len: its bytes
 * @sort: the kind of memory
 * @iova: the address of @p in work requests
 * @mr: or NULL
 */
struct vt_place {
	uint8_t *base;
	size_t room;
	uint8_t *p;
	size_t len;
	enum vt_mem sort;
	uint64_t iova;
	struct ibv_mr *mr;
};

int vt_place_map(struct vt_place *r, enum vt_mem sort);
int vt_place_reg(struct vt_place *r, struct ibv_pd *pd, int access);
int vt_place_open(struct vt_place *r, struct ibv_pd *pd, int access);
void vt_place_close(struct vt_place *r);

bool vt_place_writable(const struct vt_place *r);
struct ibv_sge vt_place_sge(const struct vt_place *r, size_t off,
			     uint32_t len);

/**
 * struct vt_remote - address and key for a peer's access to memory
 * @addr: the first byte, as the key names it
 * @rkey: a region's, or a window's
 */
struct vt_remote {
	uint64_t addr;
	uint32_t rkey;
};

int vt_op(struct vt_ep *ep, enum ibv_wr_opcode op, struct ibv_sge *local,
	  struct vt_remote remote);

bool vt_local_allows(struct vt_pair *pair, struct vt_place *r, int access);
bool vt_remote_allows(struct vt_pair *pair, struct vt_place *r,
		      struct vt_remote remote, size_t off, size_t len,
		      int access);
bool vt_place_allows(struct vt_pair *pair, struct vt_place *r, int access);

#endif /* VT_RIGHTS_H */
