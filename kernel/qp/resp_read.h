/* SPDX-License-Identifier: GPL-2.0 */
/* READ at the responder, and the answers on the wire that carry data, also to duplicates. */
#ifndef SMR_RESP_READ_H
#define SMR_RESP_READ_H

#include "qp/core.h"
#include "qp/task.h"

enum smr_step smr_resp_read(struct smr_qp *qp, struct smr_budget *budget);
struct smr_rd_res *smr_rd_res_add(struct smr_qp *qp, const struct smr_op *op,
				  u32 npsn);
void smr_resp_confirm(struct smr_qp *qp, const struct smr_hdr *hdr);
void smr_resp_orig(struct smr_qp *qp, const struct smr_hdr *hdr, u64 orig, bool repeat);
void smr_repeat_confirmed(struct smr_qp *qp, const struct smr_hdr *hdr);
void smr_repeat_atomic(struct smr_qp *qp, const struct smr_hdr *hdr);

#endif /* SMR_RESP_READ_H */
