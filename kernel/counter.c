// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of a link, and those that an administrator binds QPs to ("rdma statistic
 * qp bind", or automatically by type or process).
 *
 * The core takes the result of get_hw_stats() as the events of unbound QPs, and adds those of
 * all bound counters, past and present. So each event of a bound QP is counted three times: for
 * the link, for the QP's counter, and in env->bound, which get_hw_stats() subtracts. The port
 * counters of the performance management class count all of the link.
 */
#include "counter.h"

#include <linux/rcupdate.h>
#include <rdma/rdma_counter.h>

#include "compat/cleanup.h"
#include "compat/ib.h"
#include "net/antispoof.h"
#include "qp/core.h"
#include "stats.h"
#include "verbs.h"

static const struct rdma_stat_desc stat_descs[] = {
#define STAT_DESC(id, _name)	\
	[SMR_CNT_##id] = { .name = _name },
	SMR_COUNTERS(STAT_DESC)
#undef STAT_DESC
};

static struct rdma_hw_stats *alloc_stats(void)
{
	return rdma_alloc_hw_stats_struct(stat_descs, ARRAY_SIZE(stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static struct rdma_hw_stats *alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port)
{
	return alloc_stats();
}

static int get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port, int index)
{
	const struct smr_env *env = &to_smr_verbs(ibdev)->env;
	u64 bound;
	int i;

	if (!port)
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(stat_descs); i++) {
		bound = smr_stats_read(env->bound, i);
		/* An event counted in @bound was counted for the link before. */
		smp_rmb();
		stats->value[i] = smr_stats_read(env->stats, i) - bound;
	}
	stats->value[SMR_CNT_UNKNOWN_QPN] = atomic64_read(&env->tab->strays);
	stats->value[SMR_CNT_UDP_REFUSED] = atomic64_read(&env->antispoof->refused);
	return ARRAY_SIZE(stat_descs);
}

/**
 * smr_counters_init() - no counters yet
 * @counters: a device's, by their ids
 */
void smr_counters_init(struct xarray *counters)
{
	xa_init_flags(counters, XA_FLAGS_ALLOC1);
}

/**
 * smr_counters_fini() - the reverse of smr_counters_init()
 * @counters: empty
 */
void smr_counters_fini(struct xarray *counters)
{
	WARN_ON_ONCE(!xa_empty(counters));
	xa_destroy(counters);
}

static struct xarray *counters_of(const struct rdma_counter *counter)
{
	return &to_smr_verbs(counter->device)->counters;
}

/* A counter gets its id when the first QP is bound. If that fails, the core frees the counter. */
static int counter_open(struct rdma_counter *counter)
{
	struct smr_stats *stats = smr_stats_create();
	int ret;

	if (!stats)
		return -ENOMEM;
	ret = xa_alloc(counters_of(counter), &counter->id, stats, xa_limit_31b,
		       GFP_KERNEL);
	if (ret)
		smr_stats_put(stats);
	return ret;
}

static int counter_dealloc(struct rdma_counter *counter)
{
	struct smr_stats *stats = xa_erase(counters_of(counter), counter->id);

	if (stats)
		smr_stats_put(stats);
	return 0;
}

/* The core holds the counter's lock; the mutex excludes other binders of the QP. */
static int counter_bind_qp(struct rdma_counter *counter,
			   SMR_PARAM_QP_PORT(ibqp, port))
{
	struct smr_qp *qp = to_smr_qp(ibqp);
	int ret;

	guard(mutex)(&qp->mutex);
	if (ibqp->counter)
		return -EINVAL;
	if (!counter->id) {
		ret = counter_open(counter);
		if (ret)
			return ret;
	}
	ibqp->counter = counter;
	rcu_assign_pointer(qp->stats,
			   xa_load(counters_of(counter), counter->id));
	return 0;
}

/* The counter may end when this returns. */
static int counter_unbind_qp(SMR_PARAM_QP_PORT(ibqp, port))
{
	struct smr_qp *qp = to_smr_qp(ibqp);

	mutex_lock(&qp->mutex);
	RCU_INIT_POINTER(qp->stats, NULL);
	ibqp->counter = NULL;
	mutex_unlock(&qp->mutex);
	synchronize_rcu();
	return 0;
}

static struct rdma_hw_stats *counter_alloc_stats(struct rdma_counter *counter)
{
	return alloc_stats();
}

static int counter_update_stats(struct rdma_counter *counter)
{
	const struct smr_stats *stats = xa_load(counters_of(counter),
						counter->id);
	int i;

	if (!stats)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(stat_descs); i++)
		counter->stats->value[i] = smr_stats_read(stats, i);
	return 0;
}

static void __maybe_unused counter_init(struct rdma_counter *counter)
{
}

/* Newer cores ask for the size of the driver's struct. */
struct smr_bound_counter {
	struct rdma_counter counter;
};

const struct ib_device_ops smr_counter_ops = {
	.alloc_hw_port_stats = alloc_hw_port_stats,
	.get_hw_stats = get_hw_stats,
	.counter_bind_qp = counter_bind_qp,
	.counter_unbind_qp = counter_unbind_qp,
	.counter_dealloc = counter_dealloc,
	.counter_alloc_stats = counter_alloc_stats,
	.counter_update_stats = counter_update_stats,
	SMR_OPS_COUNTER_INIT(counter_init, smr_bound_counter, counter)
};
