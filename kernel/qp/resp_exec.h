/* SPDX-License-Identifier: GPL-2.0 */
/* Execution of requests that smr_resp_check() has accepted. */
#ifndef SMR_RESP_EXEC_H
#define SMR_RESP_EXEC_H

#include "qp/core.h"

enum smr_step smr_resp_exec(struct smr_qp *qp, struct smr_op *op, struct smr_budget *budget);

#endif /* SMR_RESP_EXEC_H */
