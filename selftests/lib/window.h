/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows: what they are made of, one bind, and how it ends. */
#ifndef VT_WINDOW_H
#define VT_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "endpoint.h"
#include "rights.h"

/**
 * struct vt_window - a window, and the region that it is to be bound to
 * @mr: NULL: the test has deregistered it
 * @mw: or NULL
 */
struct vt_window {
	struct ibv_mr *mr;
	struct ibv_mw *mw;
};

/**
 * struct vt_bind - what a window is bound to
 * @mr: or NULL
 * @addr: the first byte, as @mr names it
 * @len: bytes
 * @access: the window's rights
 */
struct vt_bind {
	struct ibv_mr *mr;
	uint64_t addr;
	uint64_t len;
	int access;
};

struct ibv_mr *vt_window_reg(struct vt_ep *ep, size_t len);
int vt_window_open(struct vt_window *w, struct vt_ep *ep,
		   enum ibv_mw_type type);
int vt_window_close(struct vt_window *w);

int vt_bind(struct vt_ep *ep, struct ibv_mw *mw, const struct vt_bind *to);
int vt_bind_given(struct vt_ep *ep, struct ibv_mw *mw, uint32_t rkey,
		  const struct vt_bind *to);
int vt_bind_wr(struct vt_ep *ep, struct ibv_mw *mw, uint32_t rkey,
	       const struct vt_bind *to);
int vt_bind_any(struct vt_ep *ep, struct ibv_mw *mw, const struct vt_bind *to);
int vt_bind_page(struct vt_ep *ep, struct ibv_mw *mw, struct ibv_mr *mr);
int vt_write_through(struct vt_pair *pair, uint32_t rkey);
int vt_invalidate(struct vt_ep *ep, uint32_t rkey);
int vt_send_invalidate(struct vt_ep *ep, uint32_t rkey);

#endif /* VT_WINDOW_H */
