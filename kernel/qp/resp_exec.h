/* SPDX-License-Identifier: GPL-2.0 */
/* What the classes of requests have in common. */
#ifndef SMR_RESP_EXEC_H
#define SMR_RESP_EXEC_H

#include <linux/compiler.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/loopback.h"
#include "qp/task.h"

struct smr_reason;

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

/**
 * struct smr_resp_class - what the responder does with one class of requests
 * @message: a message of this class may have several packets, each with a payload
 * @keeps: an entry of max_dest_rd_atomic is kept for duplicates
 * @access: enum ib_access_flags that the QP must permit, unless @rights is set
 * @len: bytes of memory accessed; 0: the RETH has them
 * @rights: returns the enum ib_access_flags that this request needs; -1, which no QP permits, if
 *	it is malformed. NULL: @access
 * @check: checks that only this class needs, after those of all classes; no side effects
 * @exec: execute the request or its next slice, as smr_resp_exec()
 * @repeat: answer a duplicate; NULL: a duplicate is acknowledged
 * @why: why @check returned SMR_RESP_INV_REQ; NULL: it never does
 *
 * The response task owns the QP in all of them.
 */
struct smr_resp_class {
	bool message;
	bool keeps;
	u16 access;
	u8 len;
	int (*rights)(const struct smr_hdr *hdr);
	enum smr_resp_verdict (*check)(struct smr_qp *qp, const struct smr_op *op);
	enum smr_step (*exec)(struct smr_exec *x);
	void (*repeat)(struct smr_qp *qp, const struct smr_hdr *hdr);
	struct smr_reason (*why)(const struct smr_qp *qp, const struct smr_op *op);
};

extern const struct smr_resp_class smr_class_send;
extern const struct smr_resp_class smr_class_write;
extern const struct smr_resp_class smr_class_read;
extern const struct smr_resp_class smr_class_atomic;
extern const struct smr_resp_class smr_class_atomic_write;
extern const struct smr_resp_class smr_class_flush;

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

/*
 * The bytes of a local operation to copy now. @total: bytes of the whole operation. Returns 0 if
 * all are copied.
 */
static inline u32 smr_exec_slice(const struct smr_exec *x, u64 total)
{
	u64 max = x->budget->can_sleep ? SMR_SLICE_PROCESS : SMR_RESP_SLICE;

	return min_t(u64, max, total - x->op->local->done);
}

/*
 * A slice of a local operation was copied. @len: bytes of the whole operation. Returns
 * SMR_STEP_AGAIN: it has further ones; SMR_STEP_DONE.
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
