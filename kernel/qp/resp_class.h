/* SPDX-License-Identifier: GPL-2.0 */
/* The classes of requests, and what the responder does with each. */
#ifndef SMR_RESP_CLASS_H
#define SMR_RESP_CLASS_H

#include "net/wire.h"
#include "qp/core.h"
#include "qp/task.h"

struct smr_exec;
struct smr_why;

/**
 * struct smr_resp_class - what the responder does with one class of requests
 * @message: a message of this class may have several packets, each with a payload
 * @keeps: an entry of max_dest_rd_atomic is kept for duplicates
 * @access: enum ib_access_flags that the QP must permit, unless @rights is set
 * @len: bytes of memory accessed; 0: the RETH has them
 * @counter: counts the requests that fail; SMR_COMP_OPS: none does
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
	enum smr_comp_op counter;
	int (*rights)(const struct smr_hdr *hdr);
	enum smr_resp_verdict (*check)(struct smr_qp *qp, const struct smr_op *op);
	enum smr_step (*exec)(struct smr_exec *x);
	void (*repeat)(struct smr_qp *qp, const struct smr_hdr *hdr);
	void (*why)(const struct smr_qp *qp, const struct smr_op *op, struct smr_why *why);
};

extern const struct smr_resp_class smr_resp_classes[SMR_CLASS_NR];

/* Not to be called for SMR_CLASS_NONE */
static inline const struct smr_resp_class *smr_resp_class(const struct smr_hdr *hdr)
{
	return &smr_resp_classes[hdr->op->class];
}

enum smr_step smr_resp_exec(struct smr_qp *qp, struct smr_op *op, struct smr_budget *budget);

#endif /* SMR_RESP_CLASS_H */
