/* SPDX-License-Identifier: GPL-2.0 */
/* The part of a device that its QPs use. */
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
struct smr_cc_ops;
struct smr_frames;
struct net;
struct smr_antispoof;
struct smr_keys;
struct smr_qptab;
struct smr_srqtab;
struct smr_stats;
struct smr_whys;
struct workqueue_struct;

/**
 * struct smr_env - the part of a device that its QPs use
 * @net: the namespace; no reference is held, since it outlives the device's QPs
 * @tab: the namespace's QPs
 * @ahs: the device's address vectors
 * @srqs: the device's XRC shared receive queues
 * @keys: the device's keys
 * @frames: how RAW_PACKET QPs send and receive; NULL: the device has no such QPs
 * @stats: the device's counters
 * @antispoof: the namespace's filter against packets of ordinary sockets
 * @whys: the last refusals of the namespace
 * @kernel_whys: the log of consumers in the kernel
 * @wq: the workqueue for QPs of kernel consumers
 * @packets: packets queued for these QPs
 * @limits: the device's objects, and their limits
 * @own: cache of the device's addresses; has its own locking rules
 * @ndev: the netdev
 * @cc: the congestion control
 * @loopback: this link uses the same-host shortcut
 * @nr_groups: number of multicast groups that QPs are attached to; guarded by
 *	@tab->members.mutex
 *
 * All else is constant while the device has QPs.
 */
struct smr_env {
	struct net *net;
	struct smr_qptab *tab;
	struct smr_ahtab *ahs;
	struct smr_srqtab *srqs;
	struct smr_keys *keys;
	const struct smr_frames *frames;
	struct smr_stats *stats;
	const struct smr_antispoof *antispoof;
	struct smr_whys *whys;
	struct smr_why_log *kernel_whys;
	struct workqueue_struct *wq;
	struct smr_packets packets;
	struct smr_limits limits;
	struct smr_own own;
	struct net_device *ndev;
	const struct smr_cc_ops *cc;
	bool loopback;
	u32 nr_groups;
};

/* The largest path MTU that fits the netdev's MTU, or else the smallest path MTU. */
static inline enum ib_mtu smr_env_mtu(const struct smr_env *env)
{
	return iboe_get_mtu(READ_ONCE(env->ndev->mtu)) ?: IB_MTU_256;
}

#endif /* SMR_ENV_H */
