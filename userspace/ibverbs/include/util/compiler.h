/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The parts of rdma-core's header of this name that the provider needs */
#ifndef SMR_IBVERBS_COMPILER_H
#define SMR_IBVERBS_COMPILER_H

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#endif /* SMR_IBVERBS_COMPILER_H */
