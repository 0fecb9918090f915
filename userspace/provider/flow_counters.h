/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Use of flow counters by rules
 */
#ifndef SMR_PROVIDER_FLOW_COUNTERS_H
#define SMR_PROVIDER_FLOW_COUNTERS_H

struct ibv_counters;

void smr_flow_counters_hold(struct ibv_counters *counters);
void smr_flow_counters_drop(struct ibv_counters *counters);

#endif /* SMR_PROVIDER_FLOW_COUNTERS_H */
