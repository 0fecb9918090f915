/* SPDX-License-Identifier: GPL-2.0 */
/* The answers to READs and atomics on the wire, and to their duplicates. */
#ifndef SMR_RESP_READ_H
#define SMR_RESP_READ_H

#include "qp/task.h"

struct smr_hdr;
struct smr_qp;

enum smr_step smr_resp_read(struct smr_qp *qp, struct smr_budget *budget);
void smr_resp_confirm(struct smr_qp *qp, const struct smr_hdr *hdr);
void smr_resp_repeat(struct smr_qp *qp, const struct smr_hdr *hdr);

#endif /* SMR_RESP_READ_H */
