// SPDX-License-Identifier: GPL-2.0
/* Split received trains by QP and side, check their source, and queue them. Runs in softirq. */
#include "qp/rx.h"

#include <linux/skbuff.h>
#include <net/ipv6.h>

#include "compat/unaligned.h"
#include "net/cursor.h"
#include "net/udp_rx.h"
#include "net/wire.h"
#include "qp/capture.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/gsi.h"
#include "qp/mcast.h"
#include "qp/probe.h"
#include "qp/rx_queue.h"
#include "qp/task.h"
#include "stats.h"
#include "why.h"

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

static bool rx_service_ok(const struct smr_qp *qp, const struct smr_bth *bth)
{
	if (bth->op->flags & SMR_OP_RESPONSE &&
	    qp->ibqp.qp_type == IB_QPT_XRC_TGT)
		return false;
	return smr_ecn_service_ok(qp, bth);
}

static bool rx_state_ok(const struct smr_qp *qp, u32 op_flags)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	if (op_flags & SMR_OP_RESPONSE)
		return state == IB_QPS_RTS || state == IB_QPS_SQD;
	return smr_qp_receives(state);
}

/*
 * The QP does not take the packet: it is of another service, or in the wrong state. Return: the
 * reason.
 */
static u32 __cold rx_refuse(struct smr_qp *qp, const struct smr_bth *bth,
			    const struct in6_addr *saddr)
{
	u32 why = rx_service_ok(qp, bth) ? SMR_WHY_DROP_STATE : SMR_WHY_DROP_SERVICE;

	if (bth->op->flags & SMR_OP_CNP)
		smr_qp_inc(qp, SMR_CNT_CNP_IGNORED);
	else if (why == SMR_WHY_DROP_SERVICE)
		smr_qp_drop(qp, DROP_SERVICE, SMR_CNT_DROPPED, saddr,
			    bth->opcode, qp->ibqp.qp_type);
	else
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, saddr, bth->opcode,
			    READ_ONCE(qp->state));
	return why;
}

/* Find the QP that a packet is for. If there is none, @why is the reason to drop the packet. */
static struct smr_qp *rx_lookup(struct smr_qptab *tab,
				const struct sk_buff *skb,
				const struct smr_bth *bth, u32 *why)
{
	struct in6_addr saddr, daddr;
	struct smr_qp *qp;

	smr_rx_addrs(skb, &saddr, &daddr);
	qp = smr_qp_find_at(tab, bth->qpn, &daddr, skb->skb_iif);
	if (!qp) {
		smr_qptab_stray(tab, bth, &saddr, smr_rx_part(skb)->count);
		*why = SMR_WHY_DROP_NO_QP;
		return NULL;
	}
	if (!rx_state_ok(qp, bth->op->flags) || !rx_service_ok(qp, bth)) {
		*why = rx_refuse(qp, bth, &saddr);
	} else if (!rx_source_ok(qp, &saddr, &daddr, skb->skb_iif)) {
		smr_qp_drop(qp, DROP_SOURCE, SMR_CNT_BAD_SOURCE, &saddr);
		*why = SMR_WHY_DROP_SOURCE;
	} else if (!smr_pkey_ok(bth->pkey)) {
		smr_qp_drop(qp, DROP_PKEY, SMR_CNT_BAD_PKEY, &saddr, bth->pkey);
		*why = SMR_WHY_DROP_PKEY;
	} else {
		return qp;
	}
	smr_qp_put(qp);
	return NULL;
}

/* What dropwatch shows */
static enum skb_drop_reason rx_drop_reason(u32 why)
{
	switch (why) {
	case SMR_WHY_DROP_HEADER:
		return SKB_DROP_REASON_INVALID_PROTO;
	case SMR_WHY_DROP_SOURCE:
		return SKB_DROP_REASON_IP_INADDRERRORS;
	case SMR_WHY_DROP_PKEY:
		return SKB_DROP_REASON_OTHERHOST;
	default:
		return SKB_DROP_REASON_NO_SOCKET;
	}
}

static void rx_drop(struct smr_qptab *tab, struct sk_buff *skb, u32 why)
{
	smr_capture_arrived(tab, skb, why);
	kfree_skb_reason(skb, rx_drop_reason(why));
}

/* Deliver segments to a group. Returns the cost in packets: each member gets a copy. */
static unsigned int rx_multicast(struct smr_qptab *tab, struct sk_buff *skb)
{
	unsigned int len, off = smr_rx_seg(skb, smr_rx_part(skb)->first, &len);
	struct smr_cursor cursor;
	struct smr_hdr hdr;

	smr_cursor_init(&cursor, skb);
	if (smr_wire_parse(&cursor, off, len, &hdr)) {
		rx_drop(tab, skb, SMR_WHY_DROP_HEADER);
		return 1;
	}
	smr_capture_arrived(tab, skb, 0);
	return 1 + smr_members_rx(&tab->members, skb, &hdr);
}

/*
 * Deliver consecutive segments, the first of which has the BTH @seg, to one side of one QP, or to
 * a group. Returns the cost in packets, without that of the task that has run.
 */
static unsigned int rx_part(struct smr_qptab *tab, struct sk_buff *skb, const u8 *seg)
{
	u32 why = SMR_WHY_DROP_HEADER;
	struct smr_bth bth;
	struct smr_qp *qp;

	if (!smr_wire_parse_bth(seg, &bth)) {
		if (!smr_probe_arrived(seg))
			goto drop;
		consume_skb(skb);
		return 1;
	}
	if (bth.qpn == SMR_MULTICAST_QPN)
		return rx_multicast(tab, skb);
	qp = rx_lookup(tab, skb, &bth, &why);
	if (!qp)
		goto drop;
	smr_capture_arrived(tab, skb, 0);
	smr_qp_receive(qp, skb, bth.op->flags & SMR_OP_RESPONSE);
	smr_qp_put(qp);
	return 0;
drop:
	rx_drop(tab, skb, why);
	return 1;
}

/* The first 8 octets of a BTH, and in them: the opcode; the P_Key and the QPN */
#define HEAD_LEN	8
#define HEAD_OPCODE	56
#define HEAD_TARGET	(GENMASK_ULL(47, 32) | SMR_QPN_MASK)

static bool is_response(u64 head)
{
	return smr_wire_op(head >> HEAD_OPCODE)->flags & SMR_OP_RESPONSE;
}

/* The P_Key is part of the target: rx_lookup() checks only that of the first segment. */
static bool same_target(u64 a, u64 b)
{
	u64 differ = a ^ b;

	return !(differ & HEAD_TARGET) &&
	       (!(differ >> HEAD_OPCODE) || is_response(a) == is_response(b));
}

/*
 * GRO merges packets of one flow and size, which may be for several QPs, or for both sides of
 * one. Split the train where the target changes. @seg: the BTH of the first
 */
static unsigned int rx_run_len(struct smr_cursor *cursor, unsigned int first, const u8 *seg)
{
	const struct smr_rx_info *info = smr_rx_info(cursor->skb);
	u64 head = get_unaligned_be64(seg);
	unsigned int end;
	u8 buf[HEAD_LEN];

	for (end = first + 1; end < info->nsegs; end++) {
		seg = smr_cursor_get(cursor, end * info->seg_len, HEAD_LEN, buf);
		if (!seg || !same_target(get_unaligned_be64(seg), head))
			break;
	}
	return end - first;
}

static void dispatch_rx(void *ctx, struct sk_buff *skb)
{
	unsigned int nsegs = smr_rx_info(skb)->nsegs, seg_len = smr_rx_info(skb)->seg_len;
	unsigned int first, count, packets = 0;
	struct smr_cursor cursor;
	u8 buf[SMR_BTH_LEN];
	struct sk_buff *part;
	const u8 *seg;

	smr_cursor_init(&cursor, skb);
	for (first = 0; first < nsegs; first += count) {
		seg = smr_cursor_get(&cursor, first * seg_len, SMR_BTH_LEN, buf);
		if (!seg) {
			/* The last segment is too short. */
			smr_rx_part(skb)->first = first;
			smr_rx_part(skb)->count = 1;
			rx_drop(ctx, skb, SMR_WHY_DROP_HEADER);
			packets++;
			break;
		}
		count = rx_run_len(&cursor, first, seg);
		part = first + count == nsegs ? skb :
						skb_clone(skb, GFP_ATOMIC);
		if (!part)
			continue;
		smr_rx_part(part)->first = first;
		smr_rx_part(part)->count = count;
		smr_rx_part(part)->sealed = true;
		smr_rx_part(part)->careful = false;
		packets += rx_part(ctx, part, seg);
	}
	if (packets)
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
