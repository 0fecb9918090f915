// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs as consumers in the kernel use them, on any RDMA device:
 *
 *	insmod kverbs_test.ko dev=softmr0 gid=1
 *
 * runs all cases and prints their results to the kernel's log, in TAP. Each line
 * begins with "kverbs: "; selftests/kverbs.sh removes that.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "cases.h"
#include "pair.h"
#include "tap.h"

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "RDMA device to test");

static int gid;
module_param(gid, int, 0444);
MODULE_PARM_DESC(gid, "index of the GID to connect by");

static bool ran;

static int test_device(struct ib_device *ibdev)
{
	struct target t = { .dev = ibdev, .gid_index = gid };

	if (!dev || strcmp(dev_name(&ibdev->dev), dev))
		return -EOPNOTSUPP;
	ran = true;
	report("the GID", NULL, rdma_query_gid(ibdev, 1, gid, &t.gid));
	run_cases(&t);
	run_mr_cases(&t);
	report_end();
	return 0;
}

static void forget_device(struct ib_device *ibdev, void *data)
{
}

static struct ib_client client = {
	.name = "kverbs_test",
	.add = test_device,
	.remove = forget_device,
};

static int __init kverbs_test_init(void)
{
	int err = ib_register_client(&client);

	if (err)
		return err;
	if (ran)
		return 0;
	ib_unregister_client(&client);
	return -ENODEV;
}

static void __exit kverbs_test_exit(void)
{
	ib_unregister_client(&client);
}

module_init(kverbs_test_init);
module_exit(kverbs_test_exit);

MODULE_DESCRIPTION("Test of RDMA verbs in the kernel");
MODULE_LICENSE("GPL");
