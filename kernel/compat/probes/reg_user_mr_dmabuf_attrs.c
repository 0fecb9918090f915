// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
void *probe(struct ib_device_ops *ops, struct uverbs_attr_bundle *attrs);
void *probe(struct ib_device_ops *ops, struct uverbs_attr_bundle *attrs)
{ return ops->reg_user_mr_dmabuf(NULL, 0, 0, 0, 0, 0, attrs); }
