// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering rules.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

/**
 * smr_create_flow - steer frames to a QP
 * @qp: a RAW_PACKET QP
 * @attr: which frames, and the actions on them
 *
 * Return: the rule, or NULL and errno.
 */
struct ibv_flow *smr_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct ibv_flow *flow = smr_zalloc(qp->context, sizeof(*flow));
	int ret;

	if (!flow)
		return NULL;
	ret = ibv_cmd_create_flow(qp, flow, attr, NULL, 0);
	if (!ret)
		return flow;
	free(flow);
	errno = ret;
	return NULL;
}

/**
 * smr_destroy_flow - destroy a rule
 * @flow: the rule, which stays valid if the kernel refuses
 */
int smr_destroy_flow(struct ibv_flow *flow)
{
	int ret = ibv_cmd_destroy_flow(flow);

	if (!ret)
		free(flow);
	return ret;
}
