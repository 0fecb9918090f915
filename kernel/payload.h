/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of messages: missing pages, and messages of one packet. */
#ifndef SMR_PAYLOAD_H
#define SMR_PAYLOAD_H

#include <linux/types.h>

#include "resp_check.h"
#include "task.h"

struct smr_qp;
struct smr_sgl;
struct smr_swqe;

int smr_payload_fault(const struct smr_run *run, const struct smr_sgl *sgl,
		      bool write);
bool smr_payload_open(struct smr_qp *qp, const struct smr_swqe *wqe);
int smr_payload_result(struct smr_qp *qp, int err, struct smr_run *run);
enum smr_resp_verdict smr_payload_place(struct smr_qp *qp, u64 len,
					struct smr_run *run,
					int (*copy)(struct smr_qp *qp,
						    const void *from),
					const void *from);

#endif /* SMR_PAYLOAD_H */
