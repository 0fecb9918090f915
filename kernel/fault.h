/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults: missing pages of on-demand memory, brought in for somebody who need not
 * wait for them. A page may take as long as another process wants, or for ever. So a
 * fault holds the memory, which then outlives its region, and nothing else: no span,
 * no QP, no device.
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
struct smr_run;

/**
 * struct smr_faults - the faults of one process's memory
 * @node: in its user's list
 * @user: whose process it is; also how the faults are executed
 * @mm: the process, a mmgrab() reference
 * @limited: it lacked CAP_SYS_RESOURCE when it registered its first memory
 * @ref: one for each memory, and for each fault that was begun
 * @ready: in its user's list of those whose next fault may run
 * @waiting: struct smr_fault
 * @running: how many faults are being executed
 * @watched: @mm has had a notifier, so that another one needs no mmap_lock. Only ever set
 *
 * See struct faults_user for who guards what. @user, @mm and @limited are constant.
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
 * struct smr_fault_cb - somebody who is to hear that a fault has ended
 * @get: keeps @run possible; called with a lock held, in any context. False: nobody
 *	needs to hear of it any more
 * @run: called after @get, without a lock; drops what that took. In process context; or
 *	with BH off, as that run of another QP's task
 */
struct smr_fault_cb {
	bool (*get)(struct smr_fault_cb *cb);
	void (*run)(struct smr_fault_cb *cb, struct smr_run *run);
};

/**
 * struct smr_fault_range - one range of a fault
 * @mem: the memory, which can have pages missing; gone when the fault has ended
 * @serial: of the memory
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
 * @faults: where it is executed
 * @ref: one for who asked, one for the work
 * @lock: guards @cb and @done
 * @cb: who is to hear that it has ended; NULL: nobody
 * @done: it has ended, with @err
 * @stop: nobody needs it any more
 * @want: the access that is needed
 * @advice: it is a prefetch
 * @alone: it is one that nobody waits for, and counts in the user's
 * @err: 0, or the first error: -EFAULT, -ENOMEM, -EINTR, -EAGAIN (a prefetch), or what
 *	pinning returns
 * @max: how many ranges there is room for
 * @nr: how many there are
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
void smr_fault_run_errand(struct smr_fault *fault, struct smr_run *run);
bool smr_fault_is_done(struct smr_fault *fault);
void smr_fault_leave(struct smr_fault *fault);
void smr_fault_discard(struct smr_fault *fault);

int smr_span_fault_here(const struct smr_span *span, bool write);

#endif /* SMR_FAULT_H */
