/* SPDX-License-Identifier: GPL-2.0 */
/* FLUSH at the responder: IBTA annex A19. */
#ifndef SMR_RESP_FLUSH_H
#define SMR_RESP_FLUSH_H

#include "qp/core.h"
#include "qp/task.h"

struct smr_exec;

int smr_flush_rights(const struct smr_hdr *hdr);
enum smr_resp_verdict smr_check_flush(struct smr_qp *qp, const struct smr_op *op);
enum smr_step smr_exec_flush(struct smr_exec *x);

#endif /* SMR_RESP_FLUSH_H */
