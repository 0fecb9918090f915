// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell of an open context is a file. A process rings it by one ioctl, whose argument is
 * the number of the QP: a uverbs method would look up its object, its attributes and the QP's
 * uobject each time.
 *
 * The file may outlive the context and the device: an open file pins only the module.
 */
#include "doorbell.h"

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/cleanup.h"
#include "give_fd.h"
#include "qp/core.h"
#include "qp/life.h"
#include "ucontext.h"
#include "uapi/softmr-abi.h"
#include "why.h"

/**
 * struct smr_bell - the state that the files of a context share
 * @ref: one for the context, one for each file
 * @tab: the namespace's QPs; NULL: the context, or the device, is gone. Read under RCU
 * @context: only QPs of this context can be rung
 * @rcu: defers the free until no reader uses @tab
 */
struct smr_bell {
	refcount_t ref;
	struct smr_qptab __rcu *tab;
	u64 context;
	struct rcu_head rcu;
};

static void bell_put(struct smr_bell *bell)
{
	if (refcount_dec_and_test(&bell->ref))
		kfree_rcu(bell, rcu);
}

/**
 * smr_bell_create() - prepare the doorbell of a context
 * @tab: the QPs of its network namespace
 * @context: the context's id
 *
 * Context: process, may sleep.
 * Return: the doorbell, which smr_bell_end() ends; or NULL: no memory.
 */
struct smr_bell *smr_bell_create(struct smr_qptab *tab, u64 context)
{
	struct smr_bell *bell = kzalloc(sizeof(*bell), GFP_KERNEL_ACCOUNT);

	if (!bell)
		return NULL;
	refcount_set(&bell->ref, 1);
	RCU_INIT_POINTER(bell->tab, tab);
	bell->context = context;
	return bell;
}

/**
 * smr_bell_silence() - disable a doorbell: later rings have no effect
 * @bell: the doorbell
 *
 * A thread that is ringing holds a reference on the QP. Another one may still be looking its QP up
 * in the table: the removal of the namespace's last link waits for a grace period after this.
 *
 * Context: process; any number of times.
 */
void smr_bell_silence(struct smr_bell *bell)
{
	RCU_INIT_POINTER(bell->tab, NULL);
}

/**
 * smr_bell_end() - drop the context's reference on its doorbell
 * @bell: its files may still be open
 *
 * Context: process.
 */
void smr_bell_end(struct smr_bell *bell)
{
	smr_bell_silence(bell);
	bell_put(bell);
}

/* A QP of the context, with a reference; or an ERR_PTR(). */
static struct smr_qp *bell_qp(const struct smr_bell *bell, unsigned long qpn)
{
	struct smr_qptab *tab;
	struct smr_qp *qp;

	guard(rcu)();
	tab = rcu_dereference(bell->tab);
	if (!tab)
		return ERR_PTR(-EIO);
	qp = qpn <= U32_MAX ? smr_qp_find(tab, qpn) : NULL;
	if (!qp)
		return ERR_PTR(-ENOENT);
	if (qp->context == bell->context)
		return qp;
	smr_qp_put(qp);
	return ERR_PTR(-ENOENT);
}

static long bell_ioctl(struct file *file, unsigned int cmd, unsigned long qpn)
{
	struct smr_qp *qp;

	if (cmd != SMR_IOC_RING_SQ && cmd != SMR_IOC_RING_RQ)
		return -ENOTTY;
	qp = bell_qp(file->private_data, qpn);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (cmd == SMR_IOC_RING_SQ)
		smr_qp_ring_sq(qp);
	else
		smr_qp_ring_rq(qp);
	smr_qp_put(qp);
	return 0;
}

static int bell_release(struct inode *inode, struct file *file)
{
	bell_put(file->private_data);
	return 0;
}

static const struct file_operations bell_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bell_ioctl,
	.compat_ioctl = bell_ioctl,
	.release = bell_release,
};

static int UVERBS_HANDLER(SMR_METHOD_DOORBELL_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct smr_bell *bell;
	struct file *file;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	bell = to_smr_ucontext(uctx)->bell;
	file = anon_inode_getfile("[softmr doorbell]", &bell_fops, bell, O_RDWR);
	if (IS_ERR(file))
		return PTR_ERR(file);
	refcount_inc(&bell->ref);
	return smr_why_errno(smr_uctx_whys(uctx), 0,
			     smr_give_fd(attrs, SMR_ATTR_DOORBELL_FD, file));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_DOORBELL_OPEN,
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_DOORBELL_FD,
						UVERBS_ATTR_TYPE(s32),
						UA_MANDATORY));

ADD_UVERBS_METHODS(smr_bell_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(SMR_METHOD_DOORBELL_OPEN));

const struct uapi_definition smr_bell_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &smr_bell_methods),
	{}
};
