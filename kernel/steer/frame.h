/* SPDX-License-Identifier: GPL-2.0 */
/* Ethernet frames: which netdevs have them, and how to send them. */
#ifndef SMR_FRAME_H
#define SMR_FRAME_H

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/types.h>

struct sk_buff;
struct smr_egress;
struct smr_refused;

/* Does a netdev carry Ethernet frames? Some carry plain IP. */
static inline bool smr_frame_on(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER || ndev->type == ARPHRD_LOOPBACK;
}

struct sk_buff *smr_frame_alloc(const struct net_device *ndev,
				unsigned int len);
bool smr_frame_finish(struct sk_buff *skb, struct net_device *ndev);
int smr_frame_send(struct sk_buff *skb, struct smr_egress *eg,
		   struct smr_refused *refused);

#endif /* SMR_FRAME_H */
