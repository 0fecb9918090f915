/* SPDX-License-Identifier: GPL-2.0 */
/* Pacing: rate limit of a send task. */
#ifndef SMR_PACE_H
#define SMR_PACE_H

#include <linux/hrtimer.h>
#include <linux/types.h>

struct smr_task;

/**
 * struct smr_pace - the rate limit of a task
 * @rate: kbit/s; 0: without a limit
 * @slack: how far sending may be ahead of the rate, ns
 * @due: time at which all that was sent has left at this rate, ns of CLOCK_MONOTONIC
 * @timer: runs @task when it may continue
 * @task: constant
 *
 * Owned by the task.
 */
struct smr_pace {
	u32 rate;
	u64 slack;
	u64 due;
	struct hrtimer timer;
	struct smr_task *task;
};

struct smr_pace *smr_pace_create(struct smr_task *task);
void smr_pace_destroy(struct smr_pace *pace);
void smr_pace_set(struct smr_pace *pace, u32 rate, u32 burst);
void smr_pace_adjust(struct smr_pace *pace, u32 rate, u32 burst);
bool smr_pace_wait(struct smr_pace *pace, u32 len);
void smr_pace_sent(struct smr_pace *pace, u32 len);

#endif /* SMR_PACE_H */
