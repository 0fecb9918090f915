/* SPDX-License-Identifier: GPL-2.0 */
/* Atomics and ATOMIC WRITE at the responder. */
#ifndef SMR_RESP_WORD_H
#define SMR_RESP_WORD_H

#include "qp/core.h"
#include "qp/task.h"

struct smr_exec;
struct smr_why;

enum smr_resp_verdict smr_check_atomic(struct smr_qp *qp, const struct smr_op *op);
enum smr_resp_verdict smr_check_atomic_write(struct smr_qp *qp, const struct smr_op *op);
void smr_invalid_word(const struct smr_qp *qp, const struct smr_op *op, struct smr_why *why);
enum smr_step smr_exec_atomic(struct smr_exec *x);
enum smr_step smr_exec_atomic_write(struct smr_exec *x);

#endif /* SMR_RESP_WORD_H */
