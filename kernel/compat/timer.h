/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in timers. */
#ifndef SMR_COMPAT_TIMER_H
#define SMR_COMPAT_TIMER_H

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/timer.h>

#include "generated.h"

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

#ifndef HAVE_US_TO_KTIME
static inline ktime_t us_to_ktime(u64 us)
{
	return ns_to_ktime(us * NSEC_PER_USEC);
}
#endif

#endif /* SMR_COMPAT_TIMER_H */
