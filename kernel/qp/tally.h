/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a QP has done, for those who look at it: qp/show.c. Each number has one writer, the
 * task of its side, so counting costs an addition to memory that the task has at hand.
 */
#ifndef SMR_QP_TALLY_H
#define SMR_QP_TALLY_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * struct smr_sent - what a send task has done
 * @messages: work requests that completed with success
 * @bytes: theirs
 * @retransmits: how often something was sent again, or asked for again
 * @timeouts: the ack timer has fired
 * @rnr: the peer had no receive posted
 * @naks: the peer has refused a request, or missed one
 *
 * Written by the send task.
 */
struct smr_sent {
	u64 messages;
	u64 bytes;
	u64 retransmits;
	u64 timeouts;
	u64 rnr;
	u64 naks;
};

/**
 * struct smr_served - what a response task has done
 * @messages: requests of the peer that were executed: messages, READs, atomics
 * @bytes: that came with them, or that they have fetched
 * @rnr: there was no receive posted
 * @naks: the peer was refused a request, or told of a missing one
 *
 * Written by the response task, or while that is paused.
 */
struct smr_served {
	u64 messages;
	u64 bytes;
	u64 rnr;
	u64 naks;
};

/* Others read it at any time. */
static inline void smr_tally(u64 *count, u64 n)
{
	WRITE_ONCE(*count, *count + n);
}

#endif /* SMR_QP_TALLY_H */
