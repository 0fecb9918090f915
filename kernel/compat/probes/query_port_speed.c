// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
int probe(struct ib_device_ops *ops, struct ib_device *ibdev, u64 *speed);
int probe(struct ib_device_ops *ops, struct ib_device *ibdev, u64 *speed)
{ return ops->query_port_speed(ibdev, 1, speed); }
