/* SPDX-License-Identifier: GPL-2.0 */
/* How many objects a device may have: what query_device says is what holds. */
#ifndef SMR_LIMITS_H
#define SMR_LIMITS_H

#include <linux/atomic.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct ib_device_ops;

/*
 * The most that can be asked for. QP numbers and the indices of keys have 24
 * bits, are given out at random, and must stay hard to guess.
 */
#define SMR_LIMIT_MAX	SZ_1M

/* What is counted */
enum smr_limit {
	SMR_LIMIT_PD,
	SMR_LIMIT_AH,
	SMR_LIMIT_CQ,
	SMR_LIMIT_SRQ,
	SMR_LIMIT_QP,
	SMR_LIMIT_MR,
	SMR_LIMIT_MW,
	SMR_LIMIT_KINDS,
};

/**
 * struct smr_limits - the objects of one device
 * @max: so many of each kind there may be; constant
 * @used: so many there are
 */
struct smr_limits {
	u32 max;
	atomic_t used[SMR_LIMIT_KINDS];
};

void smr_limits_init(struct smr_limits *limits, u32 max);

extern const struct ib_device_ops smr_limit_ops;

#endif /* SMR_LIMITS_H */
