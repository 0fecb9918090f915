/* SPDX-License-Identifier: GPL-2.0 */
/* Verbs on device memory. */
#ifndef SMR_DM_VERBS_H
#define SMR_DM_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

extern const struct ib_device_ops smr_dm_verbs_ops;
extern const struct uapi_definition smr_dm_verbs_uapi[];

#endif /* SMR_DM_VERBS_H */
