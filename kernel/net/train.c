// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit. A train is one UDP GSO packet whose segments are whole RoCEv2 packets. If the
 * device cannot split it, the stack does so just above the device. If both ends are on one
 * host, it may arrive in one piece.
 *
 * When a train is split, its packets get increasing IPv4 identifications from that of the train
 * on, modulo 65536, and their own UDP and IP lengths. So all that the ICRC covers is known
 * while the segments are built.
 */
#include "net/train.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/pkt_sched.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>

#include "net/run.h"
#include "net/udp_rx.h"
#include "net/wire.h"

/* See struct smr_train */
#define CONTROL_TOS		0xc0
#define CONTROL_PRIORITY	TC_PRIO_INTERACTIVE

static_assert(SMR_TRAIN_SEGS <= UDP_MAX_SEGMENTS);

static unsigned int headers_len(const struct smr_path *path)
{
	return sizeof(struct udphdr) + (path->family == AF_INET ?
					sizeof(struct iphdr) :
					sizeof(struct ipv6hdr));
}

/**
 * smr_xmit_result() - convert the result of sending a packet into an errno
 * @eg: the socket that it was charged to
 * @refused: of the sender
 * @err: the result from the stack
 *
 * -EAGAIN from the stack does not mean a full queue: IPsec, which holds packets until it has
 * its keys, returns it when it holds enough. The packet is lost, as it would be on the network.
 *
 * Context: any but hard interrupts.
 * Return: 0: sent; -EAGAIN: not accepted now, wake() of @eg follows; other errors if sending
 *	again will not help.
 */
int smr_xmit_result(struct smr_egress *eg, struct smr_refused *refused, int err)
{
	if (err == NET_XMIT_SUCCESS || err == NET_XMIT_CN) {
		if (unlikely(refused->since))
			refused->since = 0;
		return 0;
	}
	if (err == -EAGAIN)
		return -EHOSTUNREACH;
	if (err < 0 && err != -ENOBUFS && err != -ENOMEM)
		return err;
	return smr_egress_wait_refused(eg, refused) ? -EAGAIN : -ENOBUFS;
}

/*
 * The maximum number of segments of a train. The stack would split a packet beyond the device's
 * GSO limits in software. IPsec does not handle UDP GSO at all.
 */
static unsigned int train_limit(const struct smr_path *path,
				const struct dst_entry *dst,
				unsigned int nsegs, unsigned int seg_len)
{
	const struct net_device *dev = READ_ONCE(dst->dev);
	unsigned int bytes = SMR_TRAIN_BYTES;

	if (dst_xfrm(dst))
		return 1;

	bytes = min(bytes, READ_ONCE(dev->gso_max_size) - headers_len(path) -
			   dev->hard_header_len - 1);
	nsegs = min3(nsegs, (unsigned int)SMR_TRAIN_SEGS,
		     READ_ONCE(dev->gso_max_segs));
	return clamp(nsegs, 1, max(bytes / seg_len, 1U));
}

/*
 * A single segment of at most this many bytes follows its headers in linear memory. A longer one
 * is in pages that are used again, as a train is (net/run.c).
 */
#define LINEAR_MAX	256

static bool is_linear(const struct smr_train *train)
{
	return train->max == 1 && train->seg_len <= LINEAR_MAX;
}

/*
 * Allocate an skb for the headers, and for the payload of a short single segment. Its memory is
 * a piece of a page that the CPU keeps, so that the allocator need not clear it.
 */
static struct sk_buff *train_skb(const struct smr_train *train,
				 struct dst_entry *dst)
{
	const struct net_device *dev = READ_ONCE(dst->dev);
	unsigned int head = LL_RESERVED_SPACE(dev) + dst->header_len +
			    headers_len(train->path);
	unsigned int body = is_linear(train) ? train->seg_len : 0;
	unsigned int size = SKB_DATA_ALIGN(head + body + READ_ONCE(dev->needed_tailroom)) +
			    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *skb;
	void *data;

	data = netdev_alloc_frag(size);
	if (!data)
		return NULL;
	skb = build_skb(data, size);
	if (!skb) {
		skb_free_frag(data);
		return NULL;
	}

	skb_reserve(skb, head);
	skb_dst_set(skb, dst_clone(dst));
	return skb;
}

/* Get a run of pages for @want bytes, or fewer, but at least @least. */
static struct page *run_alloc(unsigned int want, unsigned int least,
			      unsigned int *size)
{
	int order = min(get_order(want), SMR_RUN_ORDER);
	int lowest = get_order(least);
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN | __GFP_NOMEMALLOC;
	struct page *page;

	for (; order > lowest; order--) {
		page = smr_run_get(order, gfp | __GFP_NORETRY);
		if (page)
			break;
	}
	if (order <= lowest) {
		order = lowest;
		page = smr_run_get(order, gfp);
	}
	*size = PAGE_SIZE << order;
	return page;
}

/* Add a new run of memory for further segments. */
static bool train_grow(struct smr_train *train)
{
	struct sk_buff *skb = train->skb;
	struct page *page;
	unsigned int size;

	if (skb_shinfo(skb)->nr_frags == MAX_SKB_FRAGS)
		return false;

	page = run_alloc((train->max - train->nsegs) * train->seg_len,
			 train->seg_len, &size);
	if (!page)
		return false;

	skb_fill_page_desc(skb, skb_shinfo(skb)->nr_frags, page, 0, 0);
	skb->truesize += size;
	train->room = size;
	return true;
}

static void *train_put(struct smr_train *train, unsigned int len)
{
	struct sk_buff *skb = train->skb;
	skb_frag_t *frag = &skb_shinfo(skb)->frags[skb_shinfo(skb)->nr_frags - 1];
	void *seg = skb_frag_address(frag) + skb_frag_size(frag);

	skb_frag_size_add(frag, len);
	skb->data_len += len;
	skb->len += len;
	train->room -= len;
	return seg;
}

static int train_alloc(struct smr_train *train, struct dst_entry *dst)
{
	train->skb = train_skb(train, dst);
	if (!train->skb)
		return -ENOMEM;

	/* Done here so that the first smr_train_segs() cannot fail */
	if (!is_linear(train) && !train_grow(train)) {
		smr_train_abort(train);
		return -ENOMEM;
	}
	return 0;
}

/* The caller holds rcu_read_lock(), which keeps dst->dev. */
static int train_init(struct smr_train *train, struct dst_entry *dst,
		      unsigned int nsegs)
{
	unsigned int seg_len = train->seg_len;
	int err;

	if (seg_len > SMR_TRAIN_BYTES ||
	    headers_len(train->path) + seg_len > dst_mtu(dst))
		return -EMSGSIZE;

	train->max = train_limit(train->path, dst, nsegs, seg_len);
	err = train_alloc(train, dst);
	if (err)
		return err;

	train->ip_id = atomic_fetch_add(train->max, &train->path->ip_id);
	return 0;
}

/* The caller waits for memory as for send budget: -EAGAIN. */
static int begin_result(struct smr_egress *eg, int err)
{
	if (err != -ENOMEM)
		return err;
	smr_egress_wait_moment(eg);
	return -EAGAIN;
}

static int train_begin(struct smr_train *train, struct smr_path *path,
		       struct smr_egress *eg, struct smr_icrc *icrc,
		       unsigned int nsegs, unsigned int seg_len,
		       int (*room)(struct smr_egress *eg))
{
	struct dst_entry *dst;
	int err;

	dst = smr_path_dst_get(path);
	if (IS_ERR(dst))
		return begin_result(eg, PTR_ERR(dst));

	*train = (struct smr_train) {
		.path = path,
		.eg = eg,
		.seg_len = seg_len,
		.sport = path->sport,
		.icrc = icrc ?: &train->own,
	};
	err = room(eg);
	if (!err) {
		rcu_read_lock();
		err = train_init(train, dst, nsegs);
		rcu_read_unlock();
	}
	dst_release(dst);
	return begin_result(eg, err);
}

/**
 * smr_train_begin() - begin a train
 * @train: end it with smr_train_send() or smr_train_abort()
 * @path: the path to its destination
 * @eg: its sender's socket; its wake() is called after -EAGAIN from here or from
 *	smr_train_send()
 * @icrc: cached CRC state of the caller's trains on @path; or NULL
 * @nsegs: number of segments wanted, at least 1. The train may have space for fewer, due to
 *	limits of the device or of memory, but at least for one
 * @seg_len: bytes of UDP payload in each, BTH to ICRC, not 0; the last may be
 *	shorter
 *
 * Context: any but hard interrupts. Does not sleep.
 * Return: 0; -EAGAIN if the socket's send budget is used up, or there is no memory now;
 * -EMSGSIZE if a segment exceeds the route's MTU (RoCE packets are never fragmented); or the
 * errors of smr_path_route(). The train exists only after 0.
 */
int smr_train_begin(struct smr_train *train, struct smr_path *path,
		    struct smr_egress *eg, struct smr_icrc *icrc,
		    unsigned int nsegs, unsigned int seg_len)
{
	return train_begin(train, path, eg, icrc, nsegs, seg_len,
			   smr_egress_room);
}

/**
 * smr_train_begin_urgent() - begin a train that does not wait for others
 * @train: as for smr_train_begin(); has one segment
 * @path: as for smr_train_begin()
 * @eg: as for smr_train_begin()
 * @icrc: as for smr_train_begin()
 * @len: length of the segment
 *
 * Context: as smr_train_begin().
 * Return: as smr_train_begin(). -EAGAIN is rare: see smr_egress_room_urgent().
 */
int smr_train_begin_urgent(struct smr_train *train, struct smr_path *path,
			   struct smr_egress *eg, struct smr_icrc *icrc,
			   unsigned int len)
{
	return train_begin(train, path, eg, icrc, 1, len,
			   smr_egress_room_urgent);
}

/**
 * smr_train_segs() - append contiguous segments of one length
 * @train: begun
 * @len: the bytes of each: the train's seg_len, or less, but not 0
 * @n: number wanted, at least 1; set to the number appended
 *
 * A segment that is shorter than the train's seg_len must be the last.
 *
 * Context: any but hard interrupts. Does not sleep.
 * Return: their memory, uninitialised; or NULL if the train is full (never before its first
 *	segment).
 */
void *smr_train_segs(struct smr_train *train, unsigned int len, unsigned int *n)
{
	unsigned int most;
	void *segs;

	if (WARN_ON_ONCE(!len || len > train->seg_len) ||
	    train->nsegs == train->max)
		return NULL;
	if (skb_shinfo(train->skb)->nr_frags && train->room < len && !train_grow(train)) {
		train->max = train->nsegs;
		return NULL;
	}

	most = len < train->seg_len ? 1 : train->max - train->nsegs;
	if (skb_shinfo(train->skb)->nr_frags) {
		*n = min3(*n, most, train->room / len);
		segs = train_put(train, *n * len);
	} else {
		*n = 1;
		segs = skb_put(train->skb, len);
	}
	train->nsegs += *n;
	train->len += *n * len;
	if (len < train->seg_len)
		train->max = train->nsegs;
	return segs;
}

/**
 * smr_train_abort() - free a train without sending it
 * @train: begun; consumed
 *
 * Context: any but hard interrupts.
 */
void smr_train_abort(struct smr_train *train)
{
	consume_skb(train->skb);
	train->skb = NULL;
}

static __sum16 pseudo_csum(const struct smr_path *path, unsigned int len)
{
	if (path->family == AF_INET)
		return ~udp_v4_check(len, path->saddr.s6_addr32[3],
				     path->daddr.s6_addr32[3], 0);
	return ~udp_v6_check(len, &path->saddr, &path->daddr, 0);
}

/* The checksum is left to the device, or to software that needs it. */
static void push_udp(const struct smr_train *train, struct sk_buff *skb)
{
	struct udphdr *uh = skb_push(skb, sizeof(*uh));
	struct skb_shared_info *info = skb_shinfo(skb);

	skb_reset_transport_header(skb);
	uh->source = cpu_to_be16(train->sport);
	uh->dest = cpu_to_be16(SMR_UDP_PORT);
	uh->len = cpu_to_be16(skb->len);

	/*
	 * RoCEv2 needs no checksum, but a train must have one. Single packets have one, too: a
	 * receiver's GRO lets packets without a checksum overtake those that it holds.
	 */
	uh->check = pseudo_csum(train->path, skb->len);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (train->nsegs > 1) {
		info->gso_type = SKB_GSO_UDP_L4;
		info->gso_size = train->seg_len;
		info->gso_segs = train->nsegs;
	}
}

static void push_ip4(struct sk_buff *skb, const struct smr_path *path, u16 id)
{
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	*iph = (struct iphdr) {
		.version = 4,
		.ihl = sizeof(*iph) / 4,
		.tos = path->tos,
		.id = cpu_to_be16(id),
		.frag_off = cpu_to_be16(IP_DF),
		.ttl = path->ttl,
		.protocol = IPPROTO_UDP,
		.saddr = path->saddr.s6_addr32[3],
		.daddr = path->daddr.s6_addr32[3],
	};
	if (!path->ttl && skb_dst(skb))
		iph->ttl = ip4_dst_hoplimit(skb_dst(skb));
}

static void push_ip6(struct sk_buff *skb, const struct smr_path *path)
{
	struct ipv6hdr *iph = skb_push(skb, sizeof(*iph));

	ip6_flow_hdr(iph, path->tos, cpu_to_be32(path->flow_label));
	iph->nexthdr = IPPROTO_UDP;
	iph->hop_limit = path->ttl;
	iph->saddr = path->saddr;
	iph->daddr = path->daddr;
#if IS_ENABLED(CONFIG_IPV6)
	if (!path->ttl && skb_dst(skb))
		iph->hop_limit = ip6_dst_hoplimit(skb_dst(skb));
#endif
}

/**
 * smr_xmit_push_ip() - push a path's IP header to a packet
 * @skb: has headroom for the header. If the path sets no hop limit, that of the skb's route is
 * used, if it has one
 * @path: the path to its destination
 * @id: the identification of an IPv4 packet
 *
 * The lengths and the IPv4 checksum are 0. ip_local_out() and ip6_local_out()
 * set them.
 */
void smr_xmit_push_ip(struct sk_buff *skb, const struct smr_path *path, u16 id)
{
	if (path->family == AF_INET)
		push_ip4(skb, path, id);
	else
		push_ip6(skb, path);
	skb_reset_network_header(skb);
}

/* Fill in what the stack fills in when it sends a packet. */
static void finish_ip(struct sk_buff *skb, u16 family)
{
	if (family == AF_INET) {
		ip_hdr(skb)->tot_len = cpu_to_be16(skb->len);
		ip_send_check(ip_hdr(skb));
		skb->protocol = htons(ETH_P_IP);
	} else {
		ipv6_hdr(skb)->payload_len =
			cpu_to_be16(skb->len - sizeof(struct ipv6hdr));
		skb->protocol = htons(ETH_P_IPV6);
	}
}

/* The ECN bits of the path's traffic class are kept: a mark is better than a drop */
static void skb_set_control(struct sk_buff *skb, const struct smr_path *path)
{
	if (path->family == AF_INET)
		ip_hdr(skb)->tos = CONTROL_TOS | (path->tos & INET_ECN_MASK);
	else
		ipv6_change_dsfield(ipv6_hdr(skb), INET_ECN_MASK, CONTROL_TOS);
	skb->priority = CONTROL_PRIORITY;
}

static int train_out(struct smr_train *train)
{
	struct smr_path *path = train->path;
	struct sk_buff *skb = train->skb;
	struct sock *sk;

	train->skb = NULL;
	skb->priority = rt_tos2priority(path->tos);
	sk = smr_egress_charge(train->eg, skb, READ_ONCE(skb_dst(skb)->dev));
	if (train->control)
		skb_set_control(skb, path);
#if IS_ENABLED(CONFIG_IPV6)
	if (path->family == AF_INET6)
		return ip6_local_out(path->net, sk, skb);
#endif
	return ip_local_out(path->net, sk, skb);
}

/**
 * smr_train_copy() - copy a train as a packet of the stack, for captures
 * @train: has at least one segment, all sealed
 *
 * Context: any but hard interrupts.
 * Return: the packet, which begins with its IP header; it shares its payload with @train. NULL:
 *	no memory.
 */
struct sk_buff *smr_train_copy(const struct smr_train *train)
{
	struct sk_buff *skb = pskb_copy(train->skb, GFP_ATOMIC);

	if (!skb)
		return NULL;
	push_udp(train, skb);
	smr_xmit_push_ip(skb, train->path, train->ip_id);
	skb_reset_mac_header(skb);
	finish_ip(skb, train->path->family);
	return skb;
}

/**
 * smr_train_send() - send a train
 * @train: has at least one segment, all sealed; consumed in any case
 * @refused: of the sender
 *
 * If the stack splits a train for a queue that drops some of its packets, this returns -EAGAIN
 * although the other packets were sent.
 *
 * Context: any but hard interrupts. Does not sleep.
 * Return: 0 if the stack accepted it; -EAGAIN if it did not, and then the sender is woken when
 *	a packet of its socket has left the stack or in the next jiffy, whichever is sooner;
 *	other errors if sending again will not help: -ENETDOWN, -EPERM, -ENOBUFS (a firewall)
 *	and such.
 */
int smr_train_send(struct smr_train *train, struct smr_refused *refused)
{
	int err;

	if (WARN_ON_ONCE(!train->nsegs)) {
		smr_train_abort(train);
		return -EINVAL;
	}

	local_bh_disable();
	rcu_read_lock();
	push_udp(train, train->skb);
	smr_xmit_push_ip(train->skb, train->path, train->ip_id);
	err = train_out(train);
	rcu_read_unlock();
	local_bh_enable();

	return smr_xmit_result(train->eg, refused, err);
}
