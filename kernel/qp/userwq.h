/* SPDX-License-Identifier: GPL-2.0 */
/* A device's users: each has a workqueue and an account. */
#ifndef SMR_USERWQ_H
#define SMR_USERWQ_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>

#include "account.h"

struct workqueue_struct;

/**
 * struct smr_userwqs - the users of a device
 * @lock: guards @list and each user's count
 * @list: struct smr_userwq
 * @conf: limits of each user; constant
 */
struct smr_userwqs {
	struct mutex lock;	/* list and counts */
	struct list_head list;
	struct smr_account_conf conf;
};

/**
 * struct smr_userwq - a user
 * @wq: runs the left-over work of this user's QPs
 * @all: the list of the device
 * @node: in @all->list
 * @count: contexts and QPs that use it
 * @uid: the user's id, see smr_userwq_get()
 * @account: objects and memory of the user; see there for locks
 *
 * @all->lock guards @node and @count; the others are constant.
 */
struct smr_userwq {
	struct workqueue_struct *wq;
	struct smr_userwqs *all;
	struct list_head node;
	unsigned int count;
	kuid_t uid;
	struct smr_account account;
};

void smr_userwqs_init(struct smr_userwqs *all,
		      const struct smr_account_conf *conf);
struct smr_userwq *smr_userwq_get(struct smr_userwqs *all);
struct smr_userwq *smr_userwq_share(struct smr_userwq *user);
void smr_userwq_put(struct smr_userwq *user);

#endif /* SMR_USERWQ_H */
