/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a queue pair for diagnosis. */
#ifndef SMR_QP_SHOW_H
#define SMR_QP_SHOW_H

#include <linux/compiler.h>
#include <linux/types.h>

struct sk_buff;
struct smr_qp;

/* Lockless read of an index that a task owns, for display. */
static inline u32 smr_qp_glance(const u32 *index)
{
	/* The task may change it: any value that it had during the call is valid. */
	return data_race(READ_ONCE(*index));
}

int smr_qp_fill_res(struct sk_buff *msg, const struct smr_qp *qp);

#endif /* SMR_QP_SHOW_H */
