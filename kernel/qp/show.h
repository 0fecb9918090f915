/* SPDX-License-Identifier: GPL-2.0 */
/* What a queue pair is doing, for those who only look. */
#ifndef SMR_QP_SHOW_H
#define SMR_QP_SHOW_H

#include <linux/compiler.h>
#include <linux/types.h>

struct sk_buff;
struct smr_qp;

/* An index that is a task's, for those who only show it. */
static inline u32 smr_qp_glance(const u32 *index)
{
	/* The task goes on: any value that it had during the call is right. */
	return data_race(READ_ONCE(*index));
}

int smr_qp_fill_res(struct sk_buff *msg, const struct smr_qp *qp);

#endif /* SMR_QP_SHOW_H */
