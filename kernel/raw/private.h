/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of this folder share: a link's rules, and the headers of frames to match. */
#ifndef SMR_RAW_PRIVATE_H
#define SMR_RAW_PRIVATE_H

#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/netfilter.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp/core.h"

/* Maximum of rules of a link: each frame is matched against all of them. */
#define SMR_MAX_RULES	1024

/*
 * The headers of a frame; or the values of a rule, or their masks
 *
 * @eth: addresses, the EtherType after all VLAN tags, and the outermost tag
 * @l3: 4, 6, or 0 for neither
 * @l4: IPPROTO_TCP, IPPROTO_UDP, or 0 for neither
 *
 * Bytes that the frame does not use are 0.
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

/* The frames that a rule applies to: they have @val in the bits of @mask. */
struct smr_match {
	struct smr_frame_key val;
	struct smr_frame_key mask;
};

/* Packets that a netdev receives besides those for its own addresses */
enum smr_rx_mode {
	SMR_RX_MODE_OWN,
	SMR_RX_MODE_MULTICAST,
	SMR_RX_MODE_ALL,
};

/*
 * A steering rule
 *
 * @qp: gets the frames; it outlives the rule, but not the readers of the list, which use @handle
 * @slot: the QP's bit in a set of the QPs that have rules
 * @process: the process that owns the QP
 * @tag: set in the completion of each frame of this rule; 0: none
 * @order: rules are matched in this order: a normal rule's priority; the default rules come last
 * @steals: neither rules of a later order nor the host get the frames
 * @drops: the QP does not get the frames either
 * @owns: the frames that it steals are for one unicast address
 * @rx_mode: what the netdev has to receive for it; guarded by RTNL
 *
 * All fields except @rx_mode are constant while it is in the list.
 */
struct smr_rule {
	struct ib_flow ibflow;
	struct list_head node;
	struct smr_steer *steer;
	struct smr_qp *qp;
	struct smr_qp_handle *handle;
	unsigned int slot;
	const struct ib_ucontext *process;
	struct smr_match match;
	u32 tag;
	u32 order;
	bool steals;
	bool drops;
	bool owns;
	enum smr_rx_mode rx_mode;
	struct rcu_head rcu;
};

/*
 * The rules of a link
 *
 * @frames: what the link's QPs call
 * @hook: open while there is a rule
 * @rules: in the order in which they are matched; readers use RCU
 * @nr: number of @rules
 * @closed: the netdev is being unregistered or moved
 *
 * RTNL guards all changes.
 */
struct smr_steer {
	struct smr_frames frames;
	struct net_device *ndev;
	struct nf_hook_ops hook;
	struct list_head rules;
	unsigned int nr;
	bool closed;
};

/* The receivers of a frame that a QP sends */
enum smr_steer_sent {
	SMR_STEER_NOBODY,
	SMR_STEER_SOME,		/* other QPs got copies */
	SMR_STEER_OWNER,	/* the owner of its address got it: do not send it */
};

static inline struct smr_steer *to_smr_steer(const struct smr_env *env)
{
	return container_of(env->frames, struct smr_steer, frames);
}

enum smr_step smr_raw_send(struct smr_qp *qp, struct smr_swqe *wqe,
			   struct smr_budget *budget);
enum smr_step smr_raw_receive(struct smr_qp *qp, struct smr_op *op,
			      struct smr_budget *budget);

unsigned int smr_steer_hook(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state);
enum smr_steer_sent smr_steer_sent(struct smr_qp *qp, struct sk_buff *skb);

#endif /* SMR_RAW_PRIVATE_H */
