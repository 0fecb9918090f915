// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
int probe(struct ib_device_ops *ops, struct ib_cq *cq,
	  struct uverbs_attr_bundle *attrs);
int probe(struct ib_device_ops *ops, struct ib_cq *cq,
	  struct uverbs_attr_bundle *attrs)
{ return ops->create_cq(cq, NULL, attrs); }
