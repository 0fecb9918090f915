/* SPDX-License-Identifier: GPL-2.0 */
/* The invariant CRC, IBTA 7.8.1 and annex A17.3.3. */
#ifndef SMR_ICRC_H
#define SMR_ICRC_H

#include <linux/types.h>

struct smr_cursor;
struct smr_path;

/**
 * struct smr_icrc - what the packets of a train have in common
 * @bth: the BTH up to the PSN
 * @len: the packet's length, BTH to ICRC; 0: nothing is known yet
 * @crc: covers all headers up to the PSN
 * @id: the IPv4 identification that @crc covers
 * @same_id: received: all packets have the same one
 *
 * Owned by the function that builds or reads the train.
 */
struct smr_icrc {
	u64 bth;
	u32 len;
	u32 crc;
	u16 id;
	bool same_id;
};

void smr_icrc_seal(struct smr_icrc *icrc, const struct smr_path *path, u16 id,
		   u8 *seg, unsigned int len);
bool __must_check smr_icrc_ok(struct smr_icrc *icrc, struct smr_cursor *cur,
			      unsigned int seg);

#endif /* SMR_ICRC_H */
