// SPDX-License-Identifier: GPL-2.0
/*
 * The work items of each user run in a workqueue of that user. A workqueue runs a limited
 * number of work items at a time, so in a shared one a user could block all others. A workqueue
 * per context is not a solution: a user can have any number of contexts, and each workqueue has
 * its threads.
 *
 * It has no rescuer: memory reclaim does not depend on a process's QP. Kernel consumers use the
 * device's workqueue.
 */
#include "qp/user.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "compat/cleanup.h"
#include "mmap.h"

static struct smr_user *user_find(struct smr_users *all, kuid_t uid)
{
	struct smr_user *user;

	lockdep_assert_held(&all->lock);
	list_for_each_entry(user, &all->list, node)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct smr_user *user_add(struct smr_users *all, kuid_t uid)
{
	struct smr_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&all->lock);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->wq = alloc_workqueue("softmr-%u", WQ_UNBOUND, 0,
				   from_kuid(&init_user_ns, uid));
	if (!user->wq)
		goto free_user;
	if (smr_account_init(&user->account, &all->conf, all->limits))
		goto destroy_wq;
	user->all = all;
	user->uid = uid;
	list_add(&user->node, &all->list);
	return user;

destroy_wq:
	destroy_workqueue(user->wq);
free_user:
	kfree(user);
	return ERR_PTR(-ENOMEM);
}

/**
 * smr_users_init() - initialize a device's list of users
 * @all: the list; needs no cleanup when it is empty
 * @conf: limits of each user
 * @limits: those of the device
 */
void smr_users_init(struct smr_users *all, const struct smr_account_conf *conf,
		    struct smr_limits *limits)
{
	all->conf = *conf;
	all->limits = limits;
	mutex_init(&all->lock);
	INIT_LIST_HEAD(&all->list);
}

/**
 * smr_user_get() - get the workqueue of the calling user
 * @all: of the device
 *
 * Context: process, may sleep.
 * Return: the user with a reference, which smr_user_put() drops; or ERR_PTR(-ENOMEM). The
 * user is the caller's real user id or, in a user namespace, that of its owner.
 */
struct smr_user *smr_user_get(struct smr_users *all)
{
	kuid_t uid = smr_account_uid();
	struct smr_user *user;

	guard(mutex)(&all->lock);
	user = user_find(all, uid);
	if (!user)
		user = user_add(all, uid);
	if (!IS_ERR(user))
		user->count++;
	return user;
}

/**
 * smr_user_share() - take another reference
 * @user: the caller has a reference; or NULL
 *
 * Context: process, may sleep.
 * Return: @user; smr_user_put() drops the reference.
 */
struct smr_user *smr_user_share(struct smr_user *user)
{
	if (!user)
		return NULL;
	guard(mutex)(&user->all->lock);
	user->count++;
	return user;
}

/**
 * smr_user_put() - drop a reference; the last one destroys workqueue and account
 * @user: the user, or NULL. None of the caller's work items can start again, and all that it
 *	had charged is uncharged
 *
 * Context: process, may sleep; waits for work items that are about to end.
 */
void smr_user_put(struct smr_user *user)
{
	if (!user)
		return;
	scoped_guard(mutex, &user->all->lock) {
		if (--user->count)
			return;
		list_del(&user->node);
	}
	destroy_workqueue(user->wq);
	smr_mmap_fini(&user->account.queues);
	smr_account_fini(&user->account);
	kfree(user);
}
