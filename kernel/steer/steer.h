/* SPDX-License-Identifier: GPL-2.0 */
/* Flow steering: deliver frames of a netdev to RAW_PACKET QPs. */
#ifndef SMR_STEER_H
#define SMR_STEER_H

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
 * @slot: the QP's bit in a set of the QPs that have rules
 * @process: the process that owns the QP
 * @match: the frames that match
 * @tag: set in the completion of each frame of this rule; 0: none
 * @order: rules are matched in this order: a normal rule's priority; the default rules
 *	come last
 * @steals: neither rules of a later order nor the host get the frames
 * @drops: the QP does not get the frames either
 * @owns: the frames that it steals are for one unicast address
 * @rx_mode: packets that the netdev has to receive for it; guarded by RTNL
 * @rcu: defers freeing: readers may still access @node
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
	struct rcu_head rcu;
};

/**
 * struct smr_steer - the rules of a link
 * @in: the hook on the netdev; open while @rules is not empty
 * @rules: by their order; readers use RCU
 * @nr: number of rules
 * @closed: the netdev is being unregistered or moved
 *
 * RTNL guards all changes.
 */
struct smr_steer {
	struct smr_ingress in;
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

static inline struct smr_rule *to_smr_rule(struct ib_flow *ibflow)
{
	return container_of(ibflow, struct smr_rule, ibflow);
}

void smr_steer_init(struct smr_steer *steer, struct net_device *ndev);
void smr_steer_fini(struct smr_steer *steer);
enum smr_steer_sent smr_steer_sent(struct smr_qp *qp, struct sk_buff *skb);

#endif /* SMR_STEER_H */
