// SPDX-License-Identifier: GPL-2.0
/* Flow counters: created and read by verbs, incremented in the receive path. */
#include "steer/flow_count.h"

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "uapi/softmr-abi.h"

/**
 * smr_flow_counters_create() - initialize flow counters
 * @counters: zeroed, except the core's part
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int smr_flow_counters_create(struct smr_flow_counters *counters)
{
	counters->count = kzalloc(sizeof(*counters->count), GFP_KERNEL_ACCOUNT);
	return counters->count ? 0 : -ENOMEM;
}

/**
 * smr_flow_counters_destroy() - free flow counters
 * @counters: not used by a rule; the counts are freed after a grace period
 *
 * Context: process.
 */
void smr_flow_counters_destroy(struct smr_flow_counters *counters)
{
	kfree_rcu(counters->count, rcu);
}

/**
 * smr_flow_counters_read() - read flow counters
 * @counters: the counters
 * @values: filled in, by enum smr_flow_counter; zeroed by the caller
 * @nr: size of @values
 *
 * Frames may be counted concurrently, so the values may be from different times.
 */
void smr_flow_counters_read(const struct smr_flow_counters *counters,
			    u64 *values, u32 nr)
{
	const u64 now[] = {
		[SMR_FLOW_PACKETS] = atomic64_read(&counters->count->packets),
		[SMR_FLOW_BYTES] = atomic64_read(&counters->count->bytes),
	};

	memcpy(values, now, min_t(size_t, nr, ARRAY_SIZE(now)) * sizeof(now[0]));
}

/**
 * smr_flow_count_add() - count frames that have matched a rule
 * @count: the counts of the rule's counters
 * @packets: number of frames
 * @bytes: bytes of these
 *
 * Context: any, inside the RCU read section in which the rule was found.
 */
void smr_flow_count_add(struct smr_flow_count *count, u64 packets, u64 bytes)
{
	atomic64_add(packets, &count->packets);
	atomic64_add(bytes, &count->bytes);
}
