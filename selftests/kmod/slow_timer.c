// SPDX-License-Identifier: GPL-2.0
/*
 * A timer whose callback is late: the timer has expired, but its function has not begun. An
 * interrupt, or a hypervisor, does that to any timer, for a shorter time.
 *
 * insmod slow_timer.ko function=rto_timer_fn ms=200
 */
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/processor.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "name of the timer's function");

static unsigned int ms = 200;
module_param(ms, uint, 0644);
MODULE_PARM_DESC(ms, "milliseconds between expiry and function");

static unsigned int left;
module_param(left, uint, 0644);
MODULE_PARM_DESC(left, "how many expiries are still to be delayed");

static unsigned int begun;
module_param(begun, uint, 0444);
MODULE_PARM_DESC(begun, "how many have been delayed, or are now");

static unsigned int ended;
module_param(ended, uint, 0444);
MODULE_PARM_DESC(ended, "how many have been delayed, and are not now");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "where the last one was");

static struct tracepoint *expiry;

/*
 * In the softirq of timers, just before it calls the function. mdelay() may count loops,
 * which take any time where the host has other things to do.
 */
static void expires(void *data, struct hrtimer *timer, ktime_t *now)
{
	ktime_t end;
	char name[64];

	if (!READ_ONCE(left))
		return;
	snprintf(name, sizeof(name), "%ps", ACCESS_PRIVATE(timer, function));
	if (strncmp(name, function, strlen(function)))
		return;
	WRITE_ONCE(left, left - 1);
	WRITE_ONCE(cpu, smp_processor_id());
	WRITE_ONCE(begun, begun + 1);
	end = ktime_add_ms(ktime_get(), ms);
	while (ktime_before(ktime_get(), end))
		cpu_relax();
	WRITE_ONCE(ended, ended + 1);
}

static void find(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "hrtimer_expire_entry"))
		expiry = tp;
}

static int __init slow_timer_init(void)
{
	for_each_kernel_tracepoint(find, NULL);
	if (!expiry)
		return -ENOENT;
	return tracepoint_probe_register(expiry, expires, NULL);
}

static void __exit slow_timer_exit(void)
{
	tracepoint_probe_unregister(expiry, expires, NULL);
	tracepoint_synchronize_unregister();
}

module_init(slow_timer_init);
module_exit(slow_timer_exit);

MODULE_DESCRIPTION("Test of timers whose function begins late");
MODULE_LICENSE("GPL");
