/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults: bring in missing pages of on-demand memory asynchronously. Another process
 * (userfaultfd, FUSE) may delay a page for any time, even for ever. So a fault holds a
 * reference on the memory only, which may then outlive its region, and on no span, QP or
 * device.
 */
#ifndef SMR_FAULT_H
#define SMR_FAULT_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "compat/compiler.h"
#include "mem.h"

struct faults_user;
struct mm_struct;
struct smr_fault;
struct smr_budget;

/**
 * struct smr_faults - the faults of one process's memory
 * @node: in its user's list
 * @user: the user of the process; executes the faults
 * @mm: the process, a mmgrab() reference
 * @limited: it lacked CAP_SYS_RESOURCE when it registered its first memory
 * @ref: one for each memory, and one for each fault that was begun
 * @ready: in its user's list of processes that have a fault to run
 * @waiting: struct smr_fault
 * @running: number of faults being executed
 * @watched: @mm has had a notifier, so that another one needs no mmap_lock. Only ever set
 *
 * See struct faults_user for the locks. @user, @mm and @limited are constant.
 */
struct smr_faults {
	struct list_head node;
	struct faults_user *user;
	struct mm_struct *mm;
	bool limited;
	refcount_t ref;
	struct list_head ready;
	struct list_head waiting;
	unsigned int running;
	bool watched;
};

/**
 * struct smr_fault_cb - callback at the end of a fault
 * @get: takes the references that @run needs; called with a lock held, in any context. False:
 *	do not call @run
 * @run: called after @get, without a lock; drops the references that @get took. Its second
 *	argument is NULL in process context. Otherwise BHs are off, and it is the budget of
 *	another QP's task that calls this
 */
struct smr_fault_cb {
	bool (*get)(struct smr_fault_cb *cb);
	void (*run)(struct smr_fault_cb *cb, struct smr_budget *budget);
};

/**
 * struct smr_fault_range - one range of a fault
 * @mem: the memory, of a kind whose pages can be missing; not valid after the fault has ended
 * @serial: serial number of the memory
 * @off: first byte
 * @len: bytes, at least 1
 */
struct smr_fault_range {
	struct smr_mem *mem;
	u64 serial;
	u64 off;
	u64 len;
};

/**
 * struct smr_fault - a fault
 * @work: brings the pages in
 * @node: in @faults->waiting, until @work is queued
 * @faults: of the process whose memory it is
 * @ref: one for the requester, one for the work item
 * @lock: guards @cb and @done
 * @cb: called when it has ended; or NULL
 * @done: it has ended, with @err
 * @stop: the requester has abandoned it
 * @want: the access that is needed
 * @advice: it is a prefetch
 * @alone: nobody waits for it; its ranges count in faults_user.advice
 * @err: 0, or the first error: -EFAULT, -ENOMEM, -EINTR, -EAGAIN (a prefetch), or what
 *	pinning returns
 * @max: size of @ranges
 * @nr: number of @ranges in use
 * @ranges: the ranges; a reference on each memory is held until @done
 */
struct smr_fault {
	struct work_struct work;
	struct list_head node;
	struct smr_faults *faults;
	refcount_t ref;
	/* see above */
	spinlock_t lock;
	struct smr_fault_cb *cb;
	bool done;
	bool stop;
	enum smr_want want;
	bool advice;
	bool alone;
	int err;
	u32 max;
	u32 nr;
	struct smr_fault_range ranges[] __counted_by(max);
};

void smr_faults_fini(void);
struct smr_faults *smr_faults_get(void);
void smr_faults_put(struct smr_faults *faults);
int __must_check smr_faults_charge(struct smr_faults *faults, size_t bytes);
void smr_faults_uncharge(struct smr_faults *faults, size_t bytes);

struct smr_fault *smr_fault_alloc(u32 max, enum smr_want want, gfp_t gfp);
void smr_fault_add(struct smr_fault *fault, const struct smr_span *span,
		   u64 off, u64 len);
void smr_fault_start(struct smr_fault *fault, struct smr_fault_cb *cb);
bool __must_check smr_fault_start_now(struct smr_fault *fault,
				      struct smr_fault_cb *cb);
void smr_fault_start_alone(struct smr_fault *fault);
void smr_fault_start_errand(struct smr_fault *fault, struct smr_fault_cb *cb);
void smr_fault_run_errand(struct smr_fault *fault, struct smr_budget *budget);
bool smr_fault_is_done(struct smr_fault *fault);
void smr_fault_leave(struct smr_fault *fault);
void smr_fault_discard(struct smr_fault *fault);

int smr_span_fault_here(const struct smr_span *span, bool write);

#endif /* SMR_FAULT_H */
