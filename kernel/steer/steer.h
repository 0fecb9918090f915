/* SPDX-License-Identifier: GPL-2.0 */
/* Flow steering: deliver frames of a netdev to RAW_PACKET QPs. */
#ifndef SMR_STEER_H
#define SMR_STEER_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "steer/ingress.h"
#include "steer/match.h"

struct smr_qp;

/* Maximum of rules of a link: each frame is matched against all of them. */
#define SMR_MAX_RULES	1024

/**
 * struct smr_rule - a steering rule
 * @ibflow: the core's part
 * @node: in struct smr_steer
 * @steer: the link's rules
 * @qp: gets the frames; it outlives the rule, but not the readers of the lists, which use
 *	@handle
 * @handle: of the QP
 * @slot: the QP's bit in a set of the QPs that have rules; unused for a sniffer
 * @process: the process that owns the QP
 * @match: the frames that match; a sniffer gets all
 * @tag: set in the completion of each frame of this rule; 0: none
 * @order: rules are matched in this order: a normal rule's priority; the default rules
 *	come last
 * @steals: neither rules of a later order nor the host get the frames
 * @drops: the QP does not get the frames either
 * @owns: the frames that it steals are for one unicast address
 * @rx_mode: packets that the netdev has to receive for it; guarded by RTNL
 * @tap: packet handler of a sniffer
 * @rcu: defers freeing: readers may still access @node or @tap
 *
 * All fields except @rx_mode are constant while it is in a list.
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
	struct packet_type tap;
	struct rcu_head rcu;
};

/**
 * struct smr_steer - the rules of a link
 * @in: the hook on the netdev; open while @rules is not empty
 * @rules: by their order; readers use RCU
 * @sniffers: rules with a packet handler; readers use RCU
 * @nr: number of rules on both lists
 * @closed: the netdev is being unregistered or moved
 *
 * RTNL guards all changes.
 */
struct smr_steer {
	struct smr_ingress in;
	struct list_head rules;
	struct list_head sniffers;
	unsigned int nr;
	bool closed;
};

/* Some link has a sniffer. */
DECLARE_STATIC_KEY_FALSE(smr_sniffed);

#if IS_ENABLED(CONFIG_INFINIBAND_SOFTMR_RAW)
static inline bool smr_is_sniffed(void)
{
	return static_branch_unlikely(&smr_sniffed);
}

/* Does the link have a sniffer? */
static inline bool smr_steer_is_sniffed(const struct smr_steer *steer)
{
	return !list_empty(&steer->sniffers);
}

void smr_steer_show(const struct smr_steer *steer, const struct sk_buff *skb);
#else
static inline bool smr_is_sniffed(void)
{
	return false;
}

static inline bool smr_steer_is_sniffed(const struct smr_steer *steer)
{
	return false;
}

static inline void smr_steer_show(const struct smr_steer *steer,
				  const struct sk_buff *skb)
{
}
#endif

/* The receivers of a frame that a QP sends */
enum smr_steer_sent {
	SMR_STEER_NOBODY,
	SMR_STEER_SOME,		/* other QPs got copies */
	SMR_STEER_OWNER,	/* the owner of its address got it: do not send it */
};

static inline struct smr_rule *to_smr_rule(struct ib_flow *ibflow)
{
	return container_of(ibflow, struct smr_rule, ibflow);
}

void smr_steer_init(struct smr_steer *steer, struct net_device *ndev);
void smr_steer_fini(struct smr_steer *steer);
enum smr_steer_sent smr_steer_sent(struct smr_qp *qp, struct sk_buff *skb);
int smr_steer_tap(struct sk_buff *skb, struct net_device *ndev,
		  struct packet_type *tap, struct net_device *orig);

#endif /* SMR_STEER_H */
