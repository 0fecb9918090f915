/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The UDP sockets of one network namespace, and what comes in through them.
 */
#ifndef SMR_NET_H
#define SMR_NET_H

#include <linux/list.h>
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
 * @rx: take one skb, which may be a train of several datagrams. Consumes it.
 *	What has to run because of it goes onto @batch. Called in softirq or
 *	with BH off; calls for one socket never overlap, so order is kept.
 *	Returns false when this softirq has done so much that the next one is
 *	to take the packets behind it.
 * @run: run what @rx put onto @batch; called once the socket is free for
 *	other CPUs, and only if there is something. Softirq or BH off.
 *
 * Both are called inside an RCU read section.
 */
struct smr_rx_ops {
	bool (*rx)(void *ctx, struct sk_buff *skb, struct list_head *batch);
	void (*run)(void *ctx, struct list_head *batch);
};

/**
 * struct smr_net - the sockets of a network namespace
 * @net: the namespace; a reference is not held, the owner's life is inside it
 * @ops: where packets go
 * @ctx: handed to @ops
 * @sock4: the IPv4 socket
 * @sock6: the IPv6 socket, NULL where the kernel has no IPv6
 *
 * All fields are constant between smr_net_open() and smr_net_close().
 */
struct smr_net {
	struct net *net;
	const struct smr_rx_ops *ops;
	void *ctx;
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
