// SPDX-License-Identifier: GPL-2.0
/*
 * Let a verb wait for a fault, until the fault ends, a signal arrives, or the device is
 * removed.
 */
#include "await.h"

#include <linux/container_of.h>

#include "fault.h"

/* A verb that waits for a fault */
struct waiting {
	struct smr_fault_cb cb;
	struct smr_awaits *awaits;
};

static bool waiting_get(struct smr_fault_cb *cb)
{
	struct waiting *w = container_of(cb, struct waiting, cb);

	/* With the fault's lock held: smr_fault_leave() waits for this. */
	wake_up_all(&w->awaits->wait);
	return false;
}

/* The fault has begun. The caller's reference is dropped. */
static int await_end(struct smr_fault *fault, struct smr_awaits *awaits,
		     unsigned int state)
{
	int ret;

	ret = wait_event_state(awaits->wait,
			       smr_fault_is_done(fault) ||
			       READ_ONCE(awaits->stop), state);
	if (!ret)
		ret = smr_fault_is_done(fault) ? fault->err : -EIO;
	smr_fault_leave(fault);
	return ret;
}

/*
 * Begin a fault, and wait for it. @fault: has at least one range. The caller's reference is
 * dropped. @awaits: the device's waiting verbs. @state: which signals end the wait:
 * TASK_INTERRUPTIBLE or TASK_KILLABLE. After an error the fault may still run: the caller must not
 * access its memory. Returns the fault's result; -ERESTARTSYS (a signal), -EIO (the device is being
 * removed).
 */
int smr_fault_await(struct smr_fault *fault, struct smr_awaits *awaits,
		    unsigned int state)
{
	struct waiting w = {
		.cb.get = waiting_get,
		.awaits = awaits,
	};

	smr_fault_start(fault, &w.cb);
	return await_end(fault, awaits, state);
}

/*
 * smr_fault_await() for a fault that must not wait for others. @fault: the fault, with at least one
 * range. The caller's reference is dropped. @awaits: the device's waiting verbs. Returns as
 * smr_fault_await(); -EBUSY: other faults of the user come first, so this one was not begun.
 */
int smr_fault_await_now(struct smr_fault *fault, struct smr_awaits *awaits,
			unsigned int state)
{
	struct waiting w = {
		.cb.get = waiting_get,
		.awaits = awaits,
	};

	if (smr_fault_start_now(fault, &w.cb))
		return await_end(fault, awaits, state);
	smr_fault_discard(fault);
	return -EBUSY;
}

void smr_awaits_init(struct smr_awaits *awaits)
{
	init_waitqueue_head(&awaits->wait);
}

/*
 * Stop all waits when a device is being removed, or allow them again. @stop: true: end the waits,
 * and refuse new ones.
 */
void smr_awaits_stop(struct smr_awaits *awaits, bool stop)
{
	WRITE_ONCE(awaits->stop, stop);
	wake_up_all(&awaits->wait);
}
