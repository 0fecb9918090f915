/* SPDX-License-Identifier: GPL-2.0 */
/* Protection domains. */
#ifndef SMR_PD_H
#define SMR_PD_H

#include <linux/container_of.h>
#include <rdma/ib_verbs.h>

struct smr_awaits;
struct smr_keys;
struct smr_limits;
struct smr_stats;
struct smr_why_log;

/**
 * struct smr_pd - a protection domain
 * @ibpd: the core's part
 * @keys: the device's keys
 * @stats: the device's counters
 * @awaits: the device's verbs that wait for faults
 * @limits: of its user, or of the device for a kernel consumer; also for the objects in it
 * @whys: the refusals of its context, or of kernel consumers; also of the objects in it
 *
 * Constant.
 */
struct smr_pd {
	struct ib_pd ibpd;
	struct smr_keys *keys;
	struct smr_stats *stats;
	struct smr_awaits *awaits;
	struct smr_limits *limits;
	struct smr_why_log *whys;
};

static inline struct smr_pd *to_smr_pd(const struct ib_pd *ibpd)
{
	return container_of(ibpd, struct smr_pd, ibpd);
}

#endif /* SMR_PD_H */
