// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>
u64 probe(void);
u64 probe(void)
{ return IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE |
	 IB_OPCODE_RC_FLUSH | IB_WR_ATOMIC_WRITE; }
