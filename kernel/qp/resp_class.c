// SPDX-License-Identifier: GPL-2.0
/* The row of each class of requests. Opcodes have their class in net/wire.c. */
#include "qp/resp_class.h"

#include <linux/indirect_call_wrapper.h>

#include "qp/resp_data.h"
#include "qp/resp_exec.h"
#include "qp/resp_flush.h"
#include "qp/resp_read.h"
#include "qp/resp_word.h"

const struct smr_resp_class smr_resp_classes[SMR_CLASS_NR] = {
	[SMR_CLASS_SEND] = {
		.message = true,
		.counter = SMR_COMP_OPS,
		.check = smr_check_send,
		.exec = smr_exec_send,
	},
	[SMR_CLASS_WRITE] = {
		.message = true,
		.access = IB_ACCESS_REMOTE_WRITE,
		.counter = SMR_COMP_REMOTE_WRITE,
		.check = smr_check_write,
		.exec = smr_exec_write,
		.why = smr_invalid_write,
	},
	[SMR_CLASS_READ] = {
		.keeps = true,
		.access = IB_ACCESS_REMOTE_READ,
		.counter = SMR_COMP_REMOTE_READ,
		.check = smr_check_read,
		.exec = smr_exec_read,
		.repeat = smr_repeat_read,
		.why = smr_invalid_read,
	},
	[SMR_CLASS_ATOMIC] = {
		.keeps = true,
		.access = IB_ACCESS_REMOTE_ATOMIC,
		.len = sizeof(u64),
		.counter = SMR_COMP_OPS,
		.check = smr_check_atomic,
		.exec = smr_exec_atomic,
		.repeat = smr_repeat_atomic,
		.why = smr_invalid_word,
	},
	/* A19.4.2: it needs only REMOTE_WRITE, since it returns no data. */
	[SMR_CLASS_ATOMIC_WRITE] = {
		.access = IB_ACCESS_REMOTE_WRITE,
		.len = sizeof(u64),
		.counter = SMR_COMP_OPS,
		.check = smr_check_atomic_write,
		.exec = smr_exec_atomic_write,
		.repeat = smr_repeat_confirmed,
		.why = smr_invalid_word,
	},
	[SMR_CLASS_FLUSH] = {
		.counter = SMR_COMP_OPS,
		.rights = smr_flush_rights,
		.check = smr_check_flush,
		.exec = smr_exec_flush,
		.repeat = smr_repeat_confirmed,
	},
};

/**
 * smr_resp_exec() - execute a request, or the next slice of it
 * @qp: the caller owns its response task
 * @op: the request; smr_resp_check() returned SMR_RESP_OK, which is its verdict so far
 * @budget: the budget
 *
 * It copies data, and takes and completes receive work requests. The caller advances
 * the PSN.
 *
 * Context: as @budget says.
 * Return: SMR_STEP_DONE: the verdict of @op says how it has ended; otherwise call again with the
 *	same request.
 */
enum smr_step smr_resp_exec(struct smr_qp *qp, struct smr_op *op, struct smr_budget *budget)
{
	struct smr_exec x = {
		.qp = qp,
		.op = op,
		.budget = budget,
		.len = op->hdr->len,
	};

	if (op->local)
		x.len = smr_exec_slice(&x, op->hdr->len);
	/* A local operation is executed in slices; only the first one begins it. */
	if (op->hdr->op->flags & SMR_OP_FIRST &&
	    !(op->local ? op->local->done : qp->resp.executed))
		qp->resp.received = 0;
	return INDIRECT_CALL_2(smr_resp_class(op->hdr)->exec, smr_exec_write, smr_exec_send, &x);
}
