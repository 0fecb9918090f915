// SPDX-License-Identifier: GPL-2.0
/*
 * The sockets that a link's packets are charged to. Each link has its own. With one for the
 * whole namespace, packets in the queue of the slowest link would use up the budget of all
 * others.
 *
 * A link has several, in shards, and a QP sends from one shard all its life. A shard always
 * names the same TX queue of a netdev. Without that, the stack takes the queue of the sending
 * CPU, and the trains of one QP would overtake each other.
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
 * Bytes of a socket that may be in the stack, by true size: enough for the ring and queue of a
 * 100 Gb/s device, that is a sixth of a millisecond of its traffic.
 */
#define SNDBUF_BYTES	(2 << 20)

/* Free bytes for which a waiter is woken: those of the largest train */
#define TRAIN_BYTES	(64 << 10)

static void sock_tune(struct sock *sk)
{
	lock_sock(sk);
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SNDBUF_BYTES);
	/* As for bound sockets: saves one atomic operation per freed packet. */
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
 * remove_wait_queue() takes the wait queue's lock, and so waits for a running watch_event(),
 * even if the entry is already removed.
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
 * @eg: zeroed; close it with smr_egress_close()
 * @net: the namespace; outlives @eg
 *
 * Context: process; may sleep.
 * Return: 0, -ENOMEM, or another error of creating a socket. A kernel without IPv6, or booted
 * with ipv6.disable=1, is no error.
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
 * @eg: opened; no path uses it, and no waiter waits
 *
 * No waiter's wake() runs after this returns. Trains that are still in the stack keep the
 * memory of their sock, but neither the namespace nor the module.
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
 * @eg: of the link
 * @ndev: its netdev, on which there is a reference
 *
 * Context: process; caller holds RTNL.
 * Return: false if the netdev is being unregistered, or is in another namespace.
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
 * smr_egress_sk() - get the socket for looking up routes
 * @eg: opened
 * @family: AF_INET or AF_INET6
 *
 * Return: the sock, valid until smr_egress_close(), or NULL if the kernel lacks that family.
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
 * If the socket's queue does not exist, the stack takes the CPU's queue. So the number must
 * exist in each of the stacked netdevs: a bond may have more queues than its adapters, and a
 * bridge has one.
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
 * @waiter: of the sender
 * @family: AF_INET or AF_INET6
 * @skb: the packet
 * @dev: the netdev that sends it
 *
 * All packets of a waiter use the same TX queue of @dev.
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
	 * If no packet is charged to the socket, the stack would take the CPU's queue again.
	 * But packets may still be queued: netem, for example, orphans packets that it holds.
	 */
	skb->ooo_okay = false;
	return sk;
}

/*
 * Backpressure. A train is charged to its socket until the device, or the peer's namespace, has
 * freed it. When the socket's budget is used up, its senders wait here. The stack's wake-up for
 * writers, which comes when half the budget is free again, wakes them: first come, first
 * served, and no more of them than the budget allows.
 *
 * An entry in the socket's wait queue receives that wake-up. sk_write_space() is
 * not replaced: packets may outlive the socket and even this module by any
 * length of time, and the last one of them calls sk_write_space(). An entry that
 * has left a wait queue is not called again.
 *
 * A sender that finds others waiting also waits, even if there is budget, unless it was woken:
 * then it may send one train. If it gets no budget, because new senders were faster after the
 * last waiter before it, it is woken first the next time.
 *
 * A woken waiter may no longer have anything to send. So a waiter that sends wakes the next
 * ones, if budget is left, and a timer wakes them in the next jiffy.
 *
 * A packet that the stack refuses was dropped because a queue is full, or by a policy: a filter
 * of tc or nftables, a BPF program, a peer that is down. The stack returns the same error for
 * both. If the stack holds packets of the same socket, one of these may leave and make room:
 * the sender waits for that, or for the timer, since a queue discipline does not report free
 * space. If the stack holds none, or has refused packets for the sender's whole patience, the
 * packet is lost, as it would be on the network.
 *
 * Urgent packets, such as ACKs, do not wait: they have an additional budget of their own.
 */

/**
 * smr_waiter_init() - initialize a sender's waiter
 * @waiter: not in use
 * @eg: the link's sockets, which outlive @waiter
 * @wake: see struct smr_waiter
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
 * smr_waiter_fini() - stop waiting
 * @waiter: its wake() does not run after this returns; nothing more may be sent with it
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_waiter_fini(struct smr_waiter *waiter)
{
	spin_lock_bh(&waiter->shard->lock);
	waiter_leave(waiter);
	spin_unlock_bh(&waiter->shard->lock);
}

/* Packets may be freed before the entry is in the queue, so check the socket after this. */
static void sock_watch(struct smr_egress_sock *s)
{
	/*
	 * An entry that is about to leave the queue is fine: watch_event() removes it and then
	 * schedules the waker, which finds the waiters.
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

/* Wake as many waiters as the budget allows. */
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

/* A waiter that is already on a list keeps its place. */
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
 * smr_waiter_wait_moment() - let a waiter wait for a retry
 * @waiter: woken when a packet leaves its socket, or in the next jiffy
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

/* Could the packet have been refused because of a full queue that will have space again? */
static bool may_get_room(const struct smr_egress_sock *s,
			 struct smr_refused *refused)
{
	/* Without a timeout the packet would never be sent again. */
	if (!sk_wmem_alloc_get(s->sock->sk) &&
	    refused->patience != MAX_JIFFY_OFFSET)
		return false;
	if (!refused->since) {
		refused->since = jiffies ?: 1;
		return true;
	}
	if (time_before(jiffies, refused->since + refused->patience))
		return true;
	/* The time starts again for the next packet, or a repetition of this one. */
	refused->since = 0;
	return false;
}

/**
 * smr_waiter_wait_refused() - wait after the stack has refused a packet, if that can help
 * @waiter: of the sender
 * @family: of the socket that the packet was charged to
 * @refused: of the sender
 *
 * Context: any but hard interrupts; not from wake().
 * Return: true: the packet can be sent again when @waiter is woken; false: it is lost, and
 *	@waiter is not woken.
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

/* May this waiter send now? */
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
 * smr_waiter_room() - may a sender send a train within its socket's budget?
 * @waiter: of the sender; woken, once, after -EAGAIN
 * @family: of the socket
 *
 * Context: any but hard interrupts; not from wake().
 * Return: 0; -EAGAIN if the budget is used up, or others wait for it.
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
 * smr_waiter_unsent() - return the turn of a sender that has sent nothing
 * @waiter: of the sender; gets its turn back
 */
void smr_waiter_unsent(struct smr_waiter *waiter)
{
	WRITE_ONCE(waiter->woken, true);
}

/**
 * smr_waiter_room_urgent() - smr_waiter_room() for a packet that must not wait
 * @waiter: as for smr_waiter_room()
 * @family: as for smr_waiter_room()
 *
 * Only urgent packets use this budget. If it is used up, the device does not send at all.
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

/* Called with the socket's wait queue locked; interrupts may be off. */
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
