// SPDX-License-Identifier: GPL-2.0
#include "opcode.h"

#include <rdma/ib_pack.h>

#define WR_MESSAGE(name, imm, wc_op, fl) {				\
	.flags = SMR_WR_VALID | (fl),					\
	.wc = (wc_op),							\
	.first = IB_OPCODE_RC_##name##_FIRST,				\
	.middle = IB_OPCODE_RC_##name##_MIDDLE,				\
	.last = IB_OPCODE_RC_##name##_LAST##imm,			\
	.only = IB_OPCODE_RC_##name##_ONLY##imm,			\
}

#define WR_SINGLE(op, wc_op, fl) {					\
	.flags = SMR_WR_VALID | (fl),					\
	.wc = (wc_op),							\
	.only = (op),							\
}

/* IBTA table 38: the BTH opcodes of the reliable connection */
static const struct smr_wr_info rc_info[] = {
	[IB_WR_SEND] = WR_MESSAGE(SEND, /* plain */, IB_WC_SEND, SMR_WR_SEND),
	[IB_WR_SEND_WITH_IMM] =
		WR_MESSAGE(SEND, _WITH_IMMEDIATE, IB_WC_SEND,
			   SMR_WR_SEND | SMR_WR_IMM),
	[IB_WR_SEND_WITH_INV] = {
		.flags = SMR_WR_VALID | SMR_WR_SEND | SMR_WR_INV,
		.wc = IB_WC_SEND,
		.first = IB_OPCODE_RC_SEND_FIRST,
		.middle = IB_OPCODE_RC_SEND_MIDDLE,
		.last = IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE,
		.only = IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE,
	},
	[IB_WR_RDMA_WRITE] =
		WR_MESSAGE(RDMA_WRITE, /* plain */, IB_WC_RDMA_WRITE, SMR_WR_WRITE),
	[IB_WR_RDMA_WRITE_WITH_IMM] =
		WR_MESSAGE(RDMA_WRITE, _WITH_IMMEDIATE, IB_WC_RDMA_WRITE,
			   SMR_WR_WRITE | SMR_WR_IMM),
	[IB_WR_RDMA_READ] =
		WR_SINGLE(IB_OPCODE_RC_RDMA_READ_REQUEST, IB_WC_RDMA_READ,
			  SMR_WR_READ),
	[IB_WR_ATOMIC_CMP_AND_SWP] =
		WR_SINGLE(IB_OPCODE_RC_COMPARE_SWAP, IB_WC_COMP_SWAP,
			  SMR_WR_ATOMIC),
	[IB_WR_ATOMIC_FETCH_AND_ADD] =
		WR_SINGLE(IB_OPCODE_RC_FETCH_ADD, IB_WC_FETCH_ADD,
			  SMR_WR_ATOMIC),
	[IB_WR_LOCAL_INV] = WR_SINGLE(0, IB_WC_LOCAL_INV, SMR_WR_LOCAL),
	[IB_WR_REG_MR] = WR_SINGLE(0, IB_WC_REG_MR,
				   SMR_WR_LOCAL | SMR_WR_BINDS | SMR_WR_KERNEL),
	[IB_UVERBS_WR_BIND_MW] =
		WR_SINGLE(0, IB_UVERBS_WC_BIND_MW,
			  SMR_WR_LOCAL | SMR_WR_BINDS),
};

/**
 * smr_wr_info() - look a work request's opcode up
 * @type: the QP's type
 * @opcode: any value
 *
 * Return: what is known of it, or NULL: a QP of that type cannot do it.
 */
const struct smr_wr_info *smr_wr_info(enum ib_qp_type type, u8 opcode)
{
	if (type != IB_QPT_RC || opcode >= ARRAY_SIZE(rc_info) ||
	    !rc_info[opcode].flags)
		return NULL;
	return &rc_info[opcode];
}
