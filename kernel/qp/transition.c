// SPDX-License-Identifier: GPL-2.0
/*
 * The core checks transitions against its table, but only accepts or refuses. This finds the
 * attributes that caused a refusal.
 */
#include "qp/transition.h"

#include <linux/bitops.h>
#include <linux/errno.h>

#include "why.h"

#define NEED_INIT	(IB_QP_PKEY_INDEX | IB_QP_PORT)
#define NEED_RTR	(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define NEED_RTR_RD	(IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define NEED_RTS_RD	(IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
			 IB_QP_MAX_QP_RD_ATOMIC)

/* IBTA 11.2.5.2: to INIT */
static int need_init(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RAW_PACKET:
		return IB_QP_PORT;
	case IB_QPT_GSI:
		return IB_QP_PKEY_INDEX | IB_QP_QKEY;
	case IB_QPT_UD:
		return NEED_INIT | IB_QP_QKEY;
	default:
		return NEED_INIT | IB_QP_ACCESS_FLAGS;
	}
}

static int need_rtr(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_TGT:
		return NEED_RTR | NEED_RTR_RD;
	case IB_QPT_UC:
	case IB_QPT_XRC_INI:
		return NEED_RTR;
	default:
		return 0;
	}
}

static int need_rts(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_INI:
		return IB_QP_SQ_PSN | NEED_RTS_RD;
	case IB_QPT_XRC_TGT:
		return IB_QP_SQ_PSN | IB_QP_TIMEOUT;
	case IB_QPT_RAW_PACKET:
		return 0;
	default:
		return IB_QP_SQ_PSN;
	}
}

/* Other transitions need no attribute. */
static int need(enum ib_qp_type type, enum ib_qp_state cur,
		enum ib_qp_state next)
{
	if (cur == IB_QPS_RESET && next == IB_QPS_INIT)
		return need_init(type);
	if (cur == IB_QPS_INIT && next == IB_QPS_RTR)
		return need_rtr(type);
	if (cur == IB_QPS_RTR && next == IB_QPS_RTS)
		return need_rts(type);
	return 0;
}

/*
 * Why does the core not allow a transition of a QP? @mask: attributes to set: enum ib_qp_attr_mask.
 * Returns the reason: the attributes that are missing, or not allowed.
 */
struct smr_reason smr_transition_why(enum ib_qp_type type, enum ib_qp_state cur,
				     enum ib_qp_state next, int mask)
{
	int least = need(type, cur, next), excess = 0, bit;

	if (!ib_modify_qp_is_ok(cur, next, type, least))
		return SMR_REASON(QP_TRANSITION, cur, next);
	if (least & ~mask)
		return SMR_REASON(QP_ATTR_MISSING, cur, next, least & ~mask);
	for (bit = 1; bit && bit <= mask; bit <<= 1)
		if (mask & bit &&
		    !ib_modify_qp_is_ok(cur, next, type, least | bit))
			excess |= bit;
	return SMR_REASON(QP_ATTR_EXCESS, cur, next, excess);
}
