// SPDX-License-Identifier: GPL-2.0
/*
 * A process that posts one request after another pays a system call for each, while other
 * processors may have nothing to do. So when the doorbells of a QP follow each other fast
 * enough, its send side moves to a thread on another processor of the same node, its poller.
 * While that owns the send task, SMR_RING_POLLED in the ring tells the provider that no
 * doorbell is needed.
 *
 * The poller waits for more for as long as nobody else wants the processor, something is
 * posted at least every @env->poll_ns, and requests follow each other faster than they did
 * by doorbells: a process that waits for each answer may lose more by the way to another
 * processor and back than a system call costs. Otherwise the poller leaves, and the next
 * doorbell runs the task where it is rung, as always: who has no idle processor does not
 * wait for one.
 * Modules are not told which processors are idle. So the thread looks whether it is alone
 * on its processor, and if not, another one is tried later. It has a high priority, not in
 * order to run before others, but so that it is not stopped while it owns the task: it
 * leaves after the step in which somebody comes.
 *
 * In and out of it no request is forgotten: the poller clears the flag, issues a full
 * barrier, and has the task look into the ring once more. The process publishes its
 * request, issues a full barrier, and loads the flag. models/sqpoll.pml has both.
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
 * A poller is tried when doorbells come at an interval of so many times @env->poll_ns, since
 * they themselves take a part of that. Then what it finds counts.
 */
#define TRY_INTERVAL	4

/* A poller that has taken fewer requests was not worth waking the thread. */
#define WORTH_IT	32

/*
 * After so many requests doorbells are measured, and a stay. It has to be faster than they
 * by one part in EARNS, since it costs a processor. An interrupt may fall into one
 * measurement, so two in turn count.
 */
#define MEASURE		64
#define EARNS		8
#define SLOW_ONES	2

/* In jiffies, how rarely a poller is tried that was worth waking, but too slow */
#define SLOW_PAUSE	(HZ / 4)

/* So many doorbells in one stay, and the provider does not look at the flag. */
#define IN_VAIN		64

/*
 * A stay ends after so many jiffies. The thread sleeps then, which those need who wait
 * until each thread has been seen to.
 */
#define STAY		HZ

/* Processors that have a poller */
static struct cpumask taken;

/* Its threads are bound to processors, and do not count among those that work there. */
static struct workqueue_struct *sqpolls;

/**
 * smr_sqpolls_init() - prepare for pollers
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
 * Context: module exit; there are no QPs any more.
 */
void smr_sqpolls_exit(void)
{
	destroy_workqueue(sqpolls);
}

/* Does this thread keep nobody from running? */
static bool alone(void)
{
	return single_task_running() && !need_resched();
}

/* Own the task between two doorbells, and run it for as long as requests come. */
static void sqpoll_live(struct smr_qp *qp)
{
	struct smr_run run = {
		.can_sleep = true,
		.quota = SMR_QUOTA_PROCESS,
		.sqpoll = true,
	};
	u64 end = ktime_get_ns() + qp->env->poll_ns;

	qp->sqpoll.until = jiffies + STAY;
	while (alone() && !READ_ONCE(qp->dead) && ktime_get_ns() < end) {
		if (smr_task_try(&qp->send_task, &run))
			return;
		cpu_relax();
	}
}

/*
 * If it brought nothing, try another processor; and less and less often, down to once a
 * second.
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
	/* Two of them would make each other leave. */
	if (!cpumask_test_and_set_cpu(cpu, &taken)) {
		sqpoll_live(qp);
		cpumask_clear_cpu(cpu, &taken);
	}
	sqpoll_judge(&qp->sqpoll);
	smr_qp_put(qp);
}

/**
 * smr_sqpoll_init() - prepare a poller
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
 * smr_sqpoll_close() - doorbells are needed again
 * @qp: the QP, whose send task was disabled
 *
 * Whoever enables the task runs it, and so finds what was posted without a doorbell.
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
 * May a poller be there, as seen from this processor and this process? What an administrator
 * keeps for others is not used, and a process uses the processors that it may run on.
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
 * Whose work is urgent does not leave it to a thread that is less so. On PREEMPT_RT any
 * thread may be stopped for long.
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

/* Requests that were taken */
static u32 sqpoll_count(const struct smr_qp *qp)
{
	/* Whoever asks need not own the task, whose owner may move the index meanwhile. */
	return data_race(READ_ONCE(qp->sq.ring.idx));
}

static void sqpoll_measure_from(struct smr_qp *qp, u64 now)
{
	WRITE_ONCE(qp->sqpoll.rung_idx, sqpoll_count(qp));
	WRITE_ONCE(qp->sqpoll.rung, now);
}

/* How long does a request take by doorbells? False: there were too few to say. */
static bool sqpoll_pace(struct smr_qp *qp)
{
	s32 n = sqpoll_count(qp) - READ_ONCE(qp->sqpoll.rung_idx);
	u64 now;

	/* The QP was reset, and counts anew. */
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
 * smr_sqpoll_rung() - a doorbell of the send side was rung, and the task was run
 * @qp: the QP; the caller keeps it from being destroyed
 *
 * When the doorbells follow each other fast enough, get a poller. What was posted so far
 * does not wait for that.
 *
 * Several threads may ring at a time. A count that they lose is of no matter.
 *
 * Context: process.
 */
void smr_sqpoll_rung(struct smr_qp *qp)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;
	unsigned long now = jiffies, last = READ_ONCE(sqpoll->jiffy);
	u32 rings;

	if (last != now) {
		/* What was before a pause says nothing. */
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
 * Doorbells are in vain only after the provider can see the flag: this processor may be
 * stopped at any point here.
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

/* The task has to look once more, as requests may have come without a doorbell. */
static void sqpoll_leave(struct smr_qp *qp, struct smr_run *run)
{
	run->sqpoll = false;
	smr_sqpoll_close(qp);
	sqpoll_measure_from(qp, ktime_get_ns());
}

/* Have requests followed each other faster than by doorbells, when this was measured last? */
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

/* Does a poller stay that has something to do? */
static bool sqpoll_stays(struct smr_sqpoll *sqpoll)
{
	return alone() && time_before(jiffies, sqpoll->until) &&
	       READ_ONCE(sqpoll->vain) < IN_VAIN && sqpoll_earns(sqpoll);
}

/*
 * Wait until something is posted, or somebody asks for the task. False: nothing was posted
 * for too long, or the processor is wanted.
 *
 * Requests that must not begin yet stay in the ring. So what counts is that the index has
 * moved since the task last looked.
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
 * smr_sqpoll_step() - what follows a step of the send task that its poller runs
 * @qp: the QP
 * @run: the run, with @run->sqpoll
 * @step: what the step has said
 *
 * The task is let go, and handed over, only after the poller has left.
 *
 * Context: process; called by the send task.
 * Return: what the step says now.
 */
enum smr_step smr_sqpoll_step(struct smr_qp *qp, struct smr_run *run,
			      enum smr_step step)
{
	struct smr_sqpoll *sqpoll = &qp->sqpoll;

	if (!sqpoll->open) {
		/* Before the thread came, the QP may have been reset. */
		if (READ_ONCE(qp->state) != IB_QPS_RTS) {
			run->sqpoll = false;
			return step;
		}
		sqpoll_open(qp);
	}
	if (step == SMR_STEP_WAIT) {
		step = SMR_STEP_AGAIN;
		if (!sqpoll_wait(qp)) {
			sqpoll_leave(qp, run);
			return step;
		}
	} else {
		sqpoll->taken += qp->sq.ring.idx - sqpoll->idx;
		sqpoll->idx = qp->sq.ring.idx;
	}
	if (step == SMR_STEP_DEFER || !sqpoll_stays(sqpoll))
		sqpoll_leave(qp, run);
	else if (run->quota <= 0)
		run->quota = SMR_QUOTA_PROCESS;
	return step;
}
