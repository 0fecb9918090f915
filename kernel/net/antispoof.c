// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCEv2 packet does not authenticate its sender: with the addresses, the QP number and the
 * PSN of a connection, a sender can pose as its peer. On the network, any host that can forge
 * packets can do so. On this host every process could do so, because any process may send UDP
 * datagrams to any port. So a netfilter hook drops packets of ordinary sockets to RoCEv2's
 * port, whether to this host or to others.
 *
 * Two kinds of sockets may still send: raw ones, whose owner has CAP_NET_RAW and could use a
 * packet socket, which passes no such hook; and kernel sockets without a port. Only drivers
 * that write the UDP header themselves send from the latter: softmr and rdma_rxe. Other kernel
 * sockets, such as those of AF_RXRPC, have a port to receive answers, and send to destinations
 * that a process chooses.
 *
 * The hook runs last, so that it sees the port with which a packet leaves.
 */
#include "net/antispoof.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter_ipv4.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "net/udp_rx.h"
#include "trace.h"

/*
 * A packet without a socket does not come from a process: for example, a firewall has created
 * it. Request and timewait sockets belong to TCP.
 */
static bool may_speak(const struct sock *sk)
{
	return !sk || !sk_fullsock(sk) || sk->sk_type == SOCK_RAW ||
	       (sk->sk_kern_sock && !inet_sk(sk)->inet_num);
}

/* Offset of the UDP header, or a negative number if the packet has none */
static int udp_offset(const struct sk_buff *skb, u8 family)
{
	__be16 frag;
	u8 proto;
	int off;

	if (family == NFPROTO_IPV4)
		return ip_hdr(skb)->protocol == IPPROTO_UDP ? ip_hdrlen(skb) :
							      -1;
	proto = ipv6_hdr(skb)->nexthdr;
	off = ipv6_skip_exthdr(skb, sizeof(struct ipv6hdr), &proto, &frag);
	return proto == IPPROTO_UDP ? off : -1;
}

static void refuse(struct smr_antispoof *antispoof, const struct sk_buff *skb,
		   const struct nf_hook_state *state, const struct udphdr *udp)
{
	struct in6_addr daddr;

	atomic64_inc(&antispoof->refused);
	if (state->pf == NFPROTO_IPV4)
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, &daddr);
	else
		daddr = ipv6_hdr(skb)->daddr;
	trace_smr_udp_refused(from_kuid(&init_user_ns,
					sock_net_uid(state->net, state->sk)),
			      be16_to_cpu(udp->source), &daddr);
}

static unsigned int antispoof_hook(void *priv, struct sk_buff *skb,
				   const struct nf_hook_state *state)
{
	const struct udphdr *udp;
	struct udphdr buf;
	int off;

	if (may_speak(state->sk))
		return NF_ACCEPT;
	off = udp_offset(skb, state->pf);
	if (off < 0)
		return NF_ACCEPT;
	udp = skb_header_pointer(skb, skb_network_offset(skb) + off,
				 sizeof(buf), &buf);
	if (!udp || udp->dest != cpu_to_be16(SMR_UDP_PORT))
		return NF_ACCEPT;
	refuse(priv, skb, state, udp);
	return NF_DROP;
}

/**
 * smr_antispoof_open() - start to drop packets of ordinary sockets to RoCEv2's port
 * @antispoof: zeroed, or closed; close it with smr_antispoof_close()
 * @net: the namespace
 *
 * The senders get EPERM.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_antispoof_open(struct smr_antispoof *antispoof, struct net *net)
{
	antispoof->ops = (struct nf_hook_ops){
		.hook = antispoof_hook,
		.priv = antispoof,
		.pf = NFPROTO_INET,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP_PRI_LAST,
	};
	return nf_register_net_hook(net, &antispoof->ops);
}

/**
 * smr_antispoof_close() - allow all sockets to send again
 * @antispoof: opened. The hook may still run until a grace period has passed
 * @net: its namespace
 *
 * Context: process, may sleep.
 */
void smr_antispoof_close(struct smr_antispoof *antispoof, struct net *net)
{
	nf_unregister_net_hook(net, &antispoof->ops);
}
