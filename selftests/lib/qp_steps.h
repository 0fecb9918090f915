/* SPDX-License-Identifier: GPL-2.0 */
/* The state table of an RC QP. */
#ifndef VT_QP_STEPS_H
#define VT_QP_STEPS_H

#include <stddef.h>

#include <infiniband/verbs.h>

/**
 * struct vt_step - a transition that is legal
 * @required: attributes that must come with it
 * @optional: attributes that may
 */
struct vt_step {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int required;
	int optional;
};

static const struct vt_step vt_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET },
	{ IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_RESET },
	{ IBV_QPS_INIT, IBV_QPS_ERR },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RESET },
	{ IBV_QPS_RTR, IBV_QPS_ERR },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTS, IBV_QPS_RESET },
	{ IBV_QPS_RTS, IBV_QPS_ERR },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ IBV_QPS_SQD, IBV_QPS_RESET },
	{ IBV_QPS_SQD, IBV_QPS_ERR },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0,
	  IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0,
	  IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	  IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
	  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_ERR, IBV_QPS_RESET },
	{ IBV_QPS_ERR, IBV_QPS_ERR },
};

/* Every attribute of an RC QP that depends on no capability. */
static const int vt_attributes[] = {
	IBV_QP_CUR_STATE, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_ACCESS_FLAGS,
	IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_AV, IBV_QP_PATH_MTU,
	IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN,
	IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER, IBV_QP_SQ_PSN,
	IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_DEST_QPN,
};

/* NULL: there is no such transition */
static inline const struct vt_step *vt_step_find(enum ibv_qp_state from,
				    enum ibv_qp_state to)
{
	unsigned int i;

	for (i = 0; i < sizeof(vt_steps) / sizeof(vt_steps[0]); i++)
		if (vt_steps[i].from == from && vt_steps[i].to == to)
			return &vt_steps[i];
	return NULL;
}

#endif /* VT_QP_STEPS_H */
