/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults: missing pages of on-demand memory, brought in for somebody who need not
 * wait for them. A page may take as long as another process wants, or for ever. So a
 * fault holds the memory, which then outlives its region, and nothing else: no span,
 * no QP, no device.
 */
#ifndef SMR_FAULT_H
#define SMR_FAULT_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "compat/compiler.h"
#include "mem.h"

struct smr_fault;

/**
 * struct smr_faults - where the faults of one process's memory are executed
 * @wq: of this process only: it can fill it with pages that never come, and nobody
 *	else needs it
 * @mm: whose memory it is; only to be compared
 * @ref: one for each memory, and for what keeps it for the next memory
 * @advice: how many ranges wait in prefetches
 * @watched: @mm has had a notifier: another one needs no lock that a fault may hold
 * @free_work: ends it; the last reference may be dropped in @wq itself
 */
struct smr_faults {
	struct workqueue_struct *wq;
	const struct mm_struct *mm;
	refcount_t ref;
	atomic_t advice;
	bool watched;
	struct work_struct free_work;
};

/**
 * struct smr_told - somebody who is to hear that a fault has ended
 * @get: keeps @run possible; called with a lock held, in any context. False: nobody
 *	needs to hear of it any more
 * @run: called after @get, without a lock, in process context; drops what that took
 */
struct smr_told {
	bool (*get)(struct smr_told *told);
	void (*run)(struct smr_told *told);
};

/**
 * struct smr_fault_range - one range of a fault
 * @mem: the memory, which can have pages missing
 * @off: first byte
 * @len: bytes, at least 1
 */
struct smr_fault_range {
	struct smr_mem *mem;
	u64 off;
	u64 len;
};

/**
 * struct smr_fault - a fault
 * @work: brings the pages in
 * @faults: where it is executed
 * @ref: one for who asked, one for @work
 * @lock: guards @told and @done
 * @told: who is to hear that it has ended; NULL: nobody
 * @done: it has ended, with @err
 * @stop: nobody needs it any more
 * @want: the access that is needed
 * @advice: it is a prefetch
 * @err: 0; -EFAULT, -ENOMEM, -EINTR: the first error
 * @max: how many ranges there is room for
 * @nr: how many there are
 * @ranges: the ranges; a reference on each memory is held until @done
 */
struct smr_fault {
	struct work_struct work;
	struct smr_faults *faults;
	refcount_t ref;
	/* see above */
	spinlock_t lock;
	struct smr_told *told;
	bool done;
	bool stop;
	enum smr_want want;
	bool advice;
	int err;
	u32 max;
	u32 nr;
	struct smr_fault_range ranges[] __counted_by(max);
};

int smr_faults_init(void);
void smr_faults_fini(void);
struct smr_faults *smr_faults_get(struct smr_faults **kept);
void smr_faults_put(struct smr_faults *faults);

struct smr_fault *smr_fault_alloc(u32 max, enum smr_want want, gfp_t gfp);
void smr_fault_add(struct smr_fault *fault, const struct smr_span *span,
		   u64 off, u64 len);
void smr_fault_start(struct smr_fault *fault, struct smr_told *told);
void smr_fault_start_alone(struct smr_fault *fault);
bool smr_fault_is_done(struct smr_fault *fault);
void smr_fault_leave(struct smr_fault *fault);
void smr_fault_discard(struct smr_fault *fault);
u32 smr_fault_waiting_advice(const struct smr_fault *fault);

int smr_span_fault_here(const struct smr_span *span, bool write);

#endif /* SMR_FAULT_H */
