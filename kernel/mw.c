// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows.
 *
 * A window that is bound is on the list of its region, which can then not be
 * deregistered, and, if it is of type 2, on the list of the QP that it is
 * tied to. Locks are taken in this order, each BH-safe:
 *
 *	window's -> region's
 *	window's -> QP's list's
 *
 * Binding and invalidating are work requests, and run in softirq too. They
 * find windows and regions by their keys, under RCU. A window or region is
 * marked dead under its lock before it ends.
 *
 * Unbind must not complete while a copy through the window is in progress. To
 * tell these copies from others, a window's key opens a memory of its own (a
 * relay), which goes on to the region's memory. Copies are short, but a span of
 * an on-demand region may wait for a page. So nobody waits in softirq: the work
 * request is tried again.
 */
#include "mw.h"

#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "compat/cleanup.h"
#include "mr.h"

/**
 * struct smr_relay - a memory that forwards each access to another one
 * @mem: the common part
 * @target: the other memory. It is constant while @mem has spans, and the owner
 *	of @mem keeps it for as long
 */
struct smr_relay {
	struct smr_mem mem;
	struct smr_mem *target;
};

static struct smr_mem *relay_target(struct smr_mem *mem)
{
	return container_of(mem, struct smr_relay, mem)->target;
}

static int relay_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		     struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->map(target, off, len, write, map);
}

static int relay_trymap(struct smr_mem *mem, u64 off, size_t len, bool write,
			struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->trymap(target, off, len, write, map);
}

static bool relay_next(struct smr_mem *mem, size_t len, bool write,
		       struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->next(target, len, write, map);
}

static void relay_unmap(struct smr_mem *mem, struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	target->ops->unmap(target, map);
}

/* A region with a bound window cannot be reregistered: its turn is constant. */
static int relay_fault(struct smr_mem *mem, bool turn, u64 off, u64 len,
		       bool write)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->fault(target, target->turn, off, len, write);
}

/* The target has no unmap(), and its pages are always there. */
static const struct smr_mem_ops relay_ops = {
	.map = relay_map,
};

/* The target's map() holds a lock (ODP). */
static const struct smr_mem_ops relay_paged_ops = {
	.map = relay_map,
	.trymap = relay_trymap,
	.next = relay_next,
	.unmap = relay_unmap,
	.fault = relay_fault,
};

/*
 * Point a relay at a memory, and let spans of it be opened. It is zeroed, or
 * suspended and idle. The caller is between smr_key_update_begin() and _end().
 */
static void relay_aim(struct smr_relay *relay, struct smr_mem *target)
{
	relay->mem.ops = target->ops->unmap ? &relay_paged_ops : &relay_ops;
	relay->mem.mm = target->mm;
	relay->target = target;
	smr_mem_resume(&relay->mem, target->size);
}

#define MW_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)
/* Programs pass LOCAL_WRITE along with the rights that need it of the region. */
#define MW_FLAGS	(MW_RIGHTS | IB_ZERO_BASED | IB_ACCESS_LOCAL_WRITE)

/**
 * struct smr_window - a memory window
 * @key: what its rkey opens; valid while it is bound
 * @keys: the table that @key is in; constant
 * @ibmw: the core's part; freed once @dead is set
 * @type: enum ib_mw_type; constant
 * @lock: guards all below, and changes of @key
 * @dead: is being deallocated
 * @mr: the region it is bound to, or NULL
 * @next: the region it is to be bound to as soon as its spans have ended; that
 *	region cannot be deregistered until then. NULL: no bind waits
 * @next_by: the QP whose bind request waits
 * @owner: the QP it is tied to, or NULL
 * @addr: the address in @mr it begins at
 * @relay: the memory that @key opens, which goes on to the memory of @mr; not
 *	suspended while the window is bound
 * @on_mr: in @mr's list; under that region's lock
 * @on_owner: in @owner's list; under that list's lock
 *
 * While it is in a region's list, @key (except that it may become invalid)
 * and @addr do not change: they can be read with the region's lock held.
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
	const struct smr_mw_owner *next_by;
	struct smr_mw_owner *owner;
	u64 addr;
	struct smr_relay relay;
	struct list_head on_mr;
	struct list_head on_owner;
};

/**
 * smr_mw_alloc() - make a window that is not bound
 * @mw: device, PD and type are set; its rkey is set here
 * @keys: the device's keys
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (type), -ENOMEM, -ENOSPC.
 */
int smr_mw_alloc(struct smr_mw *mw, struct smr_keys *keys)
{
	struct smr_window *win;
	int ret;

	if (mw->ibmw.type != IB_MW_TYPE_1 && mw->ibmw.type != IB_MW_TYPE_2)
		return -EINVAL;
	win = kzalloc(sizeof(*win), GFP_KERNEL_ACCOUNT);
	if (!win)
		return -ENOMEM;
	spin_lock_init(&win->lock);
	win->keys = keys;
	win->ibmw = &mw->ibmw;
	win->type = mw->ibmw.type;
	win->key.pd = mw->ibmw.pd;
	ret = smr_key_reserve(keys, &win->key, SMR_KEY_MW);
	if (ret) {
		kfree_rcu(win, key.rcu);
		return ret;
	}
	mw->win = win;
	mw->ibmw.rkey = smr_key_value(&win->key);
	smr_key_publish(&win->key);
	return 0;
}

/* Make the key of a bound window valid, or invalid. */
static void window_set_valid(struct smr_window *win, bool valid)
{
	lockdep_assert_held(&win->lock);
	if (!win->mr)
		return;
	smr_key_update_begin(&win->key);
	win->key.valid = valid;
	smr_key_update_end(&win->key);
}

/*
 * Make the key of a window invalid, if it is bound. -EAGAIN: a copy through the
 * window is in progress. The key can become valid again then.
 */
static int window_close(struct smr_window *win)
{
	window_set_valid(win, false);
	return !win->mr || smr_mem_try_suspend(&win->relay.mem) ? 0 : -EAGAIN;
}

/*
 * Take a window that is closed and has no spans off its region and its QP, if it
 * is bound. From here on the region can be deregistered.
 */
static void window_unbind(struct smr_window *win)
{
	lockdep_assert_held(&win->lock);
	if (!win->mr)
		return;
	scoped_guard(spinlock_bh, &win->mr->lock) {
		list_del(&win->on_mr);
		win->mr->nr_windows--;
	}
	win->mr = NULL;
	if (!win->owner)
		return;
	scoped_guard(spinlock_bh, &win->owner->lock)
		list_del(&win->on_owner);
	win->owner = NULL;
}

static void mr_let_go(struct smr_mr *mr)
{
	guard(spinlock_bh)(&mr->lock);
	mr->nr_windows--;
}

/* Drop the pending bind. */
static void window_forget_next(struct smr_window *win)
{
	lockdep_assert_held(&win->lock);
	if (win->next)
		mr_let_go(win->next);
	win->next = NULL;
	win->next_by = NULL;
}

/**
 * smr_mw_dealloc() - end a window, bound or not
 * @mw: the window
 *
 * Waits, without a time limit, for operations that use it.
 *
 * Context: process, may sleep.
 */
void smr_mw_dealloc(struct smr_mw *mw)
{
	DECLARE_COMPLETION_ONSTACK(idle);
	struct smr_window *win = mw->win;
	bool bound;

	scoped_guard(spinlock_bh, &win->lock) {
		win->dead = true;
		window_forget_next(win);
		bound = win->mr;
		window_set_valid(win, false);
		if (bound)
			smr_mem_suspend(&win->relay.mem, &idle);
	}
	if (bound)
		wait_for_completion(&idle);
	scoped_guard(spinlock_bh, &win->lock)
		window_unbind(win);
	smr_key_withdraw(win->keys, &win->key);
	kfree_rcu(win, key.rcu);
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

/*
 * Check a region, and keep it from being deregistered, until mr_let_go() or,
 * once it is bound, window_unbind().
 */
static int mr_hold(struct smr_mr *mr, const struct ib_pd *pd,
		   const struct smr_mw_bind *req)
{
	int ret;

	guard(spinlock_bh)(&mr->lock);
	ret = check_mr(mr, pd, req);
	if (!ret)
		mr->nr_windows++;
	return ret;
}

/* Write the key of a window that is being bound, and make it valid. */
static void window_set_key(struct smr_window *win, const struct smr_mr *mr,
			   const struct smr_mw_bind *req)
{
	struct smr_key *key = &win->key;

	smr_key_update_begin(key);
	key->tag = SMR_KEY_TAG(req->new_rkey);
	key->access = req->access & MW_RIGHTS;
	key->qpn = win->owner ? win->owner->qpn : 0;
	relay_aim(&win->relay, mr->key.mem);
	key->mem = &win->relay.mem;
	key->mem_off = mr->key.mem_off + (req->addr - mr->key.iova);
	key->iova = req->access & IB_ZERO_BASED ? 0 : req->addr;
	key->length = req->length;
	key->valid = true;
	smr_key_update_end(key);
}

/*
 * Check and hold the region of a bind in @win->next. From here on nothing can
 * refuse the bind, however long it waits for the spans of the former binding.
 */
static int window_set_next(struct smr_window *win, struct smr_keys *keys,
			   const struct smr_mw_owner *owner,
			   const struct ib_pd *pd,
			   const struct smr_mw_bind *req)
{
	struct smr_mr *mr;
	int ret;

	lockdep_assert_held(&win->lock);
	if (win->next)
		return 0;
	mr = mr_find(keys, req->mr_lkey);
	ret = mr ? mr_hold(mr, pd, req) : -ENOENT;
	if (ret)
		return ret;
	win->next = mr;
	win->next_by = owner;
	return 0;
}

/* Bind a window to its next region. */
static void window_bind(struct smr_window *win, struct smr_mw_owner *owner,
			const struct smr_mw_bind *req)
{
	struct smr_mr *mr = win->next;

	lockdep_assert_held(&win->lock);
	win->next = NULL;
	win->next_by = NULL;
	win->mr = mr;
	win->addr = req->addr;
	if (win->type == IB_MW_TYPE_2) {
		win->owner = owner;
		scoped_guard(spinlock_bh, &owner->lock)
			list_add_tail(&win->on_owner, &owner->windows);
	}
	window_set_key(win, mr, req);
	scoped_guard(spinlock_bh, &mr->lock)
		list_add_tail(&win->on_mr, &mr->windows);
}

/* Unbind by a bind of length 0. The old key is invalid, and so is the new one. */
static void window_bind_nothing(struct smr_window *win, u32 new_rkey)
{
	lockdep_assert_held(&win->lock);
	window_unbind(win);
	smr_key_update_begin(&win->key);
	win->key.tag = SMR_KEY_TAG(new_rkey);
	smr_key_update_end(&win->key);
}

/**
 * smr_mw_bind() - execute a bind request
 * @keys: the device's keys
 * @owner: the QP that it was posted to
 * @pd: that QP's protection domain
 * @req: the request
 *
 * On failure the window is as it was. After -EAGAIN the same request cannot be
 * refused any more, unless the window is deallocated. The caller tries it again,
 * or calls smr_mw_bind_undo().
 *
 * Context: any but hard interrupts.
 * Return: 0, or why not: -ENOENT (no such window or region), -EPERM (of
 * another PD), -EACCES (the region does not allow it), -ERANGE (not inside
 * the region), -EOPNOTSUPP (unknown flag), -EINVAL (not for this type of
 * window, or a type 2 window that is bound), -EAGAIN (the former binding opens
 * nothing any more but still has spans, or another QP's request waits for them).
 */
int smr_mw_bind(struct smr_keys *keys, struct smr_mw_owner *owner,
		const struct ib_pd *pd, const struct smr_mw_bind *req)
{
	struct smr_window *win;
	int ret;

	guard(rcu)();
	win = window_find(keys, req->mw_rkey);
	if (!win)
		return -ENOENT;
	guard(spinlock_bh)(&win->lock);
	ret = check_window(win, pd, req);
	if (ret)
		return ret;
	if (win->next && win->next_by != owner)
		return -EAGAIN;
	if (!req->length) {
		ret = window_close(win);
		if (!ret)
			window_bind_nothing(win, req->new_rkey);
		return ret;
	}
	ret = window_set_next(win, keys, owner, pd, req);
	if (!ret)
		ret = window_close(win);
	if (ret)
		return ret;
	window_unbind(win);
	window_bind(win, owner, req);
	return 0;
}

/**
 * smr_mw_bind_undo() - drop a bind request that returned -EAGAIN
 * @keys: the device's keys
 * @owner: the QP that it was posted to
 * @pd: that QP's protection domain
 * @req: the request
 *
 * The former binding opens again. If a request of another QP waits for the same
 * end, it closes the binding again when it is tried again.
 *
 * Context: any but hard interrupts.
 */
void smr_mw_bind_undo(struct smr_keys *keys, const struct smr_mw_owner *owner,
		      const struct ib_pd *pd, const struct smr_mw_bind *req)
{
	struct smr_window *win;

	guard(rcu)();
	win = window_find(keys, req->mw_rkey);
	if (!win)
		return;
	guard(spinlock_bh)(&win->lock);
	if (check_window(win, pd, req) || (win->next && win->next_by != owner))
		return;
	window_forget_next(win);
	window_set_valid(win, true);
}

/* Only the QP that a window is tied to can invalidate it: o10-37.2.26. */
static int check_invalidate(const struct smr_window *win,
			    const struct smr_mw_owner *owner,
			    const struct ib_pd *pd, u32 rkey)
{
	lockdep_assert_held(&win->lock);
	if (win->dead || smr_key_value(&win->key) != rkey)
		return -ENOENT;
	if (win->key.pd != pd)
		return -EPERM;
	if (win->type != IB_MW_TYPE_2 || !win->mr)
		return -EINVAL;
	return win->owner == owner ? 0 : -EPERM;
}

/**
 * smr_mw_invalidate() - execute a local or remote invalidate
 * @keys: the device's keys
 * @owner: the QP that was asked to
 * @pd: its protection domain
 * @rkey: the key to invalidate
 *
 * On failure the window is as it was. After -EAGAIN the caller tries again, or
 * calls smr_mw_invalidate_undo().
 *
 * Context: any but hard interrupts.
 * Return: 0; -ENOENT (no window has this key), -EPERM (not this QP's),
 * -EINVAL (of type 1, or not bound), -EAGAIN (its key opens nothing any more, but
 * it still has spans).
 */
int smr_mw_invalidate(struct smr_keys *keys, const struct smr_mw_owner *owner,
		      const struct ib_pd *pd, u32 rkey)
{
	struct smr_window *win;
	int ret;

	guard(rcu)();
	win = window_find(keys, rkey);
	if (!win)
		return -ENOENT;
	guard(spinlock_bh)(&win->lock);
	ret = check_invalidate(win, owner, pd, rkey);
	if (!ret)
		ret = window_close(win);
	if (!ret)
		window_unbind(win);
	return ret;
}

/**
 * smr_mw_invalidate_undo() - drop an invalidate that returned -EAGAIN
 * @keys: the device's keys
 * @owner: the QP that was asked to
 * @pd: its protection domain
 * @rkey: the key; of a window, a region, or nothing
 *
 * If it is the key of a window, it opens again.
 *
 * Context: any but hard interrupts.
 */
void smr_mw_invalidate_undo(struct smr_keys *keys,
			    const struct smr_mw_owner *owner,
			    const struct ib_pd *pd, u32 rkey)
{
	struct smr_window *win;

	guard(rcu)();
	win = window_find(keys, rkey);
	if (!win)
		return;
	guard(spinlock_bh)(&win->lock);
	if (!check_invalidate(win, owner, pd, rkey))
		window_set_valid(win, true);
}

/**
 * smr_mw_owner_init() - make a QP ready to have windows
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

/**
 * smr_mw_owner_release() - unbind all windows of a QP
 * @owner: the QP. It binds no more, and a grace period has passed since its tasks
 *	could open its windows
 *
 * Context: any but hard interrupts. Nobody refers to @owner when it returns.
 */
void smr_mw_owner_release(struct smr_mw_owner *owner)
{
	struct smr_window *win;

	/* The window may be deallocated before its lock is taken: RCU keeps it. */
	guard(rcu)();
	while ((win = owner_first(owner))) {
		guard(spinlock_bh)(&win->lock);
		if (win->owner != owner)
			continue;
		/* Only that QP could open it, so it has no spans. */
		WARN_ON_ONCE(!win->dead && window_close(win));
		window_unbind(win);
	}
}

static void window_info(const struct smr_window *win, struct smr_mw_info *info)
{
	const struct ib_uobject *uobject = win->ibmw->uobject;

	*info = (struct smr_mw_info) {
		.handle = uobject ? uobject->id : 0,
		.rkey = smr_key_value(&win->key),
		.type = win->type,
		.qpn = win->key.qpn,
		.addr = win->addr,
		.length = win->key.length,
		.access = win->key.access,
	};
}

/**
 * smr_mw_list() - which windows are bound to a region
 * @mr: the region
 * @infos: filled in, as far as it goes
 * @max: how many there is room for
 *
 * Context: any but hard interrupts; takes the region's lock.
 * Return: how many there are. That can be more than @max.
 */
u32 smr_mw_list(struct smr_mr *mr, struct smr_mw_info *infos, u32 max)
{
	struct smr_window *win;
	u32 n = 0;

	guard(spinlock_bh)(&mr->lock);
	list_for_each_entry(win, &mr->windows, on_mr) {
		if (n < max)
			window_info(win, &infos[n]);
		n++;
	}
	return n;
}
