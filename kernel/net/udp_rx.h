/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What comes in on RoCEv2's port in one network namespace, and the sockets that own it.
 */
#ifndef SMR_NET_H
#define SMR_NET_H

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
 * @seg_len: bytes of UDP payload in each segment but the last, which may be
 *	shorter; @len when there is only one
 * @nsegs: datagrams that this skb stands for, at least 1
 * @family: AF_INET or AF_INET6
 * @tos: the traffic class octet, ECN bits included
 * @ttl: time to live, or hop limit
 *
 * skb->data is the first segment's UDP payload, that is its BTH; segment i
 * begins @seg_len * i bytes further on. The network and UDP headers are still
 * there, in linear memory. The skb may be nonlinear in every way that skbs can
 * be, its data may be shared with others, so that it must not be written, and
 * skb->dev is NULL: skb->skb_iif tells where it came in.
 *
 * @seg_len is no less than a BTH and an ICRC; the last segment may be.
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
 * struct smr_rx_ops - the seam by which packets go up to the transport
 * @rx: take one skb, which may be a train of several datagrams, and run what has to run because
 *	of it. Consumes it. Called in softirq or with BH off, inside an RCU read section, on
 *	several CPUs at a time
 * @may_copy: may this softirq copy more packets to several receivers? False: the next one
 *	is to do that
 */
struct smr_rx_ops {
	void (*rx)(void *ctx, struct sk_buff *skb);
	bool (*may_copy)(void);
};

/**
 * struct smr_net - the sockets of a network namespace
 * @net: the namespace; a reference is not held, the owner's life is inside it
 * @ops: where packets go
 * @ctx: handed to @ops
 * @hook: takes packets before UDP does, IPv4 and IPv6
 * @sock4: the IPv4 socket
 * @sock6: the IPv6 socket, NULL where the kernel has no IPv6
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

/* Does an address of a packet belong to the netdev @iif only? What came by lo is our own. */
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

#endif /* SMR_NET_H */
