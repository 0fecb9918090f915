/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of messages: missing pages, and messages of one packet. */
#ifndef SMR_PAYLOAD_H
#define SMR_PAYLOAD_H

#include <linux/errno.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp/core.h"

/* The status of a work request after smr_paging_fault() failed with @err */
static inline enum ib_wc_status smr_fault_status(int err)
{
	return err == -ENOMEM ? IB_WC_LOC_QP_OP_ERR : IB_WC_LOC_PROT_ERR;
}

enum smr_step smr_payload_fault(struct smr_paging *paging,
				struct smr_budget *budget,
				const struct smr_sgl *sgl, bool write,
				u8 *status);
enum smr_resp_verdict smr_resp_fault(struct smr_qp *qp,
				     struct smr_budget *budget, bool write,
				     enum smr_resp_verdict refused);
bool smr_payload_open(struct smr_qp *qp, const struct smr_swqe *wqe);
enum smr_step smr_payload_result(struct smr_qp *qp, int err,
				 struct smr_budget *budget);

#endif /* SMR_PAYLOAD_H */
