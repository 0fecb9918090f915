// SPDX-License-Identifier: GPL-2.0
/* Tables of the opcodes that each type of QP supports. */
#include "qp/opcode.h"

#include <linux/array_size.h>
#include <linux/errno.h>
#include <rdma/ib_pack.h>

#include "compat/ib.h"
#include "net/wire.h"

#define WR_MESSAGE(t, name, imm, wc_op, fl) {				\
	.flags = SMR_WR_VALID | (fl),					\
	.wc = (wc_op),							\
	.first = IB_OPCODE_##t##_##name##_FIRST,			\
	.middle = IB_OPCODE_##t##_##name##_MIDDLE,			\
	.last = IB_OPCODE_##t##_##name##_LAST##imm,			\
	.only = IB_OPCODE_##t##_##name##_ONLY##imm,			\
}

#define WR_SINGLE(op, wc_op, fl) {					\
	.flags = SMR_WR_VALID | (fl),					\
	.wc = (wc_op),							\
	.only = (op),							\
}

#define WR_8_BYTES(op, wc_op, fl) {					\
	.flags = SMR_WR_VALID | (fl),					\
	.wc = (wc_op),							\
	.only = (op),							\
	.len = sizeof(u64),						\
}

/* Work requests of all connected QPs */
#define WR_SEND_WRITE(t)						\
	[IB_WR_SEND] = WR_MESSAGE(t, SEND, /* plain */, IB_WC_SEND,	\
				  SMR_WR_SEND),				\
	[IB_WR_SEND_WITH_IMM] =						\
		WR_MESSAGE(t, SEND, _WITH_IMMEDIATE, IB_WC_SEND,	\
			   SMR_WR_SEND | SMR_WR_IMM),			\
	[IB_WR_RDMA_WRITE] =						\
		WR_MESSAGE(t, RDMA_WRITE, /* plain */, IB_WC_RDMA_WRITE, \
			   SMR_WR_WRITE),				\
	[IB_WR_RDMA_WRITE_WITH_IMM] =					\
		WR_MESSAGE(t, RDMA_WRITE, _WITH_IMMEDIATE,		\
			   IB_WC_RDMA_WRITE, SMR_WR_WRITE | SMR_WR_IMM), \
	[IB_WR_LOCAL_INV] = WR_SINGLE(0, IB_WC_LOCAL_INV, SMR_WR_LOCAL), \
	[IB_UVERBS_WR_BIND_MW] =					\
		WR_SINGLE(0, IB_UVERBS_WC_BIND_MW,			\
			  SMR_WR_LOCAL | SMR_WR_BINDS)

/*
 * IBTA table 38: the BTH opcodes of the reliable connection. Those of XRC differ only in the
 * bits of the transport.
 */
static const struct smr_wr_info rc_info[] = {
	WR_SEND_WRITE(RC),
	[IB_WR_SEND_WITH_INV] = {
		.flags = SMR_WR_VALID | SMR_WR_SEND | SMR_WR_INV,
		.wc = IB_WC_SEND,
		.first = IB_OPCODE_RC_SEND_FIRST,
		.middle = IB_OPCODE_RC_SEND_MIDDLE,
		.last = IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE,
		.only = IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE,
	},
	[IB_WR_RDMA_READ] =
		WR_SINGLE(IB_OPCODE_RC_RDMA_READ_REQUEST, IB_WC_RDMA_READ,
			  SMR_WR_READ),
	[IB_WR_ATOMIC_CMP_AND_SWP] =
		WR_8_BYTES(IB_OPCODE_RC_COMPARE_SWAP, IB_WC_COMP_SWAP,
			   SMR_WR_ATOMIC),
	[IB_WR_ATOMIC_FETCH_AND_ADD] =
		WR_8_BYTES(IB_OPCODE_RC_FETCH_ADD, IB_WC_FETCH_ADD,
			   SMR_WR_ATOMIC),
	[IB_WR_FLUSH] = WR_SINGLE(IB_OPCODE_RC_FLUSH, IB_WC_FLUSH,
				  SMR_WR_FLUSH),
	[IB_WR_ATOMIC_WRITE] =
		WR_8_BYTES(IB_OPCODE_RC_ATOMIC_WRITE, IB_WC_ATOMIC_WRITE,
			   SMR_WR_ATOMIC_WRITE),
	[IB_WR_REG_MR] = WR_SINGLE(0, IB_WC_REG_MR,
				   SMR_WR_LOCAL | SMR_WR_BINDS | SMR_WR_KERNEL),
};

/* Work requests of the unreliable connection */
static const struct smr_wr_info uc_info[] = {
	WR_SEND_WRITE(UC),
};

/* Work requests of the unreliable datagram */
static const struct smr_wr_info ud_info[] = {
	[IB_WR_SEND] = WR_SINGLE(IB_OPCODE_UD_SEND_ONLY, IB_WC_SEND,
				 SMR_WR_SEND),
	[IB_WR_SEND_WITH_IMM] =
		WR_SINGLE(IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE, IB_WC_SEND,
			  SMR_WR_SEND | SMR_WR_IMM),
};

/* A frame is sent unchanged. */
static const struct smr_wr_info raw_info[] = {
	[IB_WR_SEND] = WR_SINGLE(0, IB_WC_SEND, SMR_WR_SEND),
};

/**
 * struct service - the transport and work requests of a type of QP
 * @transport: enum smr_transport, plus 1; 0: no such QP type
 * @wr: its work requests
 * @nr: number of entries of @wr
 */
struct service {
	u16 transport;
	const struct smr_wr_info *wr;
	u8 nr;
};

#define SERVICE(t, table) {						\
	.transport = SMR_TRANSPORT_##t + 1,				\
	.wr = (table),							\
	.nr = ARRAY_SIZE(table),					\
}

static const struct service services[] = {
	[IB_QPT_GSI] = SERVICE(UD, ud_info),
	[IB_QPT_RC] = SERVICE(RC, rc_info),
	[IB_QPT_UC] = SERVICE(UC, uc_info),
	[IB_QPT_UD] = SERVICE(UD, ud_info),
	[IB_QPT_RAW_PACKET] = SERVICE(RAW, raw_info),
	[IB_QPT_XRC_INI] = SERVICE(XRC, rc_info),
	[IB_QPT_XRC_TGT] = SERVICE(XRC, rc_info),
};

/* The transport of a type of QP. Returns enum smr_transport, or -EOPNOTSUPP. */
int smr_qp_service(enum ib_qp_type type)
{
	if (type >= ARRAY_SIZE(services) || !services[type].transport)
		return -EOPNOTSUPP;
	return services[type].transport - 1;
}

/*
 * Look up a work request's opcode. @type: the QP's type, one that smr_qp_service() knows. Returns
 * its properties, or NULL: not supported by a QP of that type.
 */
const struct smr_wr_info *smr_wr_info(enum ib_qp_type type, u8 opcode)
{
	const struct service *service = &services[type];

	if (opcode >= service->nr || !service->wr[opcode].flags)
		return NULL;
	return &service->wr[opcode];
}
