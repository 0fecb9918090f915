// SPDX-License-Identifier: GPL-2.0
#include "stats.h"

#include <linux/cpumask.h>
#include <linux/errno.h>

/**
 * smr_stats_init() - allocate a device's counters, all 0
 * @stats: the counters
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_stats_init(struct smr_stats *stats)
{
	stats->cpu = alloc_percpu(struct smr_stats_cpu);
	return stats->cpu ? 0 : -ENOMEM;
}

/**
 * smr_stats_fini() - free a device's counters
 * @stats: the counters; nobody counts any more
 *
 * Context: process.
 */
void smr_stats_fini(struct smr_stats *stats)
{
	free_percpu(stats->cpu);
	stats->cpu = NULL;
}

/**
 * smr_stats_read() - one counter, summed up over all CPUs
 * @stats: the counters
 * @id: which
 *
 * Context: any. What other CPUs count meanwhile may be in it or not.
 * Return: the sum.
 */
u64 smr_stats_read(const struct smr_stats *stats, enum smr_counter id)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += local64_read(&per_cpu_ptr(stats->cpu, cpu)->count[id]);
	return sum;
}

/**
 * smr_stats_name() - what a counter is called
 * @id: which
 *
 * Context: any.
 * Return: its name for users.
 */
const char *smr_stats_name(enum smr_counter id)
{
	static const char * const names[] = {
#define SMR_COUNTER_NAME(id, name)	\
	[SMR_CNT_##id] = name,
		SMR_COUNTERS(SMR_COUNTER_NAME)
#undef SMR_COUNTER_NAME
	};

	return names[id];
}
