// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

/**
 * smr_alloc_mw - allocate a memory window
 * @type: type 1 or type 2
 *
 * Return: the window, or NULL and errno.
 */
struct ibv_mw *smr_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = smr_zalloc(pd->context, sizeof(*mw));
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ibv_alloc_mw cmd = {};
	int err;

	if (!mw)
		return NULL;
	err = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (!err)
		return mw;
	free(mw);
	errno = err;
	return NULL;
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
