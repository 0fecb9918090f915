// SPDX-License-Identifier: GPL-2.0
/* The messages of RAW_PACKET QPs are Ethernet frames: send and receive them, in the QPs' tasks. */
#include "raw/private.h"

#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "compat/cleanup.h"
#include "net/cursor.h"
#include "net/egress.h"
#include "net/train.h"
#include "qp/core.h"
#include "qp/pace.h"
#include "qp/payload.h"
#include "qp/recv.h"
#include "qp/sq.h"
#include "stats.h"

/* The rest of a longer frame is in page fragments: large allocations often fail. */
#define LINEAR_MAX	2048

/* Allocate a frame, not filled; -EMSGSIZE: longer than the stack supports, whatever the MTU is. */
static struct sk_buff *frame_alloc(struct smr_qp *qp, unsigned int len)
{
	const struct net_device *ndev = qp->env->ndev;
	unsigned int linear = min_t(unsigned int, len, LINEAR_MAX);
	unsigned int head = LL_RESERVED_SPACE(ndev);
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(head + linear +
				   READ_ONCE(ndev->needed_tailroom),
				   len - linear, 0, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb && err == -ENOBUFS) {
		smr_egress_wait_moment(qp->egress);
		return ERR_PTR(-EAGAIN);
	}
	if (!skb)
		return ERR_PTR(err);
	skb_reserve(skb, head);
	skb_put(skb, linear);
	skb->data_len = len - linear;
	skb->len += len - linear;
	return skb;
}

static int frame_fill(struct smr_sgl *sgl, struct sk_buff *skb)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	int err, i;

	err = smr_sgl_read(sgl, skb->data, skb_headlen(skb));
	for (i = 0; i < shinfo->nr_frags && !err; i++)
		err = smr_sgl_read(sgl, skb_frag_address(&shinfo->frags[i]),
				   skb_frag_size(&shinfo->frags[i]));
	return err;
}

/* Set up the headers of a filled frame. -EMSGSIZE: longer than the netdev's MTU allows */
static int frame_finish(struct sk_buff *skb, struct net_device *ndev)
{
	unsigned int max = READ_ONCE(ndev->mtu) + ETH_HLEN;
	int depth;

	skb->dev = ndev;
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb->protocol = eth_hdr(skb)->h_proto;
	if (eth_type_vlan(skb->protocol)) {
		max += VLAN_HLEN;
		if (vlan_get_protocol_and_depth(skb, skb->protocol, &depth))
			skb_set_network_header(skb, depth);
	}
	skb_probe_transport_header(skb);
	return skb->len <= max ? 0 : -EMSGSIZE;
}

/* A frame of the open list's memory; or an ERR_PTR(). */
static struct sk_buff *frame_build(struct smr_qp *qp, unsigned int len)
{
	struct sk_buff *skb = frame_alloc(qp, len);
	int err;

	if (IS_ERR(skb))
		return skb;
	err = frame_fill(&qp->req.sgl, skb);
	if (!err)
		err = frame_finish(skb, qp->env->ndev);
	if (!err)
		return skb;
	if (err == SMR_PAGE_MISSING)
		consume_skb(skb); /* it is built again when the page is present */
	else
		kfree_skb_reason(skb, err == -EMSGSIZE ?
				 SKB_DROP_REASON_PKT_TOO_BIG :
				 SKB_DROP_REASON_SKB_UCOPY_FAULT);
	return ERR_PTR(err);
}

/*
 * Pass the frame to the rules and to the netdev, unless the netdev is now in another namespace:
 * then no frame of this link may be sent by it.
 */
static int frame_leave(struct smr_qp *qp, struct sk_buff *skb)
{
	enum smr_steer_sent who;
	int err;

	/* The rules run the tasks of other QPs. */
	guard(smr_bh)();
	/* A netdev that moves is down until a grace period has passed. */
	guard(rcu)();
	if (!net_eq(dev_net(skb->dev), qp->env->net)) {
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
		return -ENETDOWN;
	}
	who = smr_steer_sent(qp, skb);
	if (who == SMR_STEER_OWNER) {
		consume_skb(skb);
		return 0;
	}
	smr_egress_charge(qp->egress, skb, skb->dev);
	err = smr_xmit_result(qp->egress, &qp->req.refused,
			      dev_queue_xmit(skb));
	/* Do not retry, or receivers get it twice: it counts as lost. */
	return who == SMR_STEER_SOME && err == -EAGAIN ? 0 : err;
}

static int frame_out(struct smr_qp *qp, unsigned int len)
{
	struct sk_buff *skb;
	int err;

	err = smr_egress_room(qp->egress);
	if (err)
		return err;
	skb = frame_build(qp, len);
	return IS_ERR(skb) ? PTR_ERR(skb) : frame_leave(qp, skb);
}

static void frame_sent(struct smr_qp *qp, const struct smr_swqe *wqe,
		       struct smr_budget *budget)
{
	smr_send_begin(qp, wqe, 0, 1);
	if (qp->pace)
		smr_pace_sent(qp->pace, wqe->len);
	smr_qp_inc(qp, SMR_CNT_TX_PACKETS);
	smr_qp_add(qp, SMR_CNT_TX_BYTES, wqe->len);
	budget->left -= wqe->len + SMR_COST_PACKET;
	smr_send_retire(qp);
}

/* Allows for a VLAN tag. frame_finish() checks whether there is one. */
static bool frame_len_ok(const struct smr_qp *qp, u32 len)
{
	return len >= ETH_HLEN &&
	       len <= READ_ONCE(qp->env->ndev->mtu) + ETH_HLEN + VLAN_HLEN;
}

enum smr_step smr_raw_send(struct smr_qp *qp, struct smr_swqe *wqe,
			   struct smr_budget *budget)
{
	enum smr_step step = SMR_STEP_AGAIN;
	int err;

	if (!frame_len_ok(qp, wqe->len)) {
		smr_send_fail(qp, IB_WC_LOC_LEN_ERR);
		return SMR_STEP_DONE;
	}
	if (qp->pace && smr_pace_wait(qp->pace, wqe->len))
		return SMR_STEP_WAIT;
	if (!smr_payload_open(qp, wqe))
		return SMR_STEP_DONE;
	err = frame_out(qp, wqe->len);
	if (err == -EMSGSIZE)
		smr_send_fail(qp, IB_WC_LOC_LEN_ERR);
	else
		step = smr_payload_result(qp, err, budget);
	if (step == SMR_STEP_DONE)
		frame_sent(qp, wqe, budget);
	smr_sgl_close(&qp->req.sgl);
	return step;
}

static int frame_copy(struct smr_qp *qp, const struct smr_op *op)
{
	struct smr_cursor cursor;

	smr_cursor_init(&cursor, op->skb);
	return smr_sgl_write_packet(&qp->resp.sgl, &cursor, 0, op->skb->len);
}

enum smr_step smr_raw_receive(struct smr_qp *qp, struct smr_op *op,
			      struct smr_budget *budget)
{
	u32 len = op->skb->len;
	enum smr_step step;

	step = smr_recv_place(qp, op, len, budget, frame_copy);
	if (step != SMR_STEP_DONE)
		return step;
	switch (op->verdict) {
	case SMR_RESP_OK:
		budget->left -= len;
		smr_recv_done_raw(qp, len, smr_rx_part(op->skb)->flow_tag);
		break;
	case SMR_RESP_RNR:
		smr_qp_drop(qp, DROP_NO_RECV, SMR_CNT_NO_RECV, NULL, len);
		break;
	case SMR_RESP_TOO_LONG:
		smr_qp_inc(qp, SMR_CNT_DROPPED);
		break;
	default:
		break;
	}
	return step;
}
