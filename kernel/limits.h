/* SPDX-License-Identifier: GPL-2.0 */
/* Limits on a device's objects, as query_device reports them. */
#ifndef SMR_LIMITS_H
#define SMR_LIMITS_H

#include <linux/sizes.h>
#include <linux/types.h>

struct ib_device;
struct ib_device_ops;
struct smr_limits;

/*
 * The highest limit. QP numbers and key indices have 24 bits and are random; with more objects
 * they would be easy to guess.
 */
#define SMR_LIMIT_MAX	SZ_1M

void smr_limits_init(struct smr_limits *limits, u32 max);
void smr_limits_drain_net(struct ib_device *ibdev);
void smr_limits_drain(struct ib_device *ibdev);

extern const struct ib_device_ops smr_limit_ops;

#endif /* SMR_LIMITS_H */
