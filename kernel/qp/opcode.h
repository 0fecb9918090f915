/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of work request opcodes, and of the packets for them. */
#ifndef SMR_OPCODE_H
#define SMR_OPCODE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

enum smr_wr_flags {
	SMR_WR_SEND	= 1 << 0,
	SMR_WR_WRITE	= 1 << 1,
	SMR_WR_READ	= 1 << 2,
	SMR_WR_ATOMIC	= 1 << 3,
	SMR_WR_IMM	= 1 << 4,
	SMR_WR_INV	= 1 << 5,
	SMR_WR_LOCAL	= 1 << 6,	/* executed without a peer */
	SMR_WR_VALID	= 1 << 7,
	SMR_WR_KERNEL	= 1 << 8,	/* for kernel consumers only */
	SMR_WR_BINDS	= 1 << 9,	/* has a struct smr_mw_bind */
	SMR_WR_FLUSH	= 1 << 10,
	SMR_WR_ATOMIC_WRITE = 1 << 11,
	/* the answer carries data */
	SMR_WR_FETCHES	= SMR_WR_READ | SMR_WR_ATOMIC,
	/* a READ response with no data answers it: IBTA A19.4.3 */
	SMR_WR_CONFIRMED = SMR_WR_FLUSH | SMR_WR_ATOMIC_WRITE,
	/* counts against max_rd_atomic, and a fence waits for it */
	SMR_WR_NONPOSTED = SMR_WR_FETCHES | SMR_WR_CONFIRMED,
};

/**
 * struct smr_wr_info - the properties of a work request's opcode
 * @flags: enum smr_wr_flags
 * @wc: the opcode of its completion
 * @first: BTH opcode of the first of several packets
 * @middle: BTH opcode of the packets between first and last
 * @last: BTH opcode of the last of several packets
 * @only: BTH opcode of the only packet of a message, and of a local operation
 * @len: the length that the message must have, in bytes; 0: any
 */
struct smr_wr_info {
	u16 flags;
	u8 wc;
	u8 first;
	u8 middle;
	u8 last;
	u8 only;
	u8 len;
};

int smr_qp_service(enum ib_qp_type type);
const struct smr_wr_info *smr_wr_info(enum ib_qp_type type, u8 opcode);

#endif /* SMR_OPCODE_H */
