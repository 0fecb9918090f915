/* SPDX-License-Identifier: GPL-2.0 */
/* The sockets of one link for sending, their send budgets, and their waiters. */
#ifndef SMR_EGRESS_H
#define SMR_EGRESS_H

#include <linux/atomic.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>

struct net;
struct net_device;
struct sk_buff;
struct smr_egress_sock;
struct smr_shard;
struct sock;
struct socket;

/* The usual number of TX queues of a netdev */
#define SMR_EGRESS_SHARDS	16

/**
 * struct smr_waiter - a sender, and its entry in the list of waiters for send budget
 * @node: on one of the lists of @at, or empty; under the lock of @shard
 * @shard: the shard that it sends from; constant
 * @at: the socket whose budget it waits for, or NULL; under the lock of @shard
 * @woken: it was woken, and has sent nothing since
 * @wake: called in softirq, once per wait. The lock of @shard is held: it may mark and
 *	schedule, but not sleep, transmit, or take a lock that is ever held in a call of
 *	net/train.h or net/egress.h. A wake-up is a hint: it can be spurious
 */
struct smr_waiter {
	struct list_head node;
	struct smr_shard *shard;
	struct smr_egress_sock *at;
	bool woken;
	void (*wake)(struct smr_waiter *waiter);
};

/**
 * struct smr_refused - refusals of a sender's packets by the stack
 * @since: jiffies of the first refusal since the stack last accepted a packet; 0: none
 * @patience: jiffies for which a refusal is taken for a full queue; 0: for one try
 *
 * Owned by the task that sends.
 */
struct smr_refused {
	unsigned long since;
	unsigned long patience;
};

/**
 * struct smr_egress_sock - a socket that packets are charged to
 * @sock: the kernel socket; has no reference on the namespace, and no port. NULL if the kernel
 *	lacks the family
 * @shard: its lock guards @first, @waiting, @nr
 * @entry: on the socket's wait queue while there is a waiter; under that queue's lock
 * @first: struct smr_waiter that were woken before, but got no budget
 * @waiting: struct smr_waiter, the longest waiting first
 * @nr: number of waiters on both lists; read without the lock
 * @waker: wakes as many waiters as the budget allows
 * @backstop: does the same a jiffy later, for cases without an event
 */
struct smr_egress_sock {
	struct socket *sock;
	struct smr_shard *shard;
	struct wait_queue_entry entry;
	struct list_head first;
	struct list_head waiting;
	unsigned int nr;
	struct tasklet_struct waker;
	struct timer_list backstop;
};

/**
 * struct smr_shard - the sockets that some of a link's QPs send from
 * @lock: guards all waiters of the shard; softirqs off
 * @index: index of this shard; constant
 * @sock4: the IPv4 socket
 * @sock6: the IPv6 socket
 */
struct smr_shard {
	spinlock_t lock;	/* see above */
	unsigned int index;
	struct smr_egress_sock sock4;
	struct smr_egress_sock sock6;
};

/**
 * struct smr_egress - the sockets that a link sends from
 * @net: the namespace; no reference is held, since it outlives the owner
 * @next: number of waiters created so far, to distribute them equally over the shards
 * @shards: the sockets
 *
 * @net is constant between smr_egress_open() and smr_egress_close().
 */
struct smr_egress {
	struct net *net;
	atomic_t next;
	struct smr_shard shards[SMR_EGRESS_SHARDS];
};

int smr_egress_open(struct smr_egress *eg, struct net *net);
void smr_egress_close(struct smr_egress *eg);

bool smr_egress_has_netdev(const struct smr_egress *eg,
			   const struct net_device *ndev);
struct sock *smr_egress_sk(struct smr_egress *eg, u16 family);

void smr_waiter_init(struct smr_waiter *waiter, struct smr_egress *eg,
		     void (*wake)(struct smr_waiter *waiter));
void smr_waiter_fini(struct smr_waiter *waiter);

int smr_waiter_room(struct smr_waiter *waiter, u16 family);
int smr_waiter_room_urgent(struct smr_waiter *waiter, u16 family);
void smr_waiter_unsent(struct smr_waiter *waiter);
void smr_waiter_wait_moment(struct smr_waiter *waiter, u16 family);
bool smr_waiter_wait_refused(struct smr_waiter *waiter, u16 family,
			     struct smr_refused *refused);
struct sock *smr_waiter_charge(struct smr_waiter *waiter, u16 family,
			       struct sk_buff *skb, struct net_device *dev);

#endif /* SMR_EGRESS_H */
