// SPDX-License-Identifier: GPL-2.0
/*
 * A function that begins late, as one does whose CPU an interrupt or a hypervisor has taken.
 * And how often another function, which should wait for it, has returned meanwhile.
 *
 * insmod slow_function.ko function=paging_get after=smr_qp_fini ms=200
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/processor.h>

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "the function that begins late");

static char *after = "";
module_param(after, charp, 0444);
MODULE_PARM_DESC(after, "the function that must not return meanwhile");

static unsigned int ms = 200;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds that each call begins late");

static unsigned int left;
module_param(left, uint, 0644);
MODULE_PARM_DESC(left, "how many calls are still to be delayed");

static unsigned int begun;
module_param(begun, uint, 0444);
MODULE_PARM_DESC(begun, "how many have been delayed, or are now");

static unsigned int ended;
module_param(ended, uint, 0444);
MODULE_PARM_DESC(ended, "how many have been delayed, and are not now");

static unsigned int overtaken;
module_param(overtaken, uint, 0444);
MODULE_PARM_DESC(overtaken, "how often the other function has returned meanwhile");

/* One call at a time is delayed. mdelay() may count loops. */
static int enter(struct kprobe *p, struct pt_regs *regs)
{
	ktime_t end;

	if (!READ_ONCE(left))
		return 0;
	WRITE_ONCE(left, left - 1);
	WRITE_ONCE(begun, begun + 1);
	end = ktime_add_ms(ktime_get(), ms);
	while (ktime_before(ktime_get(), end))
		cpu_relax();
	WRITE_ONCE(ended, ended + 1);
	return 0;
}

static int leave(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (READ_ONCE(begun) != READ_ONCE(ended))
		WRITE_ONCE(overtaken, overtaken + 1);
	return 0;
}

static struct kprobe entry = {
	.pre_handler = enter,
};

static struct kretprobe end = {
	.handler = leave,
	.maxactive = 16,
};

static int __init slow_function_init(void)
{
	int ret;

	entry.symbol_name = function;
	end.kp.symbol_name = after;
	ret = register_kprobe(&entry);
	if (ret)
		return ret;
	ret = register_kretprobe(&end);
	if (ret)
		unregister_kprobe(&entry);
	return ret;
}

static void __exit slow_function_exit(void)
{
	unregister_kretprobe(&end);
	unregister_kprobe(&entry);
}

module_init(slow_function_init);
module_exit(slow_function_exit);

MODULE_DESCRIPTION("Test of functions that begin late");
MODULE_LICENSE("GPL");
