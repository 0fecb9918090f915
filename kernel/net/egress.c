// SPDX-License-Identifier: GPL-2.0
/*
 * The sockets that a link's packets are charged to. Each link has its own. With one
 * for the whole namespace, the queue of the slowest link would hold the budget that
 * all others wait for.
 *
 * A link has several, in shards, and a QP sends from one shard all its life. A shard
 * always names the same TX queue of a netdev. Left alone, the stack takes the queue of
 * the CPU that happens to send, and the trains of one QP would overtake each other.
 *
 * They are not bound and receive nothing. The path's source port is written into each
 * packet.
 */
#include "net/egress.h"

#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "compat/cleanup.h"

/*
 * Bytes of a socket that may be in the stack below us, by true size: enough for the ring
 * and queue of a 100 Gb/s device, and a sixth of a millisecond of its traffic.
 */
#define SNDBUF_BYTES	(2 << 20)

/* What a waiter is woken for: the bytes of the largest train */
#define TRAIN_BYTES	(64 << 10)

static void sock_tune(struct sock *sk)
{
	lock_sock(sk);
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SNDBUF_BYTES);
	/* As for bound sockets: freeing a packet costs one atomic less. */
	sock_set_flag(sk, SOCK_RCU_FREE);
	release_sock(sk);
}

static int watch_event(struct wait_queue_entry *entry, unsigned int mode,
		       int flags, void *key);
static void waker_run(struct tasklet_struct *waker);
static void backstop_fired(struct timer_list *backstop);

static int sock_open(struct smr_egress *eg, struct smr_shard *shard,
		     struct smr_egress_sock *s, u16 family)
{
	int err;

	err = sock_create_kern(eg->net, family, SOCK_DGRAM, IPPROTO_UDP,
			       &s->sock);
	if (err)
		return err;
	sock_tune(s->sock->sk);
	s->shard = shard;
	INIT_LIST_HEAD(&s->first);
	INIT_LIST_HEAD(&s->waiting);
	init_waitqueue_func_entry(&s->entry, watch_event);
	INIT_LIST_HEAD(&s->entry.entry);
	tasklet_setup(&s->waker, waker_run);
	timer_setup(&s->backstop, backstop_fired, 0);
	return 0;
}

/*
 * Taking the wait queue's lock, even where the entry has left the queue, is what makes
 * sure that watch_event() is not running.
 */
static void sock_close(struct smr_egress_sock *s)
{
	if (!s->sock)
		return;
	WARN_ON_ONCE(s->nr);
	remove_wait_queue(sk_sleep(s->sock->sk), &s->entry);
	timer_shutdown_sync(&s->backstop);
	tasklet_kill(&s->waker);
	sock_release(s->sock);
	s->sock = NULL;
}

static int shard_open(struct smr_egress *eg, struct smr_shard *shard)
{
	int err;

	spin_lock_init(&shard->lock);
	err = sock_open(eg, shard, &shard->sock4, AF_INET);
	if (err)
		return err;
	err = sock_open(eg, shard, &shard->sock6, AF_INET6);
	return err == -EAFNOSUPPORT || err == -EPFNOSUPPORT ? 0 : err;
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
	int i, err = 0;

	eg->net = net;
	for (i = 0; i < SMR_EGRESS_SHARDS && !err; i++) {
		eg->shards[i].index = i;
		err = shard_open(eg, &eg->shards[i]);
	}
	if (err)
		smr_egress_close(eg);
	return err;
}

/**
 * smr_egress_close() - close the sockets that a link sends from
 * @eg: opened; no path uses it any more, and no waiter waits
 *
 * No waiter's wake() runs when this returns. Trains that are still in the stack
 * keep the memory of their sock, but not the namespace, and nothing of this
 * module.
 *
 * Context: process; may sleep.
 */
void smr_egress_close(struct smr_egress *eg)
{
	int i;

	for (i = 0; i < SMR_EGRESS_SHARDS; i++) {
		sock_close(&eg->shards[i].sock4);
		sock_close(&eg->shards[i].sock6);
	}
}

/**
 * smr_egress_has_netdev() - can a link still use its netdev?
 * @eg: the link's
 * @ndev: its netdev, on which there is a reference
 *
 * Context: process; caller holds RTNL.
 * Return: false: the netdev is being unregistered, or is in another namespace.
 */
bool smr_egress_has_netdev(const struct smr_egress *eg,
			   const struct net_device *ndev)
{
	ASSERT_RTNL();
	return ndev->reg_state == NETREG_REGISTERED &&
	       net_eq(dev_net(ndev), eg->net);
}

static struct smr_egress_sock *family_sock(struct smr_shard *shard, u16 family)
{
	return family == AF_INET6 ? &shard->sock6 : &shard->sock4;
}

/**
 * smr_egress_sk() - the socket in whose name routes are looked up
 * @eg: opened
 * @family: AF_INET or AF_INET6
 *
 * Context: any.
 * Return: the sock, valid until smr_egress_close(), or NULL without that
 * family.
 */
struct sock *smr_egress_sk(struct smr_egress *eg, u16 family)
{
	struct smr_egress_sock *s = family_sock(&eg->shards[0], family);

	return s->sock ? s->sock->sk : NULL;
}

static int least_queues(struct net_device *lower,
			struct netdev_nested_priv *priv)
{
	unsigned int *least = priv->data;

	if (lower->real_num_tx_queues > 1)
		*least = min(*least, lower->real_num_tx_queues);
	return 0;
}

/*
 * The stack takes the CPU's queue where the socket's does not exist. So the number is
 * one that each netdev of a stack of them has: a bond may have more queues than its
 * adapters, and a bridge has one.
 */
static void shard_name_queue(const struct smr_shard *shard, struct sock *sk,
			     struct net_device *dev)
{
	unsigned int queues = UINT_MAX;
	struct netdev_nested_priv priv = { .data = &queues };

	least_queues(dev, &priv);
	if (!list_empty(&dev->adj_list.lower))
		netdev_walk_all_lower_dev_rcu(dev, least_queues, &priv);
	if (queues != UINT_MAX)
		sk_tx_queue_set(sk, shard->index % queues);
}

/**
 * smr_waiter_charge() - charge a packet to its sender's socket
 * @waiter: the sender's
 * @family: AF_INET or AF_INET6
 * @skb: the packet
 * @dev: the netdev that it leaves by
 *
 * All packets of a waiter leave by the same TX queue of @dev.
 *
 * Context: BH off, inside an RCU read section.
 * Return: the sock.
 */
struct sock *smr_waiter_charge(struct smr_waiter *waiter, u16 family,
			       struct sk_buff *skb, struct net_device *dev)
{
	struct sock *sk = family_sock(waiter->shard, family)->sock->sk;

	shard_name_queue(waiter->shard, sk, dev);
	skb_set_owner_w(skb, sk);
	/*
	 * The stack would take the CPU's queue again where none of the socket's packets
	 * are charged. Some of them may still be under way: netem, for one, lets go of
	 * packets that it holds.
	 */
	skb->ooo_okay = false;
	return sk;
}

/*
 * Backpressure. A train is charged to the socket it is sent from until the
 * device, or the peer's namespace, has let go of it. When the socket's budget
 * is used up its senders wait here, and the stack's own wake-up for writers,
 * which comes once half the budget is free again, wakes them: first come, first
 * served, and no more of them than there is room for.
 *
 * An entry in the socket's wait queue receives that wake-up. sk_write_space() is
 * not replaced: packets may outlive the socket and even this module by any
 * length of time, and the last one of them calls sk_write_space(). An entry that
 * has left a wait queue is not called again.
 *
 * A sender that finds others waiting waits, too, although there is room, unless it was
 * woken: then it may send one train. If it gets nothing, because the last of those that
 * waited before it has left the rest to everybody, it is the first to be woken next time.
 *
 * Those that were woken may have nothing to send any more. So a waiter that sends wakes
 * the next ones, if there is still room, and a timer wakes them in the next jiffy.
 *
 * A packet that the stack refuses was dropped because a queue is full, or by a policy: a
 * filter of tc or nftables, a BPF program, a peer that is down. The stack's answer is the
 * same. If the stack holds packets of the same socket, then one of these may leave and make
 * room: the sender waits for that, or for the timer, since a queue discipline tells nobody
 * when it has room. If the stack holds none, or has refused for as long as the sender has
 * patience, the packet is lost, as it would be on the network.
 *
 * What is urgent, as an acknowledge is, passes all of that: it has a budget of its own
 * on top, which nothing else uses.
 */

/**
 * smr_waiter_init() - prepare a sender's waiter
 * @waiter: not known to anybody yet
 * @eg: the link's sockets, which live longer than @waiter
 * @wake: see struct smr_waiter
 *
 * Context: any.
 */
void smr_waiter_init(struct smr_waiter *waiter, struct smr_egress *eg,
		     void (*wake)(struct smr_waiter *waiter))
{
	unsigned int n = atomic_inc_return(&eg->next);

	INIT_LIST_HEAD(&waiter->node);
	waiter->shard = &eg->shards[n % SMR_EGRESS_SHARDS];
	waiter->at = NULL;
	waiter->woken = false;
	waiter->wake = wake;
}

static void waiter_leave(struct smr_waiter *waiter)
{
	lockdep_assert_held(&waiter->shard->lock);
	if (!waiter->at)
		return;
	list_del_init(&waiter->node);
	WRITE_ONCE(waiter->at->nr, waiter->at->nr - 1);
	waiter->at = NULL;
}

/**
 * smr_waiter_fini() - wait no more
 * @waiter: its wake() does not run when this returns, nor later; nothing may be
 *	sent with it any more
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_waiter_fini(struct smr_waiter *waiter)
{
	spin_lock_bh(&waiter->shard->lock);
	waiter_leave(waiter);
	spin_unlock_bh(&waiter->shard->lock);
}

/* Packets may be freed before the entry is in the queue: look at the socket afterwards. */
static void sock_watch(struct smr_egress_sock *s)
{
	/*
	 * An entry that is about to leave the queue is fine: watch_event()
	 * takes it off and then schedules the waker, which finds the waiters.
	 */
	if (list_empty_careful(&s->entry.entry))
		add_wait_queue(sk_sleep(s->sock->sk), &s->entry);
}

static void sock_watch_moment(struct smr_egress_sock *s)
{
	sock_watch(s);
	if (!timer_pending(&s->backstop))
		mod_timer(&s->backstop, jiffies + 1);
}

static struct smr_waiter *next_waiter(struct smr_egress_sock *s)
{
	return list_first_entry_or_null(list_empty(&s->first) ? &s->waiting :
								&s->first,
					struct smr_waiter, node);
}

/* Wake the waiters that there is room for. */
static void sock_wake(struct smr_egress_sock *s)
{
	struct sock *sk = s->sock->sk;
	struct smr_waiter *waiter;
	int room;

	guard(spinlock_bh)(&s->shard->lock);
	room = READ_ONCE(sk->sk_sndbuf) - sk_wmem_alloc_get(sk);
	for (; room > 0; room -= TRAIN_BYTES) {
		waiter = next_waiter(s);
		if (!waiter)
			return;
		waiter_leave(waiter);
		WRITE_ONCE(waiter->woken, true);
		waiter->wake(waiter);
	}
	if (s->nr)
		sock_watch_moment(s);
}

static void waker_run(struct tasklet_struct *waker)
{
	sock_wake(container_of(waker, struct smr_egress_sock, waker));
}

static void backstop_fired(struct timer_list *backstop)
{
	sock_wake(container_of(backstop, struct smr_egress_sock, backstop));
}

/* A waiter that is on a list already keeps its place. */
static void waiter_enqueue(struct smr_egress_sock *s, struct smr_waiter *waiter)
{
	lockdep_assert_held(&waiter->shard->lock);
	if (waiter->at)
		return;
	list_add_tail(&waiter->node, READ_ONCE(waiter->woken) ? &s->first :
								&s->waiting);
	waiter->at = s;
	WRITE_ONCE(s->nr, s->nr + 1);
}

/**
 * smr_waiter_wait_moment() - wake a waiter that must try again
 * @waiter: waits until a packet leaves its socket, or for the next jiffy
 * @family: of the socket
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_waiter_wait_moment(struct smr_waiter *waiter, u16 family)
{
	struct smr_egress_sock *s = family_sock(waiter->shard, family);

	guard(spinlock_bh)(&waiter->shard->lock);
	waiter_enqueue(s, waiter);
	sock_watch_moment(s);
}

/* Can it be that the packet was refused because there is no room, and that there will be? */
static bool may_get_room(const struct smr_egress_sock *s,
			 struct smr_refused *refused)
{
	/* Without a timeout nobody would send the packet again. */
	if (!sk_wmem_alloc_get(s->sock->sk) &&
	    refused->patience != MAX_JIFFY_OFFSET)
		return false;
	if (!refused->since) {
		refused->since = jiffies ?: 1;
		return true;
	}
	if (time_before(jiffies, refused->since + refused->patience))
		return true;
	/* The next packet, or the same one when it is repeated, has a time of its own. */
	refused->since = 0;
	return false;
}

/**
 * smr_waiter_wait_refused() - wait, if it helps, after the stack has refused a packet
 * @waiter: the sender's
 * @family: of the socket that the packet was charged to
 * @refused: the sender's record of refusals
 *
 * Context: any but hard interrupts; not from wake().
 * Return: true: the packet can be sent again when @waiter is woken. false: it is lost, and
 * nobody is woken.
 */
bool smr_waiter_wait_refused(struct smr_waiter *waiter, u16 family,
			     struct smr_refused *refused)
{
	if (!may_get_room(family_sock(waiter->shard, family), refused))
		return false;
	smr_waiter_wait_moment(waiter, family);
	return true;
}

static void wait_room(struct smr_egress_sock *s, struct smr_waiter *waiter)
{
	spin_lock_bh(&waiter->shard->lock);
	waiter_enqueue(s, waiter);
	sock_watch(s);
	spin_unlock_bh(&waiter->shard->lock);

	/* See sock_watch(). */
	smp_mb();
	if (sock_writeable(s->sock->sk))
		tasklet_schedule(&s->waker);
}

/* Is there room now, for this waiter? */
static bool has_room(struct smr_egress_sock *s, struct smr_waiter *waiter)
{
	struct sock *sk = s->sock->sk;

	if (sk_wmem_alloc_get(sk) >= READ_ONCE(sk->sk_sndbuf))
		return false;
	if (!READ_ONCE(waiter->woken))
		return !READ_ONCE(s->nr);
	WRITE_ONCE(waiter->woken, false);
	if (READ_ONCE(s->nr) && sock_writeable(sk))
		tasklet_schedule(&s->waker);
	return true;
}

/**
 * smr_waiter_room() - may a sender use its socket's send budget for a train now?
 * @waiter: the sender's; woken, once, after -EAGAIN
 * @family: of the socket
 *
 * Context: any but hard interrupts; not from wake().
 * Return: 0; -EAGAIN when the budget is used up, or others wait for it.
 */
int smr_waiter_room(struct smr_waiter *waiter, u16 family)
{
	struct smr_egress_sock *s = family_sock(waiter->shard, family);

	if (has_room(s, waiter))
		return 0;
	wait_room(s, waiter);
	return -EAGAIN;
}

/**
 * smr_waiter_unsent() - a sender that had room by its turn has sent nothing after all
 * @waiter: the sender's; it has its turn again
 *
 * Context: any.
 */
void smr_waiter_unsent(struct smr_waiter *waiter)
{
	WRITE_ONCE(waiter->woken, true);
}

/**
 * smr_waiter_room_urgent() - smr_waiter_room() for a packet that must not wait
 * @waiter: as for smr_waiter_room()
 * @family: likewise
 *
 * Only packets like this one can use up its budget. Where they do, the device does not
 * send at all.
 *
 * Context: as smr_waiter_room().
 * Return: as smr_waiter_room().
 */
int smr_waiter_room_urgent(struct smr_waiter *waiter, u16 family)
{
	struct smr_egress_sock *s = family_sock(waiter->shard, family);
	struct sock *sk = s->sock->sk;

	if (sk_wmem_alloc_get(sk) < 2 * READ_ONCE(sk->sk_sndbuf))
		return 0;
	wait_room(s, waiter);
	return -EAGAIN;
}

/* The socket's wait queue is locked and interrupts may be off. */
static int watch_event(struct wait_queue_entry *entry, unsigned int mode,
		       int flags, void *key)
{
	struct smr_egress_sock *s =
		container_of(entry, struct smr_egress_sock, entry);

	if (!sock_writeable(s->sock->sk))
		return 0;

	list_del_init_careful(&entry->entry);
	tasklet_schedule(&s->waker);
	return 1;
}
