// SPDX-License-Identifier: GPL-2.0
/*
 * A capture is a file that a context opens. It has the packets that QPs of the context's user
 * send and receive on the link. The context's user is the one that may read its refusals (why.c). A
 * process with privileges that its user lacks has no such user, and cannot open such a capture.
 * With CAP_NET_RAW in the link's namespace, a capture may have all RoCEv2 packets of the link:
 * those that its QPs send, and all that arrive, whether a QP gets them or not.
 *
 * Each packet is checked against every capture of its namespace, so captures count against the
 * limit on steering rules. The file may outlive the context: reads then return 0 after the packets.
 */
#include "capture.h"

#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/cleanup.h"
#include "give_fd.h"
#include "limits.h"
#include "qp/capture.h"
#include "qp/core.h"
#include "qp/probe.h"
#include "ucontext.h"
#include "why.h"

/* Guards the lists of captures, and their ends */
static DEFINE_MUTEX(captures_mutex);

static ssize_t record_read(struct smr_capture *cap, char __user *to, size_t size)
{
	unsigned int copied;
	int ret;

	ret = mutex_lock_interruptible(&cap->reader);
	if (ret)
		return ret;
	if (kfifo_is_empty(&cap->fifo))
		ret = -EAGAIN;
	else if (size < kfifo_peek_len(&cap->fifo))
		ret = -EMSGSIZE;
	else
		ret = kfifo_to_user(&cap->fifo, to, size, &copied);
	mutex_unlock(&cap->reader);
	return ret ? ret : (ssize_t)copied;
}

/* Is a packet queued, or has the capture ended? */
static bool is_ready(struct smr_capture *cap)
{
	return !kfifo_is_empty(&cap->fifo) || READ_ONCE(cap->ended);
}

static ssize_t capture_read(struct file *file, char __user *to, size_t size,
			    loff_t *pos)
{
	struct smr_capture *cap = file->private_data;
	ssize_t ret;
	bool ended;

	for (;;) {
		/* Read before the queue: packets from before the end are returned first. */
		ended = smp_load_acquire(&cap->ended); /* pairs with capture_end() */
		ret = record_read(cap, to, size);
		if (ret != -EAGAIN)
			return ret;
		if (ended)
			return 0;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(cap->wait, is_ready(cap));
		if (ret)
			return ret;
	}
}

static __poll_t capture_poll(struct file *file, poll_table *table)
{
	struct smr_capture *cap = file->private_data;
	__poll_t ready = 0;

	poll_wait(file, &cap->wait, table);
	if (smp_load_acquire(&cap->ended)) /* pairs with capture_end() */
		ready |= EPOLLIN | EPOLLRDNORM | EPOLLHUP;
	if (!kfifo_is_empty(&cap->fifo))
		ready |= EPOLLIN | EPOLLRDNORM;
	return ready;
}

static void capture_end(struct smr_capture *cap)
{
	lockdep_assert_held(&captures_mutex);
	if (cap->ended)
		return;
	list_del_rcu(&cap->node);
	smr_captures_changed();
	list_del(&cap->of_context);
	smr_limit_give(cap->limits, SMR_LIMIT_RULE);
	static_branch_slow_dec_deferred(&smr_captured);
	/* pairs with capture_read() and capture_poll() */
	smp_store_release(&cap->ended, true);
	wake_up_interruptible_all(&cap->wait);
}

static int capture_release(struct inode *inode, struct file *file)
{
	struct smr_capture *cap = file->private_data;

	scoped_guard(mutex, &captures_mutex)
		capture_end(cap);
	/* for readers of the link's list */
	synchronize_rcu();
	kvfree(cap);
	return 0;
}

static const struct file_operations capture_fops = {
	.owner = THIS_MODULE,
	.read = capture_read,
	.poll = capture_poll,
	.release = capture_release,
};

/*
 * End the captures of a context that is closed. A packet that arrives may still be compared with
 * the link of a capture, which may end next; also of one whose file was closed a moment ago.
 */
void smr_captures_end(struct smr_ucontext *ctx)
{
	struct smr_capture *cap, *next;

	scoped_guard(mutex, &captures_mutex)
		list_for_each_entry_safe(cap, next, &ctx->captures, of_context)
			capture_end(cap);
	if (ctx->captured)
		synchronize_rcu();
}

/* At the end of the module, when no capture is open. */
void smr_captures_fini(void)
{
	static_key_deferred_flush(&smr_captured);
}

static struct smr_capture *capture_create(struct smr_ucontext *ctx, bool all)
{
	size_t bytes = all ? SMR_CAPTURE_RING_ALL : SMR_CAPTURE_RING_OWN;
	struct smr_capture *cap;

	cap = kvzalloc(struct_size(cap, ring, bytes), GFP_KERNEL_ACCOUNT);
	if (!cap)
		return NULL;
	cap->env = ctx->env;
	cap->ibdev = ctx->ibuctx.device;
	cap->limits = &ctx->account->limits;
	cap->all = all;
	cap->uid = smr_why_log_uid(ctx->whys);
	init_waitqueue_head(&cap->wait);
	mutex_init(&cap->reader);
	spin_lock_init(&cap->lock);
	kfifo_init(&cap->fifo, cap->ring, bytes);
	cap->unseen = smr_probe_link(cap->env, cap->ibdev);
	return cap;
}

static void capture_begin(struct smr_capture *cap, struct smr_ucontext *ctx)
{
	guard(mutex)(&captures_mutex);
	ctx->captured = true;
	list_add_tail(&cap->of_context, &ctx->captures);
	list_add_tail_rcu(&cap->node, &ctx->env->tab->captures);
	smr_captures_changed();
	static_branch_deferred_inc(&smr_captured);
}

/* The file of a new capture, which it ends; or an ERR_PTR(). */
static struct file *capture_file(struct smr_ucontext *ctx, bool all, u32 *unseen)
{
	struct smr_capture *cap;
	struct file *file;
	int ret;

	if (all && !ns_capable(ctx->env->net->user_ns, CAP_NET_RAW))
		return smr_why_ptr(ctx->whys, CAPTURE_ALL);
	if (!all && !uid_valid(smr_why_log_uid(ctx->whys)))
		return smr_why_ptr(ctx->whys, CAPTURE_USER);
	ret = smr_limit_take(&ctx->account->limits, SMR_LIMIT_RULE, ctx->whys);
	if (ret)
		return ERR_PTR(ret);
	cap = capture_create(ctx, all);
	if (!cap) {
		file = smr_why_ptr(ctx->whys, NO_MEMORY);
		goto give;
	}
	file = anon_inode_getfile("[softmr capture]", &capture_fops, cap,
				  O_RDONLY);
	if (smr_why_errno(ctx->whys, 0, PTR_ERR_OR_ZERO(file)))
		goto free;
	*unseen = cap->unseen;
	capture_begin(cap, ctx);
	return file;

free:
	kvfree(cap);
give:
	smr_limit_give(&ctx->account->limits, SMR_LIMIT_RULE);
	return file;
}

static int UVERBS_HANDLER(SMR_METHOD_CAPTURE_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	u32 flags, unseen;
	struct file *file;
	int ret;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	ret = uverbs_get_flags32(&flags, attrs, SMR_ATTR_CAPTURE_FLAGS, SMR_CAPTURE_ALL);
	if (ret)
		return ret;
	file = capture_file(to_smr_ucontext(uctx), flags & SMR_CAPTURE_ALL, &unseen);
	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = uverbs_copy_to(attrs, SMR_ATTR_CAPTURE_UNSEEN, &unseen, sizeof(unseen));
	if (!ret || ret == -ENOENT)
		ret = smr_give_fd(attrs, SMR_ATTR_CAPTURE_FD, file);
	else
		fput(file);
	return smr_why_errno(smr_uctx_whys(uctx), 0, ret);
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_CAPTURE_OPEN,
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_CAPTURE_FD,
						UVERBS_ATTR_TYPE(s32),
						UA_MANDATORY),
			    UVERBS_ATTR_FLAGS_IN(SMR_ATTR_CAPTURE_FLAGS,
						 enum smr_capture_flags,
						 UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_CAPTURE_UNSEEN,
						UVERBS_ATTR_TYPE(u32),
						UA_OPTIONAL));

ADD_UVERBS_METHODS(smr_capture_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(SMR_METHOD_CAPTURE_OPEN));

const struct uapi_definition smr_capture_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &smr_capture_methods),
	{}
};
