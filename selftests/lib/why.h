/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel has refused a context, and why. */
#ifndef VT_WHY_H
#define VT_WHY_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <softmr-why.h>

int vt_whys(struct ibv_context *ctx, uint64_t from, struct smr_abi_why *recs,
	    unsigned int max);
int vt_why_last(struct ibv_context *ctx, struct smr_abi_why *rec);

#endif /* VT_WHY_H */
