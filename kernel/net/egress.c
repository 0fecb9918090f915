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

/*
 * Backpressure. A train is charged to the socket it is sent from until the
 * device, or the peer's namespace, has let go of it. When the socket's budget
 * is used up its senders wait here, and the stack's own wake-up for writers,
 * which comes once half the budget is free again, wakes them.
 *
 * That wake-up is heard from the socket's wait queue rather than by replacing
 * sk_write_space(): packets may outlive the socket and even this module by any
 * length of time, and the last one of them calls sk_write_space(), whereas
 * an entry that has left a wait queue is not called again.
 *
 * Whoever finds somebody waiting there waits, too, although there is room.
 * Senders that get their answers otherwise keep the budget between its half and
 * its end, and never let those be woken who once met the end. When all are woken
 * the first to come may take all of it again: who then gets nothing is the
 * first to be woken next time.
 *
 * A queue discipline that drops tells nobody when it has room. That a packet
 * of ours has left is the best sign there is; where it holds none of ours the
 * next jiffy has to do, as it has for those who got no memory.
 */

/**
 * smr_flow_init() - prepare a flow
 * @flow: not known to anybody yet
 * @wake: see struct smr_flow
 *
 * Context: any.
 */
void smr_flow_init(struct smr_flow *flow, void (*wake)(struct smr_flow *flow))
{
	INIT_LIST_HEAD(&flow->node);
	flow->woken = false;
	flow->wake = wake;
}

static void wake_all(struct smr_flows *flows)
{
	struct smr_flow *flow, *next;
	LIST_HEAD(waiting);

	spin_lock_bh(&flows->lock);
	WRITE_ONCE(flows->round, flows->round + 1);
	list_splice_init(&flows->first, &waiting);
	list_splice_tail_init(&flows->waiting, &waiting);
	list_for_each_entry_safe(flow, next, &waiting, node) {
		list_del_init(&flow->node);
		WRITE_ONCE(flow->woken, true);
		flow->wake(flow);
	}
	spin_unlock_bh(&flows->lock);
}

static void waker_run(struct tasklet_struct *waker)
{
	wake_all(container_of(waker, struct smr_flows, waker));
}

static void backstop_fired(struct timer_list *backstop)
{
	wake_all(container_of(backstop, struct smr_flows, backstop));
}

/**
 * smr_flows_init() - prepare a link's list of the waiting
 * @flows: to be ended with smr_flows_fini()
 *
 * Context: any.
 */
void smr_flows_init(struct smr_flows *flows)
{
	spin_lock_init(&flows->lock);
	INIT_LIST_HEAD(&flows->first);
	INIT_LIST_HEAD(&flows->waiting);
	flows->round = 1;
	tasklet_setup(&flows->waker, waker_run);
	timer_setup(&flows->backstop, backstop_fired, 0);
}

/**
 * smr_flows_fini() - end the list
 * @flows: no flow waits, nor will, and all its watches are ended
 *
 * Context: process; may sleep.
 */
void smr_flows_fini(struct smr_flows *flows)
{
	WARN_ON_ONCE(!list_empty(&flows->first));
	WARN_ON_ONCE(!list_empty(&flows->waiting));
	timer_shutdown_sync(&flows->backstop);
	tasklet_kill(&flows->waker);
}

/**
 * smr_flows_remove() - wait no more
 * @flows: where @flow waits, or waited
 * @flow: its wake() does not run when this returns, nor later unless it is
 *	made to wait again
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_flows_remove(struct smr_flows *flows, struct smr_flow *flow)
{
	spin_lock_bh(&flows->lock);
	list_del_init(&flow->node);
	spin_unlock_bh(&flows->lock);
}

/* A flow that waits already keeps its place. */
static void flow_enqueue(struct smr_flow_watch *watch, struct smr_flow *flow)
{
	struct smr_flows *flows = watch->flows;

	lockdep_assert_held(&flows->lock);
	if (list_empty(&flow->node))
		list_add_tail(&flow->node, READ_ONCE(flow->woken) ?
						   &flows->first :
						   &flows->waiting);
	/*
	 * An entry that is about to be taken off the queue is fine: whoever
	 * takes it off then schedules the waker, which will find @flow.
	 */
	if (list_empty_careful(&watch->entry.entry))
		add_wait_queue(sk_sleep(watch->sk), &watch->entry);
}

/**
 * smr_flow_wait_moment() - wake a flow after a drop, or without memory
 * @watch: the socket's
 * @flow: waits until a packet leaves the socket, or for the next jiffy
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_flow_wait_moment(struct smr_flow_watch *watch, struct smr_flow *flow)
{
	struct smr_flows *flows = watch->flows;

	spin_lock_bh(&flows->lock);
	flow_enqueue(watch, flow);
	if (!timer_pending(&flows->backstop))
		mod_timer(&flows->backstop, jiffies + 1);
	spin_unlock_bh(&flows->lock);
}

/**
 * smr_flow_may_send() - is it a flow's turn to use its socket's send budget?
 * @watch: the socket's
 * @flow: who asks; it counts as served when that is so. NULL: who never waits
 *
 * Context: any.
 * Return: false when the budget is used up, or others wait for it;
 * smr_flow_wait_room() then.
 */
bool smr_flow_may_send(struct smr_flow_watch *watch, struct smr_flow *flow)
{
	struct sock *sk = watch->sk;

	if (READ_ONCE(watch->round) == READ_ONCE(watch->flows->round) ||
	    sk_wmem_alloc_get(sk) >= READ_ONCE(sk->sk_sndbuf))
		return false;
	if (flow && READ_ONCE(flow->woken))
		WRITE_ONCE(flow->woken, false);
	return true;
}

/**
 * smr_flow_wait_room() - wake a flow when its socket has room
 * @watch: the socket's
 * @flow: waits until half of the socket's budget is free; is woken at once if
 *	it is already
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_flow_wait_room(struct smr_flow_watch *watch, struct smr_flow *flow)
{
	struct smr_flows *flows = watch->flows;

	spin_lock_bh(&flows->lock);
	flow_enqueue(watch, flow);
	WRITE_ONCE(watch->round, flows->round);
	spin_unlock_bh(&flows->lock);

	/* Against the packets that were freed before the entry was there */
	smp_mb();
	if (sock_writeable(watch->sk))
		tasklet_schedule(&flows->waker);
}

/* The socket's wait queue is locked and interrupts may be off. */
static int watch_event(struct wait_queue_entry *entry, unsigned int mode,
		       int flags, void *key)
{
	struct smr_flow_watch *watch =
		container_of(entry, struct smr_flow_watch, entry);

	if (!sock_writeable(watch->sk))
		return 0;

	list_del_init_careful(&entry->entry);
	tasklet_schedule(&watch->flows->waker);
	return 1;
}

/**
 * smr_flow_watch_init() - prepare to listen to a socket
 * @watch: to be ended with smr_flow_watch_fini()
 * @flows: who is woken
 * @sk: the socket; lives longer than @watch
 *
 * Context: any.
 */
void smr_flow_watch_init(struct smr_flow_watch *watch, struct smr_flows *flows,
			 struct sock *sk)
{
	init_waitqueue_func_entry(&watch->entry, watch_event);
	INIT_LIST_HEAD(&watch->entry.entry);
	watch->flows = flows;
	watch->round = 0;
	watch->sk = sk;
}

/**
 * smr_flow_watch_fini() - listen no more
 * @watch: no flow is made to wait on it any more
 *
 * Taking the wait queue's lock, even where the entry has left the queue, is
 * what makes sure that watch_event() is not running.
 *
 * Context: any but hard interrupts.
 */
void smr_flow_watch_fini(struct smr_flow_watch *watch)
{
	remove_wait_queue(sk_sleep(watch->sk), &watch->entry);
}
