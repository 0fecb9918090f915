// SPDX-License-Identifier: GPL-2.0
/*
 * Count objects, and refuse to create more than a limit. Whoever creates an object takes it from
 * the limits of its user or, for a kernel consumer, of the device, and gives it back as the last
 * step of its destruction.
 *
 * All objects of a context are destroyed before it, and it holds a reference on the user, whose
 * limits they point to. A QP or XRC domain may outlive its context in another process, and holds
 * its own reference on the user.
 */
#include "limits.h"

#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "why.h"

#define COMPLAIN_S	10
#define CORE_MS		20

/**
 * smr_limits_init() - set the limits; no objects are counted yet
 * @limits: zeroed
 * @device: the device's limits, for those of a user; or NULL
 * @max: objects of each kind at most
 */
void smr_limits_init(struct smr_limits *limits, struct smr_limits *device,
		     u32 max)
{
	int i;

	limits->device = device;
	for (i = 0; i < SMR_LIMIT_KINDS; i++)
		limits->max[i] = max;
}

/* A process with CAP_SYS_RESOURCE is exempt from its user's limits, as from RLIMIT_NPROC. */
static bool user_take(struct smr_limits *user, enum smr_limit kind)
{
	if ((u32)atomic_inc_return(&user->used[kind]) <= user->max[kind] ||
	    capable(CAP_SYS_RESOURCE))
		return true;
	atomic_dec(&user->used[kind]);
	return false;
}

/**
 * smr_limit_take() - count an object before it is created
 * @limits: of the user; of the device for a kernel consumer
 * @kind: kind of the object
 * @log: logs a refusal
 *
 * Context: process that belongs to the user; any for a kernel consumer.
 * Return: 0, and then smr_limit_give() uncounts the object; or -ENOMEM, which IBTA calls
 * "insufficient resources".
 */
int smr_limit_take(struct smr_limits *limits, enum smr_limit kind,
		   struct smr_why_log *log)
{
	struct smr_limits *device = limits->device ?: limits;

	if (limits->device && !user_take(limits, kind))
		return smr_why(log, LIMIT, kind, limits->max[kind]);
	if (atomic_add_unless(&device->used[kind], 1, device->max[kind]))
		return 0;
	if (limits->device)
		atomic_dec(&limits->used[kind]);
	return smr_why(log, LIMIT, kind, device->max[kind]);
}

/**
 * smr_limit_give() - uncount an object that was destroyed, or whose creation has failed
 * @limits: from which it was taken
 * @kind: kind of the object
 *
 * The device may be freed from now on, if no other object is left.
 *
 * Context: any.
 */
void smr_limit_give(struct smr_limits *limits, enum smr_limit kind)
{
	struct smr_limits *device = limits->device ?: limits;

	if (limits->device)
		atomic_dec(&limits->used[kind]);
	if (atomic_dec_and_test(&device->used[kind]))
		wake_up_var(device);
}

static unsigned int objects_left(const struct smr_limits *limits,
				 unsigned long kinds)
{
	unsigned int n = 0;
	int i;

	for_each_set_bit(i, &kinds, SMR_LIMIT_KINDS)
		n += atomic_read(&limits->used[i]);
	return n;
}

/**
 * smr_limits_drain() - wait until a device has no object of some kinds left
 * @limits: of the device
 * @kinds: a bit for each of enum smr_limit
 * @ibdev: the device; all of its clients are removed
 *
 * A client of the core destroys its objects before its remove() returns. RDS leaves that to a
 * work item, and does not wait for it. An object that outlived the device would be destroyed
 * through freed memory.
 *
 * Context: process, sleeps until they are destroyed, without a limit, and logs a warning every
 *	%COMPLAIN_S seconds.
 */
void smr_limits_drain(struct smr_limits *limits, unsigned long kinds,
		      struct ib_device *ibdev)
{
	if (!objects_left(limits, kinds))
		return;
	while (!wait_var_event_timeout(limits, !objects_left(limits, kinds),
				       COMPLAIN_S * HZ))
		ibdev_warn(ibdev,
			   "waiting for %u objects, which a module of the kernel has left behind\n",
			   objects_left(limits, kinds));
	/*
	 * The core has not yet removed the last object from its lists, nor freed the GID that
	 * it used. It does not report when the former is done.
	 */
	msleep(CORE_MS);
	flush_workqueue(ib_wq);
}
