// SPDX-License-Identifier: GPL-2.0
#define CREATE_TRACE_POINTS
#include "trace.h"

#include <linux/sched.h>

/**
 * smr_trace_pid() - the process that made a QP
 * @ibqp: the QP; its tasks run
 *
 * Context: any.
 * Return: the id in the first PID namespace; 0: a consumer in the kernel.
 */
u32 smr_trace_pid(const struct ib_qp *ibqp)
{
	struct task_struct *task = READ_ONCE(ibqp->res.task);

	return task ? task_tgid_nr(task) : 0;
}
