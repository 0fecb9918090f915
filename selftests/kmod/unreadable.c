// SPDX-License-Identifier: GPL-2.0
/*
 * A packet as a netdev receives it that puts payload into memory which the CPU cannot read
 * (TCP into device memory, zero-copy receive of io_uring):
 *
 *	insmod unreadable.ko dev=veth0 addr=10.1.0.1
 *
 * has the netdev receive one, for RoCEv2's port at that address. The fragment is a page all
 * the same, so that a reader that should not read it does not crash. On kernels without such
 * packets the parameter "sent" stays 0.
 */
#include <linux/etherdevice.h>
#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/net_namespace.h>

#define PAYLOAD		64
#define ROCE_PORT	4791

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "netdev of the first namespace that receives the packet");

static char *addr;
module_param(addr, charp, 0444);
MODULE_PARM_DESC(addr, "its IPv4 address");

static int sent;
module_param(sent, int, 0444);
MODULE_PARM_DESC(sent, "how many packets it has received");

static void headers_fill(struct sk_buff *skb, const struct net_device *ndev,
			 __be32 daddr)
{
	struct ethhdr *eth = skb_put_zero(skb, sizeof(*eth));
	struct iphdr *iph = skb_put_zero(skb, sizeof(*iph));
	struct udphdr *udph = skb_put_zero(skb, sizeof(*udph));

	ether_addr_copy(eth->h_dest, ndev->dev_addr);
	eth->h_source[0] = 2;
	eth->h_proto = htons(ETH_P_IP);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->ttl = 64;
	iph->protocol = IPPROTO_UDP;
	iph->tot_len = htons(sizeof(*iph) + sizeof(*udph) + PAYLOAD);
	iph->saddr = daddr ^ htonl(3);
	iph->daddr = daddr;
	ip_send_check(iph);
	udph->source = htons(0xc000);
	udph->dest = htons(ROCE_PORT);
	udph->len = htons(sizeof(*udph) + PAYLOAD);
}

/* Return: false: this kernel has no such packets */
static bool make_unreadable(struct sk_buff *skb)
{
#ifdef HAVE_UNREADABLE
	skb->unreadable = 1;
	return true;
#else
	return false;
#endif
}

static int receive_one(struct net_device *ndev, __be32 daddr)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);

	if (!page || !skb)
		goto no_memory;
	skb_reserve(skb, NET_SKB_PAD);
	headers_fill(skb, ndev, daddr);
	skb_add_rx_frag(skb, 0, page, 0, PAYLOAD, PAGE_SIZE);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (!make_unreadable(skb)) {
		kfree_skb(skb);
		return 0;
	}
	skb->protocol = eth_type_trans(skb, ndev);
	local_bh_disable();
	netif_receive_skb(skb);
	local_bh_enable();
	sent++;
	return 0;

no_memory:
	if (page)
		__free_page(page);
	kfree_skb(skb);
	return -ENOMEM;
}

static int __init unreadable_init(void)
{
	struct net_device *ndev;
	int ret;

	if (!dev || !addr)
		return -EINVAL;
	ndev = dev_get_by_name(&init_net, dev);
	if (!ndev)
		return -ENODEV;
	ret = receive_one(ndev, in_aton(addr));
	dev_put(ndev);
	return ret;
}

static void __exit unreadable_exit(void)
{
}

module_init(unreadable_init);
module_exit(unreadable_exit);

MODULE_DESCRIPTION("Receives a packet that cannot be read");
MODULE_LICENSE("GPL");
