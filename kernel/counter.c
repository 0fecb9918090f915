// SPDX-License-Identifier: GPL-2.0
/* The counters of a link. */
#include "counter.h"

#include "net/antispoof.h"
#include "qp/qptab.h"
#include "stats.h"
#include "verbs.h"

static const struct rdma_stat_desc stat_descs[] = {
#define STAT_DESC(id, _name)	\
	[SMR_CNT_##id] = { .name = _name },
	SMR_COUNTERS(STAT_DESC)
#undef STAT_DESC
};

static struct rdma_hw_stats *alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port)
{
	return rdma_alloc_hw_stats_struct(stat_descs, ARRAY_SIZE(stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port, int index)
{
	const struct smr_env *env = &to_smr_verbs(ibdev)->env;
	int i;

	if (!port)
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(stat_descs); i++)
		stats->value[i] = smr_stats_read(env->stats, i);
	stats->value[SMR_CNT_UNKNOWN_QPN] = atomic64_read(&env->tab->strays);
	stats->value[SMR_CNT_UDP_REFUSED] = atomic64_read(&env->antispoof->refused);
	return ARRAY_SIZE(stat_descs);
}

const struct ib_device_ops smr_counter_ops = {
	.alloc_hw_port_stats = alloc_hw_port_stats,
	.get_hw_stats = get_hw_stats,
};
