// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
int probe(struct ib_device_ops *ops, struct ib_qp *qp);
int probe(struct ib_device_ops *ops, struct ib_qp *qp)
{ return ops->counter_unbind_qp(qp, 1); }
