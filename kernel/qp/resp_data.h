/* SPDX-License-Identifier: GPL-2.0 */
/* SEND and WRITE at the responder. */
#ifndef SMR_RESP_DATA_H
#define SMR_RESP_DATA_H

#include "qp/core.h"
#include "qp/task.h"

struct smr_exec;

enum smr_resp_verdict smr_check_send(struct smr_qp *qp, const struct smr_op *op);
enum smr_resp_verdict smr_check_write(struct smr_qp *qp, const struct smr_op *op);
enum smr_step smr_exec_send(struct smr_exec *x);
enum smr_step smr_exec_write(struct smr_exec *x);

#endif /* SMR_RESP_DATA_H */
