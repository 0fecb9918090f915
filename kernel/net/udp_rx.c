// SPDX-License-Identifier: GPL-2.0
/*
 * Receive. A netfilter hook takes RoCEv2 packets after the firewall and before UDP, in the
 * softirq that has received them, on that CPU: trains that GRO has merged, or that the sender
 * has not split, stay whole. It checks what UDP checks: the IPsec policy, the length, the
 * checksum. Socket filters are not run: LSM labels and cgroup programs apply to processes, and
 * no process's socket is involved.
 *
 * The sockets reserve the port, and enable GRO for it. UDP gives them the packets that the hook
 * leaves:
 * - with connection tracking, the first packet of each flow: conntrack's own hook, which is the
 *   last, has to confirm the flow;
 * - multicasts after the softirq has copied enough: then a tasklet takes them from the socket;
 * - multicasts and tracked packets that arrive while the socket has packets, so that they do not
 *   overtake these;
 * - packets whose UDP header is not at its place in a RoCEv2 packet, fraglist trains, which UDP
 *   splits, packets that a proxy has assigned to another socket, and packets from a VRF that
 *   are not delivered to sockets outside of it.
 */
#include "net/udp_rx.h"

#include <linux/ipv6.h>
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/slab.h>
#include <linux/sockptr.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>

#include "compat/skb.h"
#include "net/cursor.h"

/* Bytes that may wait in a socket */
#define RCVBUF_BYTES	(8 << 20)

/* A BTH and an ICRC: no RoCEv2 packet is shorter */
#define MIN_DATAGRAM	16

/**
 * struct smr_sock - one socket
 * @sn: the namespace's sockets
 * @sock: the kernel socket; does not hold the namespace
 * @data_ready: the original sk_data_ready()
 * @more: takes the rest when a softirq has done enough
 * @draining: bit 0: a CPU takes packets off the queue. Only one does, so that they stay in
 *	order
 *
 * All fields except @draining are constant while the socket exists.
 */
struct smr_sock {
	struct smr_net *sn;
	struct socket *sock;
	void (*data_ready)(struct sock *sk);
	struct tasklet_struct more;
	unsigned long draining;
};

static void mib_inc(struct net *net, u16 family, int field)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (family == AF_INET6) {
		SNMP_INC_STATS(net->mib.udp_stats_in6, field);
		return;
	}
#endif
	SNMP_INC_STATS(net->mib.udp_statistics, field);
}

static void rx_drop(struct smr_net *sn, u16 family, struct sk_buff *skb,
		    enum skb_drop_reason reason)
{
	if (reason == SKB_DROP_REASON_UDP_CSUM)
		mib_inc(sn->net, family, UDP_MIB_CSUMERRORS);
	mib_inc(sn->net, family, UDP_MIB_INERRORS);
	kfree_skb_reason(skb, reason);
}

/*
 * Fill in struct smr_rx_info. Only SKB_GSO_UDP_L4 is a train. A tun device may also inject
 * SKB_GSO_UDP, which is one datagram of any size, with a segment size that may be invalid.
 */
static void rx_describe(struct sk_buff *skb, u16 family)
{
	struct smr_rx_info *info = smr_rx_info(skb);
	u32 seg_len = skb->len;

	BUILD_BUG_ON(sizeof(*info) > sizeof(skb->cb));

	if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4 && skb_is_gso(skb))
		seg_len = min_t(u32, seg_len, skb_shinfo(skb)->gso_size);

	info->len = skb->len;
	info->seg_len = seg_len;
	info->nsegs = seg_len ? DIV_ROUND_UP(skb->len, seg_len) : 1;
	info->family = family;
	if (info->family == AF_INET) {
		info->tos = ip_hdr(skb)->tos;
		info->ttl = ip_hdr(skb)->ttl;
	} else {
		info->tos = ipv6_get_dsfield(ipv6_hdr(skb));
		info->ttl = ipv6_hdr(skb)->hop_limit;
	}
}

/* Pass a packet to the transport; its data begins after the UDP header. */
static void rx_up(struct smr_net *sn, u16 family, struct sk_buff *skb)
{
	skb->dev = NULL;
	if (!skb_frags_readable(skb)) {
		rx_drop(sn, family, skb, SKB_DROP_REASON_NOT_SPECIFIED);
		return;
	}
	if (!smr_cursor_prepare(skb)) {
		rx_drop(sn, family, skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	rx_describe(skb, family);
	if (smr_rx_info(skb)->seg_len < MIN_DATAGRAM) {
		rx_drop(sn, family, skb, SKB_DROP_REASON_PKT_TOO_SMALL);
		return;
	}
	mib_inc(sn->net, family, UDP_MIB_INDATAGRAMS);
	sn->ops->rx(sn->ctx, skb);
}

/* -- the hook */

/* Is this the first packet of a flow for conntrack? */
static bool is_new_flow(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info info;
	const struct nf_conn *ct = nf_ct_get(skb, &info);

	return ct && !nf_ct_is_confirmed(ct);
#else
	return false;
#endif
}

/* Would UDP not deliver it to a socket without a bound device? */
static bool is_of_vrf(const struct net *net, struct sk_buff *skb, u8 pf)
{
#if IS_ENABLED(CONFIG_NET_L3_MASTER_DEV)
	int sdif = pf == NFPROTO_IPV4 ? inet_sdif(skb) : inet6_sdif(skb);

	return sdif && !READ_ONCE(net->ipv4.sysctl_udp_l3mdev_accept);
#else
	return false;
#endif
}

static bool is_multicast(const struct sk_buff *skb, u8 pf)
{
	return pf == NFPROTO_IPV4 ? ipv4_is_multicast(ip_hdr(skb)->daddr) :
				    ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr);
}

static bool sock_is_empty(const struct smr_sock *s)
{
	const struct sock *sk = s->sock->sk;

	return skb_queue_empty_lockless(&udp_sk(sk)->reader_queue) &&
	       skb_queue_empty_lockless(&sk->sk_receive_queue);
}

/* Is the socket's queue empty? Otherwise later packets must not overtake queued ones. */
static bool sock_is_idle(const struct smr_sock *s)
{
	return !test_bit(0, &s->draining) && sock_is_empty(s);
}

/* Is it a RoCEv2 packet that the hook takes? */
static bool hook_takes(const struct smr_net *sn, struct sk_buff *skb, u8 pf)
{
	bool ip4 = pf == NFPROTO_IPV4;
	const struct udphdr *udp;
	const struct smr_sock *s;
	struct udphdr buf;

	if ((ip4 ? ip_hdr(skb)->protocol : ipv6_hdr(skb)->nexthdr) !=
	    IPPROTO_UDP)
		return false;
	udp = skb_header_pointer(skb, skb_transport_offset(skb), sizeof(buf),
				 &buf);
	if (!udp || udp->dest != cpu_to_be16(SMR_UDP_PORT))
		return false;
	s = ip4 ? sn->sock4 : sn->sock6;
	if (!s || skb_sk_is_prefetched(skb) || is_of_vrf(sn->net, skb, pf) ||
	    (skb_is_gso(skb) && skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST))
		return false;
	if (skb_nfct(skb) && (is_new_flow(skb) || !sock_is_idle(s)))
		return false;
	return likely(!is_multicast(skb, pf)) ||
	       (sock_is_idle(s) && sn->ops->may_copy());
}

static bool is_allowed(struct sk_buff *skb, u8 pf)
{
	return pf == NFPROTO_IPV4 ?
	       xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb) :
	       xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb);
}

/* RoCEv2 packets may have no UDP checksum, over IPv6 too (RFC 6936). */
static bool csum_ok(struct sk_buff *skb, u8 pf)
{
	__sum16 check = udp_hdr(skb)->check;

	if (pf == NFPROTO_IPV4)
		return !skb_checksum_validate_zero_check(skb, IPPROTO_UDP, check,
							 inet_compute_pseudo);
	return !skb_checksum_validate_zero_check(skb, IPPROTO_UDP, check,
						 ip6_compute_pseudo);
}

/*
 * Check what UDP checks. After this the data begins after the UDP header, and has the length
 * given there.
 */
static enum skb_drop_reason udp_strip(struct sk_buff *skb, u8 pf)
{
	unsigned int off = skb_transport_offset(skb), len;

	/* The sender may still write to its pages. Newer kernels do this only after this hook. */
	if (unlikely(skb_orphan_frags_rx(skb, GFP_ATOMIC)))
		return SKB_DROP_REASON_NOMEM;
	/* Memory reserves: UDP would drop it, too, see sk_filter(). */
	if (skb_pfmemalloc(skb))
		return SKB_DROP_REASON_SOCKET_FILTER;
	if (!is_allowed(skb, pf))
		return SKB_DROP_REASON_XFRM_POLICY;
	if (!pskb_may_pull(skb, off + sizeof(struct udphdr)))
		return SKB_DROP_REASON_PKT_TOO_SMALL;
	skb_pull_rcsum(skb, off);
	len = be16_to_cpu(udp_hdr(skb)->len);
	if (len < sizeof(struct udphdr) || len > skb->len ||
	    pskb_trim_rcsum(skb, len))
		return SKB_DROP_REASON_PKT_TOO_SMALL;
	if (!csum_ok(skb, pf))
		return SKB_DROP_REASON_UDP_CSUM;
	__skb_pull(skb, sizeof(struct udphdr));
	return SKB_NOT_DROPPED_YET;
}

static unsigned int rx_hook(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	u16 family = state->pf == NFPROTO_IPV4 ? AF_INET : AF_INET6;
	enum skb_drop_reason reason;
	struct smr_net *sn = priv;

	if (!hook_takes(sn, skb, state->pf))
		return NF_ACCEPT;
	reason = udp_strip(skb, state->pf);
	if (reason) {
		rx_drop(sn, family, skb, reason);
		return NF_STOLEN;
	}
	/* It may be queued for a long time: release its references now. */
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	/* A packet from NFQUEUE arrives in the context of the process that has accepted it. */
	local_bh_disable();
	rx_up(sn, family, skb);
	local_bh_enable();
	return NF_STOLEN;
}

/* -- the sockets */

/*
 * The next packet, or NULL for none. A pending error of the socket must not look like
 * an empty queue: skip it, since reading it clears it.
 */
static struct sk_buff *sock_pop(struct sock *sk)
{
	struct sk_buff *skb;
	int err;

	do {
		skb = skb_recv_udp(sk, MSG_DONTWAIT, &err);
	} while (!skb && err != -EAGAIN);
	return skb;
}

/* Take packets that UDP has queued. False: the softirq has done enough. */
static bool sock_take(struct smr_sock *s)
{
	struct sock *sk = s->sock->sk;
	struct smr_net *sn = s->sn;
	struct sk_buff *skb;

	while (sn->ops->may_copy()) {
		skb = sock_pop(sk);
		if (!skb)
			return true;
		/* May use UDP's data in skb->cb, which rx_describe() overwrites. */
		if (udp_lib_checksum_complete(skb))
			rx_drop(sn, sk->sk_family, skb,
				SKB_DROP_REASON_UDP_CSUM);
		else
			rx_up(sn, sk->sk_family, skb);
	}
	return false;
}

/* Take packets on one CPU. Others leave their packets to it. */
static void sock_drain(struct smr_sock *s)
{
	bool all;

	do {
		/* Either the owner sees a packet that was queued, or its CPU becomes the owner. */
		smp_mb();
		if (test_and_set_bit_lock(0, &s->draining))
			return;
		all = sock_take(s);
		clear_bit_unlock(0, &s->draining);
		smp_mb__after_atomic(); /* as above */
	} while (all && !sock_is_empty(s));
	if (!all)
		tasklet_schedule(&s->more);
}

static void sock_data_ready(struct sock *sk)
{
	struct smr_sock *s;

	rcu_read_lock();
	s = rcu_dereference_sk_user_data(sk);
	if (s)
		sock_drain(s);
	rcu_read_unlock();
}

/* After the socket is detached, its packets stay queued until it is released. */
static void sock_more(struct tasklet_struct *more)
{
	struct smr_sock *s = container_of(more, struct smr_sock, more);

	sock_data_ready(s->sock->sk);
}

static int sock_set(struct socket *sock, int level, int option, int value)
{
	return READ_ONCE(sock->ops)->setsockopt(sock, level, option,
						KERNEL_SOCKPTR(&value),
						sizeof(value));
}

/*
 * ICMP errors are ignored: the socket is not connected and has no IP_RECVERR, so UDP neither
 * queues them nor sets sk_err.
 */
static int sock_tune(struct socket *sock)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, RCVBUF_BYTES);
	sk->sk_allocation = GFP_ATOMIC;
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* with net.core.busy_read, sock_pop() would poll the device in softirq */
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	release_sock(sk);

	/*
	 * Receive trains whole, and let GRO merge single packets. Without ACCEPT_FRAGLIST,
	 * which this does not set, no train is a fraglist.
	 */
	return sock_set(sock, SOL_UDP, UDP_GRO, 1);
}

/* Accepts the same checksums as csum_ok(). */
static int sock_create_udp(struct net *net, u16 family, struct socket **sock)
{
	struct udp_port_cfg cfg = {
		.family = family,
		.local_udp_port = cpu_to_be16(SMR_UDP_PORT),
		.use_udp6_rx_checksums = false,
		.ipv6_v6only = family == AF_INET6,
	};

	return udp_sock_create(net, &cfg, sock);
}

static struct smr_sock *sock_open(struct smr_net *sn, u16 family)
{
	struct smr_sock *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return ERR_PTR(-ENOMEM);

	err = sock_create_udp(sn->net, family, &s->sock);
	if (err)
		goto err_free;
	err = sock_tune(s->sock);
	if (err)
		goto err_sock;

	s->sn = sn;
	tasklet_setup(&s->more, sock_more);
	return s;

err_sock:
	sock_release(s->sock);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

/* From here on packets are passed to the transport. Fetch those that arrived before. */
static void sock_attach(struct smr_sock *s)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	s->data_ready = sk->sk_data_ready;
	rcu_assign_sk_user_data(sk, s);
	WRITE_ONCE(sk->sk_data_ready, sock_data_ready);
	write_unlock_bh(&sk->sk_callback_lock);

	local_bh_disable();
	sock_data_ready(sk);
	local_bh_enable();
}

static void sock_detach(struct smr_sock *s)
{
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, s->data_ready);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void sock_close(struct smr_sock *s)
{
	sock_release(s->sock);
	kfree(s);
}

/* After this no more packets are passed to the transport. */
static void net_detach(struct smr_net *sn)
{
	sock_detach(sn->sock4);
	if (sn->sock6)
		sock_detach(sn->sock6);
	synchronize_net();

	tasklet_kill(&sn->sock4->more);
	if (sn->sock6)
		tasklet_kill(&sn->sock6->more);
}

/**
 * smr_net_open() - open the sockets of a namespace
 * @sn: not in use; close it with smr_net_close()
 * @net: the namespace; outlives @sn
 * @ops: the transport's functions
 * @ctx: passed to @ops
 *
 * Packets may be passed to @ops before this returns; @sn is complete by then.
 *
 * Context: process; may sleep.
 * Return: 0, -ENOMEM, or an error of creating and binding a socket: -EADDRINUSE if another user
 * of port 4791, such as rdma_rxe, is in @net. A kernel without IPv6, or booted with
 * ipv6.disable=1, is no error.
 */
int smr_net_open(struct smr_net *sn, struct net *net,
		 const struct smr_rx_ops *ops, void *ctx)
{
	int err;

	memset(sn, 0, sizeof(*sn));
	sn->net = net;
	sn->ops = ops;
	sn->ctx = ctx;

	sn->sock4 = sock_open(sn, AF_INET);
	if (IS_ERR(sn->sock4))
		return PTR_ERR(sn->sock4);

	sn->sock6 = sock_open(sn, AF_INET6);
	if (sn->sock6 == ERR_PTR(-EAFNOSUPPORT) ||
	    sn->sock6 == ERR_PTR(-EPFNOSUPPORT)) {
		sn->sock6 = NULL;
	} else if (IS_ERR(sn->sock6)) {
		err = PTR_ERR(sn->sock6);
		goto err_sock4;
	}

	sock_attach(sn->sock4);
	if (sn->sock6)
		sock_attach(sn->sock6);
	/* The last hook except conntrack's, which confirms flows that all others have accepted */
	sn->hook = (struct nf_hook_ops){
		.hook = rx_hook,
		.priv = sn,
		.pf = NFPROTO_INET,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST - 1,
	};
	err = nf_register_net_hook(net, &sn->hook);
	if (!err)
		return 0;

	net_detach(sn);
	if (sn->sock6)
		sock_close(sn->sock6);
err_sock4:
	sock_close(sn->sock4);
	return err;
}

/**
 * smr_net_close() - close the sockets of a namespace
 * @sn: opened
 *
 * When this returns, no callback of @sn->ops runs or will run. That takes three steps. Remove
 * the hook, and the sockets' pointers to @sn. Wait for a grace period, after which no softirq
 * uses such a pointer. Wait for work that such a softirq has scheduled. Only then release the
 * sockets, with the packets in their queues.
 *
 * Context: process; may sleep.
 */
void smr_net_close(struct smr_net *sn)
{
	nf_unregister_net_hook(sn->net, &sn->hook);
	net_detach(sn);
	sock_close(sn->sock4);
	if (sn->sock6)
		sock_close(sn->sock6);
}

/**
 * smr_rx_addrs() - get the source and destination addresses of a packet
 * @skb: as struct smr_rx_info describes it
 * @saddr: set to the source address, an IPv4 address in its mapped form
 * @daddr: set to the destination address, likewise
 */
void smr_rx_addrs(const struct sk_buff *skb, struct in6_addr *saddr,
		  struct in6_addr *daddr)
{
	if (smr_rx_info(skb)->family == AF_INET) {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, saddr);
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, daddr);
	} else {
		*saddr = ipv6_hdr(skb)->saddr;
		*daddr = ipv6_hdr(skb)->daddr;
	}
}
