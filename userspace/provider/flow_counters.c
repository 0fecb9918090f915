// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow counters. The kernel counts packets and bytes of the rules that use
 * them; the provider maps them to the indices that the program has chosen.
 */
#include "flow_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <softmr-abi.h>

#include "abi.h"
#include "softmr.h"

/**
 * struct point - a counter at an index; several at one index add up
 * @next: the previously attached point
 * @index: in the program's array
 * @counter: enum smr_flow_counter
 */
struct point {
	struct point *next;
	uint32_t index;
	uint32_t counter;
};

/**
 * struct smr_flow_counters - flow counters
 * @vcounters: libibverbs' part
 * @lock: guards the others
 * @points: the counters to be read
 * @rules: how many rules use them; until it is 0 no point can be attached
 */
struct smr_flow_counters {
	struct verbs_counters vcounters;
	struct smr_lock lock;
	struct point *points;
	uint32_t rules;
};

enum {
	COUNTERS = SMR_FLOW_BYTES + 1,
};

static struct smr_flow_counters *to_flow_counters(struct ibv_counters *counters)
{
	return container_of(counters, struct smr_flow_counters,
			    vcounters.counters);
}

static void add_rules(struct ibv_counters *ibcounters, int n)
{
	struct smr_flow_counters *counters = to_flow_counters(ibcounters);

	smr_lock(&counters->lock);
	counters->rules += n;
	smr_unlock(&counters->lock);
}

/**
 * smr_flow_counters_hold - a rule is about to use them
 */
void smr_flow_counters_hold(struct ibv_counters *counters)
{
	add_rules(counters, 1);
}

/**
 * smr_flow_counters_drop - a rule no longer uses them
 */
void smr_flow_counters_drop(struct ibv_counters *counters)
{
	add_rules(counters, -1);
}

/**
 * smr_create_counters - create flow counters
 * @attr: nothing
 *
 * Return: the counters, or NULL and errno.
 */
struct ibv_counters *smr_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr)
{
	struct smr_flow_counters *counters = smr_zalloc(context, sizeof(*counters));
	int ret;

	if (!counters)
		return NULL;
	smr_lock_init(&counters->lock);
	ret = ibv_cmd_create_counters(context, attr, &counters->vcounters,
				      NULL);
	if (!ret)
		return &counters->vcounters.counters;
	smr_lock_destroy(&counters->lock);
	free(counters);
	errno = smr_why_old(context, ret);
	return NULL;
}

/**
 * smr_destroy_counters - destroy flow counters
 * @ibcounters: the counters, which stay valid if the kernel refuses: EBUSY
 *	while a rule uses them
 */
int smr_destroy_counters(struct ibv_counters *ibcounters)
{
	struct smr_flow_counters *counters = to_flow_counters(ibcounters);
	struct point *point, *next;
	int ret;

	ret = smr_ended(ibcounters->context, 0, SMR_KIND_FLOW_COUNTERS,
			ibv_cmd_destroy_counters(&counters->vcounters));
	if (ret)
		return ret;
	for (point = counters->points; point; point = next) {
		next = point->next;
		free(point);
	}
	smr_lock_destroy(&counters->lock);
	free(counters);
	return 0;
}

static int attach(struct ibv_context *context,
		  struct smr_flow_counters *counters, struct point *point)
{
	bool used;

	smr_lock(&counters->lock);
	used = counters->rules;
	if (!used) {
		point->next = counters->points;
		counters->points = point;
	}
	smr_unlock(&counters->lock);
	return used ? smr_refuse(context, 0, FLOW_COUNTED, 0) : 0;
}

/**
 * smr_attach_counters_point_flow - attach a counter to an index
 * @ibcounters: the counters, which no rule uses yet
 * @attr: packets or bytes, and the index
 * @flow: NULL: rules that exist get no counters
 */
int smr_attach_counters_point_flow(struct ibv_counters *ibcounters,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow)
{
	struct ibv_context *context = ibcounters->context;
	struct point *point;
	int ret;

	if (attr->comp_mask)
		return smr_refuse(context, 0, FIELDS_UNKNOWN, attr->comp_mask,
				  attr->comp_mask);
	if (flow || (attr->counter_desc != IBV_COUNTER_PACKETS &&
		     attr->counter_desc != IBV_COUNTER_BYTES))
		return smr_refuse(context, 0, FLOW_COUNTER, attr->counter_desc,
				  !!flow);
	point = smr_zalloc(context, sizeof(*point));
	if (!point)
		return ENOMEM;
	point->index = attr->index;
	point->counter = attr->counter_desc == IBV_COUNTER_BYTES ?
			 SMR_FLOW_BYTES : SMR_FLOW_PACKETS;
	ret = attach(context, to_flow_counters(ibcounters), point);
	if (ret)
		free(point);
	return ret;
}

/**
 * smr_read_counters - read flow counters
 * @ibcounters: the counters; EINVAL: no rule uses them
 * @values: where to; 0 at an index without a counter
 * @nr: how many indices
 * @flags: enum ibv_read_counters_flags; there is no cache
 */
int smr_read_counters(struct ibv_counters *ibcounters, uint64_t *values,
		      uint32_t nr, uint32_t flags)
{
	struct smr_flow_counters *counters = to_flow_counters(ibcounters);
	uint64_t now[COUNTERS] = {};
	const struct point *point;
	int ret;

	ret = ibv_cmd_read_counters(&counters->vcounters, now, COUNTERS, flags,
				    NULL);
	if (ret)
		return ret;
	memset(values, 0, nr * sizeof(*values));
	smr_lock(&counters->lock);
	for (point = counters->points; point; point = point->next)
		if (point->index < nr)
			values[point->index] += now[point->counter];
	smr_unlock(&counters->lock);
	return 0;
}
