/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive on RoCEv2's port in one network namespace, and the sockets that reserve it.
 */
#ifndef SMR_UDP_RX_H
#define SMR_UDP_RX_H

#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/flow.h>
#include <net/ipv6.h>

struct net;
struct smr_sock;

/* RoCEv2's port, IBTA annex A17.4.3 */
#define SMR_UDP_PORT	4791

/**
 * struct smr_rx_info - the receive path's description of a datagram, in skb->cb
 * @len: bytes of UDP payload in all segments together
 * @seg_len: bytes of UDP payload in each segment except the last, which may be shorter; @len if
 *	there is only one
 * @nsegs: datagrams that this skb stands for, at least 1
 * @family: AF_INET or AF_INET6
 * @tos: the traffic class octet, including the ECN bits
 * @ttl: time to live, or hop limit
 *
 * skb->data is the first segment's UDP payload, that is its BTH; segment i begins @seg_len * i
 * bytes further on. The network and UDP headers are still present, in linear memory. The skb
 * may be nonlinear in any way, its data may be shared and so must not be written, and skb->dev
 * is NULL: skb->skb_iif is the receiving netdev.
 *
 * @seg_len is at least a BTH and an ICRC; the last segment may be shorter.
 */
struct smr_rx_info {
	u32 len;
	u32 seg_len;
	u32 nsegs;
	u16 family;
	u8 tos;
	u8 ttl;
};

static inline struct smr_rx_info *smr_rx_info(const struct sk_buff *skb)
{
	return (struct smr_rx_info *)skb->cb;
}

/**
 * struct smr_rx_ops - the transport's functions for received packets
 * @rx: receive one skb, which may be a train of several datagrams, and run the tasks that it is
 *	for. Consumes it. Called in softirq or with BH off, inside an RCU read section, on
 *	several CPUs at a time
 * @may_copy: may this softirq copy more packets to several receivers? False: leave that to the
 *	next softirq
 */
struct smr_rx_ops {
	void (*rx)(void *ctx, struct sk_buff *skb);
	bool (*may_copy)(void);
};

/**
 * struct smr_net - the sockets of a network namespace
 * @net: the namespace; no reference is held, since it outlives the owner
 * @ops: the transport's functions
 * @ctx: passed to @ops
 * @hook: takes packets before UDP does, IPv4 and IPv6
 * @sock4: the IPv4 socket
 * @sock6: the IPv6 socket, NULL if the kernel has no IPv6
 *
 * All fields are constant between smr_net_open() and smr_net_close().
 */
struct smr_net {
	struct net *net;
	const struct smr_rx_ops *ops;
	void *ctx;
	struct nf_hook_ops hook;
	struct smr_sock *sock4;
	struct smr_sock *sock6;
};

/*
 * Is an address of a packet valid only on the netdev @iif? Packets received by lo are from this
 * host.
 */
static inline bool smr_addr_is_scoped(const struct in6_addr *addr, int iif)
{
	return iif != LOOPBACK_IFINDEX &&
	       ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL;
}

int smr_net_open(struct smr_net *sn, struct net *net,
		 const struct smr_rx_ops *ops, void *ctx);
void smr_net_close(struct smr_net *sn);

void smr_rx_addrs(const struct sk_buff *skb, struct in6_addr *saddr,
		  struct in6_addr *daddr);

#endif /* SMR_UDP_RX_H */
