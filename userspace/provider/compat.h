/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Older releases of rdma-core. The provider is written for the newest one. This
 * file adds what older ones lack, as the probes of cmake/RdmaCoreFeatures.cmake
 * find it. The provider passes NULL for each of the arguments that are dropped.
 */
#ifndef SMR_PROVIDER_COMPAT_H
#define SMR_PROVIDER_COMPAT_H

#include <infiniband/driver.h>

/*
 * 44: ATOMIC_WRITE, 45: FLUSH. Without the function in struct ibv_qp_ex no flag
 * can ask for it; a program that knows the number of the opcode can post it.
 */
#ifdef SMR_HAVE_ATOMIC_WRITE
#define smr_set_wr_atomic_write(qpx, fn)	((qpx)->wr_atomic_write = (fn))
#else
#define IBV_WR_ATOMIC_WRITE			15
#define IBV_QP_EX_WITH_ATOMIC_WRITE		0
#define smr_set_wr_atomic_write(qpx, fn)	((void)(fn))
#endif

#ifdef SMR_HAVE_FLUSH
#define smr_set_wr_flush(qpx, fn)		((qpx)->wr_flush = (fn))
#else
#define IBV_WR_FLUSH				14
#define IBV_QP_EX_WITH_FLUSH			0
#define smr_set_wr_flush(qpx, fn)		((void)(fn))
#endif

/* 54: the driver's attributes */
#ifndef SMR_HAVE_DMABUF_MR_DRIVER
#define ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,       \
			      driver)                                          \
	ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr)
#endif

/* 57: file descriptors for the new context */
#ifndef SMR_HAVE_GET_CONTEXT_FDS
#define ibv_cmd_get_context(context, cmd, cmd_size, fds, resp, resp_size)      \
	ibv_cmd_get_context(context, cmd, cmd_size, resp, resp_size)
#endif

/* 59: the queue's memory, given by the application */
#ifndef SMR_HAVE_CREATE_CQ_ATTR
#define ibv_cmd_create_cq_ex(context, attr, prov_attr, vcq, cmd, cmd_size,     \
			     resp, resp_size, cmd_flags)                       \
	ibv_cmd_create_cq_ex(context, attr, vcq, cmd, cmd_size, resp,          \
			     resp_size, cmd_flags)
#endif

/* 64: the driver's attributes */
#ifndef SMR_HAVE_CREATE_QP_DRIVER
#define ibv_cmd_create_qp_ex2(context, vqp, attr, cmd, cmd_size, resp,         \
			      resp_size, driver)                               \
	ibv_cmd_create_qp_ex2(context, vqp, attr, cmd, cmd_size, resp,         \
			      resp_size)
#endif

/* 64: IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC */
#define SMR_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED	(1U << 2)

#endif /* SMR_PROVIDER_COMPAT_H */
