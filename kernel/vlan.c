// SPDX-License-Identifier: GPL-2.0
/*
 * The core's GID management treats a VLAN as a part of the RoCE port of its lower netdev: it
 * adds the VLAN's addresses to the GID table of a device on the lower netdev only. A device on
 * the VLAN itself would have none. So get_netdev() returns the lower netdev to the GID
 * management, and softmr refuses GIDs that do not belong to the VLAN. All other callers get the
 * VLAN.
 *
 * The core logs a message for each GID that is refused.
 */
#include "vlan.h"

#include <linux/if_vlan.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

/* The GID management calls this during the registration of a device, and later from work items. */
static bool asked_for_gids(const struct smr_verbs *verbs)
{
	return (current->flags & PF_WQ_WORKER) ||
	       READ_ONCE(verbs->registrar) == current;
}

/* The device has a reference on its VLAN, and the VLAN one on its lower netdev. */
static struct net_device *get_netdev(struct ib_device *ibdev, u32 port)
{
	const struct smr_verbs *verbs = to_smr_verbs(ibdev);
	struct net_device *ndev = verbs->env.ndev;

	if (asked_for_gids(verbs))
		ndev = vlan_dev_real_dev(ndev);
	dev_hold(ndev);
	return ndev;
}

static const struct ib_device_ops vlan_ops = {
	.get_netdev = get_netdev,
};

/**
 * smr_vlan_has_gid() - may a device have GIDs of this netdev?
 * @verbs: the device, with any kind of netdev
 * @ndev: the netdev
 *
 * Context: process.
 * Return: false if the device is on a VLAN and @ndev is another netdev.
 */
bool smr_vlan_has_gid(const struct smr_verbs *verbs,
		      const struct net_device *ndev)
{
	return !is_vlan_dev(verbs->env.ndev) || ndev == verbs->env.ndev;
}

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
 * smr_vlan_registered() - note that a device has been registered
 * @verbs: the device, with any kind of netdev
 *
 * Context: process, called by the core's registration.
 */
void smr_vlan_registered(struct smr_verbs *verbs)
{
	WRITE_ONCE(verbs->registrar, NULL);
}
