/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softmr's part of a network namespace: the table of QPs, and sockets on RoCEv2's port while
 * the namespace has a link.
 */
#ifndef SMR_NETNS_H
#define SMR_NETNS_H

#include <linux/mutex.h>

#include "net/antispoof.h"
#include "net/udp_rx.h"
#include "qp/core.h"
#include "why.h"

struct net;

/**
 * struct smr_netns - softmr's part of a network namespace
 * @link_mutex: serialises the creation of links; taken before all other locks
 * @users: links of the namespace; changed under netns_lock. The caller that drops it to
 *	0 must not touch the struct again: the namespace's exit waits for that
 * @antispoof: prevents ordinary sockets from sending to RoCEv2's port; open while @users is not
 *	0
 * @sn: the sockets; likewise
 * @tab: the QPs
 * @whys: the last refusals; empty while @users is 0
 */
struct smr_netns {
	struct mutex link_mutex;
	unsigned int users;
	struct smr_antispoof antispoof;
	struct smr_net sn;
	struct smr_qptab tab;
	struct smr_whys whys;
};

int smr_netns_register(void);
void smr_netns_unregister(void);

struct smr_netns *smr_netns(const struct net *net);
int smr_netns_get(struct smr_netns *ns, struct net *net);
void smr_netns_put(struct smr_netns *ns);

#endif /* SMR_NETNS_H */
