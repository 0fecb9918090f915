// SPDX-License-Identifier: GPL-2.0
#include "qp/req_hdr.h"

#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/opcode.h"

/**
 * smr_req_hdr_init() - what all packets of a message share
 * @qp: the requester's QP
 * @wqe: the work request, which has its PSNs
 * @wr: what is known of its opcode
 * @hdr: filled in, but for the opcode
 *
 * Context: any; called by the send task.
 */
void smr_req_hdr_init(const struct smr_qp *qp, const struct smr_swqe *wqe,
		      const struct smr_wr_info *wr, struct smr_hdr *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->pkey = SMR_DEFAULT_PKEY;
	hdr->qpn = qp->attr.dest_qp_num;
	hdr->psn = qp->req.psn;
	hdr->migreq = true;
	hdr->rkey = wqe->rkey;
	hdr->va = wqe->remote_addr;
	hdr->dma_len = wqe->len;
	hdr->srqn = wqe->xrc_srqn;
	hdr->imm = wqe->imm_or_rkey;
	hdr->inv_rkey = (__force u32)wqe->imm_or_rkey;
	if (wr->flags & SMR_WR_FLUSH) {
		hdr->dma_len = wqe->flush.len;
		hdr->feth = wqe->flush.feth;
	}
	if (wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		hdr->compare = wqe->compare_add;
		hdr->swap_add = wqe->swap;
	} else {
		hdr->swap_add = wqe->compare_add;
	}
}

/**
 * smr_req_hdr_opcode() - set the BTH opcode
 * @qp: the requester's QP
 * @hdr: the headers
 * @opcode: of the packet, as RC has it
 *
 * Context: any.
 */
void smr_req_hdr_opcode(const struct smr_qp *qp, struct smr_hdr *hdr, u8 opcode)
{
	hdr->opcode = qp->service | opcode;
	hdr->op = smr_wire_op(hdr->opcode);
}
