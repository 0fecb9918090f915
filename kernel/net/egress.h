/* SPDX-License-Identifier: GPL-2.0 */
/* The socket that a QP sends from: its send budget, and its wait for the network stack. */
#ifndef SMR_EGRESS_H
#define SMR_EGRESS_H

#include <linux/types.h>

struct net;
struct net_device;
struct sk_buff;
struct smr_egress;
struct sock;

/**
 * struct smr_refused - refusals of a sender's packets by the stack
 * @since: jiffies of the first refusal since the stack last accepted a packet; 0: none
 * @patience: jiffies for which a refusal is taken for a full queue; 0: for one try
 *
 * Owned by the task that sends.
 */
struct smr_refused {
	unsigned long since;
	unsigned long patience;
};

struct smr_egress *smr_egress_create(struct net *net, bool user,
				     void (*wake)(void *owner), void *owner);
void smr_egress_destroy(struct smr_egress *eg);

int smr_egress_room(struct smr_egress *eg);
int smr_egress_room_urgent(struct smr_egress *eg);
void smr_egress_wait_moment(struct smr_egress *eg);
bool smr_egress_wait_refused(struct smr_egress *eg, struct smr_refused *refused);
struct sock *smr_egress_charge(struct smr_egress *eg, struct sk_buff *skb,
			       struct net_device *dev);

#endif /* SMR_EGRESS_H */
