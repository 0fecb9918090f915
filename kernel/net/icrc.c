// SPDX-License-Identifier: GPL-2.0
/*
 * The ICRC covers the IP header, the UDP header, the BTH and all that follows. Fields that
 * routers and switches may change count as ones. Eight octets of ones come first, in the place
 * of InfiniBand's LRH.
 *
 * The ICRC of a segment of a train is that of the datagram that it becomes when the train is
 * split: with its own lengths and its own IPv4 identification.
 */
#include "net/icrc.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "net/cursor.h"
#include "net/path.h"
#include "net/udp_rx.h"

/* The CRC, begun with ones, after eight octets of ones */
#define ICRC_SEED	0xdebb20e3

/* The headers before the payload, with variant fields as ones */
struct icrc_head4 {
	struct iphdr ip;
	struct udphdr udp;
	u8 bth[SMR_BTH_LEN];
} __packed;

struct icrc_head6 {
	struct ipv6hdr ip;
	struct udphdr udp;
	u8 bth[SMR_BTH_LEN];
} __packed;

/* As smr_crc32_head() requires; and the word with the PSN is the last one of the BTH. */
static_assert(offsetof(struct icrc_head4, bth) + SMR_BTH_PSN -
	      offsetofend(struct icrc_head4, ip.id) == 30);

static void mask_udp(struct udphdr *udp, u8 *bth, unsigned int len)
{
	udp->len = cpu_to_be16(sizeof(*udp) + len);
	udp->check = (__force __sum16)0xffff;
	bth[SMR_BTH_RESV8A] = 0xff;
}

static u32 crc_head4(struct icrc_head4 *head, unsigned int len)
{
	head->ip.tos = 0xff;
	head->ip.ttl = 0xff;
	head->ip.check = (__force __sum16)0xffff;
	head->ip.tot_len = cpu_to_be16(sizeof(head->ip) + sizeof(head->udp) +
				       len);
	mask_udp(&head->udp, head->bth, len);
	return smr_crc32(ICRC_SEED, head,
			 offsetof(struct icrc_head4, bth) + SMR_BTH_PSN);
}

static u32 crc_head6(struct icrc_head6 *head, unsigned int len)
{
	ip6_flow_hdr(&head->ip, 0xff, cpu_to_be32(0xfffff));
	head->ip.hop_limit = 0xff;
	head->ip.payload_len = cpu_to_be16(sizeof(head->udp) + len);
	mask_udp(&head->udp, head->bth, len);
	return smr_crc32(ICRC_SEED, head,
			 offsetof(struct icrc_head6, bth) + SMR_BTH_PSN);
}

static u32 seal_head4(const struct smr_path *path, u16 sport, u16 id,
		      const u8 *bth, unsigned int len)
{
	struct icrc_head4 head = {
		.ip.version = 4,
		.ip.ihl = sizeof(head.ip) / 4,
		.ip.id = cpu_to_be16(id),
		.ip.frag_off = cpu_to_be16(IP_DF),
		.ip.protocol = IPPROTO_UDP,
		.ip.saddr = path->saddr.s6_addr32[3],
		.ip.daddr = path->daddr.s6_addr32[3],
		.udp.source = cpu_to_be16(sport),
		.udp.dest = cpu_to_be16(SMR_UDP_PORT),
	};

	memcpy(head.bth, bth, sizeof(head.bth));
	return crc_head4(&head, len);
}

static u32 seal_head6(const struct smr_path *path, u16 sport, const u8 *bth,
		      unsigned int len)
{
	struct icrc_head6 head = {
		.ip.nexthdr = IPPROTO_UDP,
		.ip.saddr = path->saddr,
		.ip.daddr = path->daddr,
		.udp.source = cpu_to_be16(sport),
		.udp.dest = cpu_to_be16(SMR_UDP_PORT),
	};

	memcpy(head.bth, bth, sizeof(head.bth));
	return crc_head6(&head, len);
}

/**
 * smr_icrc_begin() - begin the ICRC of a segment to send
 * @icrc: zeroed when @path or @sport changes
 * @path: of the train
 * @sport: the train's UDP source port
 * @id: IPv4 identification of the segment
 * @seg: the segment; its headers are filled in
 * @hdr_len: length of the headers, at least that of the BTH
 * @len: length of the segment, including the ICRC
 *
 * Return: the CRC so far; the caller continues it with smr_crc32() over the payload and the
 * pad. Its inverse is the ICRC, which is stored with its least significant octet first, on
 * every CPU, as IBTA 7.8.1 requires.
 */
u32 smr_icrc_begin(struct smr_icrc *icrc, const struct smr_path *path,
		   u16 sport, u16 id, const u8 *seg, unsigned int hdr_len,
		   unsigned int len)
{
	bool ip4 = path->family == AF_INET;

	if (!smr_icrc_covers(icrc, seg, len)) {
		icrc->crc = ip4 ? seal_head4(path, sport, id, seg, len) :
				  seal_head6(path, sport, seg, len);
		icrc->id = id;
		icrc->bth = smr_icrc_bth(seg);
		icrc->len = len;
	}
	return smr_icrc_head(icrc, seg, hdr_len, ip4 ? id : icrc->id);
}

static u32 check_head4(const struct sk_buff *skb, const u8 *bth,
		       unsigned int len)
{
	struct icrc_head4 head;

	memcpy(&head.ip, ip_hdr(skb), sizeof(head.ip));
	memcpy(&head.udp, udp_hdr(skb), sizeof(head.udp));
	memcpy(head.bth, bth, sizeof(head.bth));
	return crc_head4(&head, len);
}

static u32 check_head6(const struct sk_buff *skb, const u8 *bth,
		       unsigned int len)
{
	struct icrc_head6 head;

	memcpy(&head.ip, ipv6_hdr(skb), sizeof(head.ip));
	memcpy(&head.udp, udp_hdr(skb), sizeof(head.udp));
	memcpy(head.bth, bth, sizeof(head.bth));
	return crc_head6(&head, len);
}

/* Compute the CRC of the headers that the segments have in common. False: not RoCEv2. */
static bool head_learn(struct smr_icrc *icrc, const struct sk_buff *skb,
		       const u8 *bth, unsigned int len)
{
	bool ip4 = smr_rx_info(skb)->family == AF_INET;

	if (skb_network_header_len(skb) != (ip4 ? sizeof(struct iphdr) :
						  sizeof(struct ipv6hdr)))
		return false;
	icrc->crc = ip4 ? check_head4(skb, bth, len) :
			  check_head6(skb, bth, len);
	icrc->id = icrc->first_id;
	icrc->bth = smr_icrc_bth(bth);
	icrc->len = len;
	return true;
}

/**
 * smr_icrc_read() - begin checking a received train
 * @icrc: may contain the state of the previous train; zeroed at first
 * @skb: the train
 *
 * Consecutive single packets often differ only as the packets of a train do. For IPv6, the state
 * of the previous train is dropped.
 */
void smr_icrc_read(struct smr_icrc *icrc, const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	u64 ends;
	u32 rest;

	if (smr_rx_info(skb)->family != AF_INET) {
		icrc->len = 0;
		icrc->first_id = 0;
		icrc->same_id = true;
		return;
	}
	ends = (u64)(__force u32)ip->saddr << 32 | (__force u32)ip->daddr;
	rest = (u32)(__force u16)udp_hdr(skb)->source << 16 |
	       (__force u16)ip->frag_off;
	if (ends != icrc->ends || rest != icrc->rest ||
	    skb_network_header_len(skb) != sizeof(*ip))
		icrc->len = 0;
	icrc->ends = ends;
	icrc->rest = rest;
	icrc->first_id = be16_to_cpu(ip->id);
}

/* Did the sender give all its packets the same identification? RFC 6864. */
static bool may_repeat_id(const struct sk_buff *skb)
{
	return smr_rx_info(skb)->family == AF_INET &&
	       ip_hdr(skb)->frag_off & cpu_to_be16(IP_DF);
}

/**
 * smr_icrc_is() - is this the ICRC of a segment?
 * @crc: the CRC of all before it
 * @cur: the train
 * @off: its offset from skb->data
 *
 * Return: true if it is correct; false also if the packet is shorter.
 */
bool smr_icrc_is(u32 crc, struct smr_cursor *cur, unsigned int off)
{
	__le32 buf;
	const u8 *stored = smr_cursor_get(cur, off, sizeof(buf), &buf);

	return stored && get_unaligned_le32(stored) == ~crc;
}

/* A segment of a received train, and its contiguous part */
struct segment {
	unsigned int off;	/* from skb->data */
	unsigned int len;
	const u8 *bth;
	bool whole;		/* all of the segment is contiguous at bth */
	u8 buf[SMR_BTH_LEN];
};

/* Find a segment. False: there is none, or it is not a RoCEv2 packet. */
static bool segment_get(struct smr_icrc *icrc, struct smr_cursor *cur,
			unsigned int seg, struct segment *s)
{
	const struct smr_rx_info *info = smr_rx_info(cur->skb);
	unsigned int there;

	if (seg >= info->nsegs)
		return false;
	s->off = info->seg_len * seg;
	s->len = min(info->seg_len, info->len - s->off);
	if (s->len < SMR_BTH_LEN + SMR_ICRC_LEN)
		return false;
	s->bth = smr_cursor_at(cur, s->off, &there);
	s->whole = s->bth && there >= s->len;
	if (!s->whole)
		s->bth = smr_cursor_get(cur, s->off, SMR_BTH_LEN, s->buf);
	return s->bth && (smr_icrc_covers(icrc, s->bth, s->len) ||
			  head_learn(icrc, cur->skb, s->bth, s->len));
}

/* Is the ICRC correct, if the segment has this IPv4 identification? */
static bool is_right(const struct smr_icrc *icrc, struct smr_cursor *cur,
		     const struct segment *s, u16 id)
{
	unsigned int body = s->len - SMR_BTH_LEN - SMR_ICRC_LEN;
	u32 crc = smr_icrc_head(icrc, s->bth, SMR_BTH_LEN, id);

	if (s->whole) {
		crc = smr_crc32(crc, s->bth + SMR_BTH_LEN, body);
		return get_unaligned_le32(s->bth + SMR_BTH_LEN + body) == ~crc;
	}
	return smr_cursor_crc(cur, s->off + SMR_BTH_LEN, body, &crc) &&
	       smr_icrc_is(crc, cur, s->off + SMR_BTH_LEN + body);
}

/**
 * smr_icrc_ok() - check the ICRC of one segment of a received train
 * @icrc: smr_icrc_read() was called
 * @cur: the train
 * @seg: index of the segment, from 0
 *
 * The stack merges packets into a train if their IPv4 identifications increase by one, and also
 * if all are the same. It does not report which, so both are tried, first the one that was
 * right last.
 *
 * Return: true if the segment exists and its ICRC is correct; false also with IP options or
 *	IPv6 extension headers, which RoCEv2 packets do not have.
 */
bool smr_icrc_ok(struct smr_icrc *icrc, struct smr_cursor *cur,
		 unsigned int seg)
{
	struct segment s;

	if (!segment_get(icrc, cur, seg, &s))
		return false;
	if (is_right(icrc, cur, &s, smr_icrc_id(icrc, seg)))
		return true;
	if (!seg || !may_repeat_id(cur->skb))
		return false;
	icrc->same_id = !icrc->same_id;
	if (is_right(icrc, cur, &s, smr_icrc_id(icrc, seg)))
		return true;
	icrc->same_id = !icrc->same_id;
	return false;
}

/**
 * smr_icrc_expect() - begin the ICRC of a segment whose only header is a BTH
 * @icrc: smr_icrc_read() was called
 * @cur: the train
 * @seg: index of the segment, from 0
 * @crc: set to the CRC of the headers. The caller continues it with smr_crc32() over payload and
 *	pad, and then calls smr_icrc_is()
 *
 * If the identifications of the train are not those that are expected, smr_icrc_is() is false,
 * and smr_icrc_ok() finds the right ones.
 *
 * Return: as smr_icrc_ok(), except that the ICRC is not compared.
 */
bool smr_icrc_expect(struct smr_icrc *icrc, struct smr_cursor *cur,
		     unsigned int seg, u32 *crc)
{
	struct segment s;

	if (!segment_get(icrc, cur, seg, &s))
		return false;
	*crc = smr_icrc_head(icrc, s.bth, SMR_BTH_LEN, smr_icrc_id(icrc, seg));
	return true;
}
