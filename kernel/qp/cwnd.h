/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The congestion window: how much a send side may have in flight, and how fast it may send; and the
 * functions that a congestion control consists of. This code does not use the QP: its callers
 * report events, the time, and the round-trip time of the path.
 */
#ifndef SMR_CWND_H
#define SMR_CWND_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "net/wire.h"

struct smr_cc_ops;

/*
 * A row for each congestion control: NAME is smr_cc_NAME in qp/cc_NAME.c. The first is the
 * default.
 */
#define SMR_CC_ROWS(row)	\
	row(window)		\
	row(dcqcn)

/* Value of @congestion if all packets were marked */
#define SMR_CONGESTION_FULL	1024

/* The minimum window; a power of two */
#define SMR_CWND_MIN		16

/**
 * struct smr_cwnd - a congestion window
 * @ops: the congestion control; constant
 * @size: PSNs that may be outstanding
 * @threshold: up to this size the window grows fast (slow start)
 * @growth: PSNs acknowledged since the window last grew
 * @loss_end: losses of PSNs before this one were handled
 * @congestion: the marked fraction of recent packets, in 1/SMR_CONGESTION_FULL
 * @rate: how fast it may send, kbit/s; 0: without a limit
 * @burst: PSNs that may be sent at once at this rate
 * @priv: state of the congestion control itself; smr_cwnd_reset() sets it to 0
 *
 * Owned by the send task.
 */
struct smr_cwnd {
	const struct smr_cc_ops *ops;
	u32 size;
	u32 threshold;
	u32 growth;
	u32 loss_end;
	u32 congestion;
	u32 rate;
	u32 burst;
	u64 priv[3];
};

/**
 * struct smr_cc_event - what a congestion control may know when it is called
 * @now: the time, ns of CLOCK_MONOTONIC
 * @una: the oldest unacknowledged PSN
 * @max_psn: one past the highest PSN ever sent
 * @rtt_us: average round-trip time; 0: not known
 * @mtu: maximum bytes per PSN
 */
struct smr_cc_event {
	u64 now;
	u32 una;
	u32 max_psn;
	u32 rtt_us;
	u32 mtu;
};

/**
 * struct smr_cc_ops - a congestion control
 * @name: its name
 * @grow: a whole window was acknowledged, and all PSNs before @una. The window may grow up to @max.
 *	smr_cwnd_grow() is the usual one
 * @lost: packets before @max_psn were lost, see smr_cwnd_lost(). smr_cwnd_shrink() is the usual
 *	one
 * @marked: the network has marked a packet that was in flight. Returns true if that had an effect
 * @rate: bring the limit of the rate up to date before something is sent. NULL: it never sets a
 *	limit
 *
 * They set the limit with smr_cwnd_set_rate().
 */
struct smr_cc_ops {
	const char *name;
	void (*grow)(struct smr_cwnd *w, u32 una, u32 max);
	void (*lost)(struct smr_cwnd *w, u32 max_psn, bool late);
	bool (*marked)(struct smr_cwnd *w, const struct smr_cc_event *event);
	void (*rate)(struct smr_cwnd *w, const struct smr_cc_event *event);
};

/* The private state of a congestion control, of a type that fits into it */
#define SMR_CC_PRIV(w, type) \
	((type *)((w)->priv + \
		  BUILD_BUG_ON_ZERO(sizeof(type) > sizeof((w)->priv))))

extern const struct smr_cc_ops smr_cc_window;
extern const struct smr_cc_ops smr_cc_dcqcn;

void smr_cwnd_reset(struct smr_cwnd *w, u32 psn);
u32 smr_cwnd_max(u32 least_us, u32 mtu);
void smr_cwnd_grow(struct smr_cwnd *w, u32 max);
void smr_cwnd_shrink(struct smr_cwnd *w, u32 max_psn, bool late);
void smr_cwnd_set_rate(struct smr_cwnd *w, u32 kbps, u32 mtu);

/*
 * @psns PSNs were acknowledged, and @una is the oldest that is not. @least_us and @mtu are those
 * of smr_cwnd_max().
 */
static inline void smr_cwnd_acked(struct smr_cwnd *w, u32 una, u32 psns,
				  u32 least_us, u32 mtu)
{
	if (smr_psn_diff(una, w->loss_end) > 0)
		w->loss_end = una;
	w->growth += psns;
	if (likely(w->growth < w->size))
		return;
	w->growth = 0;
	w->ops->grow(w, una, smr_cwnd_max(least_us, mtu));
}

/*
 * Packets before @max_psn, one past the highest PSN ever sent, were lost, and all is sent again.
 * @late: a timer has fired, so nothing is known of what is in flight.
 */
static inline void smr_cwnd_lost(struct smr_cwnd *w, u32 max_psn, bool late)
{
	w->ops->lost(w, max_psn, late);
}

static inline bool smr_cwnd_marked(struct smr_cwnd *w,
				   const struct smr_cc_event *event)
{
	return w->ops->marked(w, event);
}

/* The number of further PSNs that may be in flight, if @used PSNs are unacknowledged */
static inline u32 smr_cwnd_room(const struct smr_cwnd *w, u32 used)
{
	return used >= w->size ? 0 : w->size - used;
}

#endif /* SMR_CWND_H */
