// SPDX-License-Identifier: GPL-2.0
/*
 * A client of an RDMA device that does not keep the core's rules: its remove
 * callback returns at once, and a work destroys its objects later, what uses the
 * network first. RDS is such a client. When the module goes, so do they.
 *
 * insmod late_client.ko dev=softmr0 ms=500 memory_ms=0
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "RDMA device to be late with");

static unsigned int ms = 500;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds after which its QP and CQ go");

static unsigned int memory_ms;
module_param(memory_ms, uint, 0444);
MODULE_PARM_DESC(memory_ms, "milliseconds after which its region and PD go then");

/* What it has on the device */
struct things {
	struct delayed_work end;
	struct delayed_work memory_end;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_mr *mr;
};

static struct workqueue_struct *wq;
static struct ib_client client;
static struct things *things;

static int left;
module_param(left, int, 0444);
MODULE_PARM_DESC(left, "how many objects it has on the device, of which none is being destroyed");

static void destroy_memory(struct work_struct *work)
{
	struct things *t = container_of(work, struct things, memory_end.work);

	WRITE_ONCE(left, 0);
	ib_dereg_mr(t->mr);
	ib_dealloc_pd(t->pd);
}

static void destroy(struct work_struct *work)
{
	struct things *t = container_of(work, struct things, end.work);

	WRITE_ONCE(left, 2);
	ib_destroy_qp(t->qp);
	ib_free_cq(t->cq);
	queue_delayed_work(wq, &t->memory_end, msecs_to_jiffies(memory_ms));
}

static int take_qp(struct things *t)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.send_cq = t->cq,
		.recv_cq = t->cq,
		.cap = { 1, 1, 1, 1 },
	};

	t->qp = ib_create_qp(t->pd, &init);
	return PTR_ERR_OR_ZERO(t->qp);
}

static int take(struct ib_device *ibdev)
{
	struct things *t;
	int ret;

	if (!dev || things || strcmp(dev_name(&ibdev->dev), dev))
		return -EOPNOTSUPP;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	INIT_DELAYED_WORK(&t->end, destroy);
	INIT_DELAYED_WORK(&t->memory_end, destroy_memory);
	t->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(t->pd)) {
		ret = PTR_ERR(t->pd);
		goto err_free;
	}
	t->mr = ib_alloc_mr(t->pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(t->mr)) {
		ret = PTR_ERR(t->mr);
		goto err_pd;
	}
	t->cq = ib_alloc_cq(ibdev, NULL, 16, 0, IB_POLL_DIRECT);
	if (IS_ERR(t->cq)) {
		ret = PTR_ERR(t->cq);
		goto err_mr;
	}
	ret = take_qp(t);
	if (ret)
		goto err_cq;
	ib_set_client_data(ibdev, &client, t);
	things = t;
	WRITE_ONCE(left, 4);
	return 0;

err_cq:
	ib_free_cq(t->cq);
err_mr:
	ib_dereg_mr(t->mr);
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
	if (things) {
		flush_delayed_work(&things->end);
		flush_delayed_work(&things->memory_end);
	}
	destroy_workqueue(wq);
	kfree(things);
}

module_init(late_client_init);
module_exit(late_client_exit);

MODULE_DESCRIPTION("Test of RDMA devices whose consumers leave objects behind");
MODULE_LICENSE("GPL");
