// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
void *probe(struct ib_device_ops *ops);
void *probe(struct ib_device_ops *ops)
{ return &ops->resize_user_cq; }
