// SPDX-License-Identifier: GPL-2.0
/*
 * A client of an RDMA device whose remove callback takes long, as that of any
 * client may. Processes can still use the device meanwhile, because clients
 * that came first are removed last.
 *
 * insmod slow_client.ko dev=softmr0 ms=1000
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "RDMA device to be slow with");

static unsigned int ms = 1000;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds that its end takes");

static int take(struct ib_device *ibdev)
{
	return dev && !strcmp(dev_name(&ibdev->dev), dev) ? 0 : -EOPNOTSUPP;
}

static void leave(struct ib_device *ibdev, void *data)
{
	msleep(ms);
}

static struct ib_client client = {
	.name = "slow_client",
	.add = take,
	.remove = leave,
};

static int __init slow_client_init(void)
{
	return ib_register_client(&client);
}

static void __exit slow_client_exit(void)
{
	ib_unregister_client(&client);
}

module_init(slow_client_init);
module_exit(slow_client_exit);

MODULE_DESCRIPTION("Test of RDMA devices that do not go at once");
MODULE_LICENSE("GPL");
