// SPDX-License-Identifier: GPL-2.0
/*
 * Each message takes the time that its bytes need at the rate. A message may be sent when, at
 * this rate, all earlier messages have left; or earlier, by the time that a burst takes. This
 * is the generic cell rate algorithm (ITU-T I.371), with messages of any length. Unused time is
 * carried over for at most one burst, so the rate is a maximum.
 */
#include "qp/pace.h"

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "compat/timer.h"
#include "qp/task.h"

/* ns that a byte takes at 1 kbit/s */
#define NS_PER_BYTE	(8ULL * USEC_PER_SEC)

static u64 cost(const struct smr_pace *pace, u32 len)
{
	return div_u64(len * NS_PER_BYTE, pace->rate);
}

static enum hrtimer_restart pace_timer_fn(struct hrtimer *timer)
{
	smr_task_kick(container_of(timer, struct smr_pace, timer)->task);
	return HRTIMER_NORESTART;
}

/**
 * smr_pace_create() - allocate a pace without a limit
 * @task: the task that sends
 *
 * Context: process, may sleep.
 * Return: the pace, or NULL: no memory.
 */
struct smr_pace *smr_pace_create(struct smr_task *task)
{
	struct smr_pace *pace = kzalloc(sizeof(*pace), GFP_KERNEL_ACCOUNT);

	if (!pace)
		return NULL;
	pace->task = task;
	hrtimer_setup(&pace->timer, pace_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	return pace;
}

/**
 * smr_pace_destroy() - stop the timer, and free a pace
 * @pace: the pace, or NULL; its task will not run again
 *
 * Context: process, may sleep.
 */
void smr_pace_destroy(struct smr_pace *pace)
{
	if (!pace)
		return;
	hrtimer_cancel(&pace->timer);
	kfree(pace);
}

/**
 * smr_pace_adjust() - change the rate while messages wait
 * @pace: the pace
 * @rate: kbit/s; 0: no limit
 * @burst: bytes that may be sent at once
 *
 * What was sent before has left at the former rate.
 *
 * Context: any; called by the task.
 */
void smr_pace_adjust(struct smr_pace *pace, u32 rate, u32 burst)
{
	pace->rate = rate;
	pace->slack = rate ? cost(pace, burst) : 0;
}

/**
 * smr_pace_set() - set the rate
 * @pace: the pace; or NULL, and then @rate must be 0. Its task is paused
 * @rate: kbit/s; 0: no limit
 * @burst: bytes that may be sent at once
 *
 * Context: process, may sleep.
 */
void smr_pace_set(struct smr_pace *pace, u32 rate, u32 burst)
{
	if (!pace)
		return;
	hrtimer_cancel(&pace->timer);
	smr_pace_adjust(pace, rate, burst);
	pace->due = 0;
}

/**
 * smr_pace_wait() - must a message wait?
 * @pace: the pace
 * @len: its length in bytes
 *
 * Context: any; called by the task.
 * Return: true if it must wait; the timer runs the task when the wait is over.
 */
bool smr_pace_wait(struct smr_pace *pace, u32 len)
{
	u64 from;

	if (!pace->rate)
		return false;
	/* A message longer than a burst waits until all earlier ones have left. */
	from = pace->due - min(pace->due, pace->slack -
					  min(pace->slack, cost(pace, len)));
	if (ktime_get_ns() >= from)
		return false;
	hrtimer_start(&pace->timer, ns_to_ktime(from), HRTIMER_MODE_ABS_SOFT);
	return true;
}

/**
 * smr_pace_sent() - account for a message that was sent
 * @pace: the pace
 * @len: its length in bytes
 *
 * Context: any; called by the task.
 */
void smr_pace_sent(struct smr_pace *pace, u32 len)
{
	if (pace->rate)
		pace->due = max(pace->due, ktime_get_ns()) + cost(pace, len);
}
