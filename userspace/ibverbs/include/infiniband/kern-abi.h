/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands of uverbs as libibverbs and a provider pass them to each other. A request consists of a head, the core's
 * input and the driver's input; an answer consists of the core's output and the driver's output.
 */
#ifndef SMR_IBVERBS_KERN_ABI_H
#define SMR_IBVERBS_KERN_ABI_H

#include <assert.h>

#include <rdma/ib_user_verbs.h>

/* The head of the commands that have no extended form */
struct smr_cmd_head {
	struct ib_uverbs_cmd_hdr hdr;
};

/* The head of the other commands */
struct smr_ex_cmd_head {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex_hdr;
};

static_assert(sizeof(struct smr_cmd_head) == 8, "");
static_assert(sizeof(struct smr_ex_cmd_head) == 24, "");

/* An empty driver's part */
struct empty {
};

/*
 * SMR_CMD(NAME, HEAD, CORE, SIZE, COMMAND, ANSWER, SIZE): struct NAME is the request without the driver's part.
 * DECLARE_DRV_CMD() finds it and its answer by COMMAND's name. The sizes are the same in all releases of rdma-core.
 * libibverbs finds the driver's part by its own structs.
 */
#define SMR_CMD(name, head, core, size, command, answer, answer_size)          \
	struct name {                                                          \
		struct head head;                                              \
		struct core core_payload;                                      \
	};                                                                     \
	static_assert(sizeof(struct core) == (size) &&                         \
			      sizeof(struct name) ==                           \
				      sizeof(struct head) + (size),            \
		      #core " of the kernel's headers has another size than libibverbs'"); \
	static_assert(sizeof(struct answer) == (answer_size),                  \
		      #answer " of the kernel's headers has another size than libibverbs'"); \
	typedef struct name smr_request_##command;                             \
	typedef struct answer smr_answer_##command

#define SMR_PLAIN_CMD(name, size, command, answer, answer_size)                \
	SMR_CMD(ibv_##name, smr_cmd_head, ib_uverbs_##name, size, command,     \
		answer, answer_size)
#define SMR_EX_CMD(name, core, size, command, answer, answer_size)             \
	SMR_CMD(name, smr_ex_cmd_head, core, size, command, answer, answer_size)

SMR_PLAIN_CMD(alloc_mw, 16, IB_USER_VERBS_CMD_ALLOC_MW, ib_uverbs_alloc_mw_resp, 8);
SMR_PLAIN_CMD(alloc_pd, 8, IB_USER_VERBS_CMD_ALLOC_PD, ib_uverbs_alloc_pd_resp, 4);
SMR_PLAIN_CMD(create_ah, 56, IB_USER_VERBS_CMD_CREATE_AH, ib_uverbs_create_ah_resp, 4);
SMR_PLAIN_CMD(create_xsrq, 48, IB_USER_VERBS_CMD_CREATE_XSRQ, ib_uverbs_create_srq_resp, 16);
SMR_PLAIN_CMD(get_context, 8, IB_USER_VERBS_CMD_GET_CONTEXT, ib_uverbs_get_context_resp, 8);
SMR_PLAIN_CMD(modify_qp, 112, IB_USER_VERBS_CMD_MODIFY_QP, empty, 0);
SMR_PLAIN_CMD(modify_srq, 16, IB_USER_VERBS_CMD_MODIFY_SRQ, empty, 0);
SMR_PLAIN_CMD(open_qp, 32, IB_USER_VERBS_CMD_OPEN_QP, ib_uverbs_create_qp_resp, 32);
SMR_PLAIN_CMD(open_xrcd, 16, IB_USER_VERBS_CMD_OPEN_XRCD, ib_uverbs_open_xrcd_resp, 4);
SMR_PLAIN_CMD(query_port, 16, IB_USER_VERBS_CMD_QUERY_PORT, ib_uverbs_query_port_resp, 40);
SMR_PLAIN_CMD(query_qp, 16, IB_USER_VERBS_CMD_QUERY_QP, ib_uverbs_query_qp_resp, 128);
SMR_PLAIN_CMD(query_srq, 16, IB_USER_VERBS_CMD_QUERY_SRQ, ib_uverbs_query_srq_resp, 16);
SMR_PLAIN_CMD(reg_mr, 40, IB_USER_VERBS_CMD_REG_MR, ib_uverbs_reg_mr_resp, 12);
SMR_PLAIN_CMD(rereg_mr, 48, IB_USER_VERBS_CMD_REREG_MR, ib_uverbs_rereg_mr_resp, 8);
SMR_PLAIN_CMD(resize_cq, 16, IB_USER_VERBS_CMD_RESIZE_CQ, ib_uverbs_resize_cq_resp, 8);

SMR_EX_CMD(ibv_create_cq_ex, ib_uverbs_ex_create_cq, 32, IB_USER_VERBS_EX_CMD_CREATE_CQ,
	   ib_uverbs_ex_create_cq_resp, 16);
SMR_EX_CMD(ibv_create_qp_ex, ib_uverbs_ex_create_qp, 64, IB_USER_VERBS_EX_CMD_CREATE_QP,
	   ib_uverbs_ex_create_qp_resp, 40);
SMR_EX_CMD(ibv_modify_cq, ib_uverbs_ex_modify_cq, 16, IB_USER_VERBS_EX_CMD_MODIFY_CQ, empty, 0);
SMR_EX_CMD(ibv_modify_qp_ex, ib_uverbs_ex_modify_qp, 120, IB_USER_VERBS_EX_CMD_MODIFY_QP,
	   ib_uverbs_ex_modify_qp_resp, 8);
SMR_EX_CMD(ibv_query_device_ex, ib_uverbs_ex_query_device, 8, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
	   ib_uverbs_ex_query_device_resp, 304);

/*
 * DECLARE_DRV_CMD(NAME, COMMAND, REQUEST, ANSWER): struct NAME and struct NAME_resp, with the structures REQUEST and
 * ANSWER as the driver's parts
 */
#define DECLARE_DRV_CMD(name, command, request, answer)                        \
	struct name {                                                          \
		smr_request_##command ibv_cmd;                                 \
		struct request drv_payload;                                    \
	};                                                                     \
	struct name##_resp {                                                   \
		smr_answer_##command ibv_resp;                                 \
		struct answer drv_payload;                                     \
	};                                                                     \
	static_assert(sizeof(struct name) == sizeof(smr_request_##command) +   \
						     sizeof(struct request),   \
		      #name " has a gap");                                     \
	static_assert(sizeof(struct name##_resp) ==                            \
			      sizeof(smr_answer_##command) +                   \
				      sizeof(struct answer),                   \
		      #name "_resp has a gap")

#endif /* SMR_IBVERBS_KERN_ABI_H */
