/* SPDX-License-Identifier: GPL-2.0 */
/* A request by netlink, and its answers. */
#ifndef SOFTMR_NETLINK_H
#define SOFTMR_NETLINK_H

struct nl_msg;
struct nl_sock;

/* A message; never NULL */
struct nl_msg *netlink_request(int type, int flags);
/*
 * Send and free a message, and pass each message of the answer to @valid, which may be NULL. Returns 0 or a negative errno.
 */
int netlink_ask(struct nl_sock *sk, struct nl_msg *msg, int (*valid)(struct nl_msg *msg, void *arg), void *arg);

#endif /* SOFTMR_NETLINK_H */
