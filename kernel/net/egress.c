// SPDX-License-Identifier: GPL-2.0
/*
 * The sockets that a link's packets are charged to. Each link has its own. With one
 * for the whole namespace, the queue of the slowest link would hold the budget that
 * all others wait for.
 *
 * They are not bound and receive nothing. The path's source port is written into each
 * packet.
 */
#include "net/egress.h"

#include <linux/in.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

/*
 * Bytes that may be in the stack below us, by true size: enough for the ring and queue
 * of a 100 Gb/s device, and a third of a millisecond of its traffic.
 */
#define SNDBUF_BYTES	(4 << 20)

static void sock_tune(struct sock *sk)
{
	lock_sock(sk);
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SNDBUF_BYTES);
	/* As for bound sockets: freeing a packet costs one atomic less. */
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
	smr_waiter_watch_init(&s->watch, &eg->waiters, s->sock->sk);
	return 0;
}

static void sock_close(struct smr_egress_sock *s)
{
	if (!s->sock)
		return;
	smr_waiter_watch_fini(&s->watch);
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
	smr_waiters_init(&eg->waiters);

	err = sock_open(eg, &eg->sock4, AF_INET);
	if (err)
		goto err_waiters;
	err = sock_open(eg, &eg->sock6, AF_INET6);
	if (err && err != -EAFNOSUPPORT && err != -EPFNOSUPPORT)
		goto err_sock4;
	return 0;

err_sock4:
	sock_close(&eg->sock4);
err_waiters:
	smr_waiters_fini(&eg->waiters);
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
	sock_close(&eg->sock4);
	sock_close(&eg->sock6);
	smr_waiters_fini(&eg->waiters);
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
 * smr_egress_watch() - the entry in that socket's wait queue
 * @eg: opened
 * @family: one that smr_egress_sk() has a socket for
 *
 * Context: any.
 * Return: the watch, valid until smr_egress_close().
 */
struct smr_waiter_watch *smr_egress_watch(struct smr_egress *eg, u16 family)
{
	return &family_sock(eg, family)->watch;
}

/*
 * Backpressure. A train is charged to the socket it is sent from until the
 * device, or the peer's namespace, has let go of it. When the socket's budget
 * is used up its senders wait here, and the stack's own wake-up for writers,
 * which comes once half the budget is free again, wakes them.
 *
 * An entry in the socket's wait queue receives that wake-up. sk_write_space() is
 * not replaced: packets may outlive the socket and even this module by any
 * length of time, and the last one of them calls sk_write_space(). An entry that
 * has left a wait queue is not called again.
 *
 * A sender that finds others waiting waits, too, although there is room.
 * Otherwise senders that get their answers would keep the budget between its
 * half and its end, and the waiters would never be woken. When all are woken, the
 * first to run may take the whole budget again. A waiter that then gets nothing
 * is the first to be woken next time.
 *
 * A queue discipline that drops packets tells nobody when it has room. The best
 * sign is that a packet of ours has left. If it holds none of ours, the waiters
 * are woken in the next jiffy, as they are when there was no memory.
 */

/**
 * smr_waiter_init() - prepare a sender's waiter
 * @waiter: not known to anybody yet
 * @wake: see struct smr_waiter
 *
 * Context: any.
 */
void smr_waiter_init(struct smr_waiter *waiter,
		     void (*wake)(struct smr_waiter *waiter))
{
	INIT_LIST_HEAD(&waiter->node);
	waiter->woken = false;
	waiter->wake = wake;
}

static void wake_all(struct smr_waiters *waiters)
{
	struct smr_waiter *waiter, *next;
	LIST_HEAD(waiting);

	spin_lock_bh(&waiters->lock);
	WRITE_ONCE(waiters->round, waiters->round + 1);
	list_splice_init(&waiters->first, &waiting);
	list_splice_tail_init(&waiters->waiting, &waiting);
	list_for_each_entry_safe(waiter, next, &waiting, node) {
		list_del_init(&waiter->node);
		WRITE_ONCE(waiter->woken, true);
		waiter->wake(waiter);
	}
	spin_unlock_bh(&waiters->lock);
}

static void waker_run(struct tasklet_struct *waker)
{
	wake_all(container_of(waker, struct smr_waiters, waker));
}

static void backstop_fired(struct timer_list *backstop)
{
	wake_all(container_of(backstop, struct smr_waiters, backstop));
}

/**
 * smr_waiters_init() - prepare a link's list of the waiting
 * @waiters: to be ended with smr_waiters_fini()
 *
 * Context: any.
 */
void smr_waiters_init(struct smr_waiters *waiters)
{
	spin_lock_init(&waiters->lock);
	INIT_LIST_HEAD(&waiters->first);
	INIT_LIST_HEAD(&waiters->waiting);
	waiters->round = 1;
	tasklet_setup(&waiters->waker, waker_run);
	timer_setup(&waiters->backstop, backstop_fired, 0);
}

/**
 * smr_waiters_fini() - end the list
 * @waiters: no waiter waits, nor will, and all its watches are ended
 *
 * Context: process; may sleep.
 */
void smr_waiters_fini(struct smr_waiters *waiters)
{
	WARN_ON_ONCE(!list_empty(&waiters->first));
	WARN_ON_ONCE(!list_empty(&waiters->waiting));
	timer_shutdown_sync(&waiters->backstop);
	tasklet_kill(&waiters->waker);
}

/**
 * smr_waiters_remove() - wait no more
 * @waiters: where @waiter waits, or waited
 * @waiter: its wake() does not run when this returns, nor later unless it is
 *	made to wait again
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_waiters_remove(struct smr_waiters *waiters, struct smr_waiter *waiter)
{
	spin_lock_bh(&waiters->lock);
	list_del_init(&waiter->node);
	spin_unlock_bh(&waiters->lock);
}

/* A waiter that is on the list already keeps its place. */
static void waiter_enqueue(struct smr_waiter_watch *watch,
			   struct smr_waiter *waiter)
{
	struct smr_waiters *waiters = watch->waiters;

	lockdep_assert_held(&waiters->lock);
	if (list_empty(&waiter->node))
		list_add_tail(&waiter->node, READ_ONCE(waiter->woken) ?
			      &waiters->first :
			      &waiters->waiting);
	/*
	 * An entry that is about to leave the queue is fine: watch_event()
	 * takes it off and then schedules the waker, which finds @waiter.
	 */
	if (list_empty_careful(&watch->entry.entry))
		add_wait_queue(sk_sleep(watch->sk), &watch->entry);
}

/**
 * smr_waiter_wait_moment() - wake a waiter after a drop, or without memory
 * @watch: the socket's
 * @waiter: waits until a packet leaves the socket, or for the next jiffy
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_waiter_wait_moment(struct smr_waiter_watch *watch,
			    struct smr_waiter *waiter)
{
	struct smr_waiters *waiters = watch->waiters;

	spin_lock_bh(&waiters->lock);
	waiter_enqueue(watch, waiter);
	if (!timer_pending(&waiters->backstop))
		mod_timer(&waiters->backstop, jiffies + 1);
	spin_unlock_bh(&waiters->lock);
}

/**
 * smr_waiter_may_send() - may a sender use its socket's send budget now?
 * @watch: the socket's
 * @waiter: the sender's; counts as served on true. NULL: it never waits
 *
 * Context: any.
 * Return: false when the budget is used up, or others wait for it;
 * smr_waiter_wait_room() then.
 */
bool smr_waiter_may_send(struct smr_waiter_watch *watch,
			 struct smr_waiter *waiter)
{
	struct sock *sk = watch->sk;

	if (READ_ONCE(watch->round) == READ_ONCE(watch->waiters->round) ||
	    sk_wmem_alloc_get(sk) >= READ_ONCE(sk->sk_sndbuf))
		return false;
	if (waiter && READ_ONCE(waiter->woken))
		WRITE_ONCE(waiter->woken, false);
	return true;
}

/**
 * smr_waiter_wait_room() - wake a waiter when its socket has room
 * @watch: the socket's
 * @waiter: waits until half of the socket's budget is free; is woken at once if
 *	it is already
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_waiter_wait_room(struct smr_waiter_watch *watch,
			  struct smr_waiter *waiter)
{
	struct smr_waiters *waiters = watch->waiters;

	spin_lock_bh(&waiters->lock);
	waiter_enqueue(watch, waiter);
	WRITE_ONCE(watch->round, waiters->round);
	spin_unlock_bh(&waiters->lock);

	/* Packets may have been freed before the entry was in the queue. */
	smp_mb();
	if (sock_writeable(watch->sk))
		tasklet_schedule(&waiters->waker);
}

/* The socket's wait queue is locked and interrupts may be off. */
static int watch_event(struct wait_queue_entry *entry, unsigned int mode,
		       int flags, void *key)
{
	struct smr_waiter_watch *watch =
		container_of(entry, struct smr_waiter_watch, entry);

	if (!sock_writeable(watch->sk))
		return 0;

	list_del_init_careful(&entry->entry);
	tasklet_schedule(&watch->waiters->waker);
	return 1;
}

/**
 * smr_waiter_watch_init() - prepare to listen to a socket
 * @watch: to be ended with smr_waiter_watch_fini()
 * @waiters: the list that it wakes
 * @sk: the socket; lives longer than @watch
 *
 * Context: any.
 */
void smr_waiter_watch_init(struct smr_waiter_watch *watch,
			   struct smr_waiters *waiters, struct sock *sk)
{
	init_waitqueue_func_entry(&watch->entry, watch_event);
	INIT_LIST_HEAD(&watch->entry.entry);
	watch->waiters = waiters;
	watch->round = 0;
	watch->sk = sk;
}

/**
 * smr_waiter_watch_fini() - listen no more
 * @watch: no waiter is made to wait on it any more
 *
 * Taking the wait queue's lock, even where the entry has left the queue, is
 * what makes sure that watch_event() is not running.
 *
 * Context: any but hard interrupts.
 */
void smr_waiter_watch_fini(struct smr_waiter_watch *watch)
{
	remove_wait_queue(sk_sleep(watch->sk), &watch->entry);
}
