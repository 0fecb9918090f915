// SPDX-License-Identifier: GPL-2.0
/* Execute a request as its class says. Opcodes have their class in net/wire.c. */
#include "qp/resp_class.h"

#include <linux/indirect_call_wrapper.h>

#include "qp/resp_data.h"

const struct smr_resp_class *const smr_resp_classes[SMR_CLASS_NR] = {
	[SMR_CLASS_SEND] = &smr_class_send,
	[SMR_CLASS_WRITE] = &smr_class_write,
	[SMR_CLASS_READ] = &smr_class_read,
	[SMR_CLASS_ATOMIC] = &smr_class_atomic,
	[SMR_CLASS_ATOMIC_WRITE] = &smr_class_atomic_write,
	[SMR_CLASS_FLUSH] = &smr_class_flush,
};

/*
 * Execute a request, or the next slice of it. @qp: the caller owns its response task. @op: the
 * request; smr_resp_check() returned SMR_RESP_OK, which is its verdict so far. It copies data, and
 * takes and completes receive work requests. The caller advances the PSN. Context: as @budget says.
 * Returns SMR_STEP_DONE: the verdict of @op says how it has ended; otherwise call again with the
 * same request.
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
