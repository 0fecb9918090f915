// SPDX-License-Identifier: GPL-2.0
/*
 * While a link has steering rules, a netfilter hook matches each packet that the netdev receives
 * against all of them, before the stack gets it. Each frame that a RAW_PACKET QP of the link sends
 * is matched against the rules of other processes, as in an adapter's switch: if a rule owns the
 * frame's destination address, the frame does not leave the host.
 *
 * A packet may match many rules. The copies for their QPs cannot be deferred: no queue holds the
 * packet before the rules, and it goes on to the stack at once. The first receiver costs about as
 * much as a socket of the stack, and gets each packet. The copies for the others are charged to
 * the softirq, which drops them when its budget is used up.
 */
#include "raw/private.h"

#include <linux/bitmap.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "net/frame.h"
#include "qp/core.h"
#include "qp/rx_queue.h"
#include "qp/task.h"
#include "stats.h"

/* Maximum of VLAN tags that are skipped: a service tag and a customer tag */
#define TAGS_MAX	2

static_assert(sizeof(struct smr_frame_key) % sizeof(u64) == 0);
static_assert(sizeof(struct ib_flow_ipv6_filter) <=
	      sizeof_field(struct smr_frame_key, l3_room));

static void frame_parse_ports(struct smr_frame_key *key, const struct sk_buff *skb,
			      int off, u8 proto)
{
	__be16 buf[2];
	const __be16 *ports;

	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return;
	ports = skb_header_pointer(skb, off, sizeof(buf), buf);
	if (!ports)
		return;
	key->l4 = proto;
	key->ports.src_port = ports[0];
	key->ports.dst_port = ports[1];
}

static u8 ip4_flags(__be16 frag_off)
{
	return (frag_off & cpu_to_be16(IP_DF) ? IB_IPV4_DONT_FRAG : 0) |
	       (frag_off & cpu_to_be16(IP_MF) ? IB_IPV4_MORE_FRAG : 0);
}

static void frame_parse_ip4(struct smr_frame_key *key, const struct sk_buff *skb,
			    int off)
{
	const struct iphdr *iph;
	struct iphdr buf;

	iph = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!iph || iph->version != 4 || iph->ihl * 4 < sizeof(buf))
		return;
	key->l3 = 4;
	key->ip4 = (struct ib_flow_ipv4_filter){
		.src_ip = iph->saddr,
		.dst_ip = iph->daddr,
		.proto = iph->protocol,
		.tos = iph->tos,
		.ttl = iph->ttl,
		.flags = ip4_flags(iph->frag_off),
	};
	/* Only a first fragment has ports. */
	if (!(iph->frag_off & cpu_to_be16(IP_OFFSET)))
		frame_parse_ports(key, skb, off + iph->ihl * 4, iph->protocol);
}

static void frame_parse_ip6(struct smr_frame_key *key, const struct sk_buff *skb,
			    int off)
{
	const struct ipv6hdr *ip6h;
	struct ipv6hdr buf;
	__be16 frag = 0;
	u8 next;

	ip6h = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip6h || ip6h->version != 6)
		return;
	key->l3 = 6;
	memcpy(key->ip6.src_ip, &ip6h->saddr, sizeof(key->ip6.src_ip));
	memcpy(key->ip6.dst_ip, &ip6h->daddr, sizeof(key->ip6.dst_ip));
	key->ip6.flow_label = ip6_flowlabel(ip6h);
	key->ip6.next_hdr = ip6h->nexthdr;
	key->ip6.traffic_class = ipv6_get_dsfield(ip6h);
	key->ip6.hop_limit = ip6h->hop_limit;

	next = ip6h->nexthdr;
	off = ipv6_skip_exthdr(skb, off + sizeof(buf), &next, &frag);
	if (off >= 0 && !(frag & cpu_to_be16(IP6_OFFSET)))
		frame_parse_ports(key, skb, off, next);
}

static void frame_parse_tag(struct smr_frame_key *key, u16 tci)
{
	if (key->tagged)
		return;
	key->tagged = 1;
	key->eth.vlan_tag = cpu_to_be16(tci);
}

/* Skip the tags in the frame itself. Return: the EtherType after them. */
static __be16 frame_parse_tags(struct smr_frame_key *key, const struct sk_buff *skb,
			       int *off, __be16 type)
{
	const struct vlan_hdr *tag;
	struct vlan_hdr buf;
	int n;

	for (n = 0; n < TAGS_MAX && eth_type_vlan(type); n++) {
		tag = skb_header_pointer(skb, *off, sizeof(buf), &buf);
		if (!tag)
			break;
		frame_parse_tag(key, be16_to_cpu(tag->h_vlan_TCI));
		type = tag->h_vlan_encapsulated_proto;
		*off += sizeof(buf);
	}
	return type;
}

/*
 * Parse the headers of a frame, whose Ethernet header begins at @off from skb->data. A VLAN tag may
 * be in the skb's metadata. Fields that the frame does not have are 0.
 */
static void frame_parse(struct smr_frame_key *key, const struct sk_buff *skb,
			int off)
{
	const struct ethhdr *eth;
	struct ethhdr buf;

	memset(key, 0, sizeof(*key));
	eth = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!eth)
		return;
	ether_addr_copy(key->eth.dst_mac, eth->h_dest);
	ether_addr_copy(key->eth.src_mac, eth->h_source);
	if (skb_vlan_tag_present(skb))
		frame_parse_tag(key, skb_vlan_tag_get(skb));
	off += ETH_HLEN;
	key->eth.ether_type = frame_parse_tags(key, skb, &off, eth->h_proto);
	if (key->eth.ether_type == cpu_to_be16(ETH_P_IP))
		frame_parse_ip4(key, skb, off);
	else if (key->eth.ether_type == cpu_to_be16(ETH_P_IPV6))
		frame_parse_ip6(key, skb, off);
}

static bool match_holds(const struct smr_match *match,
			const struct smr_frame_key *key)
{
	const u64 *val = (const u64 *)&match->val;
	const u64 *mask = (const u64 *)&match->mask;
	const u64 *have = (const u64 *)key;
	size_t i;

	for (i = 0; i < sizeof(*key) / sizeof(u64); i++)
		if ((val[i] ^ have[i]) & mask[i])
			return false;
	return true;
}

/**
 * struct passing - a packet that is being matched against the rules
 * @skb: the packet, with a MAC header
 * @sender: the process that has sent it; NULL: it was received
 * @key: its headers
 * @frames: what receivers get copies of; NULL: no receiver yet, or no memory
 * @nr: number of @frames
 * @taken: @frames and @nr are valid
 * @served: slots of the QPs that have received them
 * @given: a QP has received them
 * @stolen: a rule has stolen it
 * @owned: the rule that has stolen it is for its unicast address
 */
struct passing {
	struct sk_buff *skb;
	const struct ib_ucontext *sender;
	struct smr_frame_key key;
	struct sk_buff *frames;
	unsigned int nr;
	bool taken;
	DECLARE_BITMAP(served, SMR_MAX_RULES);
	bool given;
	bool stolen;
	bool owned;
};

static struct sk_buff *passing_frames(struct passing *p)
{
	const struct sk_buff *frame;

	if (p->taken)
		return p->frames;
	p->taken = true;
	p->frames = smr_frame_take(p->skb);
	for (frame = p->frames; frame; frame = frame->next)
		p->nr++;
	return p->frames;
}

/* The receivers have copies, so freeing this is not a drop. */
static void frames_consume(struct sk_buff *frames)
{
	struct sk_buff *next;

	for (; frames; frames = next) {
		next = frames->next;
		consume_skb(frames);
	}
}

/* Queue the QP's own copy of a frame. */
static void qp_give(struct smr_qp *qp, struct sk_buff *frame, u32 tag)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct smr_stats *stats = qp->env->stats;
	struct sk_buff *copy;

	if (!smr_qp_receives(state)) {
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, NULL, 0, state);
		return;
	}
	copy = skb_clone(frame, GFP_ATOMIC);
	if (!copy) {
		smr_qp_drop(qp, DROP_NO_MEMORY, SMR_CNT_DROPPED, NULL);
		return;
	}
	copy->dev = NULL;
	*smr_rx_part(copy) = (struct smr_rx_part){
		.flow_tag = tag,
		.count = 1,
	};
	smr_stat_inc(stats, SMR_CNT_RX_PACKETS);
	smr_stat_add(stats, SMR_CNT_RX_BYTES, copy->len);
	smr_qp_queue(qp, copy, false);
}

static void qp_give_all(struct smr_qp *qp, struct sk_buff *frames, u32 tag)
{
	if (!frames) {
		smr_qp_drop(qp, DROP_NO_MEMORY, SMR_CNT_DROPPED, NULL);
		return;
	}
	for (; frames; frames = frames->next)
		qp_give(qp, frames, tag);
	smr_task_kick(&qp->resp_task);
}

/*
 * Several rules of a QP may match a frame. The QP gets one copy, with the tag of the first
 * of them.
 */
static void rule_give(const struct smr_rule *rule, struct passing *p)
{
	struct sk_buff *frames;
	struct smr_qp *qp;
	bool pays;

	if (rule->drops || __test_and_set_bit(rule->slot, p->served))
		return;
	frames = passing_frames(p);
	pays = smr_task_charge(p->nr * SMR_COST_PACKET);
	qp = smr_qp_get(rule->handle);
	if (!qp)
		return;
	if (pays || !p->given)
		qp_give_all(qp, frames, rule->tag);
	else
		smr_qp_drop(qp, DROP_BUDGET, SMR_CNT_DROPPED, NULL);
	smr_qp_put(qp);
	p->given = true;
}

static bool rule_takes(const struct smr_rule *rule, const struct passing *p)
{
	return (!p->sender || p->sender != rule->process) &&
	       match_holds(&rule->match, &p->key);
}

/* Caller is in an RCU read section. */
static void packet_pass(const struct smr_steer *steer, struct passing *p)
{
	const struct smr_rule *rule;
	u32 last = U32_MAX;

	frame_parse(&p->key, p->skb, skb_mac_offset(p->skb));
	list_for_each_entry_rcu(rule, &steer->rules, node) {
		if (rule->order > last)
			break;
		if (!rule_takes(rule, p))
			continue;
		rule_give(rule, p);
		if (!rule->steals)
			continue;
		last = rule->order;
		p->stolen = true;
		p->owned |= rule->owns;
	}
	frames_consume(p->frames);
}

/* The hook sees all packets that the netdev receives, whatever else the netdev is used for. */
unsigned int smr_steer_hook(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	struct passing p = { .skb = skb };

	packet_pass(priv, &p);
	if (!p.stolen)
		return NF_ACCEPT;
	if (p.given && p.frames)
		consume_skb(skb);
	else
		kfree_skb_reason(skb, p.given ? SKB_DROP_REASON_NOMEM :
						SKB_DROP_REASON_SOCKET_FILTER);
	return NF_STOLEN;
}

/*
 * Match a frame that @qp sends, and that is not changed, against the rules of other processes. A
 * process whose QP receives all frames of this kind does not need its own; on a loopback netdev it
 * receives them in any case. BH is off, in an RCU read section.
 */
enum smr_steer_sent smr_steer_sent(struct smr_qp *qp, struct sk_buff *skb)
{
	const struct smr_steer *steer = to_smr_steer(qp->env);
	struct passing p;

	if (skb->dev->flags & IFF_LOOPBACK || list_empty(&steer->rules))
		return SMR_STEER_NOBODY;
	p = (struct passing){
		.skb = skb,
		.sender = qp->ibqp.pd->uobject->context,
	};
	packet_pass(steer, &p);
	if (p.owned)
		return SMR_STEER_OWNER;
	return p.frames ? SMR_STEER_SOME : SMR_STEER_NOBODY;
}
