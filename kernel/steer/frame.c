// SPDX-License-Identifier: GPL-2.0
/* Build Ethernet frames, and send them. */
#include "steer/frame.h"

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "net/egress.h"
#include "net/train.h"

/* The rest of a longer frame is in page fragments: large allocations often fail. */
#define LINEAR_MAX	2048

/**
 * smr_frame_alloc() - allocate a frame to send
 * @ndev: the netdev that will send it
 * @len: bytes, at least those of an Ethernet header
 *
 * Context: any but hard interrupts.
 * Return: the frame, not filled; -ENOBUFS: no memory now; -EMSGSIZE: longer than the stack
 *	supports, whatever the netdev's MTU is.
 */
struct sk_buff *smr_frame_alloc(const struct net_device *ndev, unsigned int len)
{
	unsigned int head = LL_RESERVED_SPACE(ndev);
	unsigned int linear = min_t(unsigned int, len, LINEAR_MAX);
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(head + linear +
				   READ_ONCE(ndev->needed_tailroom),
				   len - linear, 0, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return ERR_PTR(err);
	skb_reserve(skb, head);
	skb_put(skb, linear);
	skb->data_len = len - linear;
	skb->len += len - linear;
	return skb;
}

/**
 * smr_frame_finish() - set up the headers of a filled frame
 * @skb: the frame
 * @ndev: the netdev that will send it
 *
 * Return: false if it is longer than the netdev's MTU allows.
 */
bool smr_frame_finish(struct sk_buff *skb, struct net_device *ndev)
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
	return skb->len <= max;
}

/**
 * smr_frame_send() - send a frame
 * @skb: finished; consumed
 * @eg: the sender's socket, which the frame is charged to; its wake() is called after -EAGAIN
 * @refused: of the sender
 *
 * Context: BH off, inside an RCU read section.
 * Return: 0; -EAGAIN if the stack does not accept packets; other errors if sending again will
 *	not help.
 */
int smr_frame_send(struct sk_buff *skb, struct smr_egress *eg,
		   struct smr_refused *refused)
{
	smr_egress_charge(eg, skb, skb->dev);
	return smr_xmit_result(eg, refused, dev_queue_xmit(skb));
}
