// SPDX-License-Identifier: GPL-2.0
/*
 * The sockets that a link's packets are charged to. Each link has its own: were
 * there one for the whole namespace, all links would go at the pace of the
 * slowest, whose queue holds what the others are waiting for.
 *
 * They are bound to nothing and receive nothing. The source port is the path's,
 * and is written into each packet.
 */
#include "net/egress.h"

#include <linux/in.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

/*
 * What may be in the stack below us, charged by its true size: enough for a
 * 100 Gb/s device's ring and queue, and a third of a millisecond of it.
 */
#define SNDBUF_BYTES	(4 << 20)

static void sock_tune(struct sock *sk)
{
	lock_sock(sk);
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SNDBUF_BYTES);
	/* As bound ones have it: a packet that goes costs one atomic less. */
	sock_set_flag(sk, SOCK_RCU_FREE);
	release_sock(sk);
}

static int sock_open(struct smr_egress *eg, struct smr_egress_sock *s,
		     u16 family)
{
	int err;

	err = sock_create_kern(eg->net, family, SOCK_DGRAM, IPPROTO_UDP,
			       &s->sock);
	if (err)
		return err;
	sock_tune(s->sock->sk);
	smr_flow_watch_init(&s->watch, &eg->flows, s->sock->sk);
	return 0;
}

static void sock_close(struct smr_egress_sock *s)
{
	if (!s->sock)
		return;
	smr_flow_watch_fini(&s->watch);
	sock_release(s->sock);
	s->sock = NULL;
}

/**
 * smr_egress_open() - open the sockets that a link sends from
 * @eg: zeroed; to be closed with smr_egress_close()
 * @net: the namespace; lives longer than @eg
 *
 * Context: process; may sleep.
 * Return: 0, -ENOMEM, or what creating a socket gives. A kernel without IPv6,
 * or booted with ipv6.disable=1, is no error.
 */
int smr_egress_open(struct smr_egress *eg, struct net *net)
{
	int err;

	eg->net = net;
	smr_flows_init(&eg->flows);

	err = sock_open(eg, &eg->sock4, AF_INET);
	if (err)
		goto err_flows;
	err = sock_open(eg, &eg->sock6, AF_INET6);
	if (err && err != -EAFNOSUPPORT && err != -EPFNOSUPPORT)
		goto err_sock4;
	return 0;

err_sock4:
	sock_close(&eg->sock4);
err_flows:
	smr_flows_fini(&eg->flows);
	return err;
}

/**
 * smr_egress_close() - close the sockets that a link sends from
 * @eg: opened; no path uses it any more, and no flow waits
 *
 * No flow's wake() runs when this returns. Trains that are still in the stack
 * keep the memory of their sock, but not the namespace, and nothing of this
 * module.
 *
 * Context: process; may sleep.
 */
void smr_egress_close(struct smr_egress *eg)
{
	sock_close(&eg->sock4);
	sock_close(&eg->sock6);
	smr_flows_fini(&eg->flows);
}

/**
 * smr_egress_has_netdev() - can a link still use its netdev?
 * @eg: the link's
 * @ndev: its netdev, on which there is a reference
 *
 * Context: process; caller holds RTNL.
 * Return: false: the netdev is going, or has gone, be it to another namespace.
 */
bool smr_egress_has_netdev(const struct smr_egress *eg,
			   const struct net_device *ndev)
{
	ASSERT_RTNL();
	return ndev->reg_state == NETREG_REGISTERED &&
	       net_eq(dev_net(ndev), eg->net);
}

static struct smr_egress_sock *family_sock(struct smr_egress *eg, u16 family)
{
	return family == AF_INET6 ? &eg->sock6 : &eg->sock4;
}

/**
 * smr_egress_sk() - the socket that packets of a family are sent from
 * @eg: opened
 * @family: AF_INET or AF_INET6
 *
 * Context: any.
 * Return: the sock, valid until smr_egress_close(), or NULL without that
 * family.
 */
struct sock *smr_egress_sk(struct smr_egress *eg, u16 family)
{
	struct smr_egress_sock *s = family_sock(eg, family);

	return s->sock ? s->sock->sk : NULL;
}

/**
 * smr_egress_watch() - what hears of room in that socket's send budget
 * @eg: opened
 * @family: one that smr_egress_sk() has a socket for
 *
 * Context: any.
 * Return: the watch, valid until smr_egress_close().
 */
struct smr_flow_watch *smr_egress_watch(struct smr_egress *eg, u16 family)
{
	return &family_sock(eg, family)->watch;
}
