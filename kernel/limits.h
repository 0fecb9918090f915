/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits on the number of objects. There are two: one per device, which also counts objects of
 * kernel consumers; and one per user, so that one user cannot use up the device's.
 */
#ifndef SMR_LIMITS_H
#define SMR_LIMITS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct ib_device;
struct smr_why_log;

/*
 * The highest limit. QP numbers and key indices have 24 bits and are random; with more objects
 * they would be easy to guess.
 */
#define SMR_LIMIT_MAX	SZ_1M

/* The kinds of objects that are counted. SMR_WHY_LIMIT reports these numbers to processes */
enum smr_limit {
	SMR_LIMIT_PD,
	SMR_LIMIT_AH,
	SMR_LIMIT_CQ,
	SMR_LIMIT_SRQ,
	SMR_LIMIT_QP,
	SMR_LIMIT_MR,
	SMR_LIMIT_MW,
	SMR_LIMIT_XRCD,
	SMR_LIMIT_RULE,
	SMR_LIMIT_MCAST,
	SMR_LIMIT_KINDS,
};

/* Objects that use the netdev or a socket. The others are memory and completion queues. */
#define SMR_LIMITS_NET	(BIT(SMR_LIMIT_AH) | BIT(SMR_LIMIT_QP) | \
			 BIT(SMR_LIMIT_RULE) | BIT(SMR_LIMIT_MCAST))
#define SMR_LIMITS_ALL	(BIT(SMR_LIMIT_KINDS) - 1)

/**
 * struct smr_limits - the objects of a device, or those of a user on it
 * @device: the device's, which also count the user's objects; NULL: these are the device's
 * @max: the limit of each kind; constant
 * @used: number of objects of each kind
 */
struct smr_limits {
	struct smr_limits *device;
	u32 max[SMR_LIMIT_KINDS];
	atomic_t used[SMR_LIMIT_KINDS];
};

void smr_limits_init(struct smr_limits *limits, struct smr_limits *device,
		     u32 max);
int __must_check smr_limit_take(struct smr_limits *limits, enum smr_limit kind,
				struct smr_why_log *log);
void smr_limit_give(struct smr_limits *limits, enum smr_limit kind);
void smr_limits_drain(struct smr_limits *limits, unsigned long kinds,
		      struct ib_device *ibdev);

#endif /* SMR_LIMITS_H */
