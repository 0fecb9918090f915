/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow steering rules, and the counters that they use.
 */
#ifndef SMR_PROVIDER_FLOW_H
#define SMR_PROVIDER_FLOW_H

#include "softmr.h"

/**
 * struct smr_flow - a flow steering rule
 * @flow: libibverbs' part
 * @counters: what counts its frames, or NULL
 */
struct smr_flow {
	struct ibv_flow flow;
	struct ibv_counters *counters;
};

void smr_flow_counters_hold(struct ibv_counters *counters);
void smr_flow_counters_drop(struct ibv_counters *counters);

#endif /* SMR_PROVIDER_FLOW_H */
