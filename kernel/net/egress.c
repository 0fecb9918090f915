// SPDX-License-Identifier: GPL-2.0
/*
 * The socket that a QP's packets are charged to until the device, or the peer's namespace, has
 * freed them. It limits what a QP has in the stack, and tells the stack whose packets these are:
 * the cgroup, the user, the mark and the priority are those of the process that made the QP.
 *
 * It is a bare sock of the kernel's UDP: it is in no table, has no port and receives nothing. The
 * path's source port is written into each packet. Packets may outlive it, and even this module,
 * by any length of time, and the last one of them frees it. So all its functions are the kernel's,
 * also sk_write_space(), which wakes the entry in the sock's wait queue. The entry is removed
 * before the QP is freed.
 */
#include "net/egress.h"

#include <linux/atomic.h>
#include <linux/bpf-cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/udp.h>

#include "compat/cleanup.h"
#include "compat/net.h"

/*
 * Bytes of a QP that may be in the stack, by true size: eight of the largest trains, a tenth of a
 * millisecond at 40 Gb/s.
 */
#define SNDBUF_BYTES	(512 << 10)

/**
 * struct smr_egress - the socket that a QP sends from
 * @sk: the sock that packets are charged to
 * @wq: its wait queue
 * @entry: on @wq while the QP waits; under that queue's lock
 * @moment: wakes the QP a jiffy later, when no event will report that it may send again
 * @queue: selects a TX queue of a netdev
 * @wake: see smr_egress_create()
 * @owner: its argument
 * @rcu: defers freeing: a packet that is being freed may look at @wq
 */
struct smr_egress {
	struct sock *sk;
	struct socket_wq wq;
	struct wait_queue_entry entry;
	struct timer_list moment;
	unsigned int queue;
	void (*wake)(void *owner);
	void *owner;
	struct rcu_head rcu;
};

/* Called with the wait queue locked and interrupts off. */
static int sock_event(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct smr_egress *eg = container_of(entry, struct smr_egress, entry);

	if (!sock_writeable(eg->sk))
		return 0;
	list_del_init(&entry->entry);
	eg->wake(eg->owner);
	return 1;
}

static void moment_over(struct timer_list *moment)
{
	struct smr_egress *eg = container_of(moment, struct smr_egress, moment);

	eg->wake(eg->owner);
}

/* For processes, a program that the cgroup has for new sockets may set mark and priority. */
static struct sock *sock_make(struct net *net, bool user)
{
	struct sock *sk = sk_alloc(net, AF_INET, GFP_KERNEL, &udp_prot, 1);
	int err;

	if (!sk)
		return ERR_PTR(-ENOMEM);
	sock_init_data(NULL, sk);
	sk->sk_type = SOCK_DGRAM;
	sk->sk_protocol = IPPROTO_UDP;
	sk->sk_uid = current_euid();
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SNDBUF_BYTES);
	/* As for bound sockets: saves one atomic operation per freed packet. */
	sock_set_flag(sk, SOCK_RCU_FREE);
	smr_sock_loop_multicast(sk);
	err = user ? BPF_CGROUP_RUN_PROG_INET_SOCK(sk) : 0;
	if (!err)
		return sk;
	sock_put(sk);
	return ERR_PTR(err);
}

/**
 * smr_egress_create() - make the socket that a QP sends from
 * @net: the namespace; outlives the QP
 * @user: the QP belongs to a process, the caller
 * @wake: called, once per wait, when packets may be sent again; it may be spurious. Interrupts
 *	may be off, and a lock is held that the stack takes when it frees a packet, so it may only
 *	queue work
 * @owner: passed to @wake
 *
 * Context: process, may sleep.
 * Return: the socket; an ERR_PTR(): -ENOMEM; or -EPERM or another error of a program that the
 *	caller's cgroup has for new sockets.
 */
struct smr_egress *smr_egress_create(struct net *net, bool user,
				     void (*wake)(void *owner), void *owner)
{
	static atomic_t next_queue;
	struct smr_egress *eg = kzalloc(sizeof(*eg), GFP_KERNEL_ACCOUNT);
	struct sock *sk;

	if (!eg)
		return ERR_PTR(-ENOMEM);
	sk = sock_make(net, user);
	if (IS_ERR(sk)) {
		kfree(eg);
		return ERR_CAST(sk);
	}
	eg->sk = sk;
	eg->wake = wake;
	eg->owner = owner;
	eg->queue = atomic_inc_return(&next_queue);
	timer_setup(&eg->moment, moment_over, 0);
	init_waitqueue_func_entry(&eg->entry, sock_event);
	INIT_LIST_HEAD(&eg->entry.entry);
	init_waitqueue_head(&eg->wq.wait);
	RCU_INIT_POINTER(sk->sk_wq, &eg->wq);
	return eg;
}

/**
 * smr_egress_destroy() - end the socket of a QP
 * @eg: nothing is sent from it any more
 *
 * Its wake() does not run after this returns. Packets that are still in the stack keep the memory
 * of the sock, but neither the namespace nor the module.
 *
 * Context: process, may sleep.
 */
void smr_egress_destroy(struct smr_egress *eg)
{
	timer_shutdown_sync(&eg->moment);
	/* Takes the queue's lock, and so waits for sock_event(). */
	remove_wait_queue(&eg->wq.wait, &eg->entry);
	RCU_INIT_POINTER(eg->sk->sk_wq, NULL);
	sock_put(eg->sk);
	kfree_rcu(eg, rcu);
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
 * Without a queue's number the stack takes the queue of the sending CPU, and the trains of a QP
 * would overtake each other. If the socket's queue does not exist, the stack does the same. So
 * the number must exist in each of the stacked netdevs: a bond may have more queues than its
 * adapters, and a bridge has one.
 */
static void name_queue(const struct smr_egress *eg, struct net_device *dev)
{
	unsigned int queues = UINT_MAX;
	struct netdev_nested_priv priv = { .data = &queues };

	least_queues(dev, &priv);
	if (!list_empty(&dev->adj_list.lower))
		netdev_walk_all_lower_dev_rcu(dev, least_queues, &priv);
	if (queues != UINT_MAX)
		sk_tx_queue_set(eg->sk, eg->queue % queues);
}

/**
 * smr_egress_charge() - charge a packet to its QP's socket
 * @eg: the socket
 * @skb: the packet; gets the socket's mark, and its priority if it has one
 * @dev: the netdev that sends it
 *
 * All packets of a QP use the same TX queue of @dev.
 *
 * Context: BH off, inside an RCU read section.
 * Return: the sock.
 */
struct sock *smr_egress_charge(struct smr_egress *eg, struct sk_buff *skb,
			       struct net_device *dev)
{
	struct sock *sk = eg->sk;

	name_queue(eg, dev);
	skb->mark = READ_ONCE(sk->sk_mark);
	skb->priority = READ_ONCE(sk->sk_priority) ?: skb->priority;
	skb_set_owner_w(skb, sk);
	/*
	 * If no packet is charged to the socket, the stack would take the CPU's queue again.
	 * But packets may still be queued: netem, for example, orphans packets that it holds.
	 */
	skb->ooo_okay = false;
	return sk;
}

/*
 * Backpressure. When a QP has used up its budget, it waits until half of it is free again: the
 * stack's wake-up for writers. Urgent packets, such as ACKs, do not wait: they have an additional
 * budget of the same size.
 *
 * A packet that the stack refuses was dropped because a queue is full, or by a policy: a filter
 * of tc or nftables, a BPF program, a peer that is down. The stack returns the same error for
 * both. If the stack holds packets of the same QP, one of these may leave and make room: the QP
 * waits for that, or for the timer, since a queue discipline does not report free space. If the
 * stack holds none, or has refused packets for the sender's whole patience, the packet is lost,
 * as it would be on the network.
 */

/* Both tasks of a QP may do this at once. */
static void sock_watch(struct smr_egress *eg)
{
	guard(spinlock_irqsave)(&eg->wq.wait.lock);
	if (list_empty(&eg->entry.entry))
		__add_wait_queue(&eg->wq.wait, &eg->entry);
}

static int sock_room(struct smr_egress *eg, int most)
{
	if (likely(sk_wmem_alloc_get(eg->sk) < most))
		return 0;
	sock_watch(eg);
	/* Pairs with the stack's barrier: it sees the entry, or this sees the room. */
	smp_mb();
	return sk_wmem_alloc_get(eg->sk) < most ? 0 : -EAGAIN;
}

/**
 * smr_egress_room() - is there budget for a train?
 * @eg: the socket
 *
 * Context: any but hard interrupts; not from wake().
 * Return: 0; -EAGAIN if the budget is used up: wake() is called when half of it is free.
 */
int smr_egress_room(struct smr_egress *eg)
{
	return sock_room(eg, SNDBUF_BYTES);
}

/**
 * smr_egress_room_urgent() - smr_egress_room() for a packet that must not wait
 * @eg: the socket
 *
 * Only urgent packets use this budget. If it is used up, the device does not send at all.
 *
 * Context: as smr_egress_room().
 * Return: as smr_egress_room().
 */
int smr_egress_room_urgent(struct smr_egress *eg)
{
	return sock_room(eg, 2 * SNDBUF_BYTES);
}

/**
 * smr_egress_wait_moment() - wait for a retry
 * @eg: its wake() is called when a packet has left the socket, or in the next jiffy
 *
 * Context: any but hard interrupts; not from wake().
 */
void smr_egress_wait_moment(struct smr_egress *eg)
{
	sock_watch(eg);
	mod_timer(&eg->moment, jiffies + 1);
}

/* Could the packet have been refused because of a full queue that will have space again? */
static bool may_get_room(const struct smr_egress *eg,
			 struct smr_refused *refused)
{
	/* Without a timeout the packet would never be sent again. */
	if (!sk_wmem_alloc_get(eg->sk) &&
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
 * smr_egress_wait_refused() - wait after the stack has refused a packet, if that can help
 * @eg: the socket that the packet was charged to
 * @refused: of the sender
 *
 * Context: any but hard interrupts; not from wake().
 * Return: true: the packet can be sent again after wake(); false: it is lost.
 */
bool smr_egress_wait_refused(struct smr_egress *eg, struct smr_refused *refused)
{
	if (!may_get_room(eg, refused))
		return false;
	smr_egress_wait_moment(eg);
	return true;
}
