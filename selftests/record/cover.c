// SPDX-License-Identifier: GPL-2.0
/*
 * Which of softmr's code has been executed, in any context: what a fuzzer is guided by. The
 * kernel's KCOV follows tasks, but packets and timers come in softirqs, and the rest of their
 * work runs in workqueues. So for uml-checked scripts/lib/build.sh has the compiler call the
 * function below from each basic block of softmr, and links this file into softmr.ko. The
 * module's own function comes before the kernel's of the same name.
 *
 * /sys/module/softmr/parameters/cover: 1 begins anew, 0 stops. Reading it gives two numbers:
 * the basic blocks that were reached, and the edges, which are pairs of blocks that one
 * context executed one after the other.
 *
 * /sys/module/softmr/parameters/pause: how many microseconds each basic block of smr_ref_tryget()
 * waits. So a key changes between the moment at which an access has read it and that at which it
 * takes its reference, or between that and the copy, whenever a test wants it.
 *
 * /sys/module/softmr/parameters/pause_fault: how many microseconds pass between the moment at which
 * a fault has found pages and that at which it stores them (hooks.h). So a page can go meanwhile.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>

#include "ref.h"
#include "hooks.h"

#define EDGE_BITS	18

/* The bytes of smr_ref_tryget(), or less; KASAN makes it long. */
#define GET_BYTES	384

/* A task, a softirq that interrupts it, an interrupt that interrupts both */
#define LEVELS		3

/**
 * struct last - where a context has been
 * @task: whose context it is, in softirqs the interrupted task's
 * @at: its last block, as an offset in the module's text
 */
struct last {
	struct task_struct *task;
	unsigned long at;
};

/* Who is switching it on or off. All else is written without a lock, by atomic operations. */
static DEFINE_MUTEX(cover_lock);
static bool cover_on;
/* a bit for each byte of the module's text; stays until the module goes */
static unsigned long *blocks;
static unsigned long text_start, text_len;
static DECLARE_BITMAP(edges, 1 << EDGE_BITS);
static atomic_t nr_blocks, nr_edges;
static DEFINE_PER_CPU(struct last, last_block[LEVELS]);
static unsigned int pause_us, pause_fault_us;

static void notrace mark(unsigned long *map, unsigned long bit, atomic_t *nr)
{
	if (!test_bit(bit, map) && !test_and_set_bit(bit, map))
		atomic_inc(nr);
}

static unsigned int notrace level(void)
{
	if (in_hardirq())
		return 2;
	return in_serving_softirq() ? 1 : 0;
}

void __sanitizer_cov_trace_pc(void);

/* Called from each basic block of the module. */
void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long at = _RET_IP_ - text_start;
	unsigned int pause = READ_ONCE(pause_us);
	struct last *last;

	if (unlikely(pause) && _RET_IP_ - (unsigned long)smr_ref_tryget < GET_BYTES)
		udelay(pause);
	if (!READ_ONCE(cover_on) || at >= text_len)
		return;
	mark(blocks, at, &nr_blocks);
	preempt_disable_notrace();
	last = this_cpu_ptr(&last_block[level()]);
	if (last->task != current) {
		last->task = current;
		last->at = 0;
	}
	mark(edges, hash_64((u64)last->at << 32 | at, EDGE_BITS), &nr_edges);
	last->at = at;
	preempt_enable_notrace();
}

/**
 * smr_pause_fault() - a fault has found its pages
 *
 * Context: process.
 */
void smr_pause_fault(void)
{
	unsigned int pause = READ_ONCE(pause_fault_us);

	if (pause)
		udelay(pause);
}

static int cover_begin(void)
{
	if (!blocks) {
		text_start = (unsigned long)THIS_MODULE->mem[MOD_TEXT].base;
		text_len = THIS_MODULE->mem[MOD_TEXT].size;
		blocks = vzalloc(BITS_TO_LONGS(text_len) * sizeof(long));
		if (!blocks)
			return -ENOMEM;
	}
	bitmap_zero(blocks, text_len);
	bitmap_zero(edges, 1 << EDGE_BITS);
	atomic_set(&nr_blocks, 0);
	atomic_set(&nr_edges, 0);
	smp_store_release(&cover_on, true);
	return 0;
}

static int cover_set(const char *value, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(value, &on);

	if (err)
		return err;
	mutex_lock(&cover_lock);
	WRITE_ONCE(cover_on, false);
	/* blocks that are being counted are few, and are counted then or now */
	if (on)
		err = cover_begin();
	mutex_unlock(&cover_lock);
	return err;
}

static int cover_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d %d\n", atomic_read(&nr_blocks), atomic_read(&nr_edges));
}

/* The module goes: none of its code runs any more. */
static void cover_free(void *arg)
{
	WRITE_ONCE(cover_on, false);
	vfree(blocks);
}

static const struct kernel_param_ops cover_ops = {
	.set = cover_set,
	.get = cover_get,
	.free = cover_free,
};

module_param_cb(cover, &cover_ops, NULL, 0600);
MODULE_PARM_DESC(cover, "basic blocks and edges of this module that have been executed");
module_param_named(pause, pause_us, uint, 0600);
MODULE_PARM_DESC(pause, "microseconds that each block of smr_ref_tryget() takes");
module_param_named(pause_fault, pause_fault_us, uint, 0600);
MODULE_PARM_DESC(pause_fault, "microseconds that a fault waits before it stores the pages that it has found");
