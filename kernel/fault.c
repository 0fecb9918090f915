// SPDX-License-Identifier: GPL-2.0
/*
 * The faults of each user are executed in a workqueue of that user, and their number is
 * limited: a fault whose page does not arrive occupies a kernel thread, and pins the address
 * space of a process even after it has exited. So the limit covers all devices, contexts and
 * regions of the user. Each process has a smaller limit, so that a process whose pages do not
 * arrive does not block the user's other processes.
 *
 * Locks:
 *	faults_lock -> the workqueue core's
 *	user->lock -> the workqueue core's
 */
#include "fault.h"

#include <linux/bottom_half.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "account.h"
#include "compat/cleanup.h"

/* Faults of one process that run at once; its other faults wait for these. */
#define PROCESS_RUNNING	16

/*
 * Ranges that may wait in the prefetches of one user. Further prefetches are dropped, since
 * they are only advice.
 */
#define USER_ADVICE	16384

static unsigned int user_faults = 64;
module_param(user_faults, uint, 0644);
MODULE_PARM_DESC(user_faults, "How many faults of on-demand memory of each user may wait for pages at once; of one process at most 16 do (default 64)");

static unsigned int user_odp_kb;
module_param(user_odp_kb, uint, 0644);
MODULE_PARM_DESC(user_odp_kb, "KiB that the tables of on-demand regions may take of each user who lacks CAP_SYS_RESOURCE (default 0: a 64th of the machine's memory)");

/**
 * struct faults_user - a user whose processes have on-demand memory
 * @node: in users
 * @processes: struct smr_faults
 * @uid: see smr_account_uid()
 * @wq: executes the faults
 * @lock: guards @ready, @running, and those of its processes
 * @ready: struct smr_faults that have a fault to run as soon as @running is below the limit
 * @running: how many faults are being executed
 * @advice: number of ranges that wait in prefetches
 * @tables: bytes in the tables of on-demand regions
 *
 * faults_lock guards @node and @processes. A user without processes is freed only when another
 * process is added: the reference of its last process may be dropped by a work item of @wq,
 * which cannot destroy @wq. @uid and @wq are constant.
 */
struct faults_user {
	struct list_head node;
	struct list_head processes;
	kuid_t uid;
	struct workqueue_struct *wq;
	spinlock_t lock;	/* see above */
	struct list_head ready;
	unsigned int running;
	atomic_t advice;
	atomic64_t tables;
};

/* struct faults_user, of all devices */
static LIST_HEAD(users);
static DEFINE_MUTEX(faults_lock);

static struct faults_user *user_create(kuid_t uid)
{
	struct faults_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&faults_lock);
	if (!user)
		return NULL;
	/* It has no rescuer: memory reclaim does not depend on a process's page. */
	user->wq = alloc_workqueue("softmr_faults-%u", WQ_UNBOUND,
				   WQ_UNBOUND_MAX_ACTIVE,
				   from_kuid(&init_user_ns, uid));
	if (!user->wq) {
		kfree(user);
		return NULL;
	}
	user->uid = uid;
	spin_lock_init(&user->lock);
	INIT_LIST_HEAD(&user->processes);
	INIT_LIST_HEAD(&user->ready);
	list_add(&user->node, &users);
	return user;
}

static struct faults_user *user_find(kuid_t uid)
{
	struct faults_user *user;

	lockdep_assert_held(&faults_lock);
	list_for_each_entry(user, &users, node)
		if (uid_eq(user->uid, uid))
			return user;
	return user_create(uid);
}

/* Take users without processes out of the list. */
static void users_take_idle(struct list_head *idle)
{
	struct faults_user *user, *next;

	lockdep_assert_held(&faults_lock);
	list_for_each_entry_safe(user, next, &users, node)
		if (list_empty(&user->processes))
			list_move(&user->node, idle);
}

/*
 * Called without faults_lock: destroy_workqueue() waits for the work item that has dropped the
 * user's last reference, which may still hold that lock.
 */
static void users_free(struct list_head *idle)
{
	struct faults_user *user, *next;

	list_for_each_entry_safe(user, next, idle, node) {
		destroy_workqueue(user->wq);
		kfree(user);
	}
}

/**
 * smr_faults_fini() - wait until no code of a fault runs
 *
 * A fault holds a reference on the module until its last lines.
 */
void smr_faults_fini(void)
{
	LIST_HEAD(idle);

	scoped_guard(mutex, &faults_lock)
		users_take_idle(&idle);
	users_free(&idle);
}

static struct smr_faults *faults_find(struct faults_user *user,
				      const struct mm_struct *mm)
{
	struct smr_faults *faults;

	lockdep_assert_held(&faults_lock);
	list_for_each_entry(faults, &user->processes, node) {
		if (faults->mm != mm)
			continue;
		refcount_inc(&faults->ref);
		return faults;
	}
	return NULL;
}

static struct smr_faults *faults_create(struct faults_user *user,
					struct mm_struct *mm)
{
	struct smr_faults *faults = kzalloc(sizeof(*faults), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&faults_lock);
	if (!faults)
		return NULL;
	mmgrab(mm);
	faults->mm = mm;
	faults->user = user;
	faults->limited = !capable(CAP_SYS_RESOURCE);
	refcount_set(&faults->ref, 1);
	INIT_LIST_HEAD(&faults->waiting);
	INIT_LIST_HEAD(&faults->ready);
	list_add(&faults->node, &user->processes);
	return faults;
}

/**
 * smr_faults_get() - get the struct smr_faults of the calling process
 *
 * Context: process, may sleep.
 * Return: with a reference, which smr_faults_put() drops; or ERR_PTR(-ENOMEM).
 */
struct smr_faults *smr_faults_get(void)
{
	struct smr_faults *faults = NULL;
	struct faults_user *user;
	LIST_HEAD(idle);

	scoped_guard(mutex, &faults_lock) {
		user = user_find(smr_account_uid());
		if (user)
			faults = faults_find(user, current->mm) ?:
				 faults_create(user, current->mm);
		users_take_idle(&idle);
	}
	users_free(&idle);
	return faults ?: ERR_PTR(-ENOMEM);
}

/**
 * smr_faults_put() - drop a reference
 * @faults: or NULL
 *
 * Context: process, may sleep.
 */
void smr_faults_put(struct smr_faults *faults)
{
	if (!faults || !refcount_dec_and_mutex_lock(&faults->ref, &faults_lock))
		return;
	list_del(&faults->node);
	mutex_unlock(&faults_lock);
	/* From now on another process may free the user. */
	mmdrop(faults->mm);
	kfree(faults);
}

static u64 user_max_tables(void)
{
	u64 kb = READ_ONCE(user_odp_kb);

	return kb ? kb * SZ_1K : ((u64)totalram_pages() << PAGE_SHIFT) / 64;
}

/**
 * smr_faults_charge() - charge memory that tracks a process's pages, before it is allocated
 * @faults: of the process
 * @bytes: size of the memory
 *
 * Return: 0, or -ENOMEM: the user has reached the limit.
 */
int smr_faults_charge(struct smr_faults *faults, size_t bytes)
{
	atomic64_t *tables = &faults->user->tables;

	if (atomic64_add_return(bytes, tables) <= user_max_tables() ||
	    !faults->limited)
		return 0;
	atomic64_sub(bytes, tables);
	return -ENOMEM;
}

/**
 * smr_faults_uncharge() - the reverse of smr_faults_charge()
 * @faults: of the process
 * @bytes: size of the memory
 */
void smr_faults_uncharge(struct smr_faults *faults, size_t bytes)
{
	atomic64_sub(bytes, &faults->user->tables);
}

/* A process is in its user's list while it has a fault that may run next. */
static void faults_set_ready(struct smr_faults *faults)
{
	lockdep_assert_held(&faults->user->lock);
	if (list_empty(&faults->waiting) || faults->running >= PROCESS_RUNNING)
		list_del_init(&faults->ready);
	else if (list_empty(&faults->ready))
		list_add_tail(&faults->ready, &faults->user->ready);
}

/* Start faults up to the limit, round-robin over the processes. */
static void user_run(struct faults_user *user)
{
	struct smr_faults *faults;
	struct smr_fault *fault;

	lockdep_assert_held(&user->lock);
	while (user->running < max(READ_ONCE(user_faults), 1U)) {
		faults = list_first_entry_or_null(&user->ready,
						  struct smr_faults, ready);
		if (!faults)
			return;
		fault = list_first_entry(&faults->waiting, struct smr_fault,
					 node);
		list_del_init(&fault->node);
		faults->running++;
		user->running++;
		list_del_init(&faults->ready);
		faults_set_ready(faults);
		queue_work(user->wq, &fault->work);
	}
}

/* Could a new fault of this process start at once? */
static bool faults_have_room(const struct smr_faults *faults)
{
	const struct faults_user *user = faults->user;

	lockdep_assert_held(&user->lock);
	return list_empty(&faults->waiting) && list_empty(&user->ready) &&
	       faults->running < PROCESS_RUNNING &&
	       user->running < max(READ_ONCE(user_faults), 1U);
}

/* With @now, returns false and does nothing if the fault cannot start at once. */
static bool fault_queue(struct smr_fault *fault, bool now)
{
	struct smr_faults *faults = fault->faults;

	guard(spinlock_bh)(&faults->user->lock);
	if (now && !faults_have_room(faults))
		return false;
	list_add_tail(&fault->node, &faults->waiting);
	faults_set_ready(faults);
	user_run(faults->user);
	return true;
}

/* Returns false if the fault's work was queued. */
static bool fault_unqueue(struct smr_fault *fault)
{
	struct smr_faults *faults = fault->faults;

	guard(spinlock_bh)(&faults->user->lock);
	if (list_empty(&fault->node))
		return false;
	list_del_init(&fault->node);
	faults_set_ready(faults);
	return true;
}

/* The work item of this fault is about to end; another fault may start. */
static void fault_make_room(struct smr_fault *fault)
{
	struct smr_faults *faults = fault->faults;

	guard(spinlock_bh)(&faults->user->lock);
	faults->running--;
	faults->user->running--;
	faults_set_ready(faults);
	user_run(faults->user);
}

static int fault_run(struct smr_fault *fault, bool at_once)
{
	const struct smr_populate how = {
		.want = fault->want,
		.advice = fault->advice,
		.at_once = at_once,
		.stop = &fault->stop,
	};
	int ret = 0, err;
	u32 i;

	for (i = 0; i < fault->nr; i++) {
		struct smr_fault_range *r = &fault->ranges[i];

		err = r->mem->ops->fault(r->mem, &how, r->off, r->len);
		ret = ret ?: err;
	}
	return ret;
}

static struct smr_faults *fault_where(const struct smr_fault *fault)
{
	const struct smr_mem *mem = fault->ranges[0].mem;

	return mem->ops->faults(mem);
}

/* The ranges stay: they still say what the fault was for. */
static void fault_drop_memories(struct smr_fault *fault)
{
	u32 i;

	for (i = 0; i < fault->nr; i++)
		smr_mem_put(fault->ranges[i].mem);
}

/* Returns the callback to run, or NULL. */
static struct smr_fault_cb *fault_end(struct smr_fault *fault, int err)
{
	struct smr_fault_cb *cb;

	guard(spinlock_bh)(&fault->lock);
	fault->err = err;
	/* Pairs with smr_fault_is_done(). */
	smp_store_release(&fault->done, true);
	cb = fault->cb;
	return cb && cb->get(cb) ? cb : NULL;
}

static void fault_put(struct smr_fault *fault)
{
	if (refcount_dec_and_test(&fault->ref))
		kvfree(fault);
}

/* Take the references that a running fault holds */
static void fault_hold(struct smr_fault *fault, struct smr_fault_cb *cb)
{
	fault->faults = fault_where(fault);
	fault->cb = cb;
	refcount_inc(&fault->faults->ref);
	refcount_inc(&fault->ref);
	/* The device has a reference on the module, but may be removed before the page arrives. */
	__module_get(THIS_MODULE);
}

static void fault_unhold(struct smr_fault *fault)
{
	struct smr_faults *faults = fault->faults;

	if (fault->alone)
		atomic_sub(fault->nr, &faults->user->advice);
	fault_put(fault);
	smr_faults_put(faults);
	module_put(THIS_MODULE);
}

/* @budget: see struct smr_fault_cb; NULL: in a worker */
static void fault_end_and_tell(struct smr_fault *fault, int err,
			       struct smr_budget *budget)
{
	struct smr_fault_cb *cb = fault_end(fault, err);

	if (cb)
		cb->run(cb, budget);
}

static void fault_work(struct work_struct *work)
{
	struct smr_fault *fault = container_of(work, struct smr_fault, work);
	int err = fault_run(fault, false);

	fault_drop_memories(fault);
	fault_end_and_tell(fault, err, NULL);
	fault_make_room(fault);
	fault_unhold(fault);
}

/**
 * smr_fault_alloc() - allocate a fault without ranges
 * @max: number of ranges it may have, at least 1
 * @want: the access that is needed
 * @gfp: how to allocate it
 *
 * Return: the fault, or NULL.
 */
struct smr_fault *smr_fault_alloc(u32 max, enum smr_want want, gfp_t gfp)
{
	struct smr_fault *fault;

	if (gfpflags_allow_blocking(gfp))
		fault = kvzalloc(struct_size(fault, ranges, max), gfp);
	else
		fault = kzalloc(struct_size(fault, ranges, max), gfp);
	if (!fault)
		return NULL;
	INIT_WORK(&fault->work, fault_work);
	INIT_LIST_HEAD(&fault->node);
	refcount_set(&fault->ref, 1);
	spin_lock_init(&fault->lock);
	fault->want = want;
	fault->max = max;
	return fault;
}

/**
 * smr_fault_add() - add a part of a span to a fault that has not begun
 * @fault: the fault
 * @span: the span, which the fault does not hold
 * @off: first byte, from the start of the span
 * @len: bytes
 *
 * Memory whose pages are always present needs no fault; no range is added for it.
 */
void smr_fault_add(struct smr_fault *fault, const struct smr_span *span,
		   u64 off, u64 len)
{
	if (!len || !span->mem->ops->fault)
		return;
	smr_mem_get(span->mem);
	fault->ranges[fault->nr++] = (struct smr_fault_range){
		span->mem, span->mem->serial, span->off + off, len,
	};
}

/* With @now, returns false if the fault cannot start at once; then it was not begun. */
static bool fault_begin(struct smr_fault *fault, struct smr_fault_cb *cb, bool now)
{
	fault_hold(fault, cb);
	if (fault_queue(fault, now))
		return true;
	fault_unhold(fault);
	return false;
}

/**
 * smr_fault_start() - begin a fault
 * @fault: the fault, with at least one range. The caller keeps its reference, which
 *	smr_fault_leave() drops
 * @cb: called when it has ended, unless smr_fault_leave() was called before; or NULL
 *
 * Context: any but with interrupts off.
 */
void smr_fault_start(struct smr_fault *fault, struct smr_fault_cb *cb)
{
	fault_begin(fault, cb, false);
}

/**
 * smr_fault_start_now() - begin a fault only if it can start at once
 * @fault: as for smr_fault_start()
 * @cb: likewise
 *
 * Context: process, may sleep.
 * Return: false if other faults of the user come first; then it was not begun.
 */
bool smr_fault_start_now(struct smr_fault *fault, struct smr_fault_cb *cb)
{
	return fault_begin(fault, cb, true);
}

/**
 * smr_fault_start_alone() - begin a prefetch without a waiter
 * @fault: the fault, with at least one range; the caller's reference is dropped
 *
 * The prefetch is dropped if the user has too many of them.
 *
 * Context: process, may sleep.
 */
void smr_fault_start_alone(struct smr_fault *fault)
{
	atomic_t *advice = &fault_where(fault)->user->advice;

	if (atomic_add_return(fault->nr, advice) > USER_ADVICE) {
		atomic_sub(fault->nr, advice);
		smr_fault_discard(fault);
		return;
	}
	fault->alone = true;
	smr_fault_start(fault, NULL);
	fault_put(fault);
}

/**
 * smr_fault_start_errand() - prepare a fault that a function further up the stack may execute
 * @fault: as for smr_fault_start()
 * @cb: likewise
 *
 * The function that takes the errand calls smr_fault_run_errand(). Until then the fault can be
 * left like one that is being executed.
 *
 * Context: any but with interrupts off.
 */
void smr_fault_start_errand(struct smr_fault *fault, struct smr_fault_cb *cb)
{
	fault_hold(fault, cb);
}

/**
 * smr_fault_run_errand() - execute a fault here, or queue it
 * @fault: from smr_fault_start_errand(); it need not exist afterwards
 * @budget: passed to the callback, whose task may run here on behalf of another QP
 *
 * It is executed here if all of its memory belongs to the calling process and no page has to be
 * waited for.
 *
 * Context: process, may sleep.
 */
void smr_fault_run_errand(struct smr_fault *fault, struct smr_budget *budget)
{
	int err = fault_run(fault, true);

	/*
	 * -EINTR: the process that lends its context is being killed, not the one that needs
	 * the page.
	 */
	if (err == -EAGAIN || err == -EINTR) {
		fault_queue(fault, false);
		return;
	}
	fault_drop_memories(fault);
	/* BH off while this process owns what @get has taken: it must not be preempted. */
	local_bh_disable();
	fault_end_and_tell(fault, err, budget);
	local_bh_enable();
	fault_unhold(fault);
}

/**
 * smr_fault_is_done() - has a fault ended?
 * @fault: the fault
 *
 * Return: true: @fault->err is the result. The pages may be gone again.
 */
bool smr_fault_is_done(struct smr_fault *fault)
{
	/* Pairs with fault_end(). */
	return smp_load_acquire(&fault->done);
}

/**
 * smr_fault_leave() - abandon a fault, whether it has ended or not
 * @fault: the fault, from smr_fault_start(); the caller's reference is dropped
 *
 * Does not wait for pages. The worker calls @get under the fault's lock. So after this, @run
 * can only be called if @get has already succeeded, and the struct that contains the struct
 * smr_fault_cb may be freed.
 *
 * Context: any if the fault has ended. Otherwise process, may sleep: the last reference
 * on a memory may be the fault's.
 */
void smr_fault_leave(struct smr_fault *fault)
{
	bool ended;

	scoped_guard(spinlock_bh, &fault->lock) {
		fault->cb = NULL;
		WRITE_ONCE(fault->stop, true);
		ended = fault->done;
	}
	if (!ended && fault_unqueue(fault)) {
		fault_drop_memories(fault);
		fault_unhold(fault);
	}
	fault_put(fault);
}

/**
 * smr_fault_discard() - free a fault that has not begun
 * @fault: the fault
 *
 * Context: process, may sleep.
 */
void smr_fault_discard(struct smr_fault *fault)
{
	fault_drop_memories(fault);
	fault_put(fault);
}

/**
 * smr_span_fault_here() - bring pages in without sleeping for any of them
 * @span: the range to bring in
 * @write: the pages will be written to
 *
 * Tries only memory of the calling process, and only where the fault needs no more than an
 * allocation.
 *
 * Context: process, may sleep.
 * Return: 0; -EFAULT; -ENOMEM; -EAGAIN: a fault is needed that may take long. The
 * pages may be gone again on return.
 */
int smr_span_fault_here(const struct smr_span *span, bool write)
{
	const struct smr_populate how = {
		.want = write ? SMR_WANT_WRITE : SMR_WANT_READ,
		.at_once = true,
	};
	struct smr_mem *mem = span->mem;
	int ret;

	if (!span->len || !mem->ops->fault)
		return 0;
	ret = mem->ops->fault(mem, &how, span->off, span->len);
	/* The process that lends its context is being killed, not the one that needs the page. */
	return ret == -EINTR ? -EAGAIN : ret;
}
