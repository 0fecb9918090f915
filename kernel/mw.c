// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows.
 *
 * A bound window is in the tree of its region, which then cannot be deregistered. A type 2
 * window is also on the list of the QP that it is associated with. A bind that waits is in the
 * tree of the region that the window will be bound to. Locks are taken in this order, each
 * BH-safe:
 *
 *	window's -> region's
 *	window's -> QP's list's
 *
 * Binding and invalidating are work requests, and run in softirq too. They
 * find windows and regions by their keys, under RCU. A window or region is
 * marked dead under its lock before it ends.
 *
 * Unbind must not complete while a copy through the window is in progress. To distinguish these
 * copies from others, the key of a window has its own references on the region's memory. Softirq
 * does not wait for the copies: the work request is finished when the last is dropped. A request
 * that has begun is finished in any case, even if its QP fails or is destroyed.
 */
#include "mw.h"

#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat/cleanup.h"
#include "limits.h"
#include "mr.h"
#include "pd.h"
#include "ref.h"
#include "why.h"

/* Entries that are read per section with BH off */
#define LIST_STEP	64

#define MW_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)
/* Programs also pass LOCAL_WRITE, which remote rights require of the region. */
#define MW_FLAGS	(MW_RIGHTS | IB_ZERO_BASED | IB_ACCESS_LOCAL_WRITE)

/**
 * struct mw_entry - a window's entry in the tree of a region
 * @node: in the tree, under the region's lock
 * @pending: it belongs to a bind that waits; constant. A window can have one entry of each
 *	kind, even in the same tree
 */
struct mw_entry {
	struct rb_node node;
	bool pending;
};

/**
 * struct smr_window - a memory window
 * @key: its rkey; valid while the window is bound
 * @keys: the table that @key is in; constant
 * @ibmw: the core's part; freed once @dead is set
 * @type: enum ib_mw_type; constant
 * @lock: guards all below, and changes of @key
 * @dead: is being deallocated
 * @mr: the region it is bound to, or NULL
 * @next: the region it will be bound to when its current spans have ended; that region cannot
 *	be deregistered until then. NULL: no bind waits
 * @closer: the QP whose request has begun to end its binding, and will finish that; NULL: none has
 * @req: that request, if it is a bind
 * @owner: the QP it is associated with (type 2), or NULL
 * @addr: its first address in @mr
 * @ref: the references of copies through @key; dead while the window is unbound or being
 *	unbound
 * @bound: in @mr's tree
 * @wanted: in @next's tree
 * @on_owner: in @owner's list; under that list's lock
 *
 * While @bound is in a tree, @key (except that it may become invalid) and @addr
 * do not change, and while @wanted is, @closer and @req do not: they can be read
 * with that region's lock held.
 */
struct smr_window {
	struct smr_key key;
	struct smr_keys *keys;
	struct ib_mw *ibmw;
	enum ib_mw_type type;
	/* the lock of the window, see above */
	spinlock_t lock;
	bool dead;
	struct smr_mr *mr;
	struct smr_mr *next;
	struct smr_mw_owner *closer;
	struct smr_mw_bind req;
	struct smr_mw_owner *owner;
	u64 addr;
	struct smr_ref ref;
	struct mw_entry bound;
	struct mw_entry wanted;
	struct list_head on_owner;
};

static struct mw_entry *to_entry(const struct rb_node *node)
{
	return rb_entry(node, struct mw_entry, node);
}

static struct smr_window *entry_window(struct mw_entry *entry)
{
	return entry->pending ? container_of(entry, struct smr_window, wanted) :
				container_of(entry, struct smr_window, bound);
}

/*
 * The sort key of an entry. It does not change when other entries are added or removed, so a
 * listing can continue from it. Never 0: no window has the index 0.
 */
static u64 entry_pos(struct mw_entry *entry)
{
	return (u64)entry_window(entry)->key.index << 1 | entry->pending;
}

static bool entry_less(struct rb_node *a, const struct rb_node *b)
{
	return entry_pos(to_entry(a)) < entry_pos(to_entry(b));
}

static void mr_add_entry(struct smr_mr *mr, struct mw_entry *entry)
{
	lockdep_assert_held(&mr->lock);
	rb_add(&entry->node, &mr->windows, entry_less);
	WRITE_ONCE(mr->nr_windows, mr->nr_windows + 1);
}

static void mr_del_entry(struct smr_mr *mr, struct mw_entry *entry)
{
	lockdep_assert_held(&mr->lock);
	rb_erase(&entry->node, &mr->windows);
	WRITE_ONCE(mr->nr_windows, mr->nr_windows - 1);
}

/**
 * smr_mw_alloc() - create an unbound window
 * @mw: device, PD and type are set; its rkey is set here
 * @keys: the device's keys
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (type), -ENOMEM, -ENOSPC.
 */
int smr_mw_alloc(struct smr_mw *mw, struct smr_keys *keys)
{
	const struct smr_pd *pd = to_smr_pd(mw->ibmw.pd);
	struct smr_window *win;
	int ret;

	if (mw->ibmw.type != IB_MW_TYPE_1 && mw->ibmw.type != IB_MW_TYPE_2)
		return smr_why(pd->whys, MW_TYPE, mw->ibmw.type);
	ret = smr_limit_take(pd->limits, SMR_LIMIT_MW, pd->whys);
	if (ret)
		return ret;
	win = kzalloc(sizeof(*win), GFP_KERNEL_ACCOUNT);
	if (!win) {
		ret = -ENOMEM;
		goto give;
	}
	spin_lock_init(&win->lock);
	win->keys = keys;
	win->ibmw = &mw->ibmw;
	win->wanted.pending = true;
	win->type = mw->ibmw.type;
	win->key.pd = mw->ibmw.pd;
	win->key.ref = &win->ref;
	smr_ref_init(&win->ref);
	ret = smr_key_reserve(keys, &win->key, SMR_KEY_MW, &win->lock);
	if (ret)
		goto free_win;
	mw->win = win;
	mw->ibmw.rkey = smr_key_value(&win->key);
	smr_key_publish(&win->key);
	return 0;

free_win:
	kfree_rcu(win, key.rcu);
give:
	smr_limit_give(pd->limits, SMR_LIMIT_MW);
	return smr_why_errno(pd->whys, 0, ret);
}

/* Make the key of a bound window invalid. */
static void window_invalidate(struct smr_window *win)
{
	lockdep_assert_held(&win->lock);
	if (win->mr)
		smr_key_invalidate(&win->key);
}

/*
 * If a closed window without spans is bound, remove it from its region and its QP. From here on
 * the region can be deregistered.
 */
static void window_unbind(struct smr_window *win)
{
	lockdep_assert_held(&win->lock);
	if (!win->mr)
		return;
	scoped_guard(spinlock_bh, &win->mr->lock)
		mr_del_entry(win->mr, &win->bound);
	win->mr = NULL;
	if (!win->owner)
		return;
	scoped_guard(spinlock_bh, &win->owner->lock)
		list_del(&win->on_owner);
	win->owner = NULL;
}

/* Drop the pending bind. */
static void window_forget_next(struct smr_window *win)
{
	lockdep_assert_held(&win->lock);
	if (!win->next)
		return;
	scoped_guard(spinlock_bh, &win->next->lock)
		mr_del_entry(win->next, &win->wanted);
	win->next = NULL;
}

/**
 * smr_mw_dealloc() - end a window, bound or not
 * @mw: the window
 *
 * Waits for copies that use it.
 *
 * Context: process, may sleep.
 */
void smr_mw_dealloc(struct smr_mw *mw)
{
	struct smr_window *win = mw->win;

	scoped_guard(spinlock_bh, &win->lock) {
		win->dead = true;
		window_forget_next(win);
		window_invalidate(win);
	}
	smr_ref_kill_sync(&win->ref);
	scoped_guard(spinlock_bh, &win->lock)
		window_unbind(win);
	smr_key_withdraw(win->keys, &win->key);
	kfree_rcu(win, key.rcu);
	smr_limit_give(to_smr_pd(mw->ibmw.pd)->limits, SMR_LIMIT_MW);
}

static struct smr_window *window_find(struct smr_keys *keys, u32 rkey)
{
	struct smr_key *key = smr_key_find(keys, rkey);

	if (!key || key->type != SMR_KEY_MW)
		return NULL;
	return container_of(key, struct smr_window, key);
}

static struct smr_mr *mr_find(struct smr_keys *keys, u32 lkey)
{
	struct smr_key *key = smr_key_find(keys, lkey);

	if (!key || key->type != SMR_KEY_MR)
		return NULL;
	return container_of(key, struct smr_mr, key);
}

/*
 * Check the window of a bind: IBTA C10-72, o10-36.2.2, o10-37.2.30. The consumer
 * owns only the low byte of a key (10.6.7.2.6). Programs rely on softmr ignoring
 * the index in the new key.
 */
static int check_window(const struct smr_window *win, const struct ib_pd *pd,
			const struct smr_mw_bind *req)
{
	lockdep_assert_held(&win->lock);
	if (win->dead)
		return -ENOENT;
	if (win->key.pd != pd)
		return -EPERM;
	if (req->access & ~MW_FLAGS)
		return -EOPNOTSUPP;
	if (win->type == IB_MW_TYPE_1)
		return req->access & IB_ZERO_BASED ? -EINVAL : 0;
	/* A type 2 window is bound from the free state only, and never to 0. */
	return win->mr || !req->length ? -EINVAL : 0;
}

/* Check the region of a bind: IBTA C10-73, C10-74, C10-75. */
static int check_mr(const struct smr_mr *mr, const struct ib_pd *pd,
		    const struct smr_mw_bind *req)
{
	const struct smr_key *key = &mr->key;
	u64 off = req->addr - key->iova;

	lockdep_assert_held(&mr->lock);
	if (mr->state != SMR_MR_VALID || smr_key_value(key) != req->mr_lkey)
		return -ENOENT;
	if (key->pd != pd)
		return -EPERM;
	if (!(key->access & IB_ACCESS_MW_BIND) || key->access & IB_ZERO_BASED)
		return -EACCES;
	if (req->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(key->access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;
	if (req->addr < key->iova || off > key->length ||
	    req->length > key->length - off)
		return -ERANGE;
	return 0;
}

/* Write the key of a window that is being bound, and make it valid. */
static void window_set_key(struct smr_window *win, const struct smr_mr *mr)
{
	const struct smr_mw_bind *req = &win->req;
	struct smr_key *key = &win->key;

	smr_key_update_begin(key);
	key->tag = SMR_KEY_TAG(req->new_rkey);
	key->access = req->access & MW_RIGHTS;
	key->qpn = win->owner ? win->owner->qpn : 0;
	smr_ref_reinit(&win->ref);
	key->mem = mr->key.mem;
	key->mem_off = mr->key.mem_off + (req->addr - mr->key.iova);
	key->iova = req->access & IB_ZERO_BASED ? 0 : req->addr;
	key->length = req->length;
	key->valid = true;
	smr_key_update_end(key);
}

/*
 * Check the region of a bind, and pin it against dereg as @win->next. From here on the bind
 * cannot be refused, however long it waits for the spans of the former binding.
 */
static int window_set_next(struct smr_window *win, struct smr_keys *keys,
			   struct smr_mw_owner *owner, const struct ib_pd *pd,
			   const struct smr_mw_bind *req)
{
	struct smr_mr *mr;
	int ret;

	lockdep_assert_held(&win->lock);
	mr = mr_find(keys, req->mr_lkey);
	if (!mr)
		return -ENOENT;
	guard(spinlock_bh)(&mr->lock);
	ret = check_mr(mr, pd, req);
	if (ret)
		return ret;
	win->next = mr;
	win->closer = owner;
	win->req = *req;
	mr_add_entry(mr, &win->wanted);
	return 0;
}

/* Bind a window to its next region. */
static void window_bind(struct smr_window *win)
{
	struct smr_mw_owner *owner = win->closer;
	struct smr_mr *mr = win->next;

	lockdep_assert_held(&win->lock);
	win->mr = mr;
	win->addr = win->req.addr;
	if (win->type == IB_MW_TYPE_2) {
		win->owner = owner;
		scoped_guard(spinlock_bh, &owner->lock)
			list_add_tail(&win->on_owner, &owner->windows);
	}
	window_set_key(win, mr);
	scoped_guard(spinlock_bh, &mr->lock) {
		mr_del_entry(mr, &win->wanted);
		mr_add_entry(mr, &win->bound);
	}
	win->next = NULL;
}

/* After an unbind by a bind of length 0, the old key is invalid, and so is the new one. */
static void window_set_tag(struct smr_window *win)
{
	lockdep_assert_held(&win->lock);
	smr_key_update_begin(&win->key);
	win->key.tag = SMR_KEY_TAG(win->req.new_rkey);
	smr_key_update_end(&win->key);
}

/*
 * Execute the second part of a request that ends a binding: when the last copy through it has
 * ended, unbind the window, and bind it to its next region. -EAGAIN: copies are in progress, and
 * @waiter is told when they have ended.
 */
static int window_finish(struct smr_window *win, struct smr_ref_waiter *waiter)
{
	lockdep_assert_held(&win->lock);
	if (win->mr && !smr_ref_kill(&win->ref, waiter))
		return -EAGAIN;
	window_unbind(win);
	if (win->next)
		window_bind(win);
	else if (win->type == IB_MW_TYPE_1)
		window_set_tag(win);
	win->closer = NULL;
	return 0;
}

/**
 * smr_mw_bind() - execute a bind request
 * @keys: the device's keys
 * @owner: the QP that it was posted to
 * @pd: that QP's protection domain
 * @req: the request
 * @waiter: after -EAGAIN, told when to call smr_mw_finish()
 *
 * After an error the window is as it was. After -EAGAIN the request has begun, and can no longer
 * be refused.
 *
 * Context: any but hard interrupts.
 * Return: 0, or why not: -ENOENT (no such window or region), -EPERM (of another PD), -EACCES
 * (the region does not allow it), -ERANGE (not inside the region), -EOPNOTSUPP (unknown flag),
 * -EINVAL (not for this type of window, or a type 2 window that is bound), -EAGAIN (the former
 * binding is invalid but still has spans), -EBUSY (another QP's request has begun to bind the
 * window, try again).
 */
int smr_mw_bind(struct smr_keys *keys, struct smr_mw_owner *owner,
		const struct ib_pd *pd, const struct smr_mw_bind *req,
		struct smr_ref_waiter *waiter)
{
	struct smr_window *win;
	int ret;

	guard(rcu)();
	win = window_find(keys, req->mw_rkey);
	if (!win)
		return -ENOENT;
	guard(spinlock_bh)(&win->lock);
	ret = check_window(win, pd, req);
	if (!ret && win->closer)
		ret = -EBUSY;
	if (ret)
		return ret;
	if (req->length) {
		ret = window_set_next(win, keys, owner, pd, req);
		if (ret)
			return ret;
	} else {
		win->closer = owner;
		win->req = *req;
	}
	window_invalidate(win);
	return window_finish(win, waiter);
}

/**
 * smr_mw_finish() - finish a bind or an invalidate that has begun
 * @keys: the device's keys
 * @owner: the QP that it was posted to, or whose peer has asked for the invalidate
 * @rkey: a key of the window, with any tag; for other keys this does nothing
 * @waiter: was told
 *
 * If the window is being deallocated, the request has no further effect.
 *
 * Context: any but hard interrupts.
 * Return: 0: no copy uses the former binding; -EAGAIN: @waiter is told when to call this again.
 */
int smr_mw_finish(struct smr_keys *keys, const struct smr_mw_owner *owner,
		  u32 rkey, struct smr_ref_waiter *waiter)
{
	struct smr_window *win;

	guard(rcu)();
	win = window_find(keys, rkey);
	if (!win)
		return 0;
	guard(spinlock_bh)(&win->lock);
	return win->closer == owner ? window_finish(win, waiter) : 0;
}

/* Only the QP that a window is associated with can invalidate it: o10-37.2.26. */
static int check_invalidate(const struct smr_window *win,
			    const struct smr_mw_owner *owner,
			    const struct ib_pd *pd, u32 rkey)
{
	lockdep_assert_held(&win->lock);
	if (win->dead || smr_key_value(&win->key) != rkey)
		return -ENOENT;
	if (win->key.pd != pd)
		return -EPERM;
	if (win->type != IB_MW_TYPE_2 || !win->mr || win->closer)
		return -EINVAL;
	return win->owner == owner ? 0 : -EPERM;
}

/**
 * smr_mw_invalidate() - execute a local or remote invalidate
 * @keys: the device's keys
 * @owner: the QP that executes the invalidate
 * @pd: its protection domain
 * @rkey: the key to invalidate
 * @waiter: after -EAGAIN, told when to call smr_mw_finish()
 *
 * After an error the window is as it was. After -EAGAIN the invalidate has begun.
 *
 * Context: any but hard interrupts.
 * Return: 0; -ENOENT (no window has this key), -EPERM (associated with another QP), -EINVAL (of
 *	type 1, not bound, or another invalidate has begun), -EAGAIN (its key is invalid, but it
 *	still has spans).
 */
int smr_mw_invalidate(struct smr_keys *keys, struct smr_mw_owner *owner,
		      const struct ib_pd *pd, u32 rkey,
		      struct smr_ref_waiter *waiter)
{
	struct smr_window *win;
	int ret;

	guard(rcu)();
	win = window_find(keys, rkey);
	if (!win)
		return -ENOENT;
	guard(spinlock_bh)(&win->lock);
	ret = check_invalidate(win, owner, pd, rkey);
	if (ret)
		return ret;
	win->closer = owner;
	window_invalidate(win);
	return window_finish(win, waiter);
}

/**
 * smr_mw_owner_init() - initialize a QP's list of windows
 * @owner: part of the QP
 * @qpn: its number
 */
void smr_mw_owner_init(struct smr_mw_owner *owner, u32 qpn)
{
	owner->qpn = qpn;
	spin_lock_init(&owner->lock);
	INIT_LIST_HEAD(&owner->windows);
}

static struct smr_window *owner_first(struct smr_mw_owner *owner)
{
	guard(spinlock_bh)(&owner->lock);
	return list_first_entry_or_null(&owner->windows, struct smr_window,
					on_owner);
}

/*
 * Unbind the first window of a QP. -ENOENT: there is none. -EAGAIN: @waiter is told when to
 * try again. Only this QP could use the window. But a look-up that saw the key before the
 * window belonged to this QP may hold a reference of its key; it is about to see the change
 * and drop it.
 */
static int owner_release_one(struct smr_mw_owner *owner,
			     struct smr_ref_waiter *waiter)
{
	struct smr_window *win;

	/* The window may be deallocated before its lock is taken: RCU delays the free. */
	guard(rcu)();
	win = owner_first(owner);
	if (!win)
		return -ENOENT;
	guard(spinlock_bh)(&win->lock);
	if (win->owner != owner)
		return 0;
	window_invalidate(win);
	return window_finish(win, waiter);
}

/**
 * smr_mw_owner_release() - unbind all windows of a QP
 * @owner: of a QP that no longer executes requests
 *
 * Context: process, may sleep: a QP can have any number of windows. When it returns, no window
 *	refers to @owner.
 */
void smr_mw_owner_release(struct smr_mw_owner *owner)
{
	struct smr_ref_waiter waiter = {};
	int ret;

	do {
		ret = owner_release_one(owner, &waiter);
		if (ret == -EAGAIN)
			smr_ref_wait(&waiter);
		cond_resched();
	} while (ret != -ENOENT);
}

static void fill_bound(const struct smr_window *win, struct smr_abi_window *out)
{
	out->rkey = smr_key_value(&win->key);
	out->qpn = win->key.qpn;
	out->addr = win->addr;
	out->length = win->key.length;
	out->access = win->key.access;
}

static void fill_pending(const struct smr_window *win,
			 struct smr_abi_window *out)
{
	const struct smr_mw_bind *req = &win->req;

	out->rkey = win->key.index << 8 | SMR_KEY_TAG(req->new_rkey);
	out->qpn = win->closer->qpn;
	out->addr = req->addr;
	out->length = req->length;
	out->access = req->access & MW_RIGHTS;
	out->flags = SMR_WINDOW_PENDING;
}

static void entry_fill(struct mw_entry *entry, struct smr_abi_window *out)
{
	const struct smr_window *win = entry_window(entry);
	const struct ib_uobject *uobject = win->ibmw->uobject;

	*out = (struct smr_abi_window) {
		.handle = uobject ? uobject->id : 0,
		.type = win->type,
	};
	if (entry->pending)
		fill_pending(win, out);
	else
		fill_bound(win, out);
}

/* The first entry of a region at or after @pos */
static struct rb_node *mr_entry_from(const struct smr_mr *mr, u64 pos)
{
	struct rb_node *node = mr->windows.rb_node, *found = NULL;

	lockdep_assert_held(&mr->lock);
	while (node) {
		if (entry_pos(to_entry(node)) < pos) {
			node = node->rb_right;
		} else {
			found = node;
			node = node->rb_left;
		}
	}
	return found;
}

/* A part of smr_mw_list(), without releasing the lock */
static u32 list_some(struct smr_mr *mr, u64 *pos, struct smr_abi_window *out,
		     u32 max)
{
	struct rb_node *node;
	u32 n = 0;

	guard(spinlock_bh)(&mr->lock);
	for (node = mr_entry_from(mr, *pos); node && n < max;
	     node = rb_next(node))
		entry_fill(to_entry(node), &out[n++]);
	*pos = node ? entry_pos(to_entry(node)) : 0;
	return n;
}

/**
 * smr_mw_list() - list the windows that prevent a region from being deregistered
 * @mr: the region
 * @pos: where to begin: 0, or the value set by the previous call. Set to where to continue; 0:
 *	there are no more
 * @out: filled in
 * @max: size of @out
 *
 * Over all calls for a region, a window that stays bound is listed exactly once, even if others
 * are bound or unbound in between.
 *
 * Context: process, may sleep; takes the region's lock for short periods.
 * Return: number of entries filled in.
 */
u32 smr_mw_list(struct smr_mr *mr, u64 *pos, struct smr_abi_window *out,
		u32 max)
{
	u32 n = 0;

	do {
		n += list_some(mr, pos, &out[n], min(max - n, LIST_STEP));
		cond_resched();
	} while (*pos && n < max);
	return n;
}
