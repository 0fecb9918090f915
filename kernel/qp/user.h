/* SPDX-License-Identifier: GPL-2.0 */
/* A device's users: each has a workqueue and an account. */
#ifndef SMR_USER_H
#define SMR_USER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>

#include "account.h"

struct workqueue_struct;

/**
 * struct smr_users - the users of a device
 * @lock: guards @list and each user's count
 * @list: struct smr_user
 * @conf: limits of each user; constant
 * @limits: those of the device
 */
struct smr_users {
	struct mutex lock;	/* list and counts */
	struct list_head list;
	struct smr_account_conf conf;
	struct smr_limits *limits;
};

/**
 * struct smr_user - a user
 * @wq: runs the left-over work of this user's QPs
 * @all: the list of the device
 * @node: in @all->list
 * @count: contexts, QPs and XRC domains that use it
 * @uid: the user's id, see smr_user_get()
 * @account: objects and memory of the user; see there for locks
 *
 * @all->lock guards @node and @count; the others are constant.
 */
struct smr_user {
	struct workqueue_struct *wq;
	struct smr_users *all;
	struct list_head node;
	unsigned int count;
	kuid_t uid;
	struct smr_account account;
};

void smr_users_init(struct smr_users *all, const struct smr_account_conf *conf,
		    struct smr_limits *limits);
struct smr_user *smr_user_get(struct smr_users *all);
struct smr_user *smr_user_share(struct smr_user *user);
void smr_user_put(struct smr_user *user);

#endif /* SMR_USER_H */
