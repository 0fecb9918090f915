// SPDX-License-Identifier: GPL-2.0
/*
 * Add packets to captures. They wait in the buffer of a capture for its reader. If that is slow,
 * packets are lost, and counted.
 *
 * Messages between two QPs of this host have no packets. So a message that a capture wants is sent
 * as packets, like one to another host (qp/loopback.c). Such a packet is added to a capture once:
 * to that of a user when it leaves or, if its sender is another user's, when it arrives; to that of
 * a link when it arrives.
 */
#include "qp/capture.h"

#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>

#include "compat/cleanup.h"
#include "net/cursor.h"
#include "net/frame.h"
#include "net/path.h"
#include "net/train.h"
#include "net/udp_rx.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/env.h"
#include "qp/task.h"
#include "why.h"

/*
 * Any user may begin and end a capture, and switching the static key patches code on all CPUs.
 * So the key stays on for a while after the last capture has ended.
 */
#define LINGER_JIFFIES	(10 * HZ)

DEFINE_STATIC_KEY_DEFERRED_FALSE(smr_captured, LINGER_JIFFIES);

/* The number of captures that have begun or ended so far, plus 1 */
static atomic_t generation = ATOMIC_INIT(1);

/**
 * smr_captures_changed() - a capture was added to the list of its namespace, or removed
 *
 * QPs determine again whether their messages are wanted.
 */
void smr_captures_changed(void)
{
	/* Fully ordered; pairs with smr_capture_wants_next_all(). */
	atomic_inc_return(&generation);
}

static kuid_t user_of(const struct smr_qp *qp)
{
	return qp->whys ? smr_why_log_uid(qp->whys) : INVALID_UID;
}

/* Is the QP on the capture's link, and its user's? */
static bool is_of(const struct smr_capture *cap, const struct smr_qp *qp)
{
	return qp && cap->env == qp->env && !cap->all && uid_eq(cap->uid, user_of(qp));
}

/* -- messages of this host */

static bool wants_end(const struct smr_capture *cap, const struct smr_qp *qp)
{
	return is_of(cap, qp) || (qp && cap->all && cap->env == qp->env);
}

/**
 * smr_capture_wants() - does a capture want messages from one QP of this host to another?
 * @from: their sender
 * @to: their receiver, or NULL: there is no such QP
 * @family: of their addresses
 *
 * Context: any but hard interrupts.
 * Return: true if it does, and packets of this family get through.
 */
bool smr_capture_wants(const struct smr_qp *from, const struct smr_qp *to, u16 family)
{
	u32 unseen = family == AF_INET ? SMR_CAPTURE_UNSEEN_V4 : SMR_CAPTURE_UNSEEN_V6;
	const struct smr_capture *cap;

	guard(rcu)();
	list_for_each_entry_rcu(cap, &from->env->tab->captures, node)
		if (!(cap->unseen & unseen) && (wants_end(cap, from) || wants_end(cap, to)))
			return true;
	return false;
}

/**
 * smr_capture_wants_next_all() - see smr_capture_wants_next()
 * @qp: the caller owns its send task
 *
 * The answer holds until a capture begins or ends, so a message that no capture wants costs the
 * same while there are captures.
 *
 * Return: true if a capture wants it.
 */
bool smr_capture_wants_next_all(struct smr_qp *qp)
{
	u32 now = atomic_read_acquire(&generation);
	struct smr_qp *peer;

	if (likely(qp->req.captures == now))
		return qp->req.captured;
	guard(smr_bh)();
	peer = smr_qp_find(qp->env->tab, qp->attr.dest_qp_num);
	qp->req.captured = smr_capture_wants(qp, peer, qp->path.family);
	qp->req.captures = now;
	if (peer)
		smr_qp_put(peer);
	return qp->req.captured;
}

/* -- packets */

/**
 * struct passage - packets that leave or arrive
 * @wants: does a capture get them?
 * @from: their sender, or NULL
 * @to: their receiver, or NULL
 * @skb: a packet that arrives, described by struct smr_rx_part; or NULL
 * @local: they leave for this host
 * @first: index of the first
 * @count: their number
 * @why: the reason why they are dropped; 0: they are not
 */
struct passage {
	bool (*wants)(const struct smr_capture *cap, const struct passage *p);
	const struct smr_qp *from;
	const struct smr_qp *to;
	const struct sk_buff *skb;
	bool local;
	unsigned int first;
	unsigned int count;
	u32 why;
};

/* The netdev of a link of which a capture wants them; NULL: there is none. */
static struct net_device *wanted_on(const struct smr_qptab *tab, const struct passage *p)
{
	const struct smr_capture *cap;

	guard(rcu)();
	list_for_each_entry_rcu(cap, &tab->captures, node)
		if (p->wants(cap, p))
			return cap->env->ndev;
	return NULL;
}

/* A packet without an Ethernet header gets one, so that all packets of a capture have one. */
static unsigned int head_put(u8 *to, const struct sk_buff *frame)
{
	const struct ethhdr eth = { .h_proto = frame->protocol };

	if (skb_network_offset(frame))
		return 0;
	memcpy(to, &eth, sizeof(eth));
	return sizeof(eth);
}

static void capture_add(struct smr_capture *cap, const struct sk_buff *frame, u32 why)
{
	struct smr_captured_packet *packet = &cap->packet;
	unsigned int head;

	guard(spinlock_bh)(&cap->lock);
	head = head_put(cap->room, frame);
	packet->time = ktime_get_real_ns();
	packet->why = why;
	packet->lost = cap->lost++;
	packet->len = head + frame->len;
	if (packet->len > sizeof(cap->room) ||
	    skb_copy_bits(frame, 0, cap->room + head, frame->len))
		return;
	if (kfifo_in(&cap->fifo, (u8 *)packet, sizeof(*packet) + packet->len))
		cap->lost = 0;
	wake_up_interruptible(&cap->wait);
}

static void capture_lose(struct smr_capture *cap, unsigned int count)
{
	guard(spinlock_bh)(&cap->lock);
	cap->lost += count;
}

/* Without @frames the packets are lost. */
static void frames_add(struct smr_capture *cap, const struct passage *p,
		       const struct sk_buff *frames)
{
	const struct sk_buff *frame;
	unsigned int i;

	if (!frames)
		capture_lose(cap, p->count);
	for (frame = frames, i = 0; frame; frame = frame->next, i++)
		if (i - p->first < p->count)
			capture_add(cap, frame, p->why);
}

/* Add packets of a train. Consumes @train; if it is NULL, they are lost. */
static void train_add(const struct smr_qptab *tab, const struct passage *p,
		      struct sk_buff *train)
{
	struct sk_buff *frames = NULL;
	struct smr_capture *cap;

	if (train && smr_task_charge(p->count * SMR_COST_PACKET))
		frames = smr_frame_take(train);
	scoped_guard(rcu) {
		list_for_each_entry_rcu(cap, &tab->captures, node)
			if (p->wants(cap, p))
				frames_add(cap, p, frames);
	}
	kfree_skb_list(frames);
	consume_skb(train);
}

static bool wants_sent(const struct smr_capture *cap, const struct passage *p)
{
	return is_of(cap, p->from) ||
	       (cap->all && cap->env == p->from->env && !p->local);
}

/**
 * smr_capture_sent_all() - see smr_capture_sent()
 * @qp: the sender
 * @train: all its segments are sealed
 *
 * Context: any but hard interrupts.
 */
void smr_capture_sent_all(const struct smr_qp *qp, const struct smr_train *train)
{
	struct passage p = { .wants = wants_sent, .from = qp, .count = train->nsegs };
	struct net_device *ndev;
	struct sk_buff *skb;

	if (smr_path_route(train->path, &p.local))
		p.local = false;
	ndev = wanted_on(qp->env->tab, &p);
	if (!ndev)
		return;
	skb = smr_train_copy(train);
	if (skb)
		skb->dev = ndev;
	train_add(qp->env->tab, &p, skb);
}

/*
 * The whole packet of an skb of the receive path, whose data begins after the UDP header. NULL: no
 * memory.
 */
static struct sk_buff *arrived_copy(struct sk_buff *skb, struct net_device *ndev)
{
	struct sk_buff *whole = skb_clone(skb, GFP_ATOMIC);

	if (!whole)
		return NULL;
	whole->dev = ndev;
	skb_push(whole, -skb_network_offset(whole));
	if (!skb_mac_header_was_set(whole) || skb_mac_offset(whole) != -ETH_HLEN)
		skb_reset_mac_header(whole);
	return whole;
}

static bool is_group(const struct in6_addr *addr)
{
	return ipv6_addr_v4mapped(addr) ? ipv4_is_multicast(addr->s6_addr32[3]) :
					  ipv6_addr_is_multicast(addr);
}

/* A packet within this host is also of the link that has sent it. */
static bool wants_arrived(const struct smr_capture *cap, const struct passage *p)
{
	struct in6_addr saddr, daddr;
	int iif = p->skb->skb_iif;

	if (!cap->all)
		return false;
	smr_rx_addrs(p->skb, &saddr, &daddr);
	if (is_group(&daddr))
		return smr_env_has_ndev(cap->env, iif);
	return smr_env_has_addr(cap->env, cap->ibdev, &daddr, iif) ||
	       (iif == LOOPBACK_IFINDEX &&
		smr_env_has_addr(cap->env, cap->ibdev, &saddr, iif));
}

/**
 * smr_capture_arrived_all() - see smr_capture_arrived()
 * @tab: of the namespace
 * @skb: the packet; not changed
 * @why: enum smr_why_id, or 0
 *
 * Context: as struct smr_rx_ops.rx.
 */
void smr_capture_arrived_all(struct smr_qptab *tab, struct sk_buff *skb, u32 why)
{
	const struct smr_rx_part *part = smr_rx_part(skb);
	const struct passage p = {
		.wants = wants_arrived,
		.skb = skb,
		.first = part->first,
		.count = part->count,
		.why = why,
	};
	struct net_device *ndev = wanted_on(tab, &p);

	if (ndev)
		train_add(tab, &p, arrived_copy(skb, ndev));
}

/* Of a packet within this host, a capture of its sender has what has left. */
static bool wants_received(const struct smr_capture *cap, const struct passage *p)
{
	return is_of(cap, p->to) && !is_of(cap, p->from);
}

/* The QP of this host that has sent a packet to @qp, with a reference; NULL: there is none. */
static struct smr_qp *sender_of(const struct smr_qp *qp, struct sk_buff *skb)
{
	u32 qpn = qp->attr.dest_qp_num;
	struct smr_cursor cursor;
	unsigned int off, len;
	struct smr_hdr hdr;

	if (skb->skb_iif != LOOPBACK_IFINDEX)
		return NULL;
	if (qp->service == SMR_TRANSPORT_UD) {
		off = smr_rx_seg(skb, smr_rx_part(skb)->first, &len);
		smr_cursor_init(&cursor, skb);
		if (smr_wire_parse(&cursor, off, len, &hdr))
			return NULL;
		qpn = hdr.src_qpn;
	}
	return smr_qp_find(qp->env->tab, qpn);
}

/**
 * smr_capture_received_all() - see smr_capture_received()
 * @qp: the receiver
 * @skb: the packet; not changed
 *
 * Context: as struct smr_rx_ops.rx.
 */
void smr_capture_received_all(const struct smr_qp *qp, struct sk_buff *skb)
{
	const struct smr_rx_part *part = smr_rx_part(skb);
	struct smr_qp *from = sender_of(qp, skb);
	const struct passage p = {
		.wants = wants_received,
		.from = from,
		.to = qp,
		.first = part->first,
		.count = part->count,
	};
	struct net_device *ndev = wanted_on(qp->env->tab, &p);

	if (ndev)
		train_add(qp->env->tab, &p, arrived_copy(skb, ndev));
	if (from)
		smr_qp_put(from);
}
