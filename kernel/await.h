/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs that wait for a fault. uverbs completes the removal of a device only after all its
 * verbs have returned, and a page may never arrive. So the start of a removal ends the waits.
 */
#ifndef SMR_AWAIT_H
#define SMR_AWAIT_H

#include <linux/types.h>
#include <linux/wait.h>

struct smr_fault;

/**
 * struct smr_awaits - verbs of a device that wait for faults
 * @wait: woken when a fault has ended, and when @stop is set
 * @stop: the device is being removed
 */
struct smr_awaits {
	wait_queue_head_t wait;
	bool stop;
};

void smr_awaits_init(struct smr_awaits *awaits);
void smr_awaits_stop(struct smr_awaits *awaits, bool stop);
int smr_fault_await(struct smr_fault *fault, struct smr_awaits *awaits,
		    unsigned int state);
int smr_fault_await_now(struct smr_fault *fault, struct smr_awaits *awaits,
			unsigned int state);

#endif /* SMR_AWAIT_H */
