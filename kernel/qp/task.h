/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks: each side of a QP has one, and the context that owns the task runs that
 * side. A task has no thread. The doorbell's caller, the receive softirq, a timer
 * or, for work that is left over, a workqueue runs it.
 */
#ifndef SMR_TASK_H
#define SMR_TASK_H

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/cleanup.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct smr_fault;
struct smr_local;
struct smr_task;

/* BH off while running another process's task: it must not be preempted. */
DEFINE_LOCK_GUARD_0(smr_bh, local_bh_disable(), local_bh_enable())

/**
 * struct smr_budget - context and budget of a run of a task
 * @can_sleep: process context with BH and preemption on
 * @left: work that may still be done, in bytes; a packet costs SMR_COST_PACKET in addition to
 *	its bytes. Work beyond it is left to the workqueue
 * @here: for a response task: the operation handed over by the send task that the caller of
 *	this run owns. Its answer needs no wake-up
 * @takes_errand: for another QP's task that works only for the caller: the caller can sleep
 *	after the run
 * @errand: a fault for the caller to execute then, or NULL
 *
 * Running another QP's task, such as that of a peer on the same host, reduces the budget of the
 * caller's run.
 */
struct smr_budget {
	bool can_sleep;
	int left;
	const struct smr_local *here;
	bool takes_errand;
	struct smr_fault *errand;
};

/*
 * Result of one step of a task's work. For the task itself, DONE and AGAIN are the same: it
 * takes the next step at once if the budget allows.
 */
enum smr_step {
	SMR_STEP_DONE,		/* finished, look for the next piece of work */
	SMR_STEP_AGAIN,		/* not finished, try the same piece again */
	SMR_STEP_WAIT,		/* nothing to do until an event runs the task */
	SMR_STEP_DEFER,		/* call again from process context */
	SMR_STEP_PEER,		/* of a request: its requester has to bring in a page */
};

/**
 * struct smr_task - one side of a QP
 * @state: owned, again, disabled: bits, see qp/task.c
 * @fn: takes one step, of bounded length; called by the owner only
 * @get: takes a reference on the container; false: the container is being destroyed
 * @put: drops that reference; any context
 * @wq: executes left-over work
 * @work: the left-over work; it holds a reference and the ownership
 */
struct smr_task {
	atomic_t state;
	enum smr_step (*fn)(struct smr_task *task, struct smr_budget *budget);
	bool (*get)(struct smr_task *task);
	void (*put)(struct smr_task *task);
	struct workqueue_struct *wq;
	struct work_struct work;
};

/*
 * Budget of one run, in bytes, before the workqueue takes over; also of all runs of one softirq
 * together
 */
#define SMR_BUDGET_SOFTIRQ	(256 * 1024)
#define SMR_BUDGET_PROCESS	(4 * 1024 * 1024)
/*
 * Amount by which one softirq may exceed its budget to queue copies of packets. At half a
 * microsecond each, 4096 copies take as long as net.core.netdev_budget_usecs allows.
 */
#define SMR_BUDGET_COPIES	(4096 * SMR_COST_PACKET)
/* Cost of a packet in addition to its bytes, and of each request that an answer completes */
#define SMR_COST_PACKET		1024
#define SMR_COST_RETIRE		512

void smr_task_init(struct smr_task *task, struct workqueue_struct *wq,
		   enum smr_step (*fn)(struct smr_task *, struct smr_budget *),
		   bool (*get)(struct smr_task *),
		   void (*put)(struct smr_task *));
void smr_task_run(struct smr_task *task, struct smr_budget *budget);
void smr_task_run_foreign(struct smr_task *task, struct smr_budget *budget,
			  const struct smr_local *here);
void smr_task_run_queued(struct smr_task *task, struct smr_budget *budget);
void smr_task_kick(struct smr_task *task);
bool smr_task_charge(int cost);
void smr_task_defer(struct smr_task *task);
void smr_task_disable(struct smr_task *task);
void smr_task_enable(struct smr_task *task);

#endif /* SMR_TASK_H */
