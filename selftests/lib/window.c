// SPDX-License-Identifier: GPL-2.0
#include "window.h"

#include <errno.h>
#include <string.h>

#include "region.h"
#include "sizes.h"
#include "work.h"

#define WR_ID	0x3171d030

/**
 * vt_window_reg() - register a region that windows can be bound to
 * @ep: whose buffer
 * @len: the first bytes of the buffer
 *
 * Return: the region, NULL with errno
 */
struct ibv_mr *vt_window_reg(struct vt_ep *ep, size_t len)
{
	return ibv_reg_mr(ep->pd, ep->buf.p, len,
			  VT_ACCESS_ALL | IBV_ACCESS_MW_BIND);
}

/**
 * vt_window_open() - make a window, not bound yet, and a region over a whole
 * buffer
 * @w: filled in; close it even after a failure
 * @ep: whose buffer
 * @type: of the window
 *
 * Return: 0 or a negative errno
 */
int vt_window_open(struct vt_window *w, struct vt_ep *ep,
		   enum ibv_mw_type type)
{
	memset(w, 0, sizeof(*w));
	w->mr = vt_window_reg(ep, ep->buf.len);
	if (!w->mr)
		return -errno;
	w->mw = ibv_alloc_mw(ep->pd, type);
	return w->mw ? 0 : -errno;
}

/**
 * vt_window_close() - free the window, then the region, if they still exist
 *
 * Return: 0 or an errno
 */
int vt_window_close(struct vt_window *w)
{
	int ret = w->mw ? ibv_dealloc_mw(w->mw) : 0;

	if (!ret && w->mr)
		ret = ibv_dereg_mr(w->mr);
	memset(w, 0, sizeof(*w));
	return ret;
}

static struct ibv_mw_bind_info bind_info(const struct vt_bind *to)
{
	return (struct ibv_mw_bind_info){
		.mr = to->mr,
		.addr = to->addr,
		.length = to->len,
		.mw_access_flags = to->access,
	};
}

/**
 * vt_bind() - bind a window by ibv_bind_mw()
 * @ep: whose QP
 * @mw: of type 1; gets its new rkey if the bind succeeds
 * @to: what to
 *
 * Return: the status that the bind completes with, or a negative errno
 */
int vt_bind(struct vt_ep *ep, struct ibv_mw *mw, const struct vt_bind *to)
{
	struct ibv_mw_bind bind = {
		.wr_id = WR_ID,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = bind_info(to),
	};
	uint32_t rkey = mw->rkey;
	int ret = ibv_bind_mw(ep->qp, mw, &bind);

	if (ret)
		return -ret;
	ret = vt_status(ep->scq, WR_ID);
	if (ret != IBV_WC_SUCCESS)
		mw->rkey = rkey;
	return ret;
}

/**
 * vt_bind_given() - bind a window by a work request, which does not change @mw
 * @ep: whose QP
 * @mw: of any type
 * @rkey: the new one
 * @to: what to
 *
 * Return: as vt_bind()
 */
int vt_bind_given(struct vt_ep *ep, struct ibv_mw *mw, uint32_t rkey,
		  const struct vt_bind *to)
{
	struct ibv_send_wr wr = {
		.wr_id = WR_ID,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw, .rkey = rkey, .bind_info = bind_info(to),
		},
	};

	return vt_outcome(ep, &wr);
}

/**
 * vt_bind_wr() - bind a window by a work request
 * @ep: whose QP
 * @mw: of any type; gets its new rkey if the bind succeeds
 * @rkey: the new one; of a type 2 window only the low byte counts
 * @to: what to
 *
 * Return: as vt_bind()
 */
int vt_bind_wr(struct vt_ep *ep, struct ibv_mw *mw, uint32_t rkey,
	       const struct vt_bind *to)
{
	int ret = vt_bind_given(ep, mw, rkey, to);

	if (ret != IBV_WC_SUCCESS)
		return ret;
	if (mw->type == IBV_MW_TYPE_2)
		rkey = (mw->rkey & ~0xffu) | (rkey & 0xff);
	mw->rkey = rkey;
	return ret;
}

/**
 * vt_bind_any() - bind a window by the call that its type needs
 */
int vt_bind_any(struct vt_ep *ep, struct ibv_mw *mw, const struct vt_bind *to)
{
	if (mw->type == IBV_MW_TYPE_1)
		return vt_bind(ep, mw, to);
	return vt_bind_wr(ep, mw, ibv_inc_rkey(mw->rkey), to);
}

/**
 * vt_bind_page() - bind a window to the first page of a region, for writing
 */
int vt_bind_page(struct vt_ep *ep, struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct vt_bind to = {
		.mr = mr, .addr = (uintptr_t)mr->addr, .len = PAGE,
		.access = IBV_ACCESS_REMOTE_WRITE,
	};

	return vt_bind_any(ep, mw, &to);
}

/**
 * vt_write_through() - write 8 bytes from a to the first page of b's buffer
 * @rkey: the key that the write uses
 *
 * Return: the status it completes with, or a negative errno
 */
int vt_write_through(struct vt_pair *pair, uint32_t rkey)
{
	struct ibv_mr mr = { .rkey = rkey };
	struct vt_region r = {
		.p = pair->b.buf.p, .len = PAGE, .mr = &mr,
		.iova = (uintptr_t)pair->b.buf.p,
	};

	return vt_region_copy(pair, &r, VT_WRITE, 64, 8);
}

static int invalidate(struct vt_ep *ep, enum ibv_wr_opcode how, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = WR_ID,
		.opcode = how,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};

	return vt_outcome(ep, &wr);
}

/**
 * vt_invalidate() - invalidate a key by a local request
 *
 * Return: the status it completes with, or a negative errno
 */
int vt_invalidate(struct vt_ep *ep, uint32_t rkey)
{
	return invalidate(ep, IBV_WR_LOCAL_INV, rkey);
}

/**
 * vt_send_invalidate() - SEND_WITH_INV: the peer's key becomes invalid
 * @ep: the sender; the peer has posted a receive
 *
 * Return: the status it completes with, or a negative errno
 */
int vt_send_invalidate(struct vt_ep *ep, uint32_t rkey)
{
	return invalidate(ep, IBV_WR_SEND_WITH_INV, rkey);
}
