// SPDX-License-Identifier: GPL-2.0
/* A netfilter hook sees all packets that a netdev receives, whatever else the netdev is used for. */
#include "steer/ingress.h"

#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>

static unsigned int ingress_hook(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	struct smr_ingress *in = priv;

	return in->take(in, skb) ? NF_STOLEN : NF_ACCEPT;
}

/**
 * smr_ingress_open() - start receiving the packets of a netdev
 * @in: its netdev and function are set
 *
 * The hook runs before the host's own filters.
 *
 * Context: process, may sleep; caller holds RTNL.
 * Return: 0; -ENOMEM; -E2BIG: the netdev has very many hooks.
 */
int smr_ingress_open(struct smr_ingress *in)
{
	ASSERT_RTNL();
	in->ops = (struct nf_hook_ops){
		.hook = ingress_hook,
		.dev = in->ndev,
		.priv = in,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_INGRESS,
		.priority = INT_MIN,
	};
	return nf_register_net_hook(dev_net(in->ndev), &in->ops);
}

/**
 * smr_ingress_close() - stop receiving the packets of a netdev
 * @in: open. @take may still be called until a grace period has passed
 *
 * The netdev may be in another namespace than when this was opened.
 *
 * Context: process, may sleep; caller holds RTNL.
 */
void smr_ingress_close(struct smr_ingress *in)
{
	ASSERT_RTNL();
	nf_unregister_net_hook(dev_net(in->ndev), &in->ops);
}

/**
 * smr_ingress_set_rx_mode() - change which packets a netdev receives besides its own
 * @ndev: the netdev
 * @rx_mode: packets to receive
 * @inc: 1 to begin, -1 to end
 *
 * Context: process, may sleep; caller holds RTNL.
 * Return: 0, -EOVERFLOW.
 */
int smr_ingress_set_rx_mode(struct net_device *ndev, enum smr_rx_mode rx_mode,
			    int inc)
{
	ASSERT_RTNL();
	switch (rx_mode) {
	case SMR_RX_MODE_MULTICAST:
		return dev_set_allmulti(ndev, inc);
	case SMR_RX_MODE_ALL:
		return dev_set_promiscuity(ndev, inc);
	default:
		return 0;
	}
}
