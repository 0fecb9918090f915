/* SPDX-License-Identifier: GPL-2.0 */
/* Look up the class of a request, and execute the request. */
#ifndef SMR_RESP_CLASS_H
#define SMR_RESP_CLASS_H

#include "qp/core.h"
#include "qp/resp_exec.h"
#include "qp/task.h"

extern const struct smr_resp_class *const smr_resp_classes[SMR_CLASS_NR];

/* Not to be called for SMR_CLASS_NONE */
static inline const struct smr_resp_class *smr_resp_class(const struct smr_hdr *hdr)
{
	return smr_resp_classes[hdr->op->class];
}

enum smr_step smr_resp_exec(struct smr_qp *qp, struct smr_op *op, struct smr_budget *budget);

#endif /* SMR_RESP_CLASS_H */
