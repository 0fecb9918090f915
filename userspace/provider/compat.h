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

/* 59: DMA handles */
#ifdef SMR_HAVE_DMAH
#define SMR_DMAH_OPS			\
	.alloc_dmah = smr_alloc_dmah,	\
	.dealloc_dmah = smr_dealloc_dmah, \
	.reg_mr_ex = smr_reg_mr_ex,
#else
#define SMR_DMAH_OPS
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

/* 62: the port's speed, as the kernel says it */
#ifdef SMR_HAVE_PORT_SPEED
#define SMR_PORT_SPEED_OP	.query_port_speed = ibv_cmd_query_port_speed,
#else
#define SMR_PORT_SPEED_OP
#endif

/* 62: device memory as a dma-buf */
#ifdef SMR_HAVE_DM_EXPORT
#define SMR_DM_EXPORT_OP	.dm_export_dmabuf_fd = smr_dm_export_dmabuf_fd,
#else
#define SMR_DM_EXPORT_OP
#endif

/* 65: completion counters */
#ifdef SMR_HAVE_COMP_CNTR
#define SMR_COMP_CNTR_OPS					\
	.create_comp_cntr = smr_create_comp_cntr,		\
	.destroy_comp_cntr = smr_destroy_comp_cntr,		\
	.inc_comp_cntr = ibv_cmd_inc_comp_cntr,			\
	.inc_err_comp_cntr = ibv_cmd_inc_err_comp_cntr,		\
	.qp_attach_comp_cntr = smr_attach_comp_cntr,		\
	.query_comp_cntr_caps = ibv_cmd_query_comp_cntr_caps,	\
	.read_comp_cntr = ibv_cmd_read_comp_cntr,		\
	.read_err_comp_cntr = ibv_cmd_read_err_comp_cntr,	\
	.set_comp_cntr = ibv_cmd_set_comp_cntr,			\
	.set_err_comp_cntr = ibv_cmd_set_err_comp_cntr,
#else
#define SMR_COMP_CNTR_OPS
#endif

/* 64: IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC */
#define SMR_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED	(1U << 2)

#endif /* SMR_PROVIDER_COMPAT_H */
