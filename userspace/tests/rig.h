/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests build on: a QP in RTS and a look into its rings.
 */
#ifndef SMR_TEST_RIG_H
#define SMR_TEST_RIG_H

#include <string.h>

#include "../provider/abi.h"
#include "../provider/softmr.h"
#include "fake_kernel.h"
#include "tap.h"

static inline struct smr_qp *rig_qp(enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (send_ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp;

	memset(fake.doorbells, 0, sizeof(fake.doorbells));
	fake.doorbell_err = 0;
	qp = smr_create_qp_ex(fake_context(), &attr);
	if (!qp)
		return NULL;
	qp->state = IBV_QPS_RTS;
	return to_smr_qp(qp);
}

static inline struct smr_send_wqe *rig_sent(struct smr_qp *qp, uint32_t i)
{
	return smr_ring_entry(&qp->sq.ring, fake.start_index + i);
}

/* Entries that the kernel can see. */
static inline uint32_t rig_pending(const struct smr_wq *wq)
{
	return wq->ring.hdr->prod - wq->ring.hdr->cons;
}

#endif /* SMR_TEST_RIG_H */
