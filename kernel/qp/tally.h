/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts of the work of a QP, shown by qp/show.c. Each number has one writer, the task of its
 * side, so counting costs an addition to memory that is likely cached.
 */
#ifndef SMR_QP_TALLY_H
#define SMR_QP_TALLY_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * struct smr_sent - counts of a send task
 * @messages: work requests that completed with success
 * @bytes: bytes of these
 * @retransmits: retransmissions, and repeated READ requests
 * @timeouts: expired timeouts
 * @rnr: RNR NAKs from the peer
 * @naks: other NAKs from the peer
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
 * struct smr_served - counts of a response task
 * @messages: executed requests of the peer: messages, READs, atomics
 * @bytes: bytes that they carried or fetched
 * @rnr: RNR NAKs to the peer
 * @naks: other NAKs to the peer
 *
 * Written by the response task, or while that is paused.
 */
struct smr_served {
	u64 messages;
	u64 bytes;
	u64 rnr;
	u64 naks;
};

/* Other contexts read it at any time. */
static inline void smr_tally(u64 *count, u64 n)
{
	WRITE_ONCE(*count, *count + n);
}

#endif /* SMR_QP_TALLY_H */
