/* SPDX-License-Identifier: GPL-2.0 */
/* Prevents ordinary UDP sockets of a network namespace from sending to RoCEv2's port. */
#ifndef SMR_ANTISPOOF_H
#define SMR_ANTISPOOF_H

#include <linux/atomic.h>
#include <linux/netfilter.h>
#include <linux/types.h>

struct net;

/**
 * struct smr_antispoof - the hook of a network namespace
 * @refused: number of datagrams that were dropped
 * @ops: the hook, for IPv4 and IPv6; constant while it is open
 */
struct smr_antispoof {
	atomic64_t refused;
	struct nf_hook_ops ops;
};

int smr_antispoof_open(struct smr_antispoof *antispoof, struct net *net);
void smr_antispoof_close(struct smr_antispoof *antispoof, struct net *net);

#endif /* SMR_ANTISPOOF_H */
