/* SPDX-License-Identifier: GPL-2.0 */
/* Links: an RDMA device for a netdev, from `rdma link add` to its end. */
#ifndef SMR_DEVICE_H
#define SMR_DEVICE_H

#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "account.h"
#include "key.h"
#include "stats.h"
#include "verbs.h"

struct smr_netns;

/**
 * struct smr_dev - an RDMA device
 * @verbs: the part that the verbs use; must be first
 * @keys: all keys of its memory regions and windows
 * @dma_mr: the region of the kernel's local_dma_lkey
 * @ns: sockets and QPs, shared with the other devices of its namespace
 * @tracker: tracks the reference on @verbs.env.ndev. That is held until the namespace's sockets
 *	are closed, so that the namespace outlives them
 * @port_state: the state last reported to consumers; guarded by RTNL
 * @resync_work: looks at the netdev's state again; see resync_netdev()
 */
struct smr_dev {
	struct smr_verbs verbs;
	struct smr_keys keys;
	struct smr_mr *dma_mr;
	struct smr_netns *ns;
	netdevice_tracker tracker;
	enum ib_port_state port_state;
	struct work_struct resync_work;
};

/**
 * struct smr_link_conf - the options of a link
 * @loopback: it uses the same-host path
 * @max_objects: objects of each kind; clamped to the range 1 to SMR_LIMIT_MAX
 * @cc: the congestion control
 * @user: limits of each user
 */
struct smr_link_conf {
	bool loopback;
	u32 max_objects;
	const struct smr_cc_ops *cc;
	struct smr_account_conf user;
};

static inline struct smr_dev *to_smr_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct smr_dev, verbs.ibdev);
}

int smr_device_add(const char *name, struct net_device *ndev,
		   const struct smr_link_conf *conf);

int smr_device_watch(void);
void smr_device_unwatch(void);

#endif /* SMR_DEVICE_H */
