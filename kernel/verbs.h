/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs: what the RDMA core calls on behalf of processes. */
#ifndef SMR_VERBS_H
#define SMR_VERBS_H

#include <linux/container_of.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "await.h"
#include "dm.h"
#include "qp/ah.h"
#include "qp/core.h"
#include "qp/srq.h"
#include "qp/user.h"

/**
 * struct smr_verbs - the part of struct smr_dev that verbs use
 * @ibdev: the core's part; must be first
 * @env: the part of the device that QPs and MRs use
 * @ahs: address vectors of its address handles
 * @srqs: XRC shared receive queues
 * @dms: device memory
 * @users: users that have it open
 * @awaits: verbs that wait for faults
 *
 * @env is constant while the device is registered; the tables have their own locks.
 */
struct smr_verbs {
	struct ib_device ibdev;
	struct smr_env env;
	struct smr_ahtab ahs;
	struct smr_srqtab srqs;
	struct smr_dm_store dms;
	struct smr_users users;
	struct smr_awaits awaits;
};

static inline struct smr_verbs *to_smr_verbs(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct smr_verbs, ibdev);
}

extern const struct ib_device_ops smr_verbs_ops;
extern const struct uapi_definition smr_verbs_uapi[];

#endif /* SMR_VERBS_H */
