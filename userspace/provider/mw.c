// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

/**
 * smr_alloc_mw - allocate a memory window
 * @pd: the protection domain
 * @type: type 1 or type 2
 *
 * Return: the window, or NULL and errno.
 */
struct ibv_mw *smr_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ibv_alloc_mw cmd = {};
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	return mw;
}

/**
 * smr_dealloc_mw - free a memory window, bound or not
 * @mw: the window, which stays valid if the kernel refuses
 */
int smr_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (!ret)
		free(mw);
	return ret;
}

/**
 * smr_bind_mw - bind or, with length 0, unbind a type 1 window
 * @qp: the QP whose send queue carries the bind
 * @mw: the window; libibverbs has checked its type and PD
 * @mw_bind: the range; its MR may be NULL to unbind
 *
 * When this returns, @mw has the new rkey; it is valid when the bind has
 * completed. If the bind completes with an error, the window keeps its old
 * rkey, which the application must restore in @mw.
 */
int smr_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		struct ibv_mw_bind *mw_bind)
{
	struct ibv_send_wr wr = {
		.wr_id = mw_bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = mw_bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = mw_bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;
	int ret;

	/* Only type 2 windows can be zero based. */
	if (mw_bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;

	ret = smr_post_send(qp, &wr, &bad_wr);
	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}
