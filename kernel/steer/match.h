/* SPDX-License-Identifier: GPL-2.0 */
/* A frame's headers, and the values that a steering rule matches them against. */
#ifndef SMR_MATCH_H
#define SMR_MATCH_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct sk_buff;

/**
 * struct smr_frame_key - the headers of a frame, or a rule's values or masks
 * @eth: addresses, the EtherType after all VLAN tags, and the outermost tag
 * @tagged: there is a VLAN tag
 * @l3: 4, 6, or 0 for neither
 * @l4: IPPROTO_TCP, IPPROTO_UDP, or 0 for neither
 * @rsvd: 0
 * @ip4: valid if @l3 is 4
 * @ip6: valid if @l3 is 6
 * @l3_room: the space of the union; unused bytes are 0
 * @ports: ports of @l4
 * @rsvd2: 0
 */
struct smr_frame_key {
	struct ib_flow_eth_filter eth;
	u8 tagged;
	u8 l3;
	u8 l4;
	u8 rsvd[5];
	union {
		struct ib_flow_ipv4_filter ip4;
		struct ib_flow_ipv6_filter ip6;
		u8 l3_room[40];
	};
	struct ib_flow_tcp_udp_filter ports;
	u8 rsvd2[4];
} __aligned(8);

/**
 * struct smr_match - the frames that a rule applies to
 * @val: the values
 * @mask: the bits of @val that are compared
 * @layers: the specs that were added: bits 1 << (layer >> 4)
 */
struct smr_match {
	struct smr_frame_key val;
	struct smr_frame_key mask;
	u8 layers;
};

void smr_frame_key_parse(struct smr_frame_key *key, const struct sk_buff *skb,
			 int off);
int smr_match_add(struct smr_match *match, const union ib_flow_spec *spec);
void smr_match_add_multicast(struct smr_match *match);
bool smr_match_key(const struct smr_match *match,
		   const struct smr_frame_key *key);

#endif /* SMR_MATCH_H */
