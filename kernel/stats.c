// SPDX-License-Identifier: GPL-2.0
/* Allocation and sums of the per-CPU counters of a device. */
#include "stats.h"

#include <linux/cpumask.h>
#include <linux/slab.h>

/**
 * smr_stats_create() - allocate a device's counters, all 0
 *
 * Context: process, may sleep.
 * Return: the counters with a reference, which smr_stats_put() drops; or NULL.
 */
struct smr_stats *smr_stats_create(void)
{
	struct smr_stats *stats = kzalloc(sizeof(*stats), GFP_KERNEL);

	if (!stats)
		return NULL;
	stats->cpu = alloc_percpu(struct smr_stats_cpu);
	if (!stats->cpu) {
		kfree(stats);
		return NULL;
	}
	refcount_set(&stats->ref, 1);
	return stats;
}

/**
 * smr_stats_get() - take a reference
 * @stats: the caller has a reference
 *
 * Return: @stats.
 */
struct smr_stats *smr_stats_get(struct smr_stats *stats)
{
	refcount_inc(&stats->ref);
	return stats;
}

/**
 * smr_stats_put() - drop a reference; the last one frees the counters
 * @stats: the counters
 */
void smr_stats_put(struct smr_stats *stats)
{
	if (!refcount_dec_and_test(&stats->ref))
		return;
	free_percpu(stats->cpu);
	kfree(stats);
}

/**
 * smr_stats_read() - the sum of a counter over all CPUs
 * @stats: the counters
 * @id: the counter
 *
 * Context: any. Concurrent increments on other CPUs may or may not be included.
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
