/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs for work queues: what the RDMA core calls on behalf of processes. */
#ifndef SMR_VERBS_WQ_H
#define SMR_VERBS_WQ_H

struct ib_device_ops;

extern const struct ib_device_ops smr_wq_ops;

#endif /* SMR_VERBS_WQ_H */
