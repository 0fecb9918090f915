// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion control "dcqcn": marks lower the rate at which a requester sends, as in adapters.
 * Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
 *
 * A mark multiplies the rate by 1 - alpha/2, and the former rate becomes the target. alpha begins
 * with 1, and moves by 1/256 towards 1 with each mark, and towards 0 with each period without one.
 * The rate rises with each period, and with each 10 MB that were sent: five times half-way to the
 * target (fast recovery); after that the target rises, too, by a step (additive increase). When
 * more than five periods and more than five times 10 MB have passed since the last mark, it rises
 * by more steps each time (hyper increase).
 *
 * The paper has periods of 55 us, for networks whose round trip is shorter. Here a period lasts at
 * least until the packets that were in flight at its start are acknowledged. Otherwise, where
 * packets queue for long, the rate would rise several times before the network could mark packets
 * that were sent after the first rise. The step is for 55 us, and smaller for a longer period.
 *
 * The paper starts at the rate of the port. But a software netdev often reports a rate that it does
 * not have. So the rate is not limited before the first mark, which lowers the rate that the window
 * allows. When the rate has risen to twice what the window allows, the limit is removed.
 *
 * No timer raises the rate: the clock is read when something is sent.
 *
 * A loss shrinks the window as it does with "window". The first mark ends slow start, and the
 * window does not grow while the rate is limited.
 */
#include "qp/cwnd.h"

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* Times of the paper: a period, and the least time from one cut of the rate to the next */
#define PERIOD_US	55U
#define CUT_NS		(50 * NSEC_PER_USEC)

/* Bytes after which the rate rises */
#define ROUND_BYTES	(10 * 1000 * 1000)

/* Rises to the target before the target rises */
#define FAST_RISES	5

/* 1.0 and g of alpha */
#define ALPHA_FULL	32768U
#define ALPHA_SHIFT	8

/* Steps of the target, kbit/s, with periods of 55 us */
#define ADDITIVE_KBPS	40000U
#define HYPER_KBPS	400000U

/*
 * Bounds of the rate, kbit/s. An attacker that forges CNPs can slow a requester down to the least.
 */
#define LEAST_KBPS	1000U
#define MOST_KBPS	400000000U

/* After so many round trips in which nothing was sent, the limit is out of date: remove it. */
#define OLD_TRIPS	1024

/**
 * struct dcqcn - its state in smr_cwnd.priv while the rate is limited
 * @since: start of the current period; a cut of the rate starts the first one
 * @target: the rate to which the rate rises, kbit/s
 * @flight: one past the highest PSN that was sent before @since
 * @round: PSN at the start of the current round of ROUND_BYTES
 * @alpha: how much of the rate a mark takes, in 1/ALPHA_FULL
 * @periods: since the last cut, at most U8_MAX
 * @rounds: likewise
 */
struct dcqcn {
	u64 since;
	u32 target;
	u32 flight;
	u32 round;
	u16 alpha;
	u8 periods;
	u8 rounds;
};

/* The length of a period, if packets do not queue */
static u32 trip_us(const struct smr_cc_event *event)
{
	return max(PERIOD_US, event->rtt_us);
}

/* The rate that the window allows by itself */
static u32 window_kbps(const struct smr_cwnd *w, const struct smr_cc_event *event)
{
	u64 bits = (u64)w->size * event->mtu * BITS_PER_BYTE;

	return min_t(u64, div_u64(bits * 1000, trip_us(event)), MOST_KBPS);
}

/* The rate after a period of @us, or after a round */
static u32 rise(struct dcqcn *own, u32 rate, u64 us)
{
	u32 more = 0;

	if (min(own->periods, own->rounds) > FAST_RISES)
		more = (min(own->periods, own->rounds) - FAST_RISES) * HYPER_KBPS;
	else if (max(own->periods, own->rounds) > FAST_RISES)
		more = ADDITIVE_KBPS;
	if (more)
		own->target = min_t(u64, 2 * MOST_KBPS, own->target +
				    div64_u64((u64)more * PERIOD_US, us));
	return (own->target + rate) / 2;
}

static void count(u8 *n)
{
	*n += *n != U8_MAX;
}

static void dcqcn_rate(struct smr_cwnd *w, const struct smr_cc_event *event)
{
	struct dcqcn *own = SMR_CC_PRIV(w, struct dcqcn);
	u64 us = div_u64(event->now - own->since, NSEC_PER_USEC);
	u32 round = ROUND_BYTES / event->mtu, rate = w->rate;

	if (us >= (u64)OLD_TRIPS * trip_us(event)) {
		smr_cwnd_set_rate(w, 0, event->mtu);
		return;
	}
	if (us >= PERIOD_US && smr_psn_diff(event->una, own->flight) >= 0) {
		own->alpha -= own->alpha >> ALPHA_SHIFT;
		count(&own->periods);
		rate = rise(own, rate, us);
		own->since = event->now;
		own->flight = event->max_psn;
	}
	if (smr_psn_diff(event->max_psn, own->round) >= (int)round) {
		count(&own->rounds);
		rate = rise(own, rate, trip_us(event));
		own->round = event->max_psn;
	}
	if (rate / 2 >= window_kbps(w, event) || rate >= MOST_KBPS)
		rate = 0;
	if (rate != w->rate)
		smr_cwnd_set_rate(w, rate, event->mtu);
}

/* Was the rate cut for packets that were in flight together with the marked one, or just now? */
static bool is_cut(const struct dcqcn *own, const struct smr_cc_event *event)
{
	return !own->periods && (smr_psn_diff(event->una, own->flight) < 0 ||
				 event->now - own->since < CUT_NS);
}

static bool dcqcn_marked(struct smr_cwnd *w, const struct smr_cc_event *event)
{
	struct dcqcn *own = SMR_CC_PRIV(w, struct dcqcn);
	u32 rate;

	if (w->rate)
		dcqcn_rate(w, event);
	if (!w->rate)
		own->alpha = ALPHA_FULL;
	else if (is_cut(own, event))
		return false;
	rate = min_not_zero(w->rate, window_kbps(w, event));
	own->target = rate;
	rate -= (u64)rate * own->alpha / (2 * ALPHA_FULL);
	own->alpha += (ALPHA_FULL - own->alpha) >> ALPHA_SHIFT;
	own->since = event->now;
	own->flight = event->max_psn;
	own->round = event->max_psn;
	own->periods = 0;
	own->rounds = 0;
	w->threshold = min(w->threshold, w->size);
	w->congestion = own->alpha * SMR_CONGESTION_FULL / ALPHA_FULL;
	smr_cwnd_set_rate(w, max(rate, LEAST_KBPS), event->mtu);
	return true;
}

static void dcqcn_grow(struct smr_cwnd *w, u32 una, u32 max)
{
	if (!w->rate)
		smr_cwnd_grow(w, max);
}

const struct smr_cc_ops smr_cc_dcqcn = {
	.name = "dcqcn",
	.grow = dcqcn_grow,
	.lost = smr_cwnd_shrink,
	.marked = dcqcn_marked,
	.rate = dcqcn_rate,
};
