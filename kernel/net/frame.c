// SPDX-License-Identifier: GPL-2.0
/* Copy packets of the stack as the frames that are on the wire. */
#include "net/frame.h"

#include <linux/if_vlan.h>
#include <linux/skbuff.h>

#include "compat/net.h"
#include "compat/skb.h"
#include "net/cursor.h"

/* Split a packet that waits for GSO, or was merged by GRO. */
static struct sk_buff *frame_segment(struct sk_buff *skb)
{
	struct sk_buff *segs = __skb_gso_segment(skb, 0, false);

	if (IS_ERR_OR_NULL(segs)) {
		kfree_skb_reason(skb, SKB_DROP_REASON_SKB_GSO_SEG);
		return NULL;
	}
	consume_skb(skb);
	return segs;
}

/**
 * smr_frame_take() - copy a packet of the stack as the frames on the wire
 * @skb: the packet, with a MAC header; not changed
 *
 * The VLAN tag is in its place, the packet is split as a netdev would split it, and the
 * checksums are filled in. The frames have no references on objects of the stack, such as
 * routes and sockets.
 *
 * Context: any but hard interrupts.
 * Return: frames, linked by their next, which may share their data with other skbs; or NULL: no
 * memory, or a packet in memory that the CPU cannot read.
 */
struct sk_buff *smr_frame_take(struct sk_buff *skb)
{
	struct sk_buff *frame;

	/* Memory reserves are for reclaim; a QP's queue must not hold them. */
	if (skb_pfmemalloc(skb) || !skb_frags_readable(skb))
		return NULL;
	frame = skb_clone(skb, GFP_ATOMIC);
	if (!frame)
		return NULL;
	skb_push(frame, -skb_mac_offset(frame));
	skb_scrub_packet(frame, true);
	if (skb_orphan_frags_rx(frame, GFP_ATOMIC))
		goto drop;
	if (skb_vlan_tag_present(frame)) {
		frame = __vlan_hwaccel_push_inside(frame);
		if (!frame)
			return NULL;
	}
	if (skb_is_gso(frame))
		return frame_segment(frame);
	if (!smr_cursor_prepare(frame))
		goto drop;
	if (frame->ip_summed == CHECKSUM_PARTIAL &&
	    skb_csum_hwoffload_help(frame, 0))
		goto drop;
	return frame;
drop:
	kfree_skb_reason(frame, SKB_DROP_REASON_NOMEM);
	return NULL;
}
