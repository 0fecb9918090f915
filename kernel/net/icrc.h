/* SPDX-License-Identifier: GPL-2.0 */
/* The invariant CRC, IBTA 7.8.1 and annex A17.3.3. */
#ifndef SMR_ICRC_H
#define SMR_ICRC_H

#include <linux/types.h>

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
 * @same_id: received: the packets of the last train with several had the same identification
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
bool __must_check smr_icrc_follow(const struct smr_icrc *icrc, const struct sk_buff *skb,
				  unsigned int seg, const u8 *bth, unsigned int hdr_len,
				  unsigned int len, u32 *crc);
bool __must_check smr_icrc_is(u32 crc, struct smr_cursor *cur,
			      unsigned int off);

#endif /* SMR_ICRC_H */
