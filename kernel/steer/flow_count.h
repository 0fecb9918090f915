/* SPDX-License-Identifier: GPL-2.0 */
/* Flow counters: numbers of frames that matched steering rules. */
#ifndef SMR_FLOW_COUNT_H
#define SMR_FLOW_COUNT_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/**
 * struct smr_flow_count - the counts of flow counters
 * @packets: frames
 * @bytes: of these frames, from their Ethernet headers on
 * @rcu: defers freeing: readers of rules may still count
 */
struct smr_flow_count {
	atomic64_t packets;
	atomic64_t bytes;
	struct rcu_head rcu;
};

/**
 * struct smr_flow_counters - flow counters; any number of rules may use them
 * @ibcnt: the core's part, which counts the rules
 * @count: the counts; constant
 *
 * The core destroys them only after the rules, and then frees them at once.
 */
struct smr_flow_counters {
	struct ib_counters ibcnt;
	struct smr_flow_count *count;
};

static inline struct smr_flow_counters *to_smr_flow_counters(const struct ib_counters *ibcnt)
{
	return container_of(ibcnt, struct smr_flow_counters, ibcnt);
}

int smr_flow_counters_create(struct smr_flow_counters *counters);
void smr_flow_counters_destroy(struct smr_flow_counters *counters);
void smr_flow_counters_read(const struct smr_flow_counters *counters,
			    u64 *values, u32 nr);
void smr_flow_count_add(struct smr_flow_count *count, u64 packets, u64 bytes);

#endif /* SMR_FLOW_COUNT_H */
