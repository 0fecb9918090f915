/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel has refused a context, and why. */
#ifndef VT_WHY_H
#define VT_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <softmr-why.h>

int vt_whys(struct ibv_context *ctx, uint64_t from, struct smr_abi_why *recs,
	    unsigned int max);
int vt_why_last(struct ibv_context *ctx, struct smr_abi_why *rec);
int vt_why_last_failed(struct ibv_context *ctx, struct smr_abi_why *rec);
bool vt_why_reads(const struct smr_abi_why *rec);
bool vt_why_given(struct ibv_context *ctx, uint32_t id, const uint64_t *num, unsigned int n);

/*
 * Is this reason, with these first numbers, in the context's log? And does libsoftmr say it in the
 * words of the table?
 */
#define vt_why_is(ctx, name, ...) ({						\
	const uint64_t _why_num[] = { 0, ##__VA_ARGS__ };			\
										\
	vt_why_given(ctx, SMR_WHY_##name, _why_num + 1,				\
		     sizeof(_why_num) / sizeof(_why_num[0]) - 1);		\
})

#endif /* VT_WHY_H */
