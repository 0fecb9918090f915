// SPDX-License-Identifier: GPL-2.0
/*
 * A user's work runs in a workqueue of that user's own. It may wait for pages of
 * the user's for as long as these take, which with FUSE is as long as the user
 * likes, and a workqueue runs only so many works at a time: in one for all,
 * nobody else's would run any more. A workqueue for each context would do, too,
 * but there can be any number of contexts, each with that many threads. So there
 * could be of the ids that a user has in a namespace of its own: they count as
 * the user.
 *
 * No rescuer stands behind it: a process's QP is not what memory can be reclaimed
 * by. Consumers in the kernel use the device's own.
 */
#include "qp/userwq.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "compat/cleanup.h"

/* Who answers for the caller: outside of all user namespaces, who made them. */
static kuid_t caller_uid(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->parent; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

static struct smr_userwq *user_find(struct smr_userwqs *all, kuid_t uid)
{
	struct smr_userwq *user;

	lockdep_assert_held(&all->lock);
	list_for_each_entry(user, &all->list, node)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct smr_userwq *user_add(struct smr_userwqs *all, kuid_t uid)
{
	struct smr_userwq *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&all->lock);
	if (!user)
		return ERR_PTR(-ENOMEM);
	user->wq = alloc_workqueue("softmr-%u", WQ_UNBOUND, 0,
				   from_kuid(&init_user_ns, uid));
	if (!user->wq) {
		kfree(user);
		return ERR_PTR(-ENOMEM);
	}
	user->all = all;
	user->uid = uid;
	list_add(&user->node, &all->list);
	return user;
}

/**
 * smr_userwqs_init() - a device without users
 * @all: its users; nothing is to be done at the end, when none is left
 */
void smr_userwqs_init(struct smr_userwqs *all)
{
	mutex_init(&all->lock);
	INIT_LIST_HEAD(&all->list);
}

/**
 * smr_userwq_get() - the caller's workqueue
 * @all: the device's
 *
 * Context: process, may sleep.
 * Return: the user, by the caller's real user id, or that of whoever made the
 * user namespace that the caller is in; return it with smr_userwq_put(). Or
 * ERR_PTR(-ENOMEM).
 */
struct smr_userwq *smr_userwq_get(struct smr_userwqs *all)
{
	kuid_t uid = caller_uid();
	struct smr_userwq *user;

	guard(mutex)(&all->lock);
	user = user_find(all, uid);
	if (!user)
		user = user_add(all, uid);
	if (!IS_ERR(user))
		user->count++;
	return user;
}

/**
 * smr_userwq_share() - one more that uses it
 * @user: somebody has it
 *
 * Context: process, may sleep.
 * Return: @user; return it with smr_userwq_put().
 */
struct smr_userwq *smr_userwq_share(struct smr_userwq *user)
{
	guard(mutex)(&user->all->lock);
	user->count++;
	return user;
}

/**
 * smr_userwq_put() - one less; with the last one, it goes
 * @user: the user, or NULL. None of the caller's works is to begin any more
 *
 * Context: process, may sleep; waits for works that are about to end.
 */
void smr_userwq_put(struct smr_userwq *user)
{
	if (!user)
		return;
	scoped_guard(mutex, &user->all->lock) {
		if (--user->count)
			return;
		list_del(&user->node);
	}
	destroy_workqueue(user->wq);
	kfree(user);
}
