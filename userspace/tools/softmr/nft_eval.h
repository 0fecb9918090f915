/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a set of nftables rules does to a packet of RoCEv2: a UDP datagram to
 * port 4791 that belongs to no known connection, since each side sends to that
 * port from ports of its own.
 *
 * What cannot be known (addresses, rates, marks) may match or not, so the
 * answer is a set of fates.
 */
#ifndef SOFTMR_NFT_EVAL_H
#define SOFTMR_NFT_EVAL_H

struct json_object;

enum fate {
	FATE_ACCEPT = 1 << 0,
	FATE_DROP = 1 << 1,
	FATE_RETURN = 1 << 2,	/* the end of a chain was reached */
};

/**
 * struct nft_answer - what may happen to the packet
 * @fate: enum fate, one or both of FATE_ACCEPT and FATE_DROP
 * @family: of the chain that may drop it, as nft names it; NULL: none may
 * @table: its table
 * @chain: its name
 */
struct nft_answer {
	unsigned int fate;
	const char *family;
	const char *table;
	const char *chain;
};

/*
 * @ruleset: what "nft -j list ruleset" prints; the answer points into it
 * @netdev: the packet's, or NULL: not known, but not lo
 * @version: of the packet's IP: 4 or 6
 */
void nft_eval(struct nft_answer *answer, struct json_object *ruleset,
	      const char *netdev, int version);

#endif /* SOFTMR_NFT_EVAL_H */
