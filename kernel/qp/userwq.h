/* SPDX-License-Identifier: GPL-2.0 */
/* The workqueues of a device's users: each user has one. */
#ifndef SMR_USERWQ_H
#define SMR_USERWQ_H

#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>

struct workqueue_struct;

/**
 * struct smr_userwqs - the users of a device
 * @lock: guards @list and each user's count
 * @list: struct smr_userwq
 */
struct smr_userwqs {
	struct mutex lock;	/* list and counts */
	struct list_head list;
};

/**
 * struct smr_userwq - a user
 * @wq: runs the left-over work of this user's QPs
 * @all: the device's
 * @node: in @all->list
 * @count: contexts and QPs that use it
 * @uid: the user's id, see smr_userwq_get()
 *
 * @all->lock guards @node and @count; the others are constant.
 */
struct smr_userwq {
	struct workqueue_struct *wq;
	struct smr_userwqs *all;
	struct list_head node;
	unsigned int count;
	kuid_t uid;
};

/**
 * struct smr_ucontext - a process's context of the device
 * @ibuctx: the core's part
 * @user: the user, a reference
 */
struct smr_ucontext {
	struct ib_ucontext ibuctx;
	struct smr_userwq *user;
};

static inline struct smr_ucontext *to_smr_ucontext(const struct ib_ucontext *uctx)
{
	return container_of(uctx, struct smr_ucontext, ibuctx);
}

void smr_userwqs_init(struct smr_userwqs *all);
struct smr_userwq *smr_userwq_get(struct smr_userwqs *all);
struct smr_userwq *smr_userwq_share(struct smr_userwq *user);
void smr_userwq_put(struct smr_userwq *user);

#endif /* SMR_USERWQ_H */
