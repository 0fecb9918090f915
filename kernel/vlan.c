// SPDX-License-Identifier: GPL-2.0
/*
 * The core's GID management sees a VLAN as a part of the RoCE port of the
 * netdev below it: it adds a VLAN's addresses to the GID table of a device
 * whose netdev is that one, and to no other, so that a device whose netdev is
 * the VLAN itself would have none. Therefore we answer its question for the
 * port's netdev with the one below, and refuse the GIDs that are not the
 * VLAN's. Who else asks gets the VLAN.
 *
 * The core says a word in the log for each GID refused.
 */
#include "vlan.h"

#include <linux/if_vlan.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

/* The GID management looks when a device is registered, then from works. */
static bool asked_for_gids(const struct smr_verbs *verbs)
{
	return (current->flags & PF_WQ_WORKER) ||
	       READ_ONCE(verbs->registrar) == current;
}

/* A VLAN keeps a reference on the netdev below; a device on its VLAN. */
static struct net_device *get_netdev(struct ib_device *ibdev, u32 port)
{
	const struct smr_verbs *verbs = to_smr_verbs(ibdev);
	struct net_device *ndev = verbs->env.ndev;

	if (asked_for_gids(verbs))
		ndev = vlan_dev_real_dev(ndev);
	dev_hold(ndev);
	return ndev;
}

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	const struct net_device *ndev = to_smr_verbs(attr->device)->env.ndev;

	return rcu_access_pointer(attr->ndev) == ndev ? 0 : -EXDEV;
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static const struct ib_device_ops vlan_ops = {
	.get_netdev = get_netdev,
	.add_gid = add_gid,
	.del_gid = del_gid,
};

/**
 * smr_vlan_init() - prepare a device for a VLAN netdev
 * @verbs: the device, about to be registered by this very task
 *
 * Context: process.
 */
void smr_vlan_init(struct smr_verbs *verbs)
{
	if (!is_vlan_dev(verbs->env.ndev))
		return;
	verbs->registrar = current;
	ib_set_device_ops(&verbs->ibdev, &vlan_ops);
}

/**
 * smr_vlan_registered() - a device has been registered
 * @verbs: the device; any, whatever its netdev is
 *
 * Context: process, called by the core's registration.
 */
void smr_vlan_registered(struct smr_verbs *verbs)
{
	WRITE_ONCE(verbs->registrar, NULL);
}
