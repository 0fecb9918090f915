/* SPDX-License-Identifier: GPL-2.0 */
/* The requester: takes work requests from the send queue and sends them. */
#ifndef SMR_REQUESTER_H
#define SMR_REQUESTER_H

#include <linux/types.h>

#include "sgl.h"
#include "qp/task.h"

struct smr_qp;

/* READ requests and atomics outstanding at most, a power of two */
#define SMR_MAX_RD_ATOMIC	128

/**
 * struct smr_requester - the sending half of the send task
 * @psn: next PSN to send
 * @max_psn: one past the highest PSN ever sent
 * @wire: something was sent on the wire, and perhaps is there still
 * @window: PSNs that may be outstanding; adapts to loss
 * @threshold: up to here the window grows fast
 * @growth: acknowledged since the window last grew
 * @rd_end: where each outstanding READ request or atomic ends, one past its
 *	last PSN
 * @rd_head: the oldest of @rd_end
 * @rd_tail: one past the newest
 * @sgl: scratch
 *
 * Owned by the send task.
 */
struct smr_requester {
	u32 psn;
	u32 max_psn;
	bool wire;
	u32 window;
	u32 threshold;
	u32 growth;
	u32 rd_end[SMR_MAX_RD_ATOMIC];
	u32 rd_head;
	u32 rd_tail;
	struct smr_sgl sgl;
};

enum smr_task_verdict smr_requester_run(struct smr_qp *qp,
					struct smr_run *run);
void smr_requester_start(struct smr_qp *qp, u32 psn);
void smr_requester_reset(struct smr_qp *qp);

#endif /* SMR_REQUESTER_H */
