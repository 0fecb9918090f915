// SPDX-License-Identifier: GPL-2.0
/* Split received trains by QP and side, check their source, and queue them. Runs in softirq. */
#include "qp/rx.h"

#include <linux/skbuff.h>
#include <net/ipv6.h>

#include "compat/unaligned.h"
#include "net/cursor.h"
#include "net/udp_rx.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/gsi.h"
#include "qp/mcast.h"
#include "qp/rx_queue.h"
#include "qp/task.h"
#include "stats.h"

/*
 * IBTA 9.6.1: the addresses must match before a packet may reach its QP. Otherwise it is
 * dropped without an answer. A link-local address on another link belongs to another host.
 */
static bool rx_source_ok(struct smr_qp *qp, const struct in6_addr *saddr,
			 const struct in6_addr *daddr, int iif)
{
	const struct smr_ends *ends;

	if (qp->service == SMR_TRANSPORT_UD)
		return smr_qp_has_addr(qp, daddr, iif);
	ends = rcu_dereference(qp->ends);
	return ends && ipv6_addr_equal(saddr, &ends->peer) &&
	       ipv6_addr_equal(daddr, &ends->own) &&
	       (iif == ends->oif || !smr_addr_is_scoped(saddr, iif));
}

static bool rx_service_ok(const struct smr_qp *qp, const struct smr_hdr *hdr)
{
	if (hdr->op->flags & SMR_OP_RESPONSE &&
	    qp->ibqp.qp_type == IB_QPT_XRC_TGT)
		return false;
	return smr_ecn_service_ok(qp, hdr);
}

static bool rx_state_ok(const struct smr_qp *qp, u32 op_flags)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	if (op_flags & SMR_OP_RESPONSE)
		return state == IB_QPS_RTS || state == IB_QPS_SQD;
	return smr_qp_receives(state);
}

/* The QP does not take the packet: it is of another service, or in the wrong state. */
static void __cold rx_refuse(struct smr_qp *qp, const struct smr_hdr *hdr,
			     const struct in6_addr *saddr)
{
	if (hdr->op->flags & SMR_OP_CNP)
		smr_qp_inc(qp, SMR_CNT_CNP_IGNORED);
	else if (!rx_service_ok(qp, hdr))
		smr_qp_drop(qp, DROP_SERVICE, SMR_CNT_DROPPED, saddr,
			    hdr->opcode, qp->ibqp.qp_type);
	else
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, saddr, hdr->opcode,
			    READ_ONCE(qp->state));
}

/* Find the QP that a packet is for. If there is none, @reason is the reason to drop the packet. */
static struct smr_qp *rx_lookup(struct smr_qptab *tab,
				const struct sk_buff *skb,
				const struct smr_hdr *hdr,
				enum skb_drop_reason *reason)
{
	struct in6_addr saddr, daddr;
	struct smr_qp *qp;

	smr_rx_addrs(skb, &saddr, &daddr);
	*reason = SKB_DROP_REASON_NO_SOCKET;
	qp = smr_qp_find_at(tab, hdr->qpn, &daddr, skb->skb_iif);
	if (!qp) {
		smr_qptab_stray(tab, hdr, &saddr, smr_rx_part(skb)->count);
		return NULL;
	}
	if (!rx_state_ok(qp, hdr->op->flags) || !rx_service_ok(qp, hdr)) {
		rx_refuse(qp, hdr, &saddr);
	} else if (!rx_source_ok(qp, &saddr, &daddr, skb->skb_iif)) {
		smr_qp_drop(qp, DROP_SOURCE, SMR_CNT_BAD_SOURCE, &saddr);
		*reason = SKB_DROP_REASON_IP_INADDRERRORS;
	} else if (!smr_pkey_ok(hdr->pkey)) {
		smr_qp_drop(qp, DROP_PKEY, SMR_CNT_BAD_PKEY, &saddr, hdr->pkey);
		*reason = SKB_DROP_REASON_OTHERHOST;
	} else {
		return qp;
	}
	smr_qp_put(qp);
	return NULL;
}

/*
 * Deliver one run of segments to one side of one QP, or to a group. Returns the cost in
 * packets: each member of a group gets a copy.
 */
static unsigned int rx_part(struct smr_qptab *tab, struct sk_buff *skb)
{
	unsigned int len, off = smr_rx_seg(skb, smr_rx_part(skb)->first, &len);
	enum skb_drop_reason reason = SKB_DROP_REASON_INVALID_PROTO;
	struct smr_cursor cursor;
	struct smr_hdr hdr;
	struct smr_qp *qp;

	smr_cursor_init(&cursor, skb);
	if (smr_wire_parse(&cursor, off, len, &hdr))
		goto drop;
	if (hdr.qpn == SMR_MULTICAST_QPN)
		return 1 + smr_members_rx(&tab->members, skb, &hdr);
	qp = rx_lookup(tab, skb, &hdr, &reason);
	if (!qp)
		goto drop;
	smr_qp_receive(qp, skb, hdr.op->flags & SMR_OP_RESPONSE);
	smr_qp_put(qp);
	return 1;
drop:
	kfree_skb_reason(skb, reason);
	return 1;
}

/*
 * Identifies the target of a segment: the QPN and the QP's side. The P_Key is part of
 * it, since only the first segment of a run is checked.
 */
static u64 rx_target(struct smr_cursor *cursor, unsigned int seg)
{
	unsigned int off = seg * smr_rx_info(cursor->skb)->seg_len;
	const u8 *bth;
	u8 buf[8];

	bth = smr_cursor_get(cursor, off, sizeof(buf), buf);
	if (!bth)
		return 0;
	return (get_unaligned_be32(bth + 4) & SMR_QPN_MASK) |
	       (smr_wire_op(bth[0])->flags & SMR_OP_RESPONSE ? BIT(31) : 0) |
	       (u64)get_unaligned_be16(bth + 2) << 32;
}

/*
 * GRO merges packets of one flow and size, which may be for several QPs. Split the train where
 * the target changes.
 */
static unsigned int rx_run_len(const struct sk_buff *skb, unsigned int first)
{
	unsigned int end = first + 1;
	struct smr_cursor cursor;
	u64 target;

	if (end == smr_rx_info(skb)->nsegs)
		return 1;
	smr_cursor_init(&cursor, skb);
	target = rx_target(&cursor, first);
	while (end < smr_rx_info(skb)->nsegs &&
	       rx_target(&cursor, end) == target)
		end++;
	return end - first;
}

static void dispatch_rx(void *ctx, struct sk_buff *skb)
{
	unsigned int nsegs = smr_rx_info(skb)->nsegs;
	unsigned int first, count, packets = 0;
	struct sk_buff *part;

	for (first = 0; first < nsegs; first += count) {
		count = rx_run_len(skb, first);
		part = first + count == nsegs ? skb :
						skb_clone(skb, GFP_ATOMIC);
		if (!part)
			continue;
		smr_rx_part(part)->first = first;
		smr_rx_part(part)->count = count;
		smr_rx_part(part)->sealed = true;
		smr_rx_part(part)->careful = false;
		packets += rx_part(ctx, part);
	}
	smr_task_charge(packets * SMR_COST_PACKET);
}

static bool may_copy(void)
{
	return smr_task_charge(0);
}

const struct smr_rx_ops smr_qp_rx_ops = {
	.rx = dispatch_rx,
	.may_copy = may_copy,
};
