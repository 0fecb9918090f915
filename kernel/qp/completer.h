/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The completer: takes what the responder answers, retires work requests,
 * and decides what is to be sent again.
 */
#ifndef SMR_COMPLETER_H
#define SMR_COMPLETER_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/types.h>

#include "sgl.h"
#include "qp/task.h"

struct smr_qp;

/**
 * struct smr_completer - the receiving half of the send task
 * @queue: response packets; has its own lock
 * @seg: the next segment of the queue's first skb
 * @una: oldest PSN that is not acknowledged
 * @retry: retries left before IBV_WC_RETRY_EXC_ERR
 * @rnr_retry: RNR retries left, 7: for ever
 * @rnr_wait: nothing is sent until @rnr_timer fires
 * @gap: a missing response was asked for again and has not come yet
 * @timed_out: @ack_timer fired; set by it, cleared by the task
 * @rnr_over: @rnr_timer fired; likewise
 * @late: timeouts since the last progress, as far as they double the next one
 * @rnr_again: RNR NAKs since the last progress
 * @ack_timer: runs while something is unacknowledged
 * @rnr_timer: runs while @rnr_wait
 * @sgl: scratch
 *
 * Owned by the send task but for @queue and what the timers set.
 */
struct smr_completer {
	struct sk_buff_head queue;
	unsigned int seg;
	u32 una;
	u8 retry;
	u8 rnr_retry;
	bool rnr_wait;
	bool gap;
	bool timed_out;
	bool rnr_over;
	u8 late;
	u32 rnr_again;
	struct timer_list ack_timer;
	struct hrtimer rnr_timer;
	struct smr_sgl sgl;
};

void smr_completer_init(struct smr_qp *qp);
void smr_completer_reset(struct smr_qp *qp);
void smr_completer_stop(struct smr_qp *qp);
void smr_completer_start(struct smr_qp *qp);
void smr_completer_arm(struct smr_qp *qp);
enum smr_task_verdict smr_completer_run(struct smr_qp *qp,
					struct smr_run *run);

#endif /* SMR_COMPLETER_H */
