// SPDX-License-Identifier: GPL-2.0
/* Parse the headers of a frame, and compare them with the values and masks of a rule. */
#include "steer/match.h"

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>


/* Maximum of VLAN tags that are skipped: a service tag and a customer tag */
#define TAGS_MAX	2

static_assert(sizeof(struct smr_frame_key) % sizeof(u64) == 0);
static_assert(sizeof(struct ib_flow_ipv6_filter) <=
	      sizeof_field(struct smr_frame_key, l3_room));

static void parse_ports(struct smr_frame_key *key, const struct sk_buff *skb,
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

static void parse_ip4(struct smr_frame_key *key, const struct sk_buff *skb,
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
		parse_ports(key, skb, off + iph->ihl * 4, iph->protocol);
}

static void parse_ip6(struct smr_frame_key *key, const struct sk_buff *skb,
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
		parse_ports(key, skb, off, next);
}

static void parse_tag(struct smr_frame_key *key, u16 tci)
{
	if (key->tagged)
		return;
	key->tagged = 1;
	key->eth.vlan_tag = cpu_to_be16(tci);
}

/* Skip the tags in the frame itself. Return: the EtherType after them. */
static __be16 parse_tags(struct smr_frame_key *key, const struct sk_buff *skb,
			 int *off, __be16 type)
{
	const struct vlan_hdr *tag;
	struct vlan_hdr buf;
	int n;

	for (n = 0; n < TAGS_MAX && eth_type_vlan(type); n++) {
		tag = skb_header_pointer(skb, *off, sizeof(buf), &buf);
		if (!tag)
			break;
		parse_tag(key, be16_to_cpu(tag->h_vlan_TCI));
		type = tag->h_vlan_encapsulated_proto;
		*off += sizeof(buf);
	}
	return type;
}

/**
 * smr_frame_key_parse() - parse a frame's headers
 * @key: filled in; fields that the frame does not have are 0
 * @skb: the frame; a VLAN tag may be in the skb's metadata
 * @off: start of its Ethernet header, from skb->data; may be negative
 */
void smr_frame_key_parse(struct smr_frame_key *key, const struct sk_buff *skb,
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
		parse_tag(key, skb_vlan_tag_get(skb));
	off += ETH_HLEN;
	key->eth.ether_type = parse_tags(key, skb, &off, eth->h_proto);
	if (key->eth.ether_type == cpu_to_be16(ETH_P_IP))
		parse_ip4(key, skb, off);
	else if (key->eth.ether_type == cpu_to_be16(ETH_P_IPV6))
		parse_ip6(key, skb, off);
}

static void want_l3(struct smr_match *match, u8 version)
{
	match->val.l3 = version;
	match->mask.l3 = U8_MAX;
}

static int add_ip4(struct smr_match *match, const struct ib_flow_spec_ipv4 *spec)
{
	if (spec->mask.flags & ~(IB_IPV4_DONT_FRAG | IB_IPV4_MORE_FRAG))
		return -EOPNOTSUPP;
	want_l3(match, 4);
	match->val.ip4 = spec->val;
	match->mask.ip4 = spec->mask;
	return 0;
}

static void add_l4(struct smr_match *match, u8 proto,
		   const struct ib_flow_spec_tcp_udp *spec)
{
	match->val.l4 = proto;
	match->mask.l4 = U8_MAX;
	match->val.ports = spec->val;
	match->mask.ports = spec->mask;
}

static int add_spec(struct smr_match *match, const union ib_flow_spec *spec)
{
	switch (spec->type) {
	case IB_FLOW_SPEC_ETH:
		match->val.eth = spec->eth.val;
		match->mask.eth = spec->eth.mask;
		if (spec->eth.mask.vlan_tag) {
			match->val.tagged = 1;
			match->mask.tagged = U8_MAX;
		}
		return 0;
	case IB_FLOW_SPEC_IPV4:
		return add_ip4(match, &spec->ipv4);
	case IB_FLOW_SPEC_IPV6:
		want_l3(match, 6);
		match->val.ip6 = spec->ipv6.val;
		match->mask.ip6 = spec->ipv6.mask;
		return 0;
	case IB_FLOW_SPEC_TCP:
		add_l4(match, IPPROTO_TCP, &spec->tcp_udp);
		return 0;
	case IB_FLOW_SPEC_UDP:
		add_l4(match, IPPROTO_UDP, &spec->tcp_udp);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/**
 * smr_match_add() - add a spec to a match
 * @match: zeroed at first
 * @spec: the spec; one of each layer, in any order
 *
 * If a spec contains a VLAN tag, only tagged frames match. Specs that contradict each other
 * match no frame.
 *
 * Return: 0, -EINVAL (a second spec of this layer), -EOPNOTSUPP (an unknown spec, one of inner
 * headers, or unknown IPv4 flags).
 */
int smr_match_add(struct smr_match *match, const union ib_flow_spec *spec)
{
	u8 layer = 1 << ((spec->type & IB_FLOW_SPEC_LAYER_MASK) >> 4 & 7);
	int ret;

	ret = add_spec(match, spec);
	if (ret)
		return ret;
	if (match->layers & layer)
		return -EINVAL;
	match->layers |= layer;
	return 0;
}

/**
 * smr_match_add_multicast() - match multicast frames, and broadcasts
 * @match: zeroed at first
 */
void smr_match_add_multicast(struct smr_match *match)
{
	match->val.eth.dst_mac[0] |= 1;
	match->mask.eth.dst_mac[0] |= 1;
}

/**
 * smr_match_key() - does a frame match a rule?
 * @match: of the rule
 * @key: of the frame
 *
 * Return: true if it does.
 */
bool smr_match_key(const struct smr_match *match,
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
