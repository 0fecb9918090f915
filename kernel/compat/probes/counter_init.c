// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
void probe(struct ib_device_ops *ops, struct rdma_counter *counter);
void probe(struct ib_device_ops *ops, struct rdma_counter *counter)
{ ops->counter_init(counter); }
