// SPDX-License-Identifier: GPL-2.0
/*
 * Receive. The sockets are plain UDP sockets, not encapsulation sockets: the stack cuts
 * every train before it calls encap_rcv(), but queues it whole to a socket with
 * UDP_GRO. The softirq that has queued a packet also takes it off the queue, unless
 * another CPU is doing that already.
 */
#include "net/udp_rx.h"

#include <linux/ipv6.h>
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/sockptr.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "compat/skb.h"
#include "net/cursor.h"

/*
 * Bytes that may wait while another CPU empties the queue: a burst of each CPU that
 * receives, at most a NAPI budget of 64 KiB trains. The queue is drained at once, so
 * this takes memory only in such a burst.
 */
#define RCVBUF_BYTES	(8 << 20)

/* Segments that one call of sock_drain() takes off the queue; the tasklet takes the rest */
#define DRAIN_BUDGET	256

/* A BTH and an ICRC: no RoCEv2 packet is shorter */
#define MIN_DATAGRAM	16

/* struct smr_sock's @drain */
enum drain_state {
	DRAIN_OWNED = 1 << 0,
	DRAIN_AGAIN = 1 << 1,
	DRAIN_ENOUGH = 1 << 2,
};

/**
 * struct smr_sock - one socket
 * @sn: the namespace's sockets
 * @sock: the kernel socket; does not hold the namespace
 * @data_ready: the sk_data_ready() that ours stands in for
 * @drain: enum drain_state; its owner alone takes packets off the queue
 * @more: takes the rest when one call's budget was used up. It inherits the ownership
 *	(DRAIN_ENOUGH) if the softirq has done enough: until it runs, that softirq takes
 *	no more packets, however many arrive
 *
 * All but @drain is constant while the socket lives.
 */
struct smr_sock {
	struct smr_net *sn;
	struct socket *sock;
	void (*data_ready)(struct sock *sk);
	atomic_t drain;
	struct tasklet_struct more;
};

static void mib_inc(const struct sock *sk, int field)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		SNMP_INC_STATS(sock_net(sk)->mib.udp_stats_in6, field);
		return;
	}
#endif
	SNMP_INC_STATS(sock_net(sk)->mib.udp_statistics, field);
}

static void rx_drop(struct sock *sk, struct sk_buff *skb,
		    enum skb_drop_reason reason)
{
	if (reason == SKB_DROP_REASON_UDP_CSUM)
		mib_inc(sk, UDP_MIB_CSUMERRORS);
	mib_inc(sk, UDP_MIB_INERRORS);
	kfree_skb_reason(skb, reason);
}

/*
 * Fill in struct smr_rx_info. Only SKB_GSO_UDP_L4 makes a train. A tun device may also
 * inject SKB_GSO_UDP, which is one datagram of any size, whose segment size may be
 * meaningless.
 */
static void rx_describe(const struct sock *sk, struct sk_buff *skb)
{
	struct smr_rx_info *info = smr_rx_info(skb);
	u32 seg_len = skb->len;

	BUILD_BUG_ON(sizeof(*info) > sizeof(skb->cb));

	if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4 && skb_is_gso(skb))
		seg_len = min_t(u32, seg_len, skb_shinfo(skb)->gso_size);

	info->len = skb->len;
	info->seg_len = seg_len;
	info->nsegs = seg_len ? DIV_ROUND_UP(skb->len, seg_len) : 1;
	info->family = sk->sk_family;
	if (info->family == AF_INET) {
		info->tos = ip_hdr(skb)->tos;
		info->ttl = ip_hdr(skb)->ttl;
	} else {
		info->tos = ipv6_get_dsfield(ipv6_hdr(skb));
		info->ttl = ipv6_hdr(skb)->hop_limit;
	}
}

/*
 * The next packet, or NULL for none. A pending error of the socket must not look like
 * an empty queue: skip it, since reading it clears it.
 */
static struct sk_buff *rx_pop(struct sock *sk)
{
	struct sk_buff *skb;
	int err;

	do {
		skb = skb_recv_udp(sk, MSG_DONTWAIT, &err);
	} while (!skb && err != -EAGAIN);
	return skb;
}

/* The reason to drop one packet, or SKB_NOT_DROPPED_YET */
static enum skb_drop_reason rx_check(const struct sock *sk, struct sk_buff *skb)
{
	/* Until here UDP kept its accounting in the place of skb->dev. */
	skb->dev = NULL;

	if (!skb_frags_readable(skb))
		return SKB_DROP_REASON_NOT_SPECIFIED;

	/* May look at what UDP keeps in skb->cb; rx_describe() overwrites it. */
	if (udp_lib_checksum_complete(skb))
		return SKB_DROP_REASON_UDP_CSUM;

	if (!smr_cursor_prepare(skb))
		return SKB_DROP_REASON_NOMEM;
	rx_describe(sk, skb);
	if (smr_rx_info(skb)->seg_len < MIN_DATAGRAM)
		return SKB_DROP_REASON_PKT_TOO_SMALL;
	return SKB_NOT_DROPPED_YET;
}

/* Hand one packet up, and count its segments. False: the softirq has done enough. */
static bool rx_one(struct smr_sock *s, struct sk_buff *skb, unsigned int *done,
		   struct list_head *batch)
{
	struct sock *sk = s->sock->sk;
	enum skb_drop_reason reason;

	reason = rx_check(sk, skb);
	if (reason) {
		rx_drop(sk, skb, reason);
		*done += 1;
		return true;
	}

	mib_inc(sk, UDP_MIB_INDATAGRAMS);
	*done += smr_rx_info(skb)->nsegs;
	return s->sn->ops->rx(s->sn->ctx, skb, batch);
}

/*
 * Take packets off the queue. False: the budget ended it, or the softirq has done @enough.
 */
static bool rx_all(struct smr_sock *s, unsigned int *done, bool *enough,
		   struct list_head *batch)
{
	struct sk_buff *skb;

	while (*done < DRAIN_BUDGET) {
		skb = rx_pop(s->sock->sk);
		if (!skb)
			return true;
		*enough = !rx_one(s, skb, done, batch);
		if (*enough)
			return false;
	}
	return false;
}

/* Empty the queue, as its owner. The caller's RCU read section keeps the socket. */
static void sock_drain(struct smr_sock *s)
{
	unsigned int done = 0;
	bool empty, enough = false;
	LIST_HEAD(batch);

	do {
		atomic_andnot(DRAIN_AGAIN, &s->drain);
		/* a CPU that sets it later may have a packet that we do not see */
		smp_mb__after_atomic();
		empty = rx_all(s, &done, &enough, &batch);
	} while (empty &&
		 atomic_cmpxchg(&s->drain, DRAIN_OWNED, 0) != DRAIN_OWNED);

	if (enough)
		atomic_or(DRAIN_ENOUGH, &s->drain);
	else if (!empty)
		atomic_set_release(&s->drain, 0);
	if (!empty)
		tasklet_schedule(&s->more);
	if (!list_empty(&batch))
		s->sn->ops->run(s->sn->ctx, &batch);
}

/* Become the owner, or have the owner look again. */
static bool drain_own(struct smr_sock *s)
{
	return !(atomic_fetch_or(DRAIN_OWNED | DRAIN_AGAIN, &s->drain) &
		 DRAIN_OWNED);
}

static void sock_data_ready(struct sock *sk)
{
	struct smr_sock *s;

	rcu_read_lock();
	s = rcu_dereference_sk_user_data(sk);
	if (s && drain_own(s))
		sock_drain(s);
	rcu_read_unlock();
}

/* Once the socket is detached, its packets wait for it to be released. */
static void sock_more(struct tasklet_struct *more)
{
	struct smr_sock *s = container_of(more, struct smr_sock, more);

	rcu_read_lock();
	if (rcu_dereference_sk_user_data(s->sock->sk) &&
	    (atomic_fetch_andnot(DRAIN_ENOUGH, &s->drain) & DRAIN_ENOUGH ||
	     drain_own(s)))
		sock_drain(s);
	rcu_read_unlock();
}

static int sock_set(struct socket *sock, int level, int option, int value)
{
	return READ_ONCE(sock->ops)->setsockopt(sock, level, option,
						KERNEL_SOCKPTR(&value),
						sizeof(value));
}

/*
 * ICMP errors do not matter: the socket is not connected and has no IP_RECVERR, so UDP
 * neither queues them nor sets sk_err.
 */
static int sock_tune(struct socket *sock)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, RCVBUF_BYTES);
	sk->sk_allocation = GFP_ATOMIC;
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* net.core.busy_read would have rx_pop() poll the device in softirq */
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	release_sock(sk);

	/*
	 * Receive trains whole, and let GRO join single packets. Without
	 * ACCEPT_FRAGLIST, which this does not set, no train is a fraglist.
	 */
	return sock_set(sock, SOL_UDP, UDP_GRO, 1);
}

/* RoCEv2 packets may have no UDP checksum, over IPv6 too (RFC 6936). */
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
	atomic_set(&s->drain, 0);
	tasklet_setup(&s->more, sock_more);
	return s;

err_sock:
	sock_release(s->sock);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

/* From here on packets go up. Fetch those that came before. */
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

/**
 * smr_net_open() - open the sockets of a namespace
 * @sn: not in use; to be closed with smr_net_close()
 * @net: the namespace; lives longer than @sn
 * @ops: where packets go
 * @ctx: handed to @ops
 *
 * Packets may go up before this returns. @sn is complete by then.
 *
 * Context: process; may sleep.
 * Return: 0, -ENOMEM, or what creating and binding a socket gives:
 * -EADDRINUSE where another user of port 4791, such as rdma_rxe, is in @net.
 * A kernel without IPv6, or booted with ipv6.disable=1, is no error.
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
	return 0;

err_sock4:
	sock_close(sn->sock4);
	return err;
}

/**
 * smr_net_close() - close the sockets of a namespace
 * @sn: opened
 *
 * When this returns, no callback of @sn->ops runs, nor ever will. That takes three
 * steps. The sockets drop their pointers to us. A grace period ends every softirq that
 * still had such a pointer. Work that such a softirq has scheduled is waited for. Only
 * then are the sockets released, with the packets in their queues.
 *
 * Context: process; may sleep.
 */
void smr_net_close(struct smr_net *sn)
{
	sock_detach(sn->sock4);
	if (sn->sock6)
		sock_detach(sn->sock6);
	synchronize_net();

	tasklet_kill(&sn->sock4->more);
	if (sn->sock6)
		tasklet_kill(&sn->sock6->more);

	sock_close(sn->sock4);
	if (sn->sock6)
		sock_close(sn->sock6);
}

/**
 * smr_rx_addrs() - who sent a packet, and to which address
 * @skb: as struct smr_rx_info describes it
 * @saddr: set to the source address, an IPv4 address in its mapped form
 * @daddr: set to the destination address, likewise
 *
 * Context: any.
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
