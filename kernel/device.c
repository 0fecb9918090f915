// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a link: create the RDMA device of a netdev, follow the netdev's events, and
 * remove the device with the netdev, with the module or on request.
 */
#include "device.h"

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/minmax.h>
#include <linux/notifier.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>

#include "compat/cleanup.h"
#include "compat/ib.h"
#include "counter.h"
#include "kmr.h"
#include "limits.h"
#include "mr.h"
#include "netns.h"
#include "port.h"
#include "qp/mcast.h"
#include "raw/raw.h"
#include "stats.h"
#include "verbs.h"

#define DEVICE_DRIVER_ID	((enum rdma_driver_id)SMR_DRIVER_ID)

/* Send consumers an event if the port's state has changed. Caller has a reference on @dev. */
static void port_event(struct smr_dev *dev, enum ib_port_state state)
{
	struct ib_event event = {
		.device = &dev->verbs.ibdev,
		.element.port_num = 1,
		.event = state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
						   IB_EVENT_PORT_ERR,
	};

	ASSERT_RTNL();
	if (state == dev->port_state)
		return;
	dev->port_state = state;
	if (state != IB_PORT_ACTIVE)
		smr_stat_inc(dev->verbs.env.stats, SMR_CNT_LINK_DOWNED);
	ib_dispatch_event(&event);
}

/* The netdev is being removed. The caller has a reference on the core's device. */
static void dev_leave(struct smr_dev *dev)
{
	ASSERT_RTNL();
	smr_raw_leave(&dev->verbs.env);
	ib_unregister_device_queued(&dev->verbs.ibdev);
}

/*
 * If ib_device_try_get() fails, the device is being removed; or it is being enabled, and
 * enable_driver() queues resync_work. When the core removes a device, it waits for references
 * first, and then for the work of its events.
 */
static void dev_look(struct smr_dev *dev)
{
	struct ib_device *ibdev = &dev->verbs.ibdev;
	struct smr_env *env = &dev->verbs.env;

	ASSERT_RTNL();
	if (!ib_device_try_get(ibdev))
		return;
	if (smr_netdev_stays(env->ndev, env->net)) {
		port_event(dev, smr_port_state(env->ndev));
	} else {
		netdev_info(env->ndev, "softmr: link %s goes, for the netdev is elsewhere\n",
			    dev_name(&ibdev->dev));
		dev_leave(dev);
	}
	ib_device_put(ibdev);
}

/*
 * The netdev's address or MTU may have changed. The notifier also misses all events from
 * before it can find the device.
 */
static void resync_netdev(struct work_struct *work)
{
	struct smr_dev *dev = container_of(work, struct smr_dev, resync_work);

	rtnl_lock();
	dev_look(dev);
	rtnl_unlock();
	smr_raw_resync(&dev->verbs.env);
	smr_mcast_resync(&dev->verbs.env);
}

/* dealloc_driver() undoes this. */
static int dev_init(struct smr_dev *dev, struct net_device *ndev,
		    struct net *net, const struct smr_link_conf *conf)
{
	struct smr_env *env = &dev->verbs.env;
	int ret;

	dev->ns = smr_netns(net);
	ret = smr_netns_get(dev->ns, net);
	if (ret)
		return ret;
	env->whys = &dev->ns->whys;
	env->kernel_whys = smr_why_log_create_kernel(env->whys,
						     &dev->verbs.ibdev);
	if (!env->kernel_whys) {
		ret = -ENOMEM;
		goto put_ns;
	}
	env->stats = smr_stats_create();
	if (!env->stats) {
		ret = -ENOMEM;
		goto end_log;
	}
	env->wq = alloc_workqueue("softmr", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!env->wq) {
		ret = -ENOMEM;
		goto put_stats;
	}
	ret = smr_packets_init(&env->packets, conf->user.max_packets);
	if (ret)
		goto destroy_wq;
	ret = smr_own_init(&env->own);
	if (ret)
		goto fini_packets;
	env->ndev = ndev;
	ret = smr_raw_open(env);
	if (ret)
		goto fini_own;
	ret = smr_keys_init(&dev->keys);
	if (ret)
		goto close_raw;
	dev->dma_mr = smr_kmr_dma(&dev->keys, NULL, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(dev->dma_mr)) {
		ret = PTR_ERR(dev->dma_mr);
		goto fini_keys;
	}
	smr_limits_init(&env->limits, NULL,
			clamp_t(u32, conf->max_objects, 1, SMR_LIMIT_MAX));
	smr_ahtab_init(&dev->verbs.ahs);
	smr_srqtab_init(&dev->verbs.srqs);
	smr_dm_store_init(&dev->verbs.dms);
	smr_users_init(&dev->verbs.users, &conf->user, &env->limits);
	smr_awaits_init(&dev->verbs.awaits);
	INIT_WORK(&dev->resync_work, resync_netdev);
	netdev_hold(ndev, &dev->tracker, GFP_KERNEL);

	env->net = net;
	env->tab = &dev->ns->tab;
	env->ahs = &dev->verbs.ahs;
	env->srqs = &dev->verbs.srqs;
	env->keys = &dev->keys;
	env->antispoof = &dev->ns->antispoof;
	env->loopback = conf->loopback;
	env->cc = conf->cc;
	return 0;

fini_keys:
	smr_keys_fini(&dev->keys);
close_raw:
	smr_raw_close(env);
fini_own:
	smr_own_fini(&env->own);
fini_packets:
	smr_packets_fini(&env->packets);
destroy_wq:
	destroy_workqueue(env->wq);
put_stats:
	smr_stats_put(env->stats);
end_log:
	smr_why_log_end(env->kernel_whys, env->whys);
put_ns:
	smr_netns_put(dev->ns);
	return ret;
}

/*
 * Free a device that no process has open. A process can make a kernel module keep memory
 * registered, and that must not delay the removal of the netdev or of the namespace. So the
 * parts that use the network are freed first, and the rest after the last object is destroyed.
 *
 * The reference on the netdev is dropped after the sockets are closed: without it the namespace
 * may be freed.
 */
static void dealloc_driver(struct ib_device *ibdev)
{
	struct smr_dev *dev = to_smr_dev(ibdev);

	smr_limits_drain(&dev->verbs.env.limits, SMR_LIMITS_NET, ibdev);
	cancel_work_sync(&dev->resync_work);
	smr_raw_close(&dev->verbs.env);
	smr_ahtab_fini(&dev->verbs.ahs);
	/* Refusals of the objects that are left are not logged. */
	smr_why_log_end(smr_why_log_get(dev->verbs.env.kernel_whys),
			dev->verbs.env.whys);
	smr_netns_put(dev->ns);
	netdev_put(dev->verbs.env.ndev, &dev->tracker);

	smr_limits_drain(&dev->verbs.env.limits, SMR_LIMITS_ALL, ibdev);
	smr_srqtab_fini(&dev->verbs.srqs);
	smr_dm_store_fini(&dev->verbs.dms);
	smr_mr_dereg(dev->dma_mr);
	smr_keys_fini(&dev->keys);
	smr_own_fini(&dev->verbs.env.own);
	smr_packets_fini(&dev->verbs.env.packets);
	destroy_workqueue(dev->verbs.env.wq);
	smr_why_log_put(dev->verbs.env.kernel_whys);
	smr_stats_put(dev->verbs.env.stats);
}

/*
 * The device has been registered or moved to another RDMA namespace; from now on notifiers find
 * it. The work makes up for the events that they have missed.
 */
static int enable_driver(struct ib_device *ibdev)
{
	struct smr_dev *dev = to_smr_dev(ibdev);

	schedule_work(&dev->resync_work);
	return 0;
}

/* The core fills the GID table only of a device that has this. */
static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

/* The core has removed it from its table. */
static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	smr_own_forget(&to_smr_verbs(attr->device)->env.own);
	return 0;
}

static const struct ib_device_ops device_ops = {
	.add_gid = add_gid,
	.del_gid = del_gid,
	.enable_driver = enable_driver,
	.dealloc_driver = dealloc_driver,
	SMR_OP_REPORT_PORT_EVENT
};

static void dev_init_ibdev(struct smr_dev *dev, const struct net_device *ndev)
{
	struct ib_device *ibdev = &dev->verbs.ibdev;
	u8 mac[ETH_ALEN];

	/* A loopback netdev has the address 0, and a tun has none: neither makes a unique GUID. */
	if (is_valid_ether_addr(ndev->dev_addr))
		ether_addr_copy(mac, ndev->dev_addr);
	else
		eth_random_addr(mac);
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, mac);

	ibdev->node_type = RDMA_NODE_IB_CA;
	strscpy(ibdev->node_desc, "softmr", sizeof(ibdev->node_desc));
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ibdev->driver_def = smr_verbs_uapi;
	/* Without a DMA device, consumers pass the kernel's virtual addresses. */
	ibdev->local_dma_lkey = dev->dma_mr->ibmr.lkey;
	ib_set_device_ops(ibdev, &smr_verbs_ops);
	ib_set_device_ops(ibdev, &smr_port_ops);
	ib_set_device_ops(ibdev, &smr_counter_ops);
	ib_set_device_ops(ibdev, &device_ops);
	ib_mark_name_assigned_by_user(ibdev);
}

static struct smr_dev *dev_create(struct net_device *ndev, struct net *net,
				  const struct smr_link_conf *conf)
{
	struct smr_dev *dev;
	int ret;

	dev = smr_compat_alloc_device(smr_dev, verbs.ibdev, net);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	ret = dev_init(dev, ndev, net, conf);
	if (ret) {
		ib_dealloc_device(&dev->verbs.ibdev);
		return ERR_PTR(ret);
	}
	/* From here on ib_dealloc_device() also undoes dev_init(). */
	dev_init_ibdev(dev, ndev);
	return dev;
}

static int dev_register(struct smr_dev *dev, const char *name)
{
	struct net_device *ndev = dev->verbs.env.ndev;
	int ret;

	dev->port_state = smr_port_state(ndev);
	ret = ib_device_set_netdev(&dev->verbs.ibdev, ndev, 1);
	if (ret)
		goto dealloc;
	ret = ib_register_device(&dev->verbs.ibdev, name, NULL);
	if (!ret)
		return 0; /* and resync_netdev() may have ended it already */

dealloc:
	ib_dealloc_device(&dev->verbs.ibdev);
	/* The core returns -ENFILE when the name is taken. Be clearer. */
	return ret == -ENFILE ? -ENOTUNIQ : ret;
}

static bool netdev_is_linked(struct net_device *ndev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(ndev, DEVICE_DRIVER_ID);
	if (!ibdev)
		return false;
	ib_device_put(ibdev);
	return true;
}

/*
 * RoCEv2 works over netdevs that carry Ethernet frames, over loopback, and over netdevs
 * that carry plain IP packets (tun, WireGuard), since it needs only IP.
 */
static bool netdev_is_usable(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER || ndev->type == ARPHRD_LOOPBACK ||
	       ndev->type == ARPHRD_NONE;
}

static void explain_failure(const struct net_device *ndev, const char *name,
			    int err)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{ -EMEDIUMTYPE, "it carries neither Ethernet nor plain IP" },
		{ -EEXIST, "it has a softmr link already" },
		{ -ENOTUNIQ, "there is an RDMA device of that name" },
		{ -EADDRINUSE, "another driver has UDP port 4791" },
		{ -ENODEV, "the netdev went away meanwhile" },
		{ -ENETUNREACH, "it is in a VRF; set net.ipv4.udp_l3mdev_accept=1" },
		{ -ENOMEM, "there is no memory" },
	};
	const char *why = "of an unexpected error";
	size_t i;

	if (is_vlan_dev(ndev)) {
		netdev_warn(ndev, "softmr: cannot add link %s: it is a VLAN; make a link on %s, which has its addresses, too (%d)\n",
			    name, netdev_name(vlan_dev_real_dev(ndev)), err);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			why = reasons[i].why;
	netdev_warn(ndev, "softmr: cannot add link %s: %s (%d)\n", name, why,
		    err);
}

/*
 * The netdev may be moving to another namespace while its former one is being destroyed.
 * resync_netdev() checks for that later.
 */
static struct net *netdev_net_get(const struct net_device *ndev)
{
	guard(rcu)();
	return maybe_get_net(dev_net(ndev));
}

static int link_add(const char *name, struct net_device *ndev, struct net *net,
		    const struct smr_link_conf *conf)
{
	struct smr_dev *dev;

	if (!netdev_is_usable(ndev))
		return -EMEDIUMTYPE;
	/* The core gives a VLAN's addresses to the device on its lower netdev only. */
	if (is_vlan_dev(ndev))
		return -EOPNOTSUPP;
	if (!smr_port_is_heard(ndev))
		return -ENETUNREACH;
	guard(mutex)(&smr_netns(net)->link_mutex);
	if (netdev_is_linked(ndev))
		return -EEXIST;
	dev = dev_create(ndev, net, conf);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	return dev_register(dev, name);
}

/*
 * Make an RDMA device for a netdev: `rdma link add`. @ndev: the netdev; the caller holds a
 * reference. The device is removed by `rdma link del`, or with the netdev or the module. If the
 * netdev is gone when this returns, the removal begins at once. Context: process; caller holds
 * neither RTNL nor a lock of softmr. Returns 0; -EMEDIUMTYPE (neither Ethernet nor plain IP),
 * -EOPNOTSUPP (a VLAN), -EEXIST (the netdev has a link), -ENOTUNIQ (the name is taken), -EADDRINUSE
 * (another driver has the UDP port), -ENODEV (the netdev's namespace is gone), -ENETUNREACH (it is
 * in a VRF), -ENOMEM.
 */
int smr_device_add(const char *name, struct net_device *ndev,
		   const struct smr_link_conf *conf)
{
	struct net *net = netdev_net_get(ndev);
	int ret = -ENODEV;

	if (net) {
		ret = link_add(name, ndev, net, conf);
		put_net(net);
	}
	if (ret)
		explain_failure(ndev, name, ret);
	return ret;
}

/*
 * Not handled: a new MTU, since the port's MTU is read on demand, and a new name. A netdev that
 * moves to another namespace sends NETDEV_UNREGISTER in the old one.
 */
static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(ndev, DEVICE_DRIVER_ID);
	if (!ibdev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		dev_leave(to_smr_dev(ibdev));
		break;
	case NETDEV_CHANGEADDR:
	case NETDEV_CHANGEMTU:
		schedule_work(&to_smr_dev(ibdev)->resync_work);
		break;
	case NETDEV_UP:
		schedule_work(&to_smr_dev(ibdev)->resync_work);
		fallthrough;
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_event(to_smr_dev(ibdev), smr_port_state(ndev));
		break;
	}
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/* The core calls this for the devices of all drivers. */
static int client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id == DEVICE_DRIVER_ID)
		smr_awaits_stop(&to_smr_verbs(ibdev)->awaits, false);
	return 0;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	if (ibdev->ops.driver_id == DEVICE_DRIVER_ID)
		smr_awaits_stop(&to_smr_verbs(ibdev)->awaits, true);
}

/*
 * Its remove() reports that a device is about to be removed. The core removes clients in the
 * reverse order of their registration, and uverbs waits for running verbs. So main.c loads the
 * uverbs module before it registers this client.
 */
static struct ib_client client = {
	.name = "softmr",
	.add = client_add,
	.remove = client_remove,
};

int smr_device_watch(void)
{
	int ret = register_netdevice_notifier(&netdev_notifier);

	if (ret)
		return ret;
	ret = ib_register_client(&client);
	if (ret)
		unregister_netdevice_notifier(&netdev_notifier);
	return ret;
}

/*
 * Stop watching netdevs and devices. From now on, a link does not notice that its netdev is
 * removed.
 */
void smr_device_unwatch(void)
{
	ib_unregister_client(&client);
	unregister_netdevice_notifier(&netdev_notifier);
}
