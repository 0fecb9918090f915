/* SPDX-License-Identifier: GPL-2.0 */
/* The headers of the packets that a work request becomes. */
#ifndef SMR_REQ_HDR_H
#define SMR_REQ_HDR_H

#include <linux/types.h>

struct smr_hdr;
struct smr_qp;
struct smr_swqe;
struct smr_wr_info;

void smr_req_hdr_init(const struct smr_qp *qp, const struct smr_swqe *wqe,
		      const struct smr_wr_info *wr, struct smr_hdr *hdr);
void smr_req_hdr_opcode(const struct smr_qp *qp, struct smr_hdr *hdr,
			u8 opcode);

#endif /* SMR_REQ_HDR_H */
