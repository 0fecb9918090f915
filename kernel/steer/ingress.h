/* SPDX-License-Identifier: GPL-2.0 */
/* A hook on packets that a netdev receives, before the stack. */
#ifndef SMR_INGRESS_H
#define SMR_INGRESS_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct net_device;
struct sk_buff;

/**
 * struct smr_ingress - a hook on packets that a netdev receives
 * @ndev: the netdev; no reference is held
 * @take: called for each packet, in softirq, inside an RCU read section. True: it has freed the
 *	packet, and the stack does not get it. The packet must not be written to. Its Ethernet
 *	header is at skb_mac_offset()
 * @ops: the netfilter hook
 *
 * Constant while it is open; opening and closing needs RTNL.
 */
struct smr_ingress {
	struct net_device *ndev;
	bool (*take)(struct smr_ingress *in, struct sk_buff *skb);
	struct nf_hook_ops ops;
};

/* Packets to receive besides those for the netdev's own addresses */
enum smr_rx_mode {
	SMR_RX_MODE_OWN,
	SMR_RX_MODE_MULTICAST,
	SMR_RX_MODE_ALL,
};

int smr_ingress_open(struct smr_ingress *in);
void smr_ingress_close(struct smr_ingress *in);
int smr_ingress_set_rx_mode(struct net_device *ndev, enum smr_rx_mode rx_mode,
			    int inc);

#endif /* SMR_INGRESS_H */
