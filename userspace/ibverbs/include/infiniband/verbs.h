/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The installed verbs.h, and declarations that it lacks if it is older than rdma-core 65. A provider that is built with
 * an older one is the same: it also serves programs that were compiled with a newer one.
 *
 * A macro hides a constant of the same name and value in a newer header. Structures are declared only where cmake has
 * found that the header has none.
 */
#ifndef SMR_IBVERBS_VERBS_H
#define SMR_IBVERBS_VERBS_H

#include_next <infiniband/verbs.h>

/* 44 */
#define IBV_WR_ATOMIC_WRITE			15
#define IBV_QP_EX_WITH_ATOMIC_WRITE		(1 << 12)

/* 45 */
#define IBV_WR_FLUSH				14
#define IBV_QP_EX_WITH_FLUSH			(1 << 11)

/* 59 */
#define IBV_REG_MR_MASK_IOVA			(1 << 0)
#define IBV_REG_MR_MASK_ADDR			(1 << 1)
#define IBV_REG_MR_MASK_FD			(1 << 2)
#define IBV_REG_MR_MASK_FD_OFFSET		(1 << 3)

/* 64 */
#define IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC	(1 << 2)

#ifndef SMR_VERBS_HAS_MR_INIT_ATTR
/* Later releases append to it. */
struct ibv_mr_init_attr {
	size_t length;
	int access;
	/* IBV_REG_MR_MASK_*: which of the members below are valid */
	uint64_t comp_mask;
	uint64_t iova;
	/* memory of the process */
	void *addr;
	/* or of a dma-buf */
	int fd;
	uint64_t fd_offset;
};
#endif

#endif /* SMR_IBVERBS_VERBS_H */
