// SPDX-License-Identifier: GPL-2.0
/*
 * A process that posts one request after another needs a system call for each, while other CPUs
 * may be idle. So when the doorbells of a QP are frequent enough, its send side moves to a
 * thread on another CPU of the same node, the poller. While the poller owns the send task,
 * SMR_RING_POLLED in the ring tells the provider that no doorbell is needed.
 *
 * The poller continues as long as no other thread wants its CPU, requests are posted at least
 * every @env->poll_ns, and requests are faster than with doorbells: for a process that waits
 * for each answer, the latency to another CPU and back may exceed the cost of a system call.
 * Otherwise the poller quits, and the next doorbell runs the task in its caller as usual: a
 * process never waits for an idle CPU. Modules cannot find out which CPUs are idle. So the
 * thread checks whether it is alone on its CPU; if not, another CPU is tried later. It has a
 * high priority, not to run before others, but so that it is not preempted while it owns the
 * task: it quits after the step in which another thread becomes runnable.
 *
 * No request is lost when polling starts or stops: the poller clears the flag, issues a full
 * barrier, and lets the task check the ring once more. The process publishes its request,
 * issues a full barrier, and loads the flag. models/sqpoll.pml models both.
 */
#include "qp/sqpoll.h"

#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/sched/prio.h>
#include <linux/sched/stat.h>
#include <linux/time64.h>
#include <linux/topology.h>

#include "compat/workqueue.h"
#include "qp/core.h"

/*
 * A poller is tried if the interval between doorbells is less than TRY_INTERVAL *
 * @env->poll_ns, since the doorbells themselves take a part of that interval. Its measurements
 * then decide whether it stays.
 */
#define TRY_INTERVAL	4

/* If a poller has taken fewer requests than this, waking the thread was not worth it. */
#define WORTH_IT	32

/*
 * Requests per measurement of doorbells and of a polling period. Polling must be faster than
 * doorbells by 1/EARNS, since it uses a CPU. An interrupt may distort one measurement, so two
 * consecutive ones count.
 */
#define MEASURE		64
#define EARNS		8
#define SLOW_ONES	2

/* Maximum pause in jiffies after a poller that was too slow; after others it is HZ */
#define SLOW_PAUSE	(HZ / 4)

/* Doorbells per polling period above which the provider is taken to ignore the flag. */
#define IN_VAIN		64

/*
 * Maximum polling period in jiffies. The thread then sleeps, so that RCU-tasks and livepatch
 * can make progress.
 */
#define STAY		HZ

/* CPUs that have a poller */
static struct cpumask taken;

/* Per-CPU and CPU_INTENSIVE: excluded from concurrency management. */
static struct workqueue_struct *sqpolls;

/**
 * smr_sqpolls_init() - create the workqueue of pollers
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int smr_sqpolls_init(void)
{
	sqpolls = alloc_workqueue("softmr_sqpoll",
				  WQ_PERCPU | WQ_CPU_INTENSIVE | WQ_HIGHPRI, 0);
	return sqpolls ? 0 : -ENOMEM;
}

/**
 * smr_sqpolls_exit() - undo smr_sqpolls_init()
 *
 * Context: module exit; no QP exists.
 */
void smr_sqpolls_exit(void)
{
	destroy_workqueue(sqpolls);
}

/* Is no other thread waiting for this CPU? */
static bool alone(void)
{
	return single_task_running() && !need_resched();
}

/* Own the task between two doorbells, and run it as long as requests arrive. */
static void sqpoll_live(struct smr_qp *qp)
{
	struct smr_budget budget = {
		.can_sleep = true,
		.left = SMR_BUDGET_PROCESS,
		.sqpoll = true,
	};
	u64 end = ktime_get_ns() + qp->env->poll_ns;

	qp->sqpoll.until = jiffies + STAY;
	while (alone() && !READ_ONCE(qp->dead) && ktime_get_ns() < end) {
		if (smr_task_try(&qp->send_task, &budget))
			return;
		cpu_relax();
	}
}

/*
 * If polling was not worth it, try another CPU, and increasingly rarely, down to once a second.
 */
static void sqpoll_judge(struct smr_sqpoll *sqpoll)
{
	unsigned int pause = 0, most = sqpoll->slow ? SLOW_PAUSE : HZ;

	if (sqpoll->taken < WORTH_IT || (sqpoll->slow && !sqpoll->earned)) {
		pause = clamp(sqpoll->pause * 2, 1U, most);
		WRITE_ONCE(sqpoll->cpu, READ_ONCE(sqpoll->cpu) + 1);
	}
	WRITE_ONCE(sqpoll->judged, jiffies);
	WRITE_ONCE(sqpoll->pause, pause);
}

static void sqpoll_work(struct work_struct *work)
{
	struct smr_qp *qp = container_of(work, struct smr_qp, sqpoll.work);
	int cpu = raw_smp_processor_id();

	qp->sqpoll.taken = 0;
	qp->sqpoll.slow = 0;
	qp->sqpoll.earned = false;
	/* Two pollers on one CPU would make each other quit. */
	if (!cpumask_test_and_set_cpu(cpu, &taken)) {
		sqpoll_live(qp);
		cpumask_clear_cpu(cpu, &taken);
	}
	sqpoll_judge(&qp->sqpoll);
	smr_qp_put(qp);
}

/**
 * smr_sqpoll_init() - initialize a poller
 * @qp: the QP; @qp->user and @qp->env are set
 */
void smr_sqpoll_init(struct smr_qp *qp)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;
	u32 poll_ns = qp->env->poll_ns;

	INIT_WORK(&sqpoll->work, sqpoll_work);
	if (qp->user && poll_ns)
		sqpoll->often = max(TICK_NSEC / TRY_INTERVAL / poll_ns, 2);
}

/**
 * smr_sqpoll_close() - require doorbells again
 * @qp: the QP, whose send task was disabled
 *
 * Enabling the task also runs it, and so finds requests that were posted without a doorbell.
 *
 * Context: process.
 */
void smr_sqpoll_close(struct smr_qp *qp)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;

	if (!sqpoll->open)
		return;
	WRITE_ONCE(sqpoll->open, false);
	smr_ring_set_flags(&qp->sq.ring, 0);
}

/**
 * smr_sqpoll_fini() - end a poller
 * @qp: the QP, dead
 *
 * Context: process, may sleep; waits for a thread that is about to end.
 */
void smr_sqpoll_fini(struct smr_qp *qp)
{
	if (cancel_work_sync(&qp->sqpoll.work))
		smr_qp_put(qp);
}

/*
 * May a poller of this process run on @cpu, which must be near the current CPU? CPUs that an
 * administrator has isolated are not used, nor CPUs on which the process may not run.
 */
static bool cpu_fits(int cpu)
{
	return cpu_online(cpu) && cpu != raw_smp_processor_id() &&
	       cpu_to_node(cpu) == numa_node_id() &&
	       !cpumask_test_cpu(cpu, &taken) && !cpu_is_isolated(cpu) &&
	       housekeeping_test_cpu(cpu, HK_TYPE_TICK) &&
	       cpumask_test_cpu(cpu, current->cpus_ptr);
}

/*
 * A process with a higher priority must not leave its work to a thread with a lower one. On
 * PREEMPT_RT any thread may be preempted for long.
 */
static bool sqpoll_allowed(struct smr_qp *qp, unsigned long now)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && current->prio >= MAX_RT_PRIO &&
	       num_online_cpus() > 1 && smr_ring_is_user(&qp->sq.ring) &&
	       now - READ_ONCE(qp->sqpoll.judged) >= READ_ONCE(qp->sqpoll.pause);
}

static void sqpoll_ask(struct smr_qp *qp, unsigned long now)
{
	int i, cpu = READ_ONCE(qp->sqpoll.cpu) % nr_cpu_ids;

	if (!sqpoll_allowed(qp, now))
		return;
	for (i = 0; !cpu_fits(cpu); i++) {
		if (i == nr_cpu_ids)
			return;
		cpu = (cpu + 1) % nr_cpu_ids;
	}
	WRITE_ONCE(qp->sqpoll.cpu, cpu);
	smr_qp_hold(qp);
	if (!queue_work_on(cpu, sqpolls, &qp->sqpoll.work))
		smr_qp_put(qp);
}

/* Number of requests that were taken */
static u32 sqpoll_count(const struct smr_qp *qp)
{
	/* The caller need not own the task, whose owner may change the index concurrently. */
	return data_race(READ_ONCE(qp->sq.ring.idx));
}

static void sqpoll_measure_from(struct smr_qp *qp, u64 now)
{
	WRITE_ONCE(qp->sqpoll.rung_idx, sqpoll_count(qp));
	WRITE_ONCE(qp->sqpoll.rung, now);
}

/* Measure the time per request with doorbells. False: too few requests for a measurement. */
static bool sqpoll_pace(struct smr_qp *qp)
{
	s32 n = sqpoll_count(qp) - READ_ONCE(qp->sqpoll.rung_idx);
	u64 now;

	/* The QP was reset, and so was its index. */
	if (n < 0)
		sqpoll_measure_from(qp, ktime_get_ns());
	if (n < MEASURE)
		return false;
	now = ktime_get_ns();
	WRITE_ONCE(qp->sqpoll.pace,
		   min_t(u64, div_u64(now - READ_ONCE(qp->sqpoll.rung), n),
			 U32_MAX));
	sqpoll_measure_from(qp, now);
	return true;
}

/**
 * smr_sqpoll_rung() - count a doorbell of the send side, and wake a poller if they are frequent
 * @qp: the QP; the caller keeps it from being destroyed
 *
 * Called after the task was run, so requests posted so far do not wait for the poller.
 *
 * Several threads may ring at the same time. A lost count does no harm.
 *
 * Context: process.
 */
void smr_sqpoll_rung(struct smr_qp *qp)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;
	unsigned long now = jiffies, last = READ_ONCE(sqpoll->jiffy);
	u32 rings;

	if (last != now) {
		/* A measurement across a pause is not valid. */
		if (now - last > 1)
			sqpoll_measure_from(qp, ktime_get_ns());
		WRITE_ONCE(sqpoll->rings, 0);
		WRITE_ONCE(sqpoll->jiffy, now);
	}
	rings = READ_ONCE(sqpoll->rings) + 1;
	WRITE_ONCE(sqpoll->rings, rings);
	if (unlikely(READ_ONCE(sqpoll->open)))
		WRITE_ONCE(sqpoll->vain, READ_ONCE(sqpoll->vain) + 1);
	else if (unlikely(rings == sqpoll->often) &&
		 READ_ONCE(sqpoll->vain) < IN_VAIN && sqpoll_pace(qp))
		sqpoll_ask(qp, now);
}

/*
 * Doorbells count as needless only after the provider can see the flag: this CPU may be delayed
 * at any point here.
 */
static void sqpoll_open(struct smr_qp *qp)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;

	sqpoll->seen = qp->sq.ring.idx;
	sqpoll->idx = qp->sq.ring.idx;
	sqpoll->posted = ktime_get_ns();
	sqpoll->begun = sqpoll->posted;
	sqpoll->begun_idx = sqpoll->idx;
	WRITE_ONCE(sqpoll->vain, 0);
	smr_qp_inc(qp, SMR_CNT_SQPOLLS);
	smr_ring_set_flags(&qp->sq.ring, SMR_RING_POLLED);
	WRITE_ONCE(sqpoll->open, true);
}

/* The task must check the ring once more, as requests may have been posted without a doorbell. */
static void sqpoll_leave(struct smr_qp *qp, struct smr_budget *budget)
{
	budget->sqpoll = false;
	smr_sqpoll_close(qp);
	sqpoll_measure_from(qp, ktime_get_ns());
}

/* Were requests faster than with doorbells at the last measurement? */
static bool sqpoll_earns(struct smr_sqpoll *sqpoll)
{
	u32 n = sqpoll->idx - sqpoll->begun_idx;
	u64 now, ns;

	if (n < MEASURE)
		return true;
	now = ktime_get_ns();
	ns = now - sqpoll->begun;
	sqpoll->begun = now;
	sqpoll->begun_idx = sqpoll->idx;
	if (ns + ns / EARNS <= (u64)n * READ_ONCE(sqpoll->pace)) {
		sqpoll->earned = true;
		sqpoll->slow = 0;
	} else {
		sqpoll->slow++;
	}
	return sqpoll->slow < SLOW_ONES;
}

/* Should a poller continue that has requests to handle? */
static bool sqpoll_stays(struct smr_sqpoll *sqpoll)
{
	return alone() && time_before(jiffies, sqpoll->until) &&
	       READ_ONCE(sqpoll->vain) < IN_VAIN && sqpoll_earns(sqpoll);
}

/*
 * Wait until a request is posted, or another context asks for the task. False: nothing was
 * posted for too long, or another thread wants the CPU.
 *
 * Requests that must not start yet stay in the ring. So the check is whether the index has
 * changed since the task last looked.
 */
static bool sqpoll_wait(struct smr_qp *qp)
{
	const struct smr_ring *ring = &qp->sq.ring;
	struct smr_sqpoll *sqpoll = &qp->sqpoll;
	u32 prod;
	u64 now;

	do {
		prod = READ_ONCE(ring->hdr->prod);
		now = ktime_get_ns();
		if (prod != sqpoll->seen) {
			sqpoll->seen = prod;
			sqpoll->posted = now;
			if (prod != ring->idx)
				return true;
		}
		if (smr_task_asked(&qp->send_task))
			return true;
		cpu_relax();
	} while (alone() && now - sqpoll->posted < qp->env->poll_ns);
	return false;
}

/**
 * smr_sqpoll_step() - decide how a poller continues after a step of the send task
 * @qp: the QP
 * @budget: the budget, with @budget->sqpoll
 * @step: result of the step
 *
 * The task is released or handed over only after the poller has quit.
 *
 * Context: process; called by the send task.
 * Return: the step to continue with.
 */
enum smr_step smr_sqpoll_step(struct smr_qp *qp, struct smr_budget *budget,
			      enum smr_step step)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;

	if (!sqpoll->open) {
		/* Before the thread started, the QP may have been reset. */
		if (READ_ONCE(qp->state) != IB_QPS_RTS) {
			budget->sqpoll = false;
			return step;
		}
		sqpoll_open(qp);
	}
	if (step == SMR_STEP_WAIT) {
		step = SMR_STEP_AGAIN;
		if (!sqpoll_wait(qp)) {
			sqpoll_leave(qp, budget);
			return step;
		}
	} else {
		sqpoll->taken += qp->sq.ring.idx - sqpoll->idx;
		sqpoll->idx = qp->sq.ring.idx;
	}
	if (step == SMR_STEP_DEFER || !sqpoll_stays(sqpoll))
		sqpoll_leave(qp, budget);
	else if (budget->left <= 0)
		budget->left = SMR_BUDGET_PROCESS;
	return step;
}
