// SPDX-License-Identifier: GPL-2.0
#include "why.h"

#include <errno.h>

#include "uverbs.h"

/**
 * vt_whys() - the refusals of a context, the oldest first
 * @ctx: the context
 * @from: the seq of the last one that the caller has; 0: none
 * @recs: filled in
 * @max: how many at most
 *
 * Return: how many, or a negative errno
 */
int vt_whys(struct ibv_context *ctx, uint64_t from, struct smr_abi_why *recs,
	    unsigned int max)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE, SMR_METHOD_WHY_READ);
	uint32_t count = 0;
	int ret;

	vt_ucmd_value(&cmd, SMR_ATTR_WHY_FROM, from, sizeof(from));
	vt_ucmd_out(&cmd, SMR_ATTR_WHY_ARRAY, recs, max * sizeof(*recs));
	vt_ucmd_value(&cmd, SMR_ATTR_WHY_SIZE, sizeof(*recs), sizeof(uint32_t));
	vt_ucmd_out(&cmd, SMR_ATTR_WHY_COUNT, &count, sizeof(count));
	ret = vt_ucmd_run(&cmd, ctx);
	return ret ? ret : (int)count;
}

/**
 * vt_why_last() - the last refusal of a context
 * @ctx: the context
 * @rec: filled in
 *
 * Return: 0, -ENOENT if nothing was refused, or another negative errno
 */
int vt_why_last(struct ibv_context *ctx, struct smr_abi_why *rec)
{
	struct smr_abi_why recs[16];
	uint64_t from = 0;
	int n;

	while ((n = vt_whys(ctx, from, recs, 16)) > 0) {
		*rec = recs[n - 1];
		from = rec->seq;
	}
	if (n < 0)
		return n;
	return from ? 0 : -ENOENT;
}
