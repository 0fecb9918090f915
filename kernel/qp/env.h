/* SPDX-License-Identifier: GPL-2.0 */
/* What QPs need of their device. */
#ifndef SMR_ENV_H
#define SMR_ENV_H

#include <linux/compiler.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "account.h"
#include "qp/own.h"

struct smr_ahtab;
struct smr_egress;
struct smr_antispoof;
struct smr_keys;
struct smr_qptab;
struct smr_srqtab;
struct smr_stats;
struct smr_steer;
struct smr_why_book;
struct workqueue_struct;

/**
 * struct smr_env - what a QP needs of its device; part of the device
 * @egress: the sockets that it sends from
 * @tab: the namespace's QPs
 * @ahs: the device's address vectors
 * @srqs: the device's XRC shared receive queues
 * @keys: the device's keys
 * @steer: the device's flow steering rules
 * @stats: the device's counters
 * @bound: what of them the counters of QPs have counted, too; see counter.c
 * @antispoof: what the namespace's ordinary sockets are refused
 * @whys: the namespace's last refusals
 * @wq: the workqueue for QPs of consumers in the kernel
 * @packets: what waits for their QPs
 * @own: its addresses, as far as they are known; has its own rules
 * @ndev: the netdev
 * @poll_ns: how long a poller waits for requests, ns; 0: there are none, see qp/sqpoll.c
 * @loopback: this link takes the same-host shortcut
 * @nr_groups: multicast groups that QPs are attached to; @tab->members.mutex
 *
 * All else is constant while the device has QPs.
 */
struct smr_env {
	struct smr_egress *egress;
	struct smr_qptab *tab;
	struct smr_ahtab *ahs;
	struct smr_srqtab *srqs;
	struct smr_keys *keys;
	struct smr_steer *steer;
	struct smr_stats *stats;
	struct smr_stats *bound;
	const struct smr_antispoof *antispoof;
	struct smr_why_book *whys;
	struct workqueue_struct *wq;
	struct smr_packets packets;
	struct smr_own own;
	struct net_device *ndev;
	u32 poll_ns;
	bool loopback;
	u32 nr_groups;
};

/* The largest path MTU that fits the netdev's MTU, and at least the smallest. */
static inline enum ib_mtu smr_env_mtu(const struct smr_env *env)
{
	return iboe_get_mtu(READ_ONCE(env->ndev->mtu)) ?: IB_MTU_256;
}

#endif /* SMR_ENV_H */
