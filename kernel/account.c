// SPDX-License-Identifier: GPL-2.0
/*
 * Accounts. What the kernel holds for a process is charged to the process's memory cgroup
 * wherever the kernel can do that. But not every process is in a cgroup with a limit, and some
 * memory cannot be charged. So each user of a link also has an account.
 *
 * Queues cannot be swapped. An adapter's queues are pinned memory of the process and count
 * against its RLIMIT_MEMLOCK. Where that limit is 64 KiB, ordinary users cannot run RDMA
 * programs on an adapter. So softmr does what perf does for its buffers: each user has an
 * allowance, and only memory beyond it counts against RLIMIT_MEMLOCK.
 */
#include "account.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/user_namespace.h>

#include "compat/cleanup.h"

/**
 * smr_account_uid() - the user to whose account the caller's objects are charged
 *
 * All ids of a user namespace share the account of the user that created the namespace:
 * otherwise that user could create any number of accounts.
 *
 * Context: process.
 * Return: the real user id; in a user namespace, the id of its owner in the initial namespace.
 */
kuid_t smr_account_uid(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->parent; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/**
 * smr_account_init() - open an account
 * @account: zeroed
 * @conf: the user's limits
 * @device: the device's limits
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_account_init(struct smr_account *account,
		     const struct smr_account_conf *conf,
		     struct smr_limits *device)
{
	smr_limits_init(&account->limits, device, conf->max_objects);
	account->limits.max[SMR_LIMIT_RULE] = min(conf->max_objects, conf->max_rules);
	smr_pool_init(&account->queues, conf->max_queues, true);
	return smr_packets_init(&account->packets, conf->max_packets);
}

/**
 * smr_account_fini() - close an account
 * @account: only queues that a process still maps may be charged to it
 */
void smr_account_fini(struct smr_account *account)
{
	smr_packets_fini(&account->packets);
}

/* Bytes that a CPU may count locally before it adds them to the sum, if the maximum allows it */
#define PACKETS_BATCH	(128 * 1024)

/**
 * smr_packets_init() - prepare to count packets that wait
 * @packets: not in use
 * @max: bytes
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_packets_init(struct smr_packets *packets, s64 max)
{
	packets->max = max;
	packets->batch = min_t(s64, PACKETS_BATCH,
			       div_u64(max, 4 * num_possible_cpus()));
	return percpu_counter_init(&packets->bytes, 0, GFP_KERNEL_ACCOUNT);
}

/**
 * smr_packets_fini() - the reverse of smr_packets_init()
 * @packets: counts no packet
 */
void smr_packets_fini(struct smr_packets *packets)
{
	WARN_ON_ONCE(percpu_counter_sum(&packets->bytes));
	percpu_counter_destroy(&packets->bytes);
}

/**
 * smr_memlock_charge() - count pages as locked memory of a process
 * @mm: the process; a reference is taken
 * @npages: number of pages
 *
 * Context: process.
 * Return: 0, or -ENOMEM: more than the caller's RLIMIT_MEMLOCK.
 */
int smr_memlock_charge(struct mm_struct *mm, unsigned long npages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(npages, &mm->pinned_vm) > limit &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(npages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	return 0;
}

/**
 * smr_memlock_uncharge() - the reverse of smr_memlock_charge()
 * @mm: the process; the reference is dropped
 * @npages: number of pages
 */
void smr_memlock_uncharge(struct mm_struct *mm, unsigned long npages)
{
	atomic64_sub(npages, &mm->pinned_vm);
	mmdrop(mm);
}

/**
 * smr_pool_init() - prepare a pool
 * @pool: the pool
 * @max: bytes
 * @memlock: memory beyond @max counts against RLIMIT_MEMLOCK
 */
void smr_pool_init(struct smr_pool *pool, size_t max, bool memlock)
{
	mutex_init(&pool->lock);
	INIT_LIST_HEAD(&pool->mmap);
	pool->max = max;
	pool->used = 0;
	pool->memlock = memlock;
}

/**
 * smr_pool_charge() - charge memory before it is allocated
 * @pool: the pool
 * @size: bytes, whole pages
 * @charge: filled in; end it with smr_pool_uncharge()
 *
 * Context: process; caller holds @pool->lock.
 * Return: 0, or -ENOMEM: the pool is exhausted, and so is RLIMIT_MEMLOCK if @memlock is set.
 */
int smr_pool_charge(struct smr_pool *pool, size_t size,
		    struct smr_charge *charge)
{
	size_t pooled = min(size, pool->max - pool->used);
	int ret;

	lockdep_assert_held(&pool->lock);
	*charge = (struct smr_charge){};
	if (pooled < size) {
		if (!pool->memlock)
			return -ENOMEM;
		charge->locked = PFN_UP(size - pooled);
		ret = smr_memlock_charge(current->mm, charge->locked);
		if (ret)
			return ret;
		charge->mm = current->mm;
	}
	charge->pooled = pooled;
	pool->used += pooled;
	return 0;
}

/**
 * smr_pool_uncharge() - uncharge memory that is being freed
 * @pool: the pool
 * @charge: from smr_pool_charge()
 *
 * Context: process; caller holds @pool->lock.
 */
void smr_pool_uncharge(struct smr_pool *pool, struct smr_charge *charge)
{
	lockdep_assert_held(&pool->lock);
	pool->used -= charge->pooled;
	if (charge->mm)
		smr_memlock_uncharge(charge->mm, charge->locked);
	*charge = (struct smr_charge){};
}
