/* SPDX-License-Identifier: GPL-2.0 */
/* The timer of a send side: late answers, timeouts and RNR waits. */
#ifndef SMR_RTO_H
#define SMR_RTO_H

#include <linux/hrtimer.h>
#include <linux/types.h>

/* RFC 6298: the average round-trip time moves by 1/8 to each sample. */
#define SMR_SRTT_SHIFT	3

/**
 * struct smr_rto - the waits of a send side, and their one timer
 * @timer: fires when the first of @ack, @rnr and @probe is due, or earlier
 * @fired: the timer has fired; set by the timer, cleared by the task
 * @armed: expiry of the timer, as the task has set it; 0: not armed
 * @ack: expiry of the timeout that the consumer has set; 0: not running
 * @rnr: end of the wait that an RNR NAK asked for; 0: none
 * @probe: time at which the awaited answer is late; 0: none is awaited
 * @probed: a probe was sent since the last progress
 * @timeout: the timeout that the consumer has set, ns; 0: for ever. Written while the task is
 *	paused
 * @late: timeouts since the last progress, at most LATE_MAX; each doubles the next
 * @sent: send time of the packet whose round trip is being measured; 0: none
 * @psn: PSN of that packet
 * @srtt: smoothed round-trip time, us, times 8; 0: not known
 * @rttvar: mean deviation of the round-trip time, us, times 4
 * @least: minimum round-trip time, us; 0: not known
 *
 * Times are ns of CLOCK_MONOTONIC. Owned by the send task except @fired.
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
	SMR_RTO_ACK,	/* the consumer's timeout has expired */
	SMR_RTO_RNR,	/* the receiver's wait is over */
	SMR_RTO_PROBE,	/* an answer is late: send a probe, once */
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

/* The average round-trip time, us; 0: not known */
static inline u32 smr_rto_rtt_us(const struct smr_rto *rto)
{
	return rto->srtt >> SMR_SRTT_SHIFT;
}

/* Is sending paused because the receiver was not ready? */
static inline bool smr_rto_waits(const struct smr_rto *rto)
{
	return rto->rnr;
}

#endif /* SMR_RTO_H */
