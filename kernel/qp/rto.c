// SPDX-License-Identifier: GPL-2.0
/*
 * A send side has one timer. It is never moved to a later time: when it fires, the task checks
 * what is due, and restarts it for the other waits. Starting and stopping it with each message
 * would cost more than everything else here.
 *
 * If the last packets in flight are lost, or the answer to them, no later packet shows the gap.
 * The timeout that the consumer has set detects this, but it is meant for a slow or dead peer:
 * often seconds. So a requester that has measured the round-trip time repeats its request once
 * when the answer is long overdue: a tail loss probe as in RFC 8985, and a repeated request as
 * defined by IBTA 9.7.5.1. The timeout continues to run, and no retry of the consumer is used
 * up, so a connection ends at the same time as without the probe.
 */
#include "qp/rto.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "compat/timer.h"
#include "net/wire.h"

/*
 * An answer is not late before 5 ms, or a 16th of the timeout if that is less: unlike earlier
 * answers, it may have to wait for a page or a CPU.
 */
#define FLOOR_SHIFT	4
#define FLOOR_MAX_NS	(5 * NSEC_PER_MSEC)

/* RFC 6298: the mean deviation moves by 1/4. */
#define RTTVAR_SHIFT	2

/*
 * IBTA 9.7.6.1.3: a timeout may take up to four times as long as requested. Each timeout without
 * progress doubles the next one, because the network may be slow.
 */
#define LATE_MAX	2

/* Initialize the timer. @fn: sets @rto->fired, and runs the task. */
void smr_rto_init(struct smr_rto *rto,
		  enum hrtimer_restart (*fn)(struct hrtimer *))
{
	hrtimer_setup(&rto->timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/* Stop the timer. @rto: its task is paused, and does not restart it. */
void smr_rto_stop(struct smr_rto *rto)
{
	hrtimer_cancel(&rto->timer);
	rto->armed = 0;
}

/* Cancel all waits, and drop the measured round-trip time. */
void smr_rto_reset(struct smr_rto *rto)
{
	smr_rto_forget(rto);
	rto->ack = 0;
	rto->rnr = 0;
	rto->fired = false;
	rto->probed = false;
	rto->late = 0;
	rto->srtt = 0;
	rto->rttvar = 0;
	rto->least = 0;
}

/*
 * Set the consumer's timeout. @rto: its task is paused. @timeout: IBTA 9.7.6.1.3: 4.096 us * 2 ^
 * @timeout; 0: for ever. The minimum is a tick: a peer's workqueue may take as long, and a timer
 * that fires continuously would leave no time for work.
 */
void smr_rto_set(struct smr_rto *rto, u8 timeout)
{
	rto->timeout = timeout ? max_t(u64, 4096ULL << timeout, TICK_NSEC) : 0;
}

static u64 earlier(u64 a, u64 b)
{
	return a && (!b || a < b) ? a : b;
}

static void arm(struct smr_rto *rto)
{
	u64 next = earlier(earlier(rto->ack, rto->probe), rto->rnr);

	/* Once it has fired, start it here, too: smr_rto_due(), which restarts it, may run late. */
	if (!next || (rto->armed && rto->armed <= next && !READ_ONCE(rto->fired)))
		return;
	rto->armed = next;
	hrtimer_start(&rto->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_SOFT);
}

/*
 * The time at which an answer is late: twice the average round-trip time plus four times its
 * mean deviation. 0: the timeout is earlier or not set, or nothing was measured.
 */
static u64 probe_at(const struct smr_rto *rto, u64 now)
{
	u64 ns;

	if (!rto->timeout || !rto->srtt)
		return 0;
	ns = (u64)((rto->srtt >> (SMR_SRTT_SHIFT - 1)) + rto->rttvar) *
	     NSEC_PER_USEC;
	ns = max(ns, min_t(u64, rto->timeout >> FLOOR_SHIFT, FLOOR_MAX_NS));
	return ns < rto->timeout / 2 ? now + ns : 0;
}

static void await_from(struct smr_rto *rto, u64 now)
{
	rto->ack = rto->timeout ? now + (rto->timeout << rto->late) : 0;
}

/*
 * Start waiting for the answer to packets. @psn: PSN of the last packet, whose answer is awaited.
 * @fresh: none of them was sent before, so the answer cannot be one to an earlier packet.
 */
void smr_rto_sent(struct smr_rto *rto, u32 psn, bool fresh)
{
	bool measure = fresh && !rto->sent;
	u64 now;

	if (!measure && (rto->ack || !rto->timeout) &&
	    (rto->probe || rto->probed))
		return;
	now = ktime_get_ns();
	if (measure) {
		rto->sent = now;
		rto->psn = psn;
	}
	if (!rto->ack)
		await_from(rto, now);
	if (!rto->probe && !rto->probed)
		rto->probe = probe_at(rto, now);
	arm(rto);
}

/* RFC 6298, 2: in us, times 8 and times 4 */
static void rtt_sample(struct smr_rto *rto, u64 ns)
{
	u32 us = clamp_t(u64, ns / NSEC_PER_USEC, 1, USEC_PER_SEC);
	int err;

	rto->least = rto->least ? min(rto->least, us) : us;
	if (!rto->srtt) {
		rto->srtt = us << SMR_SRTT_SHIFT;
		rto->rttvar = us << (RTTVAR_SHIFT - 1);
		return;
	}
	err = us - (rto->srtt >> SMR_SRTT_SHIFT);
	rto->srtt += err;
	rto->rttvar += abs(err) - (rto->rttvar >> RTTVAR_SHIFT);
}

/*
 * Handle an acknowledgment. @una: the new oldest unacknowledged PSN. @in_flight: packets are in
 * flight: restart the waits for the next answer.
 */
void smr_rto_acked(struct smr_rto *rto, u32 una, bool in_flight)
{
	bool sample = rto->sent && smr_psn_diff(una, rto->psn) > 0;
	u64 now;

	rto->late = 0;
	rto->probed = false;
	rto->probe = 0;
	rto->ack = 0;
	if (!sample && !in_flight)
		return;
	now = ktime_get_ns();
	if (sample) {
		rtt_sample(rto, now - rto->sent);
		rto->sent = 0;
	}
	if (!in_flight)
		return;
	await_from(rto, now);
	rto->probe = probe_at(rto, now);
	arm(rto);
}

/* Restart the consumer's timeout. */
void smr_rto_await(struct smr_rto *rto)
{
	await_from(rto, ktime_get_ns());
	arm(rto);
}

/* Double the timeout after one without progress. */
void smr_rto_back_off(struct smr_rto *rto)
{
	rto->late = min(rto->late + 1, LATE_MAX);
}

/* Wait for a receiver that is not ready, and cancel other waits. */
void smr_rto_wait(struct smr_rto *rto, u64 ns)
{
	smr_rto_forget(rto);
	rto->ack = 0;
	rto->rnr = ktime_get_ns() + ns;
	arm(rto);
}

/*
 * Cancel the measurement and the probe. For packets in flight that will be sent again, or whose
 * receiver is not ready.
 */
void smr_rto_forget(struct smr_rto *rto)
{
	rto->sent = 0;
	rto->probe = 0;
}

/* Get the next event that is due. Returns one event; the timer is restarted for the others. */
enum smr_rto_event smr_rto_due(struct smr_rto *rto)
{
	enum smr_rto_event event = SMR_RTO_NONE;
	u64 now;

	if (likely(!READ_ONCE(rto->fired)))
		return SMR_RTO_NONE;
	WRITE_ONCE(rto->fired, false);
	rto->armed = 0;
	now = ktime_get_ns();
	if (rto->rnr && now >= rto->rnr) {
		rto->rnr = 0;
		event = SMR_RTO_RNR;
	} else if (rto->ack && now >= rto->ack) {
		rto->ack = 0;
		event = SMR_RTO_ACK;
	} else if (rto->probe && now >= rto->probe) {
		smr_rto_forget(rto);
		rto->probed = true;
		event = SMR_RTO_PROBE;
	}
	arm(rto);
	return event;
}
