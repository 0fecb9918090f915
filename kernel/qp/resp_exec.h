/* SPDX-License-Identifier: GPL-2.0 */
/* What the classes of requests have in common. */
#ifndef SMR_RESP_EXEC_H
#define SMR_RESP_EXEC_H

#include <linux/compiler.h>
#include <linux/minmax.h>

#include "qp/core.h"
#include "qp/loopback.h"
#include "qp/task.h"

/* Maximum bytes of a local operation that one call copies in process context */
#define SMR_SLICE_PROCESS	(4 * SMR_RESP_SLICE)

/**
 * struct smr_exec - one payload, or one slice of it, that is being copied
 * @qp: the responder's QP
 * @op: the request
 * @budget: the response task's
 * @theirs: the local requester's list, when open
 * @len: bytes to copy now
 */
struct smr_exec {
	struct smr_qp *qp;
	struct smr_op *op;
	struct smr_budget *budget;
	struct smr_sgl *theirs;
	u32 len;
};

/* The execution ends with a verdict. */
static inline enum smr_step smr_exec_end(struct smr_exec *x, enum smr_resp_verdict verdict)
{
	x->op->verdict = verdict;
	return SMR_STEP_DONE;
}

/* Was the part that has returned @step the last, and without a refusal? */
static inline bool smr_exec_ok(const struct smr_exec *x, enum smr_step step)
{
	return step == SMR_STEP_DONE && x->op->verdict == SMR_RESP_OK;
}

/**
 * smr_exec_slice() - the bytes of a local operation to copy now
 * @x: the execution
 * @total: bytes of the whole operation
 *
 * Return: 0 if all are copied.
 */
static inline u32 smr_exec_slice(const struct smr_exec *x, u64 total)
{
	u64 max = x->budget->can_sleep ? SMR_SLICE_PROCESS : SMR_RESP_SLICE;

	return min_t(u64, max, total - x->op->local->done);
}

/**
 * smr_exec_slice_done() - a slice of a local operation was copied
 * @x: the execution
 * @len: bytes of the whole operation
 *
 * Return: SMR_STEP_AGAIN: it has further ones; SMR_STEP_DONE.
 */
static inline enum smr_step smr_exec_slice_done(struct smr_exec *x, u32 len)
{
	struct smr_local *local = x->op->local;

	x->budget->left -= x->len;
	local->done += x->len;
	local->faulted = false;
	if (READ_ONCE(local->cancel))
		return smr_exec_end(x, SMR_RESP_DROP);
	return local->done < len ? SMR_STEP_AGAIN : SMR_STEP_DONE;
}

enum smr_resp_verdict smr_check_key(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len,
				    int access);
bool smr_exec_open_peer(struct smr_exec *x, int access);
void smr_exec_close_peer(struct smr_exec *x);
bool smr_exec_open(struct smr_exec *x, int access, u64 va, u32 rkey);
void smr_exec_close(struct smr_exec *x);
enum smr_step smr_exec_fault(struct smr_exec *x, bool fetch);

#endif /* SMR_RESP_EXEC_H */
