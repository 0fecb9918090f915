/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv2 on the wire: opcodes, headers, and functions to read and write them. IBTA volume 1,
 * chapter 9 ("C9-..."), and annex A17 for RoCEv2.
 */
#ifndef SMR_WIRE_H
#define SMR_WIRE_H

#include <linux/bits.h>
#include <linux/stddef.h>
#include <linux/types.h>

struct smr_cursor;

#define SMR_ICRC_LEN		4
#define SMR_PSN_MASK		0xffffff
#define SMR_QPN_MASK		0xffffff
#define SMR_MULTICAST_QPN	0xffffff
#define SMR_DEFAULT_PKEY	0xffff

/* IBTA 9.7.2, 9.7.7: bytes of the longest message, 2 GiB */
#define SMR_MESSAGE_MAX		BIT_ULL(31)

/* Header lengths in bytes */
#define SMR_BTH_LEN	12
#define SMR_RETH_LEN	16
#define SMR_AETH_LEN	4
#define SMR_ATOMIC_ETH_LEN	28
#define SMR_ATOMIC_ACK_LEN	8
#define SMR_IMM_LEN	4
#define SMR_IETH_LEN	4
#define SMR_DETH_LEN	8
#define SMR_XRCETH_LEN	4
#define SMR_FETH_LEN	4
#define SMR_CNP_RESERVED	16
/* BTH, XRCETH and AtomicETH, the longest chain */
#define SMR_MAX_HDR_LEN	44

/* The headers of an opcode's packet, and its place in a message; struct smr_op_info */
enum smr_op_flags {
	SMR_OP_RETH	= 1 << 0,
	SMR_OP_AETH	= 1 << 1,
	SMR_OP_ATOMIC	= 1 << 2,	/* AtomicETH */
	SMR_OP_ATOMICACK = 1 << 3,
	SMR_OP_IMM	= 1 << 4,
	SMR_OP_IETH	= 1 << 5,
	SMR_OP_DETH	= 1 << 6,
	SMR_OP_XRCETH	= 1 << 7,
	SMR_OP_FETH	= 1 << 8,
	/* position in its message; an ONLY is FIRST and LAST */
	SMR_OP_FIRST	= 1 << 9,
	SMR_OP_LAST	= 1 << 10,
	SMR_OP_MIDDLE	= 1 << 11,
	SMR_OP_PAYLOAD	= 1 << 12,
	SMR_OP_RESPONSE	= 1 << 13,	/* to the requester, including ACKs */
	SMR_OP_CNP	= 1 << 14,
	SMR_OP_VALID	= 1 << 15,
};

/* The classes of requests; the responder has a row for each in qp/resp_class.c. */
enum smr_class {
	SMR_CLASS_NONE,		/* not a request */
	SMR_CLASS_SEND,
	SMR_CLASS_WRITE,
	SMR_CLASS_READ,
	SMR_CLASS_ATOMIC,
	SMR_CLASS_ATOMIC_WRITE,
	SMR_CLASS_FLUSH,
	SMR_CLASS_NR,
};

/* FETH, IBTA A19.3.1: the placement types, enum ib_placement_type, and level */
#define SMR_FETH_TYPE_MASK	0x0000000f
#define SMR_FETH_LEVEL_MASK	0x00000030
#define SMR_FETH_LEVEL_SHIFT	4

/**
 * struct smr_op_info - the properties of a BTH opcode
 * @flags: enum smr_op_flags
 * @class: enum smr_class
 * @hdr_len: bytes of all headers, including the BTH
 * @operand: required length of the payload, in bytes; 0: any
 */
struct smr_op_info {
	u32 flags;
	u8 class;
	u8 hdr_len;
	u8 operand;
};

/* The BTH opcode's upper three bits */
enum smr_transport {
	SMR_TRANSPORT_RC = 0x00,
	SMR_TRANSPORT_UC = 0x20,
	SMR_TRANSPORT_RD = 0x40,
	SMR_TRANSPORT_UD = 0x60,
	SMR_TRANSPORT_CNP = 0x80,
	SMR_TRANSPORT_XRC = 0xa0,
	/* A17.9.3: the only opcode of its transport */
	SMR_OPCODE_CNP = 0x81,
	/* Ethernet frames: no opcode is of this transport */
	SMR_TRANSPORT_RAW = 0xff,
	SMR_TRANSPORT_MASK = 0xe0,
};

/**
 * struct smr_hdr - the headers of one packet, in host order
 * @opcode: the BTH opcode, including the bits of the transport
 * @op: the properties of the opcode
 * @solicited: BTH SE
 * @migreq: BTH M
 * @pad: 0 to 3 bytes after the payload
 * @ack_req: BTH A
 * @becn: BTH BECN; written, but not read
 * @pkey: partition key
 * @qpn: destination QP
 * @psn: packet sequence number, 24 bits
 * @va: RETH or AtomicETH address
 * @rkey: RETH or AtomicETH key
 * @dma_len: RETH length
 * @syndrome: AETH syndrome, 8 bits
 * @msn: AETH message sequence number, 24 bits
 * @compare: AtomicETH compare data
 * @swap_add: AtomicETH swap or add data
 * @orig: AtomicAckETH original remote data
 * @imm: immediate data; stays in network order
 * @inv_rkey: IETH key
 * @qkey: DETH
 * @src_qpn: DETH
 * @srqn: XRCETH
 * @feth: FETH
 * @len: bytes of payload, without pad and ICRC
 *
 * Fields of headers that the opcode does not have are 0. Those of the BTH are also a struct
 * smr_bth, bth.
 */
struct smr_hdr {
	struct_group_tagged(smr_bth, bth, const struct smr_op_info *op;
		u8 opcode;
		bool solicited;
		bool migreq;
		bool ack_req;
		bool becn;
		u8 pad;
		u16 pkey;
		u32 qpn;
		u32 psn;
	);
	u64 va;
	u32 rkey;
	u32 dma_len;
	u8 syndrome;
	u32 msn;
	u64 compare;
	u64 swap_add;
	u64 orig;
	__be32 imm;
	u32 inv_rkey;
	u32 qkey;
	u32 src_qpn;
	u32 srqn;
	u32 feth;
	u32 len;
};

/* AETH syndromes, IBTA 9.7.5.2.4: the type in bits 7:5, a value in bits 4:0 */
enum smr_aeth_type {
	SMR_AETH_ACK = 0x00,
	SMR_AETH_RNR = 0x20,
	SMR_AETH_NAK = 0x60,
	SMR_AETH_TYPE_MASK = 0xe0,
	SMR_AETH_VALUE_MASK = 0x1f,
	/* "credit count is not valid" */
	SMR_AETH_CREDIT_INVALID = 0x1f,
};

enum smr_nak_code {
	SMR_NAK_PSN_SEQ = 0,
	SMR_NAK_INV_REQ = 1,
	SMR_NAK_REM_ACCESS = 2,
	SMR_NAK_REM_OP = 3,
	SMR_NAK_INV_RD_REQ = 4,
};

const struct smr_op_info *smr_wire_op(u8 opcode);
bool smr_wire_parse_bth(const u8 *seg, struct smr_bth *bth);
int smr_wire_parse(struct smr_cursor *cur, unsigned int off,
		   unsigned int seg_len, struct smr_hdr *hdr);
void smr_wire_build(void *seg, const struct smr_hdr *hdr);
void smr_wire_build_next(u8 *next, const u8 *seg, unsigned int hdr_len);
bool smr_wire_follows(const u8 *seg, const struct smr_hdr *first, u32 n,
		      bool *ack_req);

/* IBTA 10.9.3: full and limited members belong to the same partition. */
static inline bool smr_pkey_ok(u16 pkey)
{
	return (pkey & 0x7fff) == (SMR_DEFAULT_PKEY & 0x7fff);
}

/* Distance from @b to @a in PSN space: negative if @a is older. */
static inline int smr_psn_diff(u32 a, u32 b)
{
	return (int)((a - b) << 8) >> 8;
}

/* The distance of @a from @b; @a must not be before @b. */
static inline u32 smr_psn_off(u32 a, u32 b)
{
	return (a - b) & SMR_PSN_MASK;
}

static inline u32 smr_psn_add(u32 psn, u32 n)
{
	return (psn + n) & SMR_PSN_MASK;
}

#endif /* SMR_WIRE_H */
