// SPDX-License-Identifier: GPL-2.0
/*
 * RoCEv2 headers: the opcode table, and one reader and one writer for all of them. Headers
 * follow the BTH in one fixed order (IBTA 9.3, and A19 for FETH), so an opcode needs no
 * offsets, only the set of its headers.
 */
#include "net/wire.h"

#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_pack.h>

#include "compat/ib.h"
#include "compat/unaligned.h"
#include "net/cursor.h"

/* BTH, IBTA 9.2: fields that share an octet or a word */
#define BTH_SOLICITED	0x80
#define BTH_MIGREQ	0x40
#define BTH_PAD_SHIFT	4
#define BTH_PAD_MASK	0x3
#define BTH_VERSION	0x0f
#define BTH_ACK_REQ	0x80000000
#define BTH_BECN	0x40000000

struct wire_bth {
	u8 opcode;
	u8 flags;
	__be16 pkey;
	__be32 qpn;		/* FECN, BECN, reserved in the upper octet */
	__be32 psn;		/* ack request in the uppermost bit */
} __packed;

static_assert(sizeof(struct wire_bth) == SMR_BTH_LEN);
static_assert(SMR_BTH_LEN + SMR_XRCETH_LEN + SMR_ATOMIC_ETH_LEN ==
	      SMR_MAX_HDR_LEN);

#define HDR_LEN(f)							\
	(SMR_BTH_LEN +							\
	 ((f) & SMR_OP_XRCETH ? SMR_XRCETH_LEN : 0) +			\
	 ((f) & SMR_OP_DETH ? SMR_DETH_LEN : 0) +			\
	 ((f) & SMR_OP_FETH ? SMR_FETH_LEN : 0) +			\
	 ((f) & SMR_OP_RETH ? SMR_RETH_LEN : 0) +			\
	 ((f) & SMR_OP_ATOMIC ? SMR_ATOMIC_ETH_LEN : 0) +		\
	 ((f) & SMR_OP_AETH ? SMR_AETH_LEN : 0) +			\
	 ((f) & SMR_OP_ATOMICACK ? SMR_ATOMIC_ACK_LEN : 0) +		\
	 ((f) & SMR_OP_IMM ? SMR_IMM_LEN : 0) +				\
	 ((f) & SMR_OP_IETH ? SMR_IETH_LEN : 0))

#define INFO(c, f)							\
	.flags = (f) | SMR_OP_VALID,					\
	.class = (c),							\
	.hdr_len = HDR_LEN(f)

/* @c: its class, for a request */
#define OP(t, op, c, f)							\
	[SMR_TRANSPORT_##t + IB_OPCODE_##op] = { INFO(SMR_CLASS_##c, f) }

#define OP_OPERAND(t, op, c, f)						\
	[SMR_TRANSPORT_##t + IB_OPCODE_##op] = {			\
		INFO(SMR_CLASS_##c, (f) | SMR_OP_PAYLOAD),		\
		.operand = sizeof(u64),					\
	}

#define FIRST		(SMR_OP_FIRST | SMR_OP_PAYLOAD)
#define MIDDLE		(SMR_OP_MIDDLE | SMR_OP_PAYLOAD)
#define LAST		(SMR_OP_LAST | SMR_OP_PAYLOAD)
#define ONLY		(FIRST | LAST)
#define SINGLE		(SMR_OP_FIRST | SMR_OP_LAST)
#define RESP		SMR_OP_RESPONSE

/* Requests of RC, UC and XRC; @x: the extra header of XRC. */
#define OPS_SEND_WRITE(t, x)						\
	OP(t, SEND_FIRST, SEND, FIRST | (x)),				\
	OP(t, SEND_MIDDLE, SEND, MIDDLE | (x)),				\
	OP(t, SEND_LAST, SEND, LAST | (x)),				\
	OP(t, SEND_LAST_WITH_IMMEDIATE, SEND, LAST | SMR_OP_IMM | (x)),	\
	OP(t, SEND_ONLY, SEND, ONLY | (x)),				\
	OP(t, SEND_ONLY_WITH_IMMEDIATE, SEND, ONLY | SMR_OP_IMM | (x)),	\
	OP(t, RDMA_WRITE_FIRST, WRITE, FIRST | SMR_OP_RETH | (x)),	\
	OP(t, RDMA_WRITE_MIDDLE, WRITE, MIDDLE | (x)),			\
	OP(t, RDMA_WRITE_LAST, WRITE, LAST | (x)),			\
	OP(t, RDMA_WRITE_LAST_WITH_IMMEDIATE, WRITE,			\
	   LAST | SMR_OP_IMM | (x)),					\
	OP(t, RDMA_WRITE_ONLY, WRITE, ONLY | SMR_OP_RETH | (x)),	\
	OP(t, RDMA_WRITE_ONLY_WITH_IMMEDIATE, WRITE,			\
	   ONLY | SMR_OP_RETH | SMR_OP_IMM | (x))

/* Packets of the reliable transports only */
#define OPS_RELIABLE(t, x)						\
	OP(t, RDMA_READ_REQUEST, READ, SINGLE | SMR_OP_RETH | (x)),	\
	OP(t, RDMA_READ_RESPONSE_FIRST, NONE, RESP | FIRST | SMR_OP_AETH), \
	OP(t, RDMA_READ_RESPONSE_MIDDLE, NONE, RESP | MIDDLE),		\
	OP(t, RDMA_READ_RESPONSE_LAST, NONE, RESP | LAST | SMR_OP_AETH), \
	OP(t, RDMA_READ_RESPONSE_ONLY, NONE, RESP | ONLY | SMR_OP_AETH), \
	OP(t, ACKNOWLEDGE, NONE, RESP | SINGLE | SMR_OP_AETH),		\
	OP(t, ATOMIC_ACKNOWLEDGE, NONE,					\
	   RESP | SINGLE | SMR_OP_AETH | SMR_OP_ATOMICACK),		\
	OP(t, COMPARE_SWAP, ATOMIC, SINGLE | SMR_OP_ATOMIC | (x)),	\
	OP(t, FETCH_ADD, ATOMIC, SINGLE | SMR_OP_ATOMIC | (x)),		\
	OP(t, SEND_LAST_WITH_INVALIDATE, SEND,				\
	   LAST | SMR_OP_IETH | (x)),					\
	OP(t, SEND_ONLY_WITH_INVALIDATE, SEND,				\
	   ONLY | SMR_OP_IETH | (x)),					\
	OP(t, FLUSH, FLUSH, SINGLE | SMR_OP_FETH | SMR_OP_RETH | (x)),	\
	OP_OPERAND(t, ATOMIC_WRITE, ATOMIC_WRITE,			\
		   SINGLE | SMR_OP_RETH | (x))

static const struct smr_op_info op_table[256] = {
	OPS_SEND_WRITE(RC, 0),
	OPS_RELIABLE(RC, 0),
	OPS_SEND_WRITE(UC, 0),
	OP(UD, SEND_ONLY, SEND, ONLY | SMR_OP_DETH),
	OP(UD, SEND_ONLY_WITH_IMMEDIATE, SEND,
	   ONLY | SMR_OP_DETH | SMR_OP_IMM),
	OPS_SEND_WRITE(XRC, SMR_OP_XRCETH),
	OPS_RELIABLE(XRC, SMR_OP_XRCETH),
	/* Only reserved octets follow, which are not read. A CNP is for the requester. */
	[SMR_OPCODE_CNP] = {
		.flags = SMR_OP_CNP | RESP | SINGLE | SMR_OP_VALID,
		.hdr_len = SMR_BTH_LEN + SMR_CNP_RESERVED,
	},
};

/**
 * smr_wire_op() - look up a BTH opcode
 * @opcode: any octet
 *
 * Return: its table entry, never NULL; SMR_OP_VALID is not set in that of an unknown opcode.
 */
const struct smr_op_info *smr_wire_op(u8 opcode)
{
	return &op_table[opcode];
}

/**
 * smr_wire_parse_bth() - read the BTH of a segment
 * @seg: the BTH
 * @bth: written in full; undefined on error
 *
 * Return: false if the opcode is unknown, or the transport version is not 0.
 */
bool smr_wire_parse_bth(const u8 *seg, struct smr_bth *bth)
{
	const struct wire_bth *wire = (const struct wire_bth *)seg;
	u32 psn = be32_to_cpu(wire->psn);

	bth->op = smr_wire_op(wire->opcode);
	bth->opcode = wire->opcode;
	bth->solicited = wire->flags & BTH_SOLICITED;
	bth->migreq = wire->flags & BTH_MIGREQ;
	bth->ack_req = psn & BTH_ACK_REQ;
	bth->becn = false;
	bth->pad = wire->flags >> BTH_PAD_SHIFT & BTH_PAD_MASK;
	bth->pkey = be16_to_cpu(wire->pkey);
	bth->qpn = be32_to_cpu(wire->qpn) & SMR_QPN_MASK;
	bth->psn = psn & SMR_PSN_MASK;

	return bth->op->flags & SMR_OP_VALID && !(wire->flags & BTH_VERSION);
}

static void bth_put(struct wire_bth *bth, const struct smr_hdr *hdr)
{
	bth->opcode = hdr->opcode;
	bth->flags = (hdr->solicited ? BTH_SOLICITED : 0) |
		     (hdr->migreq ? BTH_MIGREQ : 0) |
		     (hdr->pad & BTH_PAD_MASK) << BTH_PAD_SHIFT;
	bth->pkey = cpu_to_be16(hdr->pkey);
	bth->qpn = cpu_to_be32((hdr->qpn & SMR_QPN_MASK) |
			       (hdr->becn ? BTH_BECN : 0));
	bth->psn = cpu_to_be32((hdr->psn & SMR_PSN_MASK) |
			       (hdr->ack_req ? BTH_ACK_REQ : 0));
}

/* Headers that say what a request is for: an SRQ, a datagram QP, memory */
static const u8 *target_get(struct smr_hdr *hdr, const u8 *p, u32 flags)
{
	if (flags & SMR_OP_XRCETH) {
		hdr->srqn = get_unaligned_be32(p) & SMR_QPN_MASK;
		p += SMR_XRCETH_LEN;
	}
	if (flags & SMR_OP_DETH) {
		hdr->qkey = get_unaligned_be32(p);
		hdr->src_qpn = get_unaligned_be32(p + 4) & SMR_QPN_MASK;
		p += SMR_DETH_LEN;
	}
	if (flags & SMR_OP_FETH) {
		hdr->feth = get_unaligned_be32(p);
		p += SMR_FETH_LEN;
	}
	if (flags & (SMR_OP_RETH | SMR_OP_ATOMIC)) {
		hdr->va = get_unaligned_be64(p);
		hdr->rkey = get_unaligned_be32(p + 8);
		p += 12;
	}
	if (flags & SMR_OP_RETH) {
		hdr->dma_len = get_unaligned_be32(p);
		p += 4;
	}
	if (flags & SMR_OP_ATOMIC) {
		hdr->swap_add = get_unaligned_be64(p);
		hdr->compare = get_unaligned_be64(p + 8);
		p += 16;
	}
	return p;
}

static u8 *target_put(u8 *p, const struct smr_hdr *hdr, u32 flags)
{
	if (flags & SMR_OP_XRCETH) {
		put_unaligned_be32(hdr->srqn & SMR_QPN_MASK, p);
		p += SMR_XRCETH_LEN;
	}
	if (flags & SMR_OP_DETH) {
		put_unaligned_be32(hdr->qkey, p);
		put_unaligned_be32(hdr->src_qpn & SMR_QPN_MASK, p + 4);
		p += SMR_DETH_LEN;
	}
	if (flags & SMR_OP_FETH) {
		put_unaligned_be32(hdr->feth, p);
		p += SMR_FETH_LEN;
	}
	if (flags & (SMR_OP_RETH | SMR_OP_ATOMIC)) {
		put_unaligned_be64(hdr->va, p);
		put_unaligned_be32(hdr->rkey, p + 8);
		p += 12;
	}
	if (flags & SMR_OP_RETH) {
		put_unaligned_be32(hdr->dma_len, p);
		p += 4;
	}
	if (flags & SMR_OP_ATOMIC) {
		put_unaligned_be64(hdr->swap_add, p);
		put_unaligned_be64(hdr->compare, p + 8);
		p += 16;
	}
	return p;
}

/* Headers of responses, and headers that the consumer sees */
static void result_get(struct smr_hdr *hdr, const u8 *p, u32 flags)
{
	if (flags & SMR_OP_AETH) {
		hdr->syndrome = p[0];
		hdr->msn = get_unaligned_be24(p + 1);
		p += SMR_AETH_LEN;
	}
	if (flags & SMR_OP_ATOMICACK) {
		hdr->orig = get_unaligned_be64(p);
		p += SMR_ATOMIC_ACK_LEN;
	}
	if (flags & SMR_OP_IMM) {
		memcpy(&hdr->imm, p, sizeof(hdr->imm));
		p += SMR_IMM_LEN;
	}
	if (flags & SMR_OP_IETH)
		hdr->inv_rkey = get_unaligned_be32(p);
}

static void result_put(u8 *p, const struct smr_hdr *hdr, u32 flags)
{
	if (flags & SMR_OP_AETH) {
		p[0] = hdr->syndrome;
		put_unaligned_be24(hdr->msn, p + 1);
		p += SMR_AETH_LEN;
	}
	if (flags & SMR_OP_ATOMICACK) {
		put_unaligned_be64(hdr->orig, p);
		p += SMR_ATOMIC_ACK_LEN;
	}
	if (flags & SMR_OP_IMM) {
		memcpy(p, &hdr->imm, sizeof(hdr->imm));
		p += SMR_IMM_LEN;
	}
	if (flags & SMR_OP_IETH)
		put_unaligned_be32(hdr->inv_rkey, p);
	if (flags & SMR_OP_CNP)
		memset(p, 0, SMR_CNP_RESERVED);
}

/* Read the headers of a segment. @p: its first SMR_MAX_HDR_LEN bytes, or all if it is shorter */
static int headers_get(struct smr_hdr *hdr, const u8 *p, unsigned int seg_len)
{
	unsigned int rest = seg_len - SMR_ICRC_LEN;

	memset(hdr, 0, sizeof(*hdr));
	if (!smr_wire_parse_bth(p, &hdr->bth))
		return -EINVAL;
	if (rest < hdr->op->hdr_len || rest - hdr->op->hdr_len < hdr->pad)
		return -EINVAL;

	p = target_get(hdr, p + SMR_BTH_LEN, hdr->op->flags);
	result_get(hdr, p, hdr->op->flags);
	hdr->len = rest - hdr->op->hdr_len - hdr->pad;
	return 0;
}

/*
 * As headers_get(), for headers that are not in one piece. A separate function, because kernels
 * may be configured to zero all stack variables.
 */
static noinline_for_stack int headers_gather(struct smr_cursor *cur, unsigned int off,
					     unsigned int seg_len, struct smr_hdr *hdr)
{
	u8 copy[SMR_MAX_HDR_LEN];

	if (!smr_cursor_gather(cur, off, min_t(unsigned int, seg_len, sizeof(copy)), copy))
		return -EINVAL;
	return headers_get(hdr, copy, seg_len);
}

/**
 * smr_wire_parse() - read the headers of one segment
 * @cur: a packet as struct smr_rx_info describes it
 * @off: start of the segment, in bytes from skb->data
 * @seg_len: the segment's bytes, BTH to ICRC
 * @hdr: written in full; undefined on error
 *
 * FECN, BECN and the reserved fields are ignored, as 9.2 asks. The caller checks the payload's
 * length against the opcode: 9.7.4.1.5 requires a NAK for that. Segments that are refused here
 * are dropped without an answer.
 *
 * Return: 0, or -EINVAL for a segment that is truncated, whose opcode is unknown, whose
 * transport version is not 0, or whose payload and pad are not a multiple of four bytes.
 */
int smr_wire_parse(struct smr_cursor *cur, unsigned int off,
		   unsigned int seg_len, struct smr_hdr *hdr)
{
	unsigned int there;
	const u8 *p;

	if (seg_len < SMR_BTH_LEN + SMR_ICRC_LEN || seg_len % 4)
		return -EINVAL;
	p = smr_cursor_at(cur, off, &there);
	if (!p)
		return -EINVAL;
	if (unlikely(there < min_t(unsigned int, seg_len, SMR_MAX_HDR_LEN)))
		return headers_gather(cur, off, seg_len, hdr);
	return headers_get(hdr, p, seg_len);
}

/**
 * smr_wire_build() - write the headers of one segment
 * @seg: the place of the BTH, with space for the headers of @hdr->opcode, see smr_wire_op()
 * @hdr: @hdr->opcode determines which fields are used; @hdr->op and @hdr->len are not.
 *	@hdr->pad must pad the payload to a multiple of four bytes
 *
 * The caller writes payload, pad and ICRC.
 */
void smr_wire_build(void *seg, const struct smr_hdr *hdr)
{
	u32 flags = smr_wire_op(hdr->opcode)->flags;
	u8 *p = seg;

	bth_put(seg, hdr);
	p = target_put(p + SMR_BTH_LEN, hdr, flags);
	result_put(p, hdr, flags);
}

/**
 * smr_wire_build_next() - write the headers of a segment that differ only in their PSN
 * @next: the place of the BTH, as for smr_wire_build()
 * @seg: the headers of the segment before it
 * @hdr_len: their length
 */
void smr_wire_build_next(u8 *next, const u8 *seg, unsigned int hdr_len)
{
	struct wire_bth *bth = (struct wire_bth *)next;
	u32 psn;

	memcpy(next, seg, SMR_BTH_LEN);
	if (hdr_len > SMR_BTH_LEN)
		memcpy(next + SMR_BTH_LEN, seg + SMR_BTH_LEN, hdr_len - SMR_BTH_LEN);
	psn = be32_to_cpu(bth->psn);
	bth->psn = cpu_to_be32((psn & ~SMR_PSN_MASK) | smr_psn_add(psn, 1));
}

/**
 * smr_wire_follows() - do the headers of a packet differ from those of an earlier one only in
 *	their place in the message?
 * @seg: the headers of the packet, not checked yet; smr_icrc_covers() has compared its
 *	length, and the BTH up to the PSN
 * @first: headers of the earlier one, a packet in the middle of a message
 * @n: number of PSNs by which the packet must follow @first
 * @ack_req: set to whether it requests an ACK
 *
 * Reserved fields need not be the same.
 *
 * Return: true if they do.
 */
bool smr_wire_follows(const u8 *seg, const struct smr_hdr *first, u32 n,
		      bool *ack_req)
{
	u32 psn = be32_to_cpu(((const struct wire_bth *)seg)->psn);

	*ack_req = psn & BTH_ACK_REQ;
	if ((psn & SMR_PSN_MASK) != smr_psn_add(first->psn, n))
		return false;
	return !(first->op->flags & SMR_OP_XRCETH) ||
	       (get_unaligned_be32(seg + SMR_BTH_LEN) & SMR_QPN_MASK) == first->srqn;
}
