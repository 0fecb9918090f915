/* SPDX-License-Identifier: GPL-2.0 */
/* The timer of a send side: when an answer is late, and when a wait is over. */
#ifndef SMR_RTO_H
#define SMR_RTO_H

#include <linux/hrtimer.h>
#include <linux/types.h>

/**
 * struct smr_rto - what a send side waits for, and for how long
 * @timer: fires when the first of the three below is due, or before
 * @fired: it has; set by it, cleared by the task
 * @armed: when it fires, as far as the task knows; 0: it does not
 * @ack: when the timeout that the consumer has chosen is over; 0: it does not run
 * @rnr: when the wait that a receiver has asked for is over; 0: there is none
 * @probe: when an answer is later than answers are; 0: none is awaited
 * @probed: asked again since the last progress
 * @timeout: the consumer's; 0: for ever. Written while the task is paused
 * @late: timeouts since the last progress, at most LATE_MAX; each doubles the next
 * @sent: when the packet was sent whose answer is measured; 0: none is
 * @psn: that packet's
 * @srtt: how long answers take, us, averaged, times 8; 0: not known
 * @rttvar: mean deviation of that, us, times 4
 * @least: the shortest time that an answer took, us; 0: not known
 *
 * Times are ns of CLOCK_MONOTONIC. Owned by the send task but for @fired.
 */
struct smr_rto {
	struct hrtimer timer;
	bool fired;
	u64 armed;
	u64 ack;
	u64 rnr;
	u64 probe;
	bool probed;
	u64 timeout;
	u8 late;
	u64 sent;
	u32 psn;
	u32 srtt;
	u32 rttvar;
	u32 least;
};

enum smr_rto_event {
	SMR_RTO_NONE,
	SMR_RTO_ACK,	/* the consumer's timeout is over */
	SMR_RTO_RNR,	/* the receiver's wait is over */
	SMR_RTO_PROBE,	/* an answer is late: ask again, once */
};

void smr_rto_init(struct smr_rto *rto,
		  enum hrtimer_restart (*fn)(struct hrtimer *));
void smr_rto_stop(struct smr_rto *rto);
void smr_rto_reset(struct smr_rto *rto);
void smr_rto_set(struct smr_rto *rto, u8 timeout);

void smr_rto_sent(struct smr_rto *rto, u32 psn, bool fresh);
void smr_rto_acked(struct smr_rto *rto, u32 una, bool in_flight);
void smr_rto_await(struct smr_rto *rto);
void smr_rto_back_off(struct smr_rto *rto);
void smr_rto_wait(struct smr_rto *rto, u64 ns);
void smr_rto_forget(struct smr_rto *rto);
enum smr_rto_event smr_rto_due(struct smr_rto *rto);

/* Nothing is sent: the receiver was not ready. */
static inline bool smr_rto_waits(const struct smr_rto *rto)
{
	return rto->rnr;
}

#endif /* SMR_RTO_H */
