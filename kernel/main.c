// SPDX-License-Identifier: GPL-2.0
/* softmr: a software RDMA device whose memory registration is first class. */

#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "device.h"
#include "limits.h"
#include "netns.h"

static bool loopback = true;
module_param(loopback, bool, 0644);
MODULE_PARM_DESC(loopback, "Links that are added from now on hand operations straight to a peer on the same host; N sends them over the wire path (default Y)");

static unsigned int max_objects = SMR_LIMIT_MAX;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects, "How many QPs, CQs, SRQs, PDs, AHs, MRs and MWs, each, links that are added from now on may have (default 1048576, which is the most)");

static int newlink(const char *name, struct net_device *ndev)
{
	const struct smr_link_conf conf = {
		.loopback = READ_ONCE(loopback),
		.max_objects = READ_ONCE(max_objects),
	};

	return smr_device_add(name, ndev, &conf);
}

static struct rdma_link_ops link_ops = {
	.type = "softmr",
	.newlink = newlink,
};

static int __init softmr_init(void)
{
	int ret;

	ret = smr_netns_register();
	if (ret)
		return ret;
	ret = smr_device_register_notifier();
	if (ret) {
		smr_netns_unregister();
		return ret;
	}
	rdma_link_register(&link_ops);
	return 0;
}

/*
 * First refuse new links, then end the existing ones. The notifier stays registered
 * until then, since a netdev that goes must wait for its link.
 */
static void __exit softmr_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver((enum rdma_driver_id)SMR_DRIVER_ID);
	smr_device_unregister_notifier();
	smr_netns_unregister();
	rcu_barrier();
}

module_init(softmr_init);
module_exit(softmr_exit);

/* In a kernel's source tree the module has that kernel's version. */
#ifdef SMR_VERSION
MODULE_VERSION(SMR_VERSION);
#endif
MODULE_DESCRIPTION("Software RDMA device with first-class memory registration");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("softmr");
