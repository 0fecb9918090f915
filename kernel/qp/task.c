// SPDX-License-Identifier: GPL-2.0
/*
 * The state machine that makes one context at a time run a side of a QP. models/task.pml is a
 * model of it.
 */
#include "qp/task.h"

#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/kernel_stat.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "fault.h"

/*
 * The context that moves a task from not OWNED to OWNED runs it. A context that comes later
 * sets AGAIN. AGAIN makes the owner call the function once more before it releases the task, so
 * that no event is lost. DISABLED keeps new owners out.
 */
enum {
	TASK_OWNED	= 1 << 0,
	TASK_AGAIN	= 1 << 1,
	TASK_DISABLED	= 1 << 2,
};

/**
 * struct share - remaining budget of all tasks in the current softirq of this CPU
 * @id: identifies that softirq, see softirq_id()
 * @left: as in struct smr_budget
 *
 * A softirq may handle packets, or expired timers, for any number of QPs. Together they must
 * not take longer than one of them may.
 *
 * Used by the softirqs of its own CPU, which do not interrupt each other. On PREEMPT_RT they
 * can be preempted: there a share is only approximate, and the scheduler keeps other threads
 * running.
 */
struct share {
	unsigned int id;
	int left;
};

static DEFINE_PER_CPU(struct share, softirq_share);

/* The kernel counts the softirqs of each CPU, so the count identifies the current one. */
static unsigned int softirq_id(void)
{
	int cpu = smp_processor_id();

	return kstat_softirqs_cpu(NET_RX_SOFTIRQ, cpu) +
	       kstat_softirqs_cpu(TIMER_SOFTIRQ, cpu) +
	       kstat_softirqs_cpu(TASKLET_SOFTIRQ, cpu) +
	       kstat_softirqs_cpu(HRTIMER_SOFTIRQ, cpu);
}

/* The share of the current softirq, or NULL outside of a softirq. */
static struct share *softirq_share_get(void)
{
	struct share *share;
	unsigned int id;

	if (!in_serving_softirq())
		return NULL;
	share = this_cpu_ptr(&softirq_share);
	id = softirq_id();
	if (share->id != id || !id) {
		share->id = id;
		share->left = SMR_BUDGET_SOFTIRQ;
	}
	return share;
}

static bool task_own(struct smr_task *task)
{
	int old = atomic_read(&task->state);

	do {
		if ((old & TASK_AGAIN) && (old & (TASK_OWNED | TASK_DISABLED))) {
			/* The owner sees what the caller stored before. */
			smp_mb();
			if (atomic_read(&task->state) == old)
				return false;
			old = atomic_read(&task->state);
			continue;
		}
		if (old & (TASK_OWNED | TASK_DISABLED)) {
			if (atomic_try_cmpxchg(&task->state, &old,
					       old | TASK_AGAIN))
				return false;
			continue;
		}
		if (atomic_try_cmpxchg(&task->state, &old, TASK_OWNED))
			return true;
	} while (true);
}

/* Release the task, unless another round was requested. */
static bool task_disown(struct smr_task *task)
{
	int old = atomic_read(&task->state);

	do {
		if ((old & TASK_AGAIN) && !(old & TASK_DISABLED)) {
			if (atomic_try_cmpxchg(&task->state, &old,
					       old & ~TASK_AGAIN))
				return false;
			continue;
		}
		if (atomic_try_cmpxchg(&task->state, &old, old & ~TASK_OWNED))
			break;
	} while (true);
	if (old & TASK_DISABLED)
		wake_up_var(&task->state);
	return true;
}

/*
 * Only the owner queues the work, and it is not queued at that time. But cancel_work() marks a
 * work item that is not queued as pending for a moment.
 */
static void task_queue(struct smr_task *task)
{
	while (!queue_work(task->wq, &task->work))
		cpu_relax();
}

/*
 * A disabled task does not run, so cancel its work if that has not started: the work items
 * before it in the queue may take long. If AGAIN keeps the ownership here, because the task was
 * enabled in between, queue the work again.
 */
static void task_take_back(struct smr_task *task)
{
	while (atomic_read(&task->state) & TASK_DISABLED &&
	       cancel_work(&task->work)) {
		atomic_or(TASK_AGAIN, &task->state);
		if (task_disown(task)) {
			task->put(task);
			return;
		}
		task_queue(task);
		smp_mb(); /* as in task_hand_over() */
	}
}

/*
 * The work item inherits the ownership. If there is no reference to take, the container is
 * being destroyed.
 */
static void task_hand_over(struct smr_task *task)
{
	if (!task->get(task)) {
		atomic_andnot(TASK_AGAIN, &task->state);
		task_disown(task);
		return;
	}
	task_queue(task);
	smp_mb(); /* smr_task_disable() sees the work, or this sees DISABLED */
	task_take_back(task);
}

/* Execute the fault that another QP's task, which ran here with BH off, has left. */
static void task_run_errand(struct smr_budget *budget)
{
	struct smr_fault *fault = budget->errand;

	budget->errand = NULL;
	smr_fault_run_errand(fault, budget);
}

static void task_loop(struct smr_task *task, struct smr_budget *budget)
{
	do {
		enum smr_step step = task->fn(task, budget);

		while (unlikely(budget->errand) && budget->can_sleep)
			task_run_errand(budget);
		if (step == SMR_STEP_WAIT) {
			if (task_disown(task))
				return;
			continue;
		}
		if (atomic_read(&task->state) & TASK_DISABLED) {
			/* smr_task_disable() waits: stop now, not at the end of the budget. */
			atomic_or(TASK_AGAIN, &task->state);
			if (task_disown(task))
				return;
			continue;
		}
		if (step == SMR_STEP_DEFER || budget->left <= 0) {
			task_hand_over(task);
			return;
		}
		if (budget->can_sleep)
			cond_resched();
	} while (true);
}

static void task_work(struct work_struct *work)
{
	struct smr_task *task = container_of(work, struct smr_task, work);
	struct smr_budget budget = {
		.can_sleep = true,
		.left = SMR_BUDGET_PROCESS,
	};

	task_loop(task, &budget);
	task->put(task);
}

/**
 * smr_task_init() - initialize a task; it starts enabled and idle
 * @task: zeroed
 * @wq: executes left-over work
 * @fn: takes one step, of bounded length
 * @get: takes the reference that queued work holds
 * @put: drops it
 */
void smr_task_init(struct smr_task *task, struct workqueue_struct *wq,
		   enum smr_step (*fn)(struct smr_task *, struct smr_budget *),
		   bool (*get)(struct smr_task *),
		   void (*put)(struct smr_task *))
{
	atomic_set(&task->state, 0);
	task->fn = fn;
	task->get = get;
	task->put = put;
	task->wq = wq;
	INIT_WORK(&task->work, task_work);
}

/**
 * smr_task_run() - run a task here, or leave it to its owner
 * @task: the task
 * @budget: the budget; each step reduces it
 *
 * A later call of the task's function sees all stores that the caller did before this call. The
 * caller holds a reference on the task's container.
 *
 * Context: any; process context if @budget->can_sleep.
 */
void smr_task_run(struct smr_task *task, struct smr_budget *budget)
{
	if (task_own(task))
		task_loop(task, budget);
}

/* On PREEMPT_RT a section with BH off is preemptible. */
static bool may_be_preempted(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) && !in_serving_softirq();
}

/* Run a task of another QP, which the caller owns, for one slice. */
static void loop_foreign(struct smr_task *task, struct smr_budget *budget,
			 const struct smr_local *here)
{
	int left = min(budget->left, SMR_BUDGET_SOFTIRQ);
	struct smr_budget foreign = {
		.left = left,
		.here = here,
		.takes_errand = here && budget->can_sleep,
		.errand = budget->errand,
	};

	task_loop(task, &foreign);
	budget->left -= left - foreign.left;
	budget->errand = foreign.errand;
}

/**
 * smr_task_run_foreign() - run a task of another QP, perhaps of another process
 * @task: the other task
 * @budget: the caller's budget; the work of the other task reduces it
 * @here: see struct smr_budget; or NULL
 *
 * The scheduler may preempt the caller for as long as its priority and cgroup allow. That must
 * not happen while it owns another process's task. So the task runs here with BH off, for one
 * slice, and its own workqueue does the rest. It brings no pages in. If it works only for the
 * caller, it may leave pages that need no waiting for the caller to bring in. On PREEMPT_RT only
 * a softirq runs the task.
 *
 * Context: BH off. BH must be off from the look-up of the other QP until the reference on it is
 *	dropped, or the caller could be preempted while the QP's destroyer waits for that
 *	reference.
 */
void smr_task_run_foreign(struct smr_task *task, struct smr_budget *budget,
			  const struct smr_local *here)
{
	lockdep_assert_in_softirq();
	if (may_be_preempted())
		smr_task_defer(task);
	else if (task_own(task))
		loop_foreign(task, budget, here);
}

/**
 * smr_task_run_queued() - smr_task_run_foreign(), also if the task waits in its workqueue
 * @task: the other task
 * @budget: as there
 *
 * The work items before it in that queue, perhaps of another user, may take long. A task that its
 * owner is about to queue, and on PREEMPT_RT any, waits for them.
 *
 * Context: as there.
 */
void smr_task_run_queued(struct smr_task *task, struct smr_budget *budget)
{
	smr_task_run_foreign(task, budget, NULL);
	if (may_be_preempted() || !cancel_work(&task->work))
		return;
	/* The ownership and the reference of the work item are this caller's now. */
	loop_foreign(task, budget, NULL);
	task->put(task);
}

/**
 * smr_task_kick() - smr_task_run() with the remaining budget of this softirq
 * @task: the task
 *
 * All tasks that one softirq runs share one budget. When it is used up, further tasks run in
 * their workqueues. With BH off outside of a softirq, each call has its own budget; on
 * PREEMPT_RT the task runs in its workqueue then.
 *
 * Context: softirq, or BH off.
 */
void smr_task_kick(struct smr_task *task)
{
	struct share *share = softirq_share_get();
	struct smr_budget budget = {
		.left = share ? share->left : SMR_BUDGET_SOFTIRQ,
	};
	int left = budget.left;

	if (left <= 0 || may_be_preempted()) {
		smr_task_defer(task);
		return;
	}
	smr_task_run(task, &budget);
	if (share)
		share->left -= left - budget.left;
}

/**
 * smr_task_charge() - charge a softirq for work outside of tasks
 * @cost: in units of smr_budget.left
 *
 * Context: softirq; or BH off, where nothing is charged.
 * Return: false if the softirq has exceeded its budget by SMR_BUDGET_COPIES.
 */
bool smr_task_charge(int cost)
{
	struct share *share = softirq_share_get();

	if (!share)
		return true;
	/* Refused work is also charged: do not let the budget wrap. */
	if (share->left > -SMR_BUDGET_COPIES)
		share->left -= cost;
	return share->left > -SMR_BUDGET_COPIES;
}

/**
 * smr_task_defer() - run a task from the workqueue
 * @task: the task
 */
void smr_task_defer(struct smr_task *task)
{
	if (task_own(task))
		task_hand_over(task);
}

/**
 * smr_task_disable() - disable a task, and wait for its owner
 * @task: the task
 *
 * Requests to run it are remembered. Not recursive; the callers of this and of
 * smr_task_enable() exclude each other.
 *
 * Context: process, may sleep; not from within a task.
 */
void smr_task_disable(struct smr_task *task)
{
	atomic_or(TASK_DISABLED, &task->state);
	smp_mb__after_atomic(); /* pairs with task_hand_over() */
	task_take_back(task);
	/* Pairs with task_disown(): the stores of the last owner are visible. */
	wait_var_event(&task->state,
		       !(atomic_read_acquire(&task->state) & TASK_OWNED));
}

/**
 * smr_task_enable() - enable a task, and run it once
 * @task: the task
 *
 * It runs here. A task with nothing to do is then idle for the next event, and does not wait in
 * a workqueue.
 *
 * Context: process.
 */
void smr_task_enable(struct smr_task *task)
{
	/* The next owner sees what was changed while it was disabled. */
	atomic_fetch_andnot_release(TASK_DISABLED, &task->state);
	guard(smr_bh)();
	smr_task_kick(task);
}
