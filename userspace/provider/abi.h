/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The layouts of the commands that carry driver data. rdma-core's macros make
 * them from softmr-abi.h. Assertions check that both sides of the ABI have the
 * same offsets.
 */
#ifndef SMR_PROVIDER_ABI_H
#define SMR_PROVIDER_ABI_H

#include <assert.h>
#include <stddef.h>

#include <infiniband/kern-abi.h>
#include <infiniband/verbs.h>

#include <softmr-abi.h>
#include <kernel-abi/softmr-abi.h>

DECLARE_DRV_CMD(usmr_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		empty, smr_alloc_ucontext_resp);
DECLARE_DRV_CMD(usmr_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, smr_create_cq_resp);
DECLARE_DRV_CMD(usmr_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, smr_resize_cq_resp);
DECLARE_DRV_CMD(usmr_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		empty, smr_create_qp_resp);
DECLARE_DRV_CMD(usmr_create_xsrq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		empty, smr_create_srq_resp);
DECLARE_DRV_CMD(usmr_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, smr_create_ah_resp);

DECLARE_DRV_CMD(usmr_query_device, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		empty, smr_query_device_resp);
DECLARE_DRV_CMD(usmr_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		smr_modify_qp, empty);

#define SMR_ASSERT_OFFSET(_struct, _member, _offset)                           \
	static_assert(offsetof(struct _struct, _member) == (_offset),          \
		      #_struct "." #_member " has moved")
#define SMR_ASSERT_SIZE(_struct, _size)                                        \
	static_assert(sizeof(struct _struct) == (_size),                       \
		      #_struct " has changed its size")

SMR_ASSERT_SIZE(smr_ring_hdr, 128);
SMR_ASSERT_OFFSET(smr_ring_hdr, prod, 0);
SMR_ASSERT_OFFSET(smr_ring_hdr, cons, 64);
SMR_ASSERT_OFFSET(smr_ring_hdr, flags, 68);

SMR_ASSERT_SIZE(smr_send_wqe, 64);
SMR_ASSERT_OFFSET(smr_send_wqe, opcode, 8);
SMR_ASSERT_OFFSET(smr_send_wqe, num_sge, 9);
SMR_ASSERT_OFFSET(smr_send_wqe, inline_len, 10);
SMR_ASSERT_OFFSET(smr_send_wqe, send_flags, 12);
SMR_ASSERT_OFFSET(smr_send_wqe, imm_or_rkey, 16);
SMR_ASSERT_OFFSET(smr_send_wqe, xrc_srqn, 20);
SMR_ASSERT_OFFSET(smr_send_wqe, rdma, 24);
SMR_ASSERT_OFFSET(smr_send_wqe, sge, 64);

SMR_ASSERT_SIZE(smr_recv_wqe, 16);
SMR_ASSERT_OFFSET(smr_recv_wqe, num_sge, 8);
SMR_ASSERT_OFFSET(smr_recv_wqe, sge, 16);

SMR_ASSERT_SIZE(smr_cqe, 64);
SMR_ASSERT_OFFSET(smr_cqe, timestamp, 8);
SMR_ASSERT_OFFSET(smr_cqe, status, 16);
SMR_ASSERT_OFFSET(smr_cqe, imm_or_rkey, 32);
SMR_ASSERT_OFFSET(smr_cqe, flow_tag, 32);
SMR_ASSERT_OFFSET(smr_cqe, qp_num, 36);
SMR_ASSERT_OFFSET(smr_cqe, wc_flags, 44);
SMR_ASSERT_OFFSET(smr_cqe, slid, 48);
SMR_ASSERT_OFFSET(smr_cqe, vlan_id, 54);
SMR_ASSERT_OFFSET(smr_cqe, sl, 56);

SMR_ASSERT_SIZE(smr_ring_info, 48);
SMR_ASSERT_SIZE(smr_dm_info, 16);
SMR_ASSERT_SIZE(smr_alloc_ucontext_resp, 8);
SMR_ASSERT_OFFSET(smr_alloc_ucontext_resp, abi_minor, 4);
SMR_ASSERT_SIZE(smr_create_cq_resp, 48);
SMR_ASSERT_SIZE(smr_resize_cq_resp, 48);
SMR_ASSERT_SIZE(smr_create_qp_resp, 96);
SMR_ASSERT_OFFSET(smr_create_qp_resp, rq, 48);
SMR_ASSERT_SIZE(smr_create_srq_resp, 56);
SMR_ASSERT_OFFSET(smr_create_srq_resp, srqn, 48);
SMR_ASSERT_SIZE(smr_resize_srq_resp, 48);
SMR_ASSERT_SIZE(smr_query_device_resp, 16);
SMR_ASSERT_SIZE(smr_modify_qp, 8);

/* Lists of SGEs are copied unchanged. */
SMR_ASSERT_SIZE(smr_sge, sizeof(struct ibv_sge));
SMR_ASSERT_OFFSET(smr_sge, addr, offsetof(struct ibv_sge, addr));
SMR_ASSERT_OFFSET(smr_sge, length, offsetof(struct ibv_sge, length));
SMR_ASSERT_OFFSET(smr_sge, lkey, offsetof(struct ibv_sge, lkey));

#endif /* SMR_PROVIDER_ABI_H */
