// SPDX-License-Identifier: GPL-2.0
/*
 * Fill in the headers of requests, copy payloads into packets, and send them. Runs in a QP's
 * tasks.
 */
#include "qp/packet.h"

#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "compat/unaligned.h"
#include "net/crc.h"
#include "net/train.h"
#include "net/wire.h"
#include "qp/capture.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "sgl.h"
#include "stats.h"

/*
 * Set the header fields that all packets of a message share. @qp: the caller owns its send task.
 * @wqe: the work request; its PSNs are assigned. @wr: properties of its opcode. @hdr: filled in,
 * except the opcode.
 */
void smr_req_hdr_init(const struct smr_qp *qp, const struct smr_swqe *wqe,
		      const struct smr_wr_info *wr, struct smr_hdr *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->pkey = SMR_DEFAULT_PKEY;
	hdr->qpn = qp->attr.dest_qp_num;
	hdr->psn = qp->snd.psn;
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

/* Set the BTH opcode. @opcode: of the packet, as for RC. */
void smr_req_hdr_opcode(const struct smr_qp *qp, struct smr_hdr *hdr, u8 opcode)
{
	hdr->opcode = qp->service | opcode;
	hdr->op = smr_wire_op(hdr->opcode);
}

/*
 * Write a packet that needs no ICRC. @sgl: its payload, of which @hdr->len bytes are taken; may be
 * NULL for none. Returns 0, SMR_PAGE_MISSING (see qp/paging.h) or -EFAULT.
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

/* Copy the payload of a packet behind its headers, and write the pad and the ICRC. */
static int packet_fill_sealed(struct smr_miter *from, u8 *seg, const struct smr_hdr *hdr,
			      u32 crc)
{
	u8 *end = seg + hdr->op->hdr_len + hdr->len;
	int err;

	err = smr_miter_copy_crc(from, seg + hdr->op->hdr_len, hdr->len, &crc);
	if (hdr->pad) {
		memset(end, 0, hdr->pad);
		crc = smr_crc32(crc, end, hdr->pad);
	}
	put_unaligned_le32(~crc, end + hdr->pad);
	return err;
}

/*
 * Append packets to a train that differ only in their PSN. @hdr: headers of the first packet; the
 * PSNs increase from there. @n: number of packets, at least 1. @sgl: their payload, of which
 * @hdr->len bytes are taken for each; may be NULL for none. Context: any but hard interrupts.
 * Returns number of packets appended. 0: the train is full (never before its first packet). Or an
 * error of smr_packet_fill(), after which the caller aborts the train.
 */
int smr_packet_append(struct smr_train *train, const struct smr_hdr *hdr,
		      unsigned int n, struct smr_sgl *sgl)
{
	unsigned int len = smr_packet_len(hdr), hdr_len = hdr->op->hdr_len, i;
	u8 *seg = smr_train_segs(train, len, &n);
	struct smr_miter from;
	int err;
	u32 crc;
	u16 id;

	if (!seg)
		return 0;
	id = train->ip_id + train->nsegs - n;
	smr_wire_build(seg, hdr);
	smr_miter_start(&from, sgl, (size_t)n * hdr->len, false);
	for (i = 0;; seg += len) {
		crc = smr_icrc_begin(train->icrc, train->path, train->sport, id + i, seg,
				     hdr_len, len);
		err = packet_fill_sealed(&from, seg, hdr, crc);
		if (err || ++i == n)
			break;
		smr_wire_build_next(seg + len, seg, hdr_len);
	}
	smr_miter_stop(&from);
	return err ?: n;
}

/*
 * Count the packets of a train, and send it. @train: has at least one packet; consumed in any case.
 * @refused: of the sending side of @qp. Context: any but hard interrupts. Returns as
 * smr_train_send().
 */
int smr_packets_leave(struct smr_qp *qp, struct smr_train *train,
		      struct smr_refused *refused)
{
	smr_qp_add(qp, SMR_CNT_TX_PACKETS, train->nsegs);
	smr_qp_add(qp, SMR_CNT_TX_BYTES, train->len);
	smr_capture_sent(qp, train);
	return smr_train_send(train, refused);
}

/* Finish and send a train of one packet, or abort it; @err: the result of beginning it. */
static int packet_leave(struct smr_qp *qp, struct smr_train *train, int err,
			const struct smr_hdr *hdr, struct smr_sgl *sgl,
			struct smr_refused *refused)
{
	if (err)
		return err;
	train->control = hdr->op->flags & SMR_OP_CNP;
	err = smr_packet_append(train, hdr, 1, sgl);
	if (err < 0) {
		smr_train_abort(train);
		return err;
	}
	return smr_packets_leave(qp, train, refused);
}

/*
 * Send a requester's packet on the wire. @qp: its sender; woken after -EAGAIN. @sport: its UDP
 * source port. @sgl: its payload, of which @hdr->len bytes are taken; may be NULL for none. Returns
 * 0; -EAGAIN if the stack does not accept packets; the errors of smr_packet_fill(); other errors if
 * sending again will not help.
 */
int smr_packet_send(struct smr_qp *qp, struct smr_path *path, u16 sport,
		    const struct smr_hdr *hdr, struct smr_sgl *sgl)
{
	struct smr_icrc *icrc = path == &qp->path ? &qp->req.icrc : NULL;
	struct smr_train train;
	int err = smr_train_begin(&train, path, qp->egress, icrc, 1,
				  smr_packet_len(hdr));

	train.sport = sport;
	return packet_leave(qp, &train, err, hdr, sgl, &qp->req.refused);
}

/*
 * Send a packet without payload, ahead of all waiting packets. @qp: its sender; woken after
 * -EAGAIN. @hdr: its headers; it is sent to the peer. @refused: of the sending side of @qp. Returns
 * as smr_packet_send().
 */
int smr_packet_send_urgent(struct smr_qp *qp, const struct smr_hdr *hdr,
			   struct smr_refused *refused)
{
	/* A CNP may be sent by either task, and is rare. */
	struct smr_icrc *icrc = hdr->op->flags & SMR_OP_CNP ? NULL :
							      &qp->resp.icrc;
	struct smr_train train;
	int err = smr_train_begin_urgent(&train, &qp->path, qp->egress, icrc,
					 smr_packet_len(hdr));

	return packet_leave(qp, &train, err, hdr, NULL, refused);
}
