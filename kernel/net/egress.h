/* SPDX-License-Identifier: GPL-2.0 */
/* What one link sends from: its share of the stack. */
#ifndef SMR_EGRESS_H
#define SMR_EGRESS_H

#include <linux/types.h>

#include "net/waiter.h"

struct net;
struct net_device;
struct sock;
struct socket;

/**
 * struct smr_egress_sock - a socket that packets are charged to
 * @sock: the kernel socket; does not hold the namespace, nor has it a port.
 *	NULL where the kernel has not got the family
 * @watch: hears of room in its send budget
 */
struct smr_egress_sock {
	struct socket *sock;
	struct smr_flow_watch watch;
};

/**
 * struct smr_egress - the sockets that a link sends from
 * @net: the namespace; a reference is not held, the owner's life is inside it
 * @sock4: the IPv4 socket
 * @sock6: the IPv6 socket
 * @flows: who waits for room in their send budgets; has its own lock
 *
 * All but @flows is constant between smr_egress_open() and smr_egress_close().
 */
struct smr_egress {
	struct net *net;
	struct smr_egress_sock sock4;
	struct smr_egress_sock sock6;
	struct smr_flows flows;
};

int smr_egress_open(struct smr_egress *eg, struct net *net);
void smr_egress_close(struct smr_egress *eg);

bool smr_egress_has_netdev(const struct smr_egress *eg,
			   const struct net_device *ndev);

struct sock *smr_egress_sk(struct smr_egress *eg, u16 family);
struct smr_flow_watch *smr_egress_watch(struct smr_egress *eg, u16 family);

#endif /* SMR_EGRESS_H */
