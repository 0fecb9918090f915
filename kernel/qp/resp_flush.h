/* SPDX-License-Identifier: GPL-2.0 */
/* FLUSH at the responder: IBTA annex A19. */
#ifndef SMR_RESP_FLUSH_H
#define SMR_RESP_FLUSH_H

#include "qp/core.h"

bool smr_resp_flush_permitted(const struct smr_qp *qp,
			      const struct smr_hdr *hdr);
int smr_resp_flush_access(const struct smr_hdr *hdr);
enum smr_resp_verdict smr_resp_flush_check(struct smr_qp *qp,
					   const struct smr_hdr *hdr);
enum smr_step smr_resp_flush_exec(struct smr_qp *qp, struct smr_op *op,
				  struct smr_budget *budget);

#endif /* SMR_RESP_FLUSH_H */
