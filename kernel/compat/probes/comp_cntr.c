// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
int probe(struct ib_device_ops *ops, struct ib_comp_cntr *cntr);
int probe(struct ib_device_ops *ops, struct ib_comp_cntr *cntr)
{ return ops->destroy_comp_cntr(cntr); }
