/* SPDX-License-Identifier: GPL-2.0 */
/* What `rdma statistic` shows: the counters of a link, and those that QPs are bound to. */
#ifndef SMR_COUNTER_H
#define SMR_COUNTER_H

#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

void smr_counters_init(struct xarray *counters);
void smr_counters_fini(struct xarray *counters);

extern const struct ib_device_ops smr_counter_ops;

#endif /* SMR_COUNTER_H */
