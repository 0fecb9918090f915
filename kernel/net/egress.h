/* SPDX-License-Identifier: GPL-2.0 */
/* The sockets of one link for sending, their send budgets, and the waiters. */
#ifndef SMR_EGRESS_H
#define SMR_EGRESS_H

#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>

struct net;
struct net_device;
struct sock;
struct socket;

/**
 * struct smr_waiter - a sender's entry in the list of those that wait for room
 * @node: on one of struct smr_waiters' lists, or empty; its lock guards it
 * @woken: it was woken, and has sent nothing since
 * @wake: called in softirq, once per wait. The lock of struct smr_waiters is
 *	held: it may mark and schedule, but not sleep, transmit, or take a lock
 *	under which anybody calls into net/train.h or net/egress.h. A wake-up is a hint:
 *	it can be spurious
 */
struct smr_waiter {
	struct list_head node;
	bool woken;
	void (*wake)(struct smr_waiter *waiter);
};

/**
 * struct smr_waiters - the waiters of one link
 * @lock: guards both lists and every node on them; softirqs off
 * @first: struct smr_waiter: woken before, but others were quicker
 * @waiting: struct smr_waiter, the longest waiting first
 * @round: 1, plus how often all were woken; written with the lock held
 * @waker: wakes all waiters
 * @backstop: wakes all waiters a jiffy later, for cases without an event
 */
struct smr_waiters {
	spinlock_t lock;
	struct list_head first;
	struct list_head waiting;
	unsigned long round;
	struct tasklet_struct waker;
	struct timer_list backstop;
};

/**
 * struct smr_waiter_watch - an entry in the wait queue of one socket
 * @entry: on the socket's wait queue while anybody waits; that queue's lock
 * @waiters: the list that is woken when packets have left the socket
 * @sk: the socket; the watch's owner keeps it
 * @round: equal to that of @waiters while somebody waits for the socket's room,
 *	so that nobody else takes it; written with the lock of @waiters held
 */
struct smr_waiter_watch {
	struct wait_queue_entry entry;
	struct smr_waiters *waiters;
	struct sock *sk;
	unsigned long round;
};

/**
 * struct smr_egress_sock - a socket that packets are charged to
 * @sock: the kernel socket; does not hold the namespace, nor has it a port.
 *	NULL where the kernel has not got the family
 * @watch: is told of room in its send budget
 */
struct smr_egress_sock {
	struct socket *sock;
	struct smr_waiter_watch watch;
};

/**
 * struct smr_egress - the sockets that a link sends from
 * @net: the namespace; a reference is not held, the owner's life is inside it
 * @sock4: the IPv4 socket
 * @sock6: the IPv6 socket
 * @waiters: the senders that wait for room in the budgets; has its own lock
 *
 * All but @waiters is constant between smr_egress_open() and smr_egress_close().
 */
struct smr_egress {
	struct net *net;
	struct smr_egress_sock sock4;
	struct smr_egress_sock sock6;
	struct smr_waiters waiters;
};

int smr_egress_open(struct smr_egress *eg, struct net *net);
void smr_egress_close(struct smr_egress *eg);

bool smr_egress_has_netdev(const struct smr_egress *eg,
			   const struct net_device *ndev);

struct sock *smr_egress_sk(struct smr_egress *eg, u16 family);
struct smr_waiter_watch *smr_egress_watch(struct smr_egress *eg, u16 family);

void smr_waiter_init(struct smr_waiter *waiter,
		     void (*wake)(struct smr_waiter *waiter));

void smr_waiters_init(struct smr_waiters *waiters);
void smr_waiters_fini(struct smr_waiters *waiters);
void smr_waiters_remove(struct smr_waiters *waiters, struct smr_waiter *waiter);

bool smr_waiter_may_send(struct smr_waiter_watch *watch,
			 struct smr_waiter *waiter);
void smr_waiter_wait_room(struct smr_waiter_watch *watch,
			  struct smr_waiter *waiter);
void smr_waiter_wait_moment(struct smr_waiter_watch *watch,
			    struct smr_waiter *waiter);

void smr_waiter_watch_init(struct smr_waiter_watch *watch,
			   struct smr_waiters *waiters, struct sock *sk);
void smr_waiter_watch_fini(struct smr_waiter_watch *watch);

#endif /* SMR_EGRESS_H */
