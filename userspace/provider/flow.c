// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering rules.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

#include "flow_counters.h"

/**
 * struct smr_flow - a flow steering rule
 * @flow: libibverbs' part
 * @counters: count its frames, or NULL
 */
struct smr_flow {
	struct ibv_flow flow;
	struct ibv_counters *counters;
};

/* The counters that a rule names. The kernel refuses one that names two. */
static struct ibv_counters *counters_of(const struct ibv_flow_attr *attr)
{
	const struct ibv_flow_spec *spec = (const void *)(attr + 1);
	int i;

	for (i = 0; i < attr->num_of_specs; i++) {
		if (spec->hdr.type == IBV_FLOW_SPEC_ACTION_COUNT)
			return spec->flow_count.counters;
		spec = (const void *)((const char *)spec + spec->hdr.size);
	}
	return NULL;
}

/**
 * smr_create_flow - steer frames to a QP
 * @qp: a RAW_PACKET QP
 * @attr: which frames, and the actions on them
 *
 * Return: the rule, or NULL and errno.
 */
struct ibv_flow *smr_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct smr_flow *flow = smr_zalloc(qp->context, sizeof(*flow));
	int ret;

	if (!flow)
		return NULL;
	flow->counters = counters_of(attr);
	if (flow->counters)
		smr_flow_counters_hold(flow->counters);
	ret = ibv_cmd_create_flow(qp, &flow->flow, attr, NULL, 0);
	if (!ret)
		return &flow->flow;
	if (flow->counters)
		smr_flow_counters_drop(flow->counters);
	free(flow);
	errno = ret;
	return NULL;
}

/**
 * smr_destroy_flow - destroy a rule
 * @ibflow: the rule, which stays valid if the kernel refuses
 */
int smr_destroy_flow(struct ibv_flow *ibflow)
{
	struct smr_flow *flow = container_of(ibflow, struct smr_flow, flow);
	int ret = ibv_cmd_destroy_flow(ibflow);

	if (ret)
		return ret;
	if (flow->counters)
		smr_flow_counters_drop(flow->counters);
	free(flow);
	return 0;
}
