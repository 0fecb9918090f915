// SPDX-License-Identifier: GPL-2.0
/*
 * A process that posts one request after another pays a system call for each, while other
 * processors may have nothing to do. So when the doorbells of a QP follow each other fast
 * enough, its send side moves to a thread on another processor of the same node, its home.
 * While that owns the send task, SMR_RING_POLLED in the ring tells the provider that no
 * doorbell is needed.
 *
 * The home waits for more for as long as nobody else wants the processor, something is
 * posted at least every @env->poll_ns, and requests follow each other faster than they did
 * by doorbells: a process that waits for each answer may lose more by the way to another
 * processor and back than a system call costs. Otherwise the home leaves, and the next
 * doorbell runs the task where it is rung, as always: who has no idle processor does not
 * wait for one.
 * Modules are not told which processors are idle. So the thread looks whether it is alone
 * on its processor, and if not, another one is tried later. It has a high priority, not in
 * order to run before others, but so that it is not stopped while it owns the task: it
 * leaves after the step in which somebody comes.
 *
 * In and out of it no request is forgotten: the home clears the flag, issues a full
 * barrier, and has the task look into the ring once more. The process publishes its
 * request, issues a full barrier, and loads the flag. models/home.pml has both.
 */
#include "qp/home.h"

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
 * A home is tried when doorbells come at an interval of so many times @env->poll_ns, since
 * they themselves take a part of that. Then what it finds counts.
 */
#define TRY_INTERVAL	4

/* A home in which the task took fewer requests was not worth waking the thread. */
#define WORTH_IT	32

/*
 * After so many requests doorbells are measured, and a stay. It has to be faster than they
 * by one part in EARNS, since it costs a processor. An interrupt may fall into one
 * measurement, so two in turn count.
 */
#define MEASURE		64
#define EARNS		8
#define SLOW_ONES	2

/* In jiffies, how rarely a home is tried that was worth waking, but too slow */
#define SLOW_PAUSE	(HZ / 4)

/* So many doorbells in one stay, and the provider does not look at the flag. */
#define IN_VAIN		64

/*
 * A stay ends after so many jiffies. The thread sleeps then, which those need who wait
 * until each thread has been seen to.
 */
#define STAY		HZ

/* Processors that have a home */
static struct cpumask taken;

/* Its threads are bound to processors, and do not count among those that work there. */
static struct workqueue_struct *homes;

/**
 * smr_homes_init() - prepare for homes
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int smr_homes_init(void)
{
	homes = alloc_workqueue("softmr_homes",
				WQ_PERCPU | WQ_CPU_INTENSIVE | WQ_HIGHPRI, 0);
	return homes ? 0 : -ENOMEM;
}

/**
 * smr_homes_exit() - undo smr_homes_init()
 *
 * Context: module exit; there are no QPs any more.
 */
void smr_homes_exit(void)
{
	destroy_workqueue(homes);
}

/* Does this thread keep nobody from running? */
static bool alone(void)
{
	return single_task_running() && !need_resched();
}

/* Own the task between two doorbells, and run it for as long as requests come. */
static void home_live(struct smr_qp *qp)
{
	struct smr_run run = {
		.can_sleep = true,
		.quota = SMR_QUOTA_PROCESS,
		.home = true,
	};
	u64 end = ktime_get_ns() + qp->env->poll_ns;

	qp->home.until = jiffies + STAY;
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
static void home_judge(struct smr_home *home)
{
	unsigned int pause = 0, most = home->slow ? SLOW_PAUSE : HZ;

	if (home->taken < WORTH_IT || (home->slow && !home->earned)) {
		pause = clamp(home->pause * 2, 1U, most);
		WRITE_ONCE(home->cpu, READ_ONCE(home->cpu) + 1);
	}
	WRITE_ONCE(home->judged, jiffies);
	WRITE_ONCE(home->pause, pause);
}

static void home_work(struct work_struct *work)
{
	struct smr_qp *qp = container_of(work, struct smr_qp, home.work);
	int cpu = raw_smp_processor_id();

	qp->home.taken = 0;
	qp->home.slow = 0;
	qp->home.earned = false;
	/* Two of them would make each other leave. */
	if (!cpumask_test_and_set_cpu(cpu, &taken)) {
		home_live(qp);
		cpumask_clear_cpu(cpu, &taken);
	}
	home_judge(&qp->home);
	smr_qp_put(qp);
}

/**
 * smr_home_init() - prepare a home
 * @qp: the QP; @qp->user and @qp->env are set
 */
void smr_home_init(struct smr_qp *qp)
{
	struct smr_home *home = &qp->home;
	u32 poll_ns = qp->env->poll_ns;

	INIT_WORK(&home->work, home_work);
	if (qp->user && poll_ns)
		home->often = max(TICK_NSEC / TRY_INTERVAL / poll_ns, 2);
}

/**
 * smr_home_close() - doorbells are needed again
 * @qp: the QP, whose send task was disabled
 *
 * Whoever enables the task runs it, and so finds what was posted without a doorbell.
 *
 * Context: process.
 */
void smr_home_close(struct smr_qp *qp)
{
	struct smr_home *home = &qp->home;

	if (!home->open)
		return;
	WRITE_ONCE(home->open, false);
	smr_ring_set_flags(&qp->sq.ring, 0);
}

/**
 * smr_home_fini() - end a home
 * @qp: the QP, dead
 *
 * Context: process, may sleep; waits for a thread that is about to end.
 */
void smr_home_fini(struct smr_qp *qp)
{
	if (cancel_work_sync(&qp->home.work))
		smr_qp_put(qp);
}

/*
 * May a home be there, as seen from this processor and this process? What an administrator
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
static bool home_allowed(struct smr_qp *qp, unsigned long now)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && current->prio >= MAX_RT_PRIO &&
	       num_online_cpus() > 1 && smr_ring_is_user(&qp->sq.ring) &&
	       now - READ_ONCE(qp->home.judged) >= READ_ONCE(qp->home.pause);
}

static void home_ask(struct smr_qp *qp, unsigned long now)
{
	int i, cpu = READ_ONCE(qp->home.cpu) % nr_cpu_ids;

	if (!home_allowed(qp, now))
		return;
	for (i = 0; !cpu_fits(cpu); i++) {
		if (i == nr_cpu_ids)
			return;
		cpu = (cpu + 1) % nr_cpu_ids;
	}
	WRITE_ONCE(qp->home.cpu, cpu);
	smr_qp_hold(qp);
	if (!queue_work_on(cpu, homes, &qp->home.work))
		smr_qp_put(qp);
}

/* Requests that were taken */
static u32 home_count(const struct smr_qp *qp)
{
	/* Whoever asks need not own the task, whose owner may move the index meanwhile. */
	return data_race(READ_ONCE(qp->sq.ring.idx));
}

static void home_measure_from(struct smr_qp *qp, u64 now)
{
	WRITE_ONCE(qp->home.rung_idx, home_count(qp));
	WRITE_ONCE(qp->home.rung, now);
}

/* How long does a request take by doorbells? False: there were too few to say. */
static bool home_pace(struct smr_qp *qp)
{
	s32 n = home_count(qp) - READ_ONCE(qp->home.rung_idx);
	u64 now;

	/* The QP was reset, and counts anew. */
	if (n < 0)
		home_measure_from(qp, ktime_get_ns());
	if (n < MEASURE)
		return false;
	now = ktime_get_ns();
	WRITE_ONCE(qp->home.pace,
		   min_t(u64, div_u64(now - READ_ONCE(qp->home.rung), n),
			 U32_MAX));
	home_measure_from(qp, now);
	return true;
}

/**
 * smr_home_rung() - a doorbell of the send side was rung, and the task was run
 * @qp: the QP; the caller keeps it from being destroyed
 *
 * When the doorbells follow each other fast enough, get a home. What was posted so far
 * does not wait for that.
 *
 * Several threads may ring at a time. A count that they lose is of no matter.
 *
 * Context: process.
 */
void smr_home_rung(struct smr_qp *qp)
{
	struct smr_home *home = &qp->home;
	unsigned long now = jiffies, last = READ_ONCE(home->jiffy);
	u32 rings;

	if (last != now) {
		/* What was before a pause says nothing. */
		if (now - last > 1)
			home_measure_from(qp, ktime_get_ns());
		WRITE_ONCE(home->rings, 0);
		WRITE_ONCE(home->jiffy, now);
	}
	rings = READ_ONCE(home->rings) + 1;
	WRITE_ONCE(home->rings, rings);
	if (unlikely(READ_ONCE(home->open)))
		WRITE_ONCE(home->vain, READ_ONCE(home->vain) + 1);
	else if (unlikely(rings == home->often) &&
		 READ_ONCE(home->vain) < IN_VAIN && home_pace(qp))
		home_ask(qp, now);
}

/*
 * Doorbells are in vain only after the provider can see the flag: this processor may be
 * stopped at any point here.
 */
static void home_open(struct smr_qp *qp)
{
	struct smr_home *home = &qp->home;

	home->seen = qp->sq.ring.idx;
	home->idx = qp->sq.ring.idx;
	home->posted = ktime_get_ns();
	home->begun = home->posted;
	home->begun_idx = home->idx;
	WRITE_ONCE(home->vain, 0);
	smr_qp_inc(qp, SMR_CNT_HOMES);
	smr_ring_set_flags(&qp->sq.ring, SMR_RING_POLLED);
	WRITE_ONCE(home->open, true);
}

/* The task has to look once more, as requests may have come without a doorbell. */
static void home_leave(struct smr_qp *qp, struct smr_run *run)
{
	run->home = false;
	smr_home_close(qp);
	home_measure_from(qp, ktime_get_ns());
}

/* Have requests followed each other faster than by doorbells, when this was measured last? */
static bool home_earns(struct smr_home *home)
{
	u32 n = home->idx - home->begun_idx;
	u64 now, ns;

	if (n < MEASURE)
		return true;
	now = ktime_get_ns();
	ns = now - home->begun;
	home->begun = now;
	home->begun_idx = home->idx;
	if (ns + ns / EARNS <= (u64)n * READ_ONCE(home->pace)) {
		home->earned = true;
		home->slow = 0;
	} else {
		home->slow++;
	}
	return home->slow < SLOW_ONES;
}

/* Does a home stay that has something to do? */
static bool home_stays(struct smr_home *home)
{
	return alone() && time_before(jiffies, home->until) &&
	       READ_ONCE(home->vain) < IN_VAIN && home_earns(home);
}

/*
 * Wait until something is posted, or somebody asks for the task. False: nothing was posted
 * for too long, or the processor is wanted.
 *
 * Requests that must not begin yet stay in the ring. So what counts is that the index has
 * moved since the task last looked.
 */
static bool home_wait(struct smr_qp *qp)
{
	const struct smr_ring *ring = &qp->sq.ring;
	struct smr_home *home = &qp->home;
	u32 prod;
	u64 now;

	do {
		prod = READ_ONCE(ring->hdr->prod);
		now = ktime_get_ns();
		if (prod != home->seen) {
			home->seen = prod;
			home->posted = now;
			if (prod != ring->idx)
				return true;
		}
		if (smr_task_asked(&qp->send_task))
			return true;
		cpu_relax();
	} while (alone() && now - home->posted < qp->env->poll_ns);
	return false;
}

/**
 * smr_home_step() - what follows a step of the send task at its home
 * @qp: the QP
 * @run: the run, with @run->home
 * @step: what the step has said
 *
 * The task is let go, and handed over, only after the home has left.
 *
 * Context: process; called by the send task.
 * Return: what the step says now.
 */
enum smr_step smr_home_step(struct smr_qp *qp, struct smr_run *run,
			    enum smr_step step)
{
	struct smr_home *home = &qp->home;

	if (!home->open) {
		/* Before the thread came, the QP may have been reset. */
		if (READ_ONCE(qp->state) != IB_QPS_RTS) {
			run->home = false;
			return step;
		}
		home_open(qp);
	}
	if (step == SMR_STEP_WAIT) {
		step = SMR_STEP_AGAIN;
		if (!home_wait(qp)) {
			home_leave(qp, run);
			return step;
		}
	} else {
		home->taken += qp->sq.ring.idx - home->idx;
		home->idx = qp->sq.ring.idx;
	}
	if (step == SMR_STEP_DEFER || !home_stays(home))
		home_leave(qp, run);
	else if (run->quota <= 0)
		run->quota = SMR_QUOTA_PROCESS;
	return step;
}
