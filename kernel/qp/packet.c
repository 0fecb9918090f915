// SPDX-License-Identifier: GPL-2.0
#include "qp/packet.h"

#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "net/icrc.h"
#include "net/train.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "stats.h"

/**
 * smr_req_hdr_init() - set the header fields that all packets of a message share
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

/**
 * smr_packet_fill() - write a packet, but for its ICRC
 * @seg: where to
 * @hdr: its headers
 * @sgl: its payload, of which @hdr->len bytes are taken; may be NULL for none
 *
 * Context: any.
 * Return: 0, SMR_PAGE_MISSING (see smr_sgl_fault()) or -EFAULT.
 */
int smr_packet_fill(u8 *seg, const struct smr_hdr *hdr, struct smr_sgl *sgl)
{
	u8 *payload = seg + hdr->op->hdr_len;
	int err = 0;

	smr_wire_build(seg, hdr);
	if (hdr->len)
		err = smr_sgl_read(sgl, payload, hdr->len);
	memset(payload + hdr->len, 0, hdr->pad);
	return err;
}

/**
 * smr_packet_append() - put a packet on a train
 * @train: begun
 * @hdr: its headers
 * @sgl: its payload, of which @hdr->len bytes are taken; may be NULL for none
 *
 * Context: any but hard interrupts.
 * Return: 1: the packet is on the train; 0: the train is full (never before its first
 * packet); the errors of smr_packet_fill(), after which the caller aborts the train.
 */
int smr_packet_append(struct smr_train *train, const struct smr_hdr *hdr,
		      struct smr_sgl *sgl)
{
	unsigned int len = smr_packet_len(hdr);
	u8 *seg = smr_train_seg(train, len);
	int err;

	if (!seg)
		return 0;
	err = smr_packet_fill(seg, hdr, sgl);
	if (err)
		return err;
	smr_icrc_seal(train, seg, len);
	return 1;
}

/**
 * smr_packet_send() - send a packet by the wire
 * @qp: whose it is; its waiter is woken after -EAGAIN
 * @path: where to
 * @hdr: its headers
 * @sgl: its payload, of which @hdr->len bytes are taken; may be NULL for none
 *
 * Context: any.
 * Return: 0; -EAGAIN when the stack has no room; as smr_packet_fill(); other
 * errors when sending again will not help.
 */
int smr_packet_send(struct smr_qp *qp, struct smr_path *path,
		    const struct smr_hdr *hdr, struct smr_sgl *sgl)
{
	unsigned int len = smr_packet_len(hdr);
	struct smr_train train;
	int err;

	err = smr_train_begin(&train, path, &qp->waiter, 1, len);
	if (err)
		return err;
	err = smr_packet_append(&train, hdr, sgl);
	if (err < 0) {
		smr_train_abort(&train);
		return err;
	}
	smr_stat_inc(qp->env->stats, SMR_CNT_TX_PACKETS);
	smr_stat_add(qp->env->stats, SMR_CNT_TX_BYTES, len);
	return smr_train_send(&train);
}
