// SPDX-License-Identifier: GPL-2.0
/*
 * A client of an RDMA device that does not keep the core's rules: its remove
 * callback returns at once, and a work destroys its objects later. RDS is such a
 * client.
 *
 * insmod late_client.ko dev=softmr0 ms=500
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "RDMA device to be late with");

static unsigned int ms = 500;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds after which its objects go");

/* What it has on the device */
struct things {
	struct delayed_work end;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_mr *mr;
};

static struct workqueue_struct *wq;
static struct ib_client client;

static int left;
module_param(left, int, 0444);
MODULE_PARM_DESC(left, "whether it has objects on the device, of which none is being destroyed");

static void destroy(struct work_struct *work)
{
	struct things *t = container_of(work, struct things, end.work);

	WRITE_ONCE(left, 0);
	wake_up_var(&left);
	ib_dereg_mr(t->mr);
	ib_free_cq(t->cq);
	ib_dealloc_pd(t->pd);
	kfree(t);
}

static int take(struct ib_device *ibdev)
{
	struct things *t;
	int ret;

	if (!dev || strcmp(dev_name(&ibdev->dev), dev))
		return -EOPNOTSUPP;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	INIT_DELAYED_WORK(&t->end, destroy);
	t->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(t->pd)) {
		ret = PTR_ERR(t->pd);
		goto err_free;
	}
	t->cq = ib_alloc_cq(ibdev, NULL, 16, 0, IB_POLL_DIRECT);
	if (IS_ERR(t->cq)) {
		ret = PTR_ERR(t->cq);
		goto err_pd;
	}
	t->mr = ib_alloc_mr(t->pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(t->mr)) {
		ret = PTR_ERR(t->mr);
		goto err_cq;
	}
	ib_set_client_data(ibdev, &client, t);
	WRITE_ONCE(left, 1);
	return 0;

err_cq:
	ib_free_cq(t->cq);
err_pd:
	ib_dealloc_pd(t->pd);
err_free:
	kfree(t);
	return ret;
}

static void leave(struct ib_device *ibdev, void *data)
{
	struct things *t = data;

	queue_delayed_work(wq, &t->end, msecs_to_jiffies(ms));
}

static struct ib_client client = {
	.name = "late_client",
	.add = take,
	.remove = leave,
};

static int __init late_client_init(void)
{
	int ret;

	wq = alloc_workqueue("late_client", WQ_UNBOUND, 0);
	if (!wq)
		return -ENOMEM;
	ret = ib_register_client(&client);
	if (ret)
		destroy_workqueue(wq);
	return ret;
}

static void __exit late_client_exit(void)
{
	ib_unregister_client(&client);
	/* destroy_workqueue() waits for no timer. */
	wait_var_event(&left, !READ_ONCE(left));
	destroy_workqueue(wq);
}

module_init(late_client_init);
module_exit(late_client_exit);

MODULE_DESCRIPTION("Test of RDMA devices whose consumers leave objects behind");
MODULE_LICENSE("GPL");
