// SPDX-License-Identifier: GPL-2.0
#include "fault.h"

#include <linux/err.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat/cleanup.h"

/* So many faults of one process wait for pages at once; the others wait for these. */
#define FAULTS_RUNNING	16

/* Ends a struct smr_faults. Also what the module waits for before it goes. */
static struct workqueue_struct *faults_ends;

/**
 * smr_faults_init() - prepare for faults
 *
 * Return: 0 or -ENOMEM.
 */
int smr_faults_init(void)
{
	faults_ends = alloc_workqueue("softmr_faults_end", WQ_UNBOUND, 0);
	return faults_ends ? 0 : -ENOMEM;
}

/**
 * smr_faults_fini() - wait until no code of a fault runs
 *
 * A fault holds a reference on the module until its last lines.
 */
void smr_faults_fini(void)
{
	destroy_workqueue(faults_ends);
}

static void faults_free(struct work_struct *work)
{
	struct smr_faults *faults = container_of(work, struct smr_faults,
						 free_work);

	destroy_workqueue(faults->wq);
	kfree(faults);
}

static struct smr_faults *faults_create(void)
{
	struct smr_faults *faults = kzalloc(sizeof(*faults), GFP_KERNEL_ACCOUNT);

	if (!faults)
		return ERR_PTR(-ENOMEM);
	/* It has no rescuer: memory reclaim does not depend on a process's page. */
	faults->wq = alloc_workqueue("softmr_faults-%d", WQ_UNBOUND,
				     FAULTS_RUNNING, task_tgid_nr(current));
	if (!faults->wq) {
		kfree(faults);
		return ERR_PTR(-ENOMEM);
	}
	faults->mm = current->mm;
	refcount_set(&faults->ref, 1);
	INIT_WORK(&faults->free_work, faults_free);
	return faults;
}

/**
 * smr_faults_get() - where faults of the calling process's memory are executed
 * @kept: keeps it, with a reference, for the next call; initially NULL. NULL: nobody
 *	does
 *
 * Context: process, may sleep.
 * Return: with a reference, which smr_faults_put() drops; or ERR_PTR(-ENOMEM).
 */
struct smr_faults *smr_faults_get(struct smr_faults **kept)
{
	struct smr_faults *faults = NULL;

	if (kept)
		faults = smp_load_acquire(kept); /* pairs with the release below */
	if (faults && faults->mm == current->mm) {
		refcount_inc(&faults->ref);
		return faults;
	}
	/* A context that processes share keeps that of the first. */
	if (faults)
		return faults_create();
	faults = faults_create();
	if (IS_ERR(faults) || !kept)
		return faults;
	refcount_inc(&faults->ref);
	if (cmpxchg_release(kept, NULL, faults))
		smr_faults_put(faults);
	return faults;
}

/**
 * smr_faults_put() - drop a reference
 * @faults: or NULL
 *
 * Context: any.
 */
void smr_faults_put(struct smr_faults *faults)
{
	if (faults && refcount_dec_and_test(&faults->ref))
		queue_work(faults_ends, &faults->free_work);
}

static int fault_run(struct smr_fault *fault)
{
	const struct smr_populate how = {
		.want = fault->want,
		.advice = fault->advice,
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

/* The ranges stay, and tell what the fault was for. */
static void fault_drop_memories(struct smr_fault *fault)
{
	u32 i;

	for (i = 0; i < fault->nr; i++)
		smr_mem_put(fault->ranges[i].mem);
}

/* Returns who is to be told, if anybody. */
static struct smr_told *fault_end(struct smr_fault *fault, int err)
{
	struct smr_told *told;

	guard(spinlock_bh)(&fault->lock);
	fault->err = err;
	/* Pairs with smr_fault_is_done(). */
	smp_store_release(&fault->done, true);
	told = fault->told;
	return told && told->get(told) ? told : NULL;
}

static void fault_put(struct smr_fault *fault)
{
	if (refcount_dec_and_test(&fault->ref))
		kvfree(fault);
}

/* What the work holds */
static void fault_unhold(struct smr_fault *fault)
{
	struct smr_faults *faults = fault->faults;

	if (fault->advice)
		atomic_sub(fault->nr, &faults->advice);
	fault_put(fault);
	smr_faults_put(faults);
	module_put(THIS_MODULE);
}

static void fault_work(struct work_struct *work)
{
	struct smr_fault *fault = container_of(work, struct smr_fault, work);
	int err = fault_run(fault);
	struct smr_told *told;

	fault_drop_memories(fault);
	told = fault_end(fault, err);
	if (told)
		told->run(told);
	fault_unhold(fault);
}

/**
 * smr_fault_alloc() - make a fault, without ranges
 * @max: how many it may have, at least 1
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
 * Memory whose pages are always there needs no fault, and adds nothing.
 *
 * Context: any.
 */
void smr_fault_add(struct smr_fault *fault, const struct smr_span *span,
		   u64 off, u64 len)
{
	if (!len || !span->mem->ops->fault)
		return;
	smr_mem_get(span->mem);
	fault->ranges[fault->nr++] = (struct smr_fault_range){
		span->mem, span->off + off, len,
	};
}

static void fault_begin(struct smr_fault *fault, struct smr_told *told)
{
	const struct smr_mem *mem = fault->ranges[0].mem;

	fault->faults = mem->ops->faults(mem);
	fault->told = told;
	if (fault->advice)
		atomic_add(fault->nr, &fault->faults->advice);
	refcount_inc(&fault->faults->ref);
	refcount_inc(&fault->ref);
	/* The device has a reference, but may go before the page comes. */
	__module_get(THIS_MODULE);
	queue_work(fault->faults->wq, &fault->work);
}

/**
 * smr_fault_start() - begin a fault
 * @fault: the fault, with at least one range. The caller keeps its reference, which
 *	only smr_fault_leave() drops
 * @told: told when it has ended, unless the caller has left it before
 *
 * Context: any.
 */
void smr_fault_start(struct smr_fault *fault, struct smr_told *told)
{
	fault_begin(fault, told);
}

/**
 * smr_fault_start_alone() - begin a fault whose end nobody needs to hear of
 * @fault: the fault, with at least one range; the caller's reference is dropped
 *
 * Context: any.
 */
void smr_fault_start_alone(struct smr_fault *fault)
{
	fault_begin(fault, NULL);
	fault_put(fault);
}

/**
 * smr_fault_is_done() - has a fault ended?
 * @fault: the fault
 *
 * Context: any.
 * Return: true: @fault->err is the result. The pages may be gone again.
 */
bool smr_fault_is_done(struct smr_fault *fault)
{
	/* Pairs with fault_end(). */
	return smp_load_acquire(&fault->done);
}

/**
 * smr_fault_leave() - need a fault no more, whether it has ended or not
 * @fault: the fault, from smr_fault_start(); the caller's reference is dropped
 *
 * Does not wait for pages. The fault's lock is what the worker tells of the end with. So
 * after this nobody is told, nor is about to be, and what contains the struct smr_told
 * may go.
 *
 * Context: any if the fault has ended. Otherwise process, may sleep: the last reference
 * on a memory may be the fault's.
 */
void smr_fault_leave(struct smr_fault *fault)
{
	bool done;

	scoped_guard(spinlock_bh, &fault->lock) {
		fault->told = NULL;
		WRITE_ONCE(fault->stop, true);
		done = fault->done;
	}
	if (!done && cancel_work(&fault->work)) {
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
 * smr_fault_waiting_advice() - how many prefetches does a process have waiting?
 * @fault: a fault with at least one range, which says the process
 *
 * Context: any.
 * Return: the number of their ranges.
 */
u32 smr_fault_waiting_advice(const struct smr_fault *fault)
{
	const struct smr_mem *mem = fault->ranges[0].mem;

	return atomic_read(&mem->ops->faults(mem)->advice);
}

/**
 * smr_span_fault_here() - bring pages in without waiting for any
 * @span: the span
 * @write: they will be written to
 *
 * Only the caller's own memory is tried, and only where a fault is no more than an
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
	/* Only the process that lends its context here is being killed. */
	return ret == -EINTR ? -EAGAIN : ret;
}
