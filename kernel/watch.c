// SPDX-License-Identifier: GPL-2.0
/* Turn the counting of copied bytes on for as long as a privileged process watches. */
#include "watch.h"

#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "compat/cleanup.h"

/* A watcher repeats smr_watch(), so it need not report that it has stopped. */
#define WATCH_JIFFIES	(10 * HZ)

DEFINE_STATIC_KEY_FALSE(smr_watched);

/* Guards changes of the key */
static DEFINE_MUTEX(watch_mutex);

static void watch_end(struct work_struct *work)
{
	guard(mutex)(&watch_mutex);
	static_branch_disable(&smr_watched);
}

static DECLARE_DELAYED_WORK(watch_work, watch_end);

/*
 * Keep counts for the next seconds. Turning the counts on and off patches code on all CPUs, so the
 * caller must be privileged.
 */
void smr_watch(void)
{
	mod_delayed_work(system_long_wq, &watch_work, WATCH_JIFFIES);
	guard(mutex)(&watch_mutex);
	static_branch_enable(&smr_watched);
}

/* Stop counting at the end of the module; smr_watch() is not called again. */
void smr_watch_fini(void)
{
	cancel_delayed_work_sync(&watch_work);
}
