// SPDX-License-Identifier: GPL-2.0
/*
 * The ICRC covers the IP header, the UDP header, the BTH and all behind it. Fields that
 * routers and switches may change count as ones. Eight octets of ones come first, in
 * the place of InfiniBand's LRH.
 *
 * A segment of a train is covered as the datagram that it becomes when the train is
 * cut: with its own lengths and its own IPv4 identification.
 */
#include "net/icrc.h"

#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "compat/unaligned.h"
#include "net/crc.h"
#include "net/train.h"
#include "net/udp_rx.h"
#include "net/wire.h"

/* The CRC, begun with ones, after eight octets of ones */
#define ICRC_SEED	0xdebb20e3

/* The BTH's reserved octet "resv8a", which also holds FECN and BECN */
#define BTH_RESV8A	4

/* The headers in front of the payload, with variant fields as ones */
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

static void mask_udp(struct udphdr *udp, u8 *bth, unsigned int len)
{
	udp->len = cpu_to_be16(sizeof(*udp) + len);
	udp->check = (__force __sum16)0xffff;
	bth[BTH_RESV8A] = 0xff;
}

static u32 crc_head4(struct icrc_head4 *head, u16 id, unsigned int len)
{
	head->ip.tos = 0xff;
	head->ip.ttl = 0xff;
	head->ip.check = (__force __sum16)0xffff;
	head->ip.id = cpu_to_be16(id);
	head->ip.tot_len = cpu_to_be16(sizeof(head->ip) + sizeof(head->udp) +
				       len);
	mask_udp(&head->udp, head->bth, len);
	return smr_crc32(ICRC_SEED, head, sizeof(*head));
}

static u32 crc_head6(struct icrc_head6 *head, unsigned int len)
{
	ip6_flow_hdr(&head->ip, 0xff, cpu_to_be32(0xfffff));
	head->ip.hop_limit = 0xff;
	head->ip.payload_len = cpu_to_be16(sizeof(head->udp) + len);
	mask_udp(&head->udp, head->bth, len);
	return smr_crc32(ICRC_SEED, head, sizeof(*head));
}

static u32 seal_head4(const struct smr_train *train, const void *seg,
		      unsigned int len)
{
	const struct smr_path *path = train->path;
	struct icrc_head4 head = {
		.ip.version = 4,
		.ip.ihl = sizeof(head.ip) / 4,
		.ip.frag_off = cpu_to_be16(IP_DF),
		.ip.protocol = IPPROTO_UDP,
		.ip.saddr = path->saddr.s6_addr32[3],
		.ip.daddr = path->daddr.s6_addr32[3],
		.udp.source = cpu_to_be16(path->sport),
		.udp.dest = cpu_to_be16(SMR_UDP_PORT),
	};

	memcpy(head.bth, seg, sizeof(head.bth));
	return crc_head4(&head, train->ip_id + train->nsegs - 1, len);
}

static u32 seal_head6(const struct smr_train *train, const void *seg,
		      unsigned int len)
{
	const struct smr_path *path = train->path;
	struct icrc_head6 head = {
		.ip.nexthdr = IPPROTO_UDP,
		.ip.saddr = path->saddr,
		.ip.daddr = path->daddr,
		.udp.source = cpu_to_be16(path->sport),
		.udp.dest = cpu_to_be16(SMR_UDP_PORT),
	};

	memcpy(head.bth, seg, sizeof(head.bth));
	return crc_head6(&head, len);
}

/**
 * smr_icrc_seal() - compute a segment's ICRC and store it in its last bytes
 * @train: the train the segment belongs to; it must be the newest segment
 * @seg: the segment as smr_train_seg() returned it, all else filled in
 * @len: its length, ICRC included
 *
 * The CRC is stored with its least significant octet first, on every CPU: that is the
 * order of transmission in IBTA 7.8.1.
 *
 * Context: any.
 */
void smr_icrc_seal(const struct smr_train *train, void *seg, unsigned int len)
{
	unsigned int body = len - SMR_BTH_LEN - SMR_ICRC_LEN;
	u32 crc;

	crc = train->path->family == AF_INET ? seal_head4(train, seg, len) :
					       seal_head6(train, seg, len);
	crc = smr_crc32(crc, seg + SMR_BTH_LEN, body);
	put_unaligned_le32(~crc, seg + SMR_BTH_LEN + body);
}

static u32 crc_frag(u32 crc, const skb_frag_t *frag, unsigned int off,
		    unsigned int len)
{
	u32 page_off, page_len, done;
	struct page *page;

	skb_frag_foreach_page(frag, skb_frag_off(frag) + off, len, page,
			      page_off, page_len, done) {
		const void *addr = kmap_local_page(page);

		crc = smr_crc32(crc, addr + page_off, page_len);
		kunmap_local(addr);
	}
	return crc;
}

/* A range of a packet's bytes that is still to be covered */
struct crc_walk {
	unsigned int off;	/* where it begins, from the current part on */
	unsigned int len;
};

/*
 * How many bytes of the range lie in the next part of the packet, @part bytes long.
 * Moves the range on, and sets *@off to where these bytes begin in that part.
 */
static unsigned int walk_part(struct crc_walk *walk, unsigned int part,
			      unsigned int *off)
{
	unsigned int len;

	if (walk->off >= part) {
		walk->off -= part;
		return 0;
	}
	*off = walk->off;
	len = min(walk->len, part - walk->off);
	walk->off = 0;
	walk->len -= len;
	return len;
}

/* skb_checksum() for this CRC: head, then fragments, then the frag_list. */
static u32 crc_skb(u32 crc, const struct sk_buff *skb, struct crc_walk *walk)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	const struct sk_buff *part;
	unsigned int off, len;
	int i;

	len = walk_part(walk, skb_headlen(skb), &off);
	if (len)
		crc = smr_crc32(crc, skb->data + off, len);

	for (i = 0; i < info->nr_frags && walk->len; i++) {
		const skb_frag_t *frag = &info->frags[i];

		len = walk_part(walk, skb_frag_size(frag), &off);
		if (len)
			crc = crc_frag(crc, frag, off, len);
	}

	for (part = info->frag_list; part && walk->len; part = part->next)
		crc = crc_skb(crc, part, walk);
	return crc;
}

/* The CRC of a received segment's headers; false if they are not RoCEv2's */
static bool check_head4(const struct sk_buff *skb, unsigned int off,
			unsigned int len, u16 index, u32 *crc)
{
	struct icrc_head4 head;

	if (skb_network_header_len(skb) != sizeof(head.ip))
		return false;

	memcpy(&head.ip, ip_hdr(skb), sizeof(head.ip));
	memcpy(&head.udp, udp_hdr(skb), sizeof(head.udp));
	if (skb_copy_bits(skb, off, head.bth, sizeof(head.bth)))
		return false;

	*crc = crc_head4(&head, be16_to_cpu(head.ip.id) + index, len);
	return true;
}

static bool check_head6(const struct sk_buff *skb, unsigned int off,
			unsigned int len, u32 *crc)
{
	struct icrc_head6 head;

	if (skb_network_header_len(skb) != sizeof(head.ip))
		return false;

	memcpy(&head.ip, ipv6_hdr(skb), sizeof(head.ip));
	memcpy(&head.udp, udp_hdr(skb), sizeof(head.udp));
	if (skb_copy_bits(skb, off, head.bth, sizeof(head.bth)))
		return false;

	*crc = crc_head6(&head, len);
	return true;
}

/* Check one segment, taking its IPv4 identification as the train's + @index. */
static bool check_seg(const struct sk_buff *skb, unsigned int off,
		      unsigned int len, u16 index)
{
	unsigned int body = len - SMR_BTH_LEN - SMR_ICRC_LEN;
	struct crc_walk walk = { .off = off + SMR_BTH_LEN, .len = body };
	__le32 icrc;
	bool known;
	u32 crc;

	known = smr_rx_info(skb)->family == AF_INET ?
		check_head4(skb, off, len, index, &crc) :
		check_head6(skb, off, len, &crc);
	if (!known)
		return false;
	if (skb_copy_bits(skb, off + SMR_BTH_LEN + body, &icrc, sizeof(icrc)))
		return false;

	crc = crc_skb(crc, skb, &walk);
	return !walk.len && icrc == cpu_to_le32(~crc);
}

/* Did the sender give all its packets the same identification? RFC 6864. */
static bool may_repeat_id(const struct sk_buff *skb)
{
	return smr_rx_info(skb)->family == AF_INET &&
	       ip_hdr(skb)->frag_off & cpu_to_be16(IP_DF);
}

/**
 * smr_icrc_ok() - check the ICRC of one segment of a received train
 * @skb: as struct smr_rx_info describes it; may be nonlinear, is not changed
 * @seg: which segment, from 0
 *
 * The stack merges packets into a train when their IPv4 identifications count upward,
 * and also when all are the same. It does not tell which, so both are tried.
 *
 * Context: any.
 * Return: true if the segment exists and its ICRC is right; false also with IP options
 * or IPv6 extension headers, which RoCEv2 packets do not have.
 */
bool smr_icrc_ok(const struct sk_buff *skb, unsigned int seg)
{
	const struct smr_rx_info *info = smr_rx_info(skb);
	unsigned int off, len;

	if (seg >= info->nsegs)
		return false;

	off = info->seg_len * seg;
	len = min(info->seg_len, info->len - off);
	if (len < SMR_BTH_LEN + SMR_ICRC_LEN)
		return false;

	return check_seg(skb, off, len, seg) ||
	       (seg && may_repeat_id(skb) && check_seg(skb, off, len, 0));
}
