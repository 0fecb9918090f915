/* SPDX-License-Identifier: GPL-2.0 */
/* What `rdma statistic` shows: the counters of a link. */
#ifndef SMR_COUNTER_H
#define SMR_COUNTER_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops smr_counter_ops;

#endif /* SMR_COUNTER_H */
