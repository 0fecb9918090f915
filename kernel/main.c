// SPDX-License-Identifier: GPL-2.0
/* Load and unload the module, and the netlink operations of `rdma link`. */

#include <linux/module.h>
#include <linux/sysfs.h>
#include <rdma/rdma_netlink.h>

#include "capture.h"
#include "device.h"
#include "fault.h"
#include "limits.h"
#include "net/crc.h"
#include "net/run.h"
#include "netns.h"
#include "qp/cc.h"
#include "watch.h"
#include "why_nl.h"

static bool loopback = true;
module_param(loopback, bool, 0644);
MODULE_PARM_DESC(loopback, "Links that are added from now on hand operations straight to a peer on the same host; N sends them over the wire path (default Y)");

static unsigned int max_objects = 131072;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects, "How many QPs, CQs, SRQs, PDs, AHs, MRs and MWs, each, links that are added from now on may have (default 131072, at most 1048576)");

static unsigned int max_user_objects = 16384;
module_param(max_user_objects, uint, 0644);
MODULE_PARM_DESC(max_user_objects, "How many of them each user of such a link may have who lacks CAP_SYS_RESOURCE (default 16384)");

static unsigned int max_user_rules = 256;
module_param(max_user_rules, uint, 0644);
MODULE_PARM_DESC(max_user_rules, "How many steering rules each user of such a link may have who lacks CAP_SYS_RESOURCE (default 256)");

static unsigned int user_queue_kb = 32768;
module_param(user_queue_kb, uint, 0644);
MODULE_PARM_DESC(user_queue_kb, "KiB of queues that each user of such a link may have before they count against RLIMIT_MEMLOCK (default 32768)");

static unsigned int user_packet_kb = 65536;
module_param(user_packet_kb, uint, 0644);
MODULE_PARM_DESC(user_packet_kb, "KiB of packets that may wait for the QPs of each user of such a link, and as much for the kernel's own QPs (default 65536)");

static const struct smr_cc_ops *congestion_control;

static int congestion_control_set(const char *val, const struct kernel_param *kp)
{
	const struct smr_cc_ops *cc = smr_cc_find(val);

	if (!cc) {
		pr_err("softmr: congestion_control is one of:" SMR_CC_NAMES "\n");
		return -EINVAL;
	}
	WRITE_ONCE(congestion_control, cc);
	return 0;
}

static int congestion_control_get(char *buf, const struct kernel_param *kp)
{
	const struct smr_cc_ops *cc = congestion_control ?: smr_cc_default();

	return sysfs_emit(buf, "%s\n", cc->name);
}

static const struct kernel_param_ops congestion_control_ops = {
	.set = congestion_control_set,
	.get = congestion_control_get,
};

module_param_cb(congestion_control, &congestion_control_ops, NULL, 0644);
MODULE_PARM_DESC(congestion_control,
		 "Congestion control of QPs on links that are added from now on:"
		 SMR_CC_NAMES " (default window)");

static int newlink(const char *name, struct net_device *ndev)
{
	const struct smr_link_conf conf = {
		.loopback = READ_ONCE(loopback),
		.max_objects = READ_ONCE(max_objects),
		.cc = READ_ONCE(congestion_control) ?: smr_cc_default(),
		.user = {
			.max_objects = READ_ONCE(max_user_objects),
			.max_rules = READ_ONCE(max_user_rules),
			.max_queues = (size_t)READ_ONCE(user_queue_kb) * SZ_1K,
			.max_packets = (s64)READ_ONCE(user_packet_kb) * SZ_1K,
		},
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

	smr_crc_init();
	ret = smr_netns_register();
	if (ret)
		return ret;
	ret = smr_why_nl_register();
	if (ret)
		goto unregister_netns;
	/* So that its client is removed after that of softmr: see device.c */
	request_module("ib_uverbs");
	ret = smr_device_watch();
	if (ret)
		goto unregister_whys;
	rdma_link_register(&link_ops);
	return 0;

unregister_whys:
	smr_why_nl_unregister();
	smr_watch_fini();
unregister_netns:
	smr_netns_unregister();
	return ret;
}

/*
 * First refuse new links, then end the existing ones. The notifier stays registered until then,
 * since the removal of a netdev must wait for its link.
 */
static void __exit softmr_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver((enum rdma_driver_id)SMR_DRIVER_ID);
	smr_device_unwatch();
	smr_why_nl_unregister();
	smr_watch_fini();
	smr_captures_fini();
	smr_netns_unregister();
	smr_runs_exit();
	smr_faults_fini();
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
