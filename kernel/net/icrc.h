/* SPDX-License-Identifier: GPL-2.0 */
/* The invariant CRC, IBTA 7.8.1 and annex A17.3.3. */
#ifndef SMR_ICRC_H
#define SMR_ICRC_H

#include <linux/types.h>

#include "compat/unaligned.h"
#include "net/crc.h"
#include "net/wire.h"

struct sk_buff;
struct smr_cursor;
struct smr_path;

/**
 * struct smr_icrc - cached CRC state of the headers of a train, and of later trains
 * @bth: the BTH up to the PSN
 * @len: the packet's length, BTH to ICRC; 0: the cache is empty
 * @crc: covers all headers up to the PSN
 * @id: the IPv4 identification that @crc covers
 * @ends: received: the addresses that @crc covers
 * @rest: received: likewise the source port, and the word of the IPv4 header with DF
 * @first_id: received: the identification of the train's first packet
 * @same_id: received: assume that all packets of a train have the same identification, as the
 *	last train that showed it; always true for IPv6, where @id and @first_id are 0
 *
 * One for each direction of each side of a QP, owned by that side's task.
 */
struct smr_icrc {
	u64 bth;
	u32 len;
	u32 crc;
	u64 ends;
	u32 rest;
	u16 id;
	u16 first_id;
	bool same_id;
};

void smr_icrc_read(struct smr_icrc *icrc, const struct sk_buff *skb);

u32 __must_check smr_icrc_begin(struct smr_icrc *icrc,
				const struct smr_path *path, u16 sport, u16 id,
				const u8 *seg, unsigned int hdr_len,
				unsigned int len);
bool __must_check smr_icrc_ok(struct smr_icrc *icrc, struct smr_cursor *cur,
			      unsigned int seg);
bool __must_check smr_icrc_expect(struct smr_icrc *icrc, struct smr_cursor *cur,
				  unsigned int seg, u32 *crc);
bool __must_check smr_icrc_is(u32 crc, struct smr_cursor *cur,
			      unsigned int off);

/* The BTH's reserved octet "resv8a", which also holds FECN and BECN; and its PSN */
#define SMR_BTH_RESV8A	4
#define SMR_BTH_PSN	8

/* The BTH without the PSN, as the ICRC covers it: resv8a counts as ones. */
static inline u64 smr_icrc_bth(const u8 *bth)
{
	return get_unaligned_be64(bth) | 0xffULL << (8 * (7 - SMR_BTH_RESV8A));
}

/* Does the cached CRC cover the headers of a segment of @len bytes up to the PSN? */
static inline bool smr_icrc_covers(const struct smr_icrc *icrc, const u8 *bth, unsigned int len)
{
	return icrc->len == len && icrc->bth == smr_icrc_bth(bth);
}

/* The IPv4 identification of a received segment */
static inline u16 smr_icrc_id(const struct smr_icrc *icrc, unsigned int seg)
{
	return icrc->first_id + (icrc->same_id ? 0 : seg);
}

/**
 * smr_icrc_head() - the CRC of the headers of a segment
 * @icrc: smr_icrc_covers() is true
 * @bth: its headers
 * @hdr_len: length of the headers, at least that of the BTH
 * @id: its IPv4 identification; that of @icrc for IPv6
 *
 * The headers of a train's packets differ only in the IPv4 identification and the PSN, as long as
 * opcode and length are the same. A CRC is linear. So the CRC of everything before the PSN is
 * computed once, and the effect of another identification is looked up.
 *
 * Return: the CRC, to continue with smr_crc32() over payload and pad.
 */
static inline u32 smr_icrc_head(const struct smr_icrc *icrc, const u8 *bth,
				unsigned int hdr_len, u16 id)
{
	u16 change = (__force u16)(cpu_to_be16(id) ^ cpu_to_be16(icrc->id));
	u32 crc = smr_crc32_head(icrc->crc, le16_to_cpu((__force __le16)change),
				 get_unaligned_le32(bth + SMR_BTH_PSN));

	if (hdr_len == SMR_BTH_LEN)
		return crc;
	return smr_crc32(crc, bth + SMR_BTH_LEN, hdr_len - SMR_BTH_LEN);
}

#endif /* SMR_ICRC_H */
