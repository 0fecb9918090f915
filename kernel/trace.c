// SPDX-License-Identifier: GPL-2.0
/* Defines the tracepoints of trace.h. */
#define CREATE_TRACE_POINTS
#include "trace.h"

#include <linux/sched.h>

/**
 * smr_trace_pid() - the process that created a QP
 * @ibqp: the QP; its tasks are not stopped yet
 *
 * Return: its id in the initial PID namespace; 0: a kernel consumer.
 */
u32 smr_trace_pid(const struct ib_qp *ibqp)
{
	struct task_struct *task = READ_ONCE(ibqp->res.task);

	return task ? task_tgid_nr(task) : 0;
}
