// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
int probe(struct ib_device_ops *ops, struct ib_srq *srq);
int probe(struct ib_device_ops *ops, struct ib_srq *srq)
{ return ops->fill_res_srq_entry(NULL, srq); }
