/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* In rdma-core this is generated from the header with the structures for DECLARE_DRV_CMD(). */
#ifndef SMR_IBVERBS_KERNEL_ABI_H
#define SMR_IBVERBS_KERNEL_ABI_H

#include <softmr-abi.h>

#endif /* SMR_IBVERBS_KERNEL_ABI_H */
