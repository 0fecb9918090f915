// SPDX-License-Identifier: GPL-2.0
/*
 * If the last packets of what is under way are lost, or the answer to them, no later packet
 * shows the gap. The timeout that the consumer has chosen notices that, but it is made for
 * a peer that is slow, or dead: seconds, often. So a requester that has measured how long
 * answers take asks again once, when the answer should have come long ago. That is a
 * repeated request as IBTA 9.7.5.1 knows them. The timeout goes on meanwhile, and the
 * consumer's retries are not touched: when a connection ends is as without this.
 *
 * The timer is not moved with each answer, which would cost more than the rest. When it
 * fires, the task looks whether anything is late, and starts it again if something is
 * under way.
 */
#include "qp/early.h"

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "compat/timer.h"
#include "net/wire.h"
#include "qp/core.h"

/*
 * An answer is early before a 16th of the timeout, or 5 ms. It may wait for a page, or for
 * a processor, where the last one did not.
 */
#define FLOOR_SHIFT	4
#define FLOOR_MAX_NS	(5 * NSEC_PER_MSEC)

/* As in RFC 6298: the average moves by 1/8 to each sample, the mean deviation by 1/4. */
#define RTT_SHIFT	3
#define SPREAD_SHIFT	2

static enum hrtimer_restart early_timer_fn(struct hrtimer *timer)
{
	struct smr_qp *qp = container_of(timer, struct smr_qp,
					 comp.early.timer);

	WRITE_ONCE(qp->comp.early.fired, true);
	smr_task_kick(&qp->send_task);
	return HRTIMER_NORESTART;
}

/**
 * smr_early_init() - prepare the timer
 * @qp: the QP
 */
void smr_early_init(struct smr_qp *qp)
{
	hrtimer_setup(&qp->comp.early.timer, early_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

/**
 * smr_early_stop() - stop the timer
 * @qp: the QP, paused, so that its tasks do not start it again
 *
 * Context: process, may sleep.
 */
void smr_early_stop(struct smr_qp *qp)
{
	hrtimer_cancel(&qp->comp.early.timer);
}

/**
 * smr_early_reset() - forget how long answers take
 * @qp: the QP, paused and stopped
 */
void smr_early_reset(struct smr_qp *qp)
{
	struct smr_early *early = &qp->comp.early;

	smr_early_forget(qp);
	early->rtt = 0;
	early->spread = 0;
	early->least = 0;
	early->spent = false;
	early->fired = false;
}

/*
 * How long to wait for an answer, ns: twice what it takes on the average, and four times
 * its mean deviation. 0: the timeout comes first, or there is none, or nothing is known.
 */
static u64 patience(const struct smr_qp *qp)
{
	const struct smr_early *early = &qp->comp.early;
	u64 timeout = 4096ULL << qp->attr.timeout;
	u64 ns;

	if (!qp->attr.timeout || !early->rtt)
		return 0;
	ns = (u64)((early->rtt >> (RTT_SHIFT - 1)) + early->spread) *
	     NSEC_PER_USEC;
	ns = max(ns, min_t(u64, timeout >> FLOOR_SHIFT, FLOOR_MAX_NS));
	return ns < timeout / 2 ? ns : 0;
}

static void wait_from(struct smr_qp *qp, u64 now)
{
	struct smr_early *early = &qp->comp.early;
	u64 ns = patience(qp);

	early->due = ns ? now + ns : 0;
	if (early->due && !hrtimer_is_queued(&early->timer))
		hrtimer_start(&early->timer, ns_to_ktime(early->due),
			      HRTIMER_MODE_ABS_SOFT);
}

/**
 * smr_early_sent() - packets were sent
 * @qp: the QP
 * @psn: the last one's, whose answer is awaited
 * @fresh: none of them was sent before: the answer cannot be that to an earlier packet
 *
 * Context: any; called by the send task.
 */
void smr_early_sent(struct smr_qp *qp, u32 psn, bool fresh)
{
	struct smr_early *early = &qp->comp.early;
	bool measure = fresh && !early->sent;
	u64 now;

	if (!measure && (early->due || early->spent))
		return;
	now = ktime_get_ns();
	if (measure) {
		early->sent = now;
		early->psn = psn;
	}
	if (!early->due && !early->spent)
		wait_from(qp, now);
}

/* RFC 6298, 2: in us, times 8 and times 4 */
static void rtt_sample(struct smr_early *early, u64 ns)
{
	u32 us = clamp_t(u64, ns / NSEC_PER_USEC, 1, USEC_PER_SEC);
	int err;

	early->least = early->least ? min(early->least, us) : us;
	if (!early->rtt) {
		early->rtt = us << RTT_SHIFT;
		early->spread = us << (SPREAD_SHIFT - 1);
		return;
	}
	err = us - (early->rtt >> RTT_SHIFT);
	early->rtt += err;
	early->spread += abs(err) - (early->spread >> SPREAD_SHIFT);
}

/**
 * smr_early_acked() - the oldest unacknowledged PSN has moved on
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_early_acked(struct smr_qp *qp)
{
	struct smr_early *early = &qp->comp.early;
	bool sample = early->sent &&
		      smr_psn_diff(qp->comp.una, early->psn) > 0;
	bool more = smr_psn_diff(qp->req.psn, qp->comp.una) > 0;
	u64 now;

	early->spent = false;
	early->due = 0;
	if (!sample && !more)
		return;
	now = ktime_get_ns();
	if (sample) {
		rtt_sample(early, now - early->sent);
		early->sent = 0;
	}
	if (more)
		wait_from(qp, now);
}

/**
 * smr_early_forget() - what is under way does not count: it will be sent again, or waits
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_early_forget(struct smr_qp *qp)
{
	qp->comp.early.sent = 0;
	qp->comp.early.due = 0;
}

/**
 * smr_early_due() - is an answer late, so that it is time to ask again?
 * @qp: the QP
 *
 * Context: any; called by the send task.
 * Return: true if it is; once, until the oldest unacknowledged PSN has moved on.
 */
bool smr_early_due(struct smr_qp *qp)
{
	struct smr_early *early = &qp->comp.early;

	if (!READ_ONCE(early->fired))
		return false;
	WRITE_ONCE(early->fired, false);
	if (!early->due)
		return false;
	if (ktime_get_ns() < early->due) {
		hrtimer_start(&early->timer, ns_to_ktime(early->due),
			      HRTIMER_MODE_ABS_SOFT);
		return false;
	}
	smr_early_forget(qp);
	early->spent = true;
	return true;
}
