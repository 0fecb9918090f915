/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps the ordinary UDP sockets of a network namespace from sending to RoCEv2's port. */
#ifndef SMR_GUARD_H
#define SMR_GUARD_H

#include <linux/atomic.h>
#include <linux/netfilter.h>
#include <linux/types.h>

struct net;

/**
 * struct smr_guard - the guard of a network namespace
 * @refused: datagrams that were dropped
 * @ops: its hooks, for IPv4 and IPv6; constant while it is open
 */
struct smr_guard {
	atomic64_t refused;
	struct nf_hook_ops ops[2];
};

int smr_guard_open(struct smr_guard *guard, struct net *net);
void smr_guard_close(struct smr_guard *guard, struct net *net);

#endif /* SMR_GUARD_H */
