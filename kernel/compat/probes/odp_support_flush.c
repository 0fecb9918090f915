// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>
int probe(void);
int probe(void)
{ return IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE; }
