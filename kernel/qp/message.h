/* SPDX-License-Identifier: GPL-2.0 */
/* Messages of SENDs and WRITEs, and the trains that carry them. */
#ifndef SMR_MESSAGE_H
#define SMR_MESSAGE_H

#include <linux/types.h>

#include "key.h"
#include "net/wire.h"
#include "qp/task.h"

struct smr_qp;
struct smr_swqe;
struct smr_wr_info;

/**
 * struct smr_message - a message that is being sent
 * @qp: the requester's QP
 * @wqe: the work request
 * @wr: properties of its opcode
 * @first: index of the next packet in its message
 * @end: one past the last packet to send now
 *
 * The headers of its next packet are in @qp->req.hdr.
 */
struct smr_message {
	struct smr_qp *qp;
	struct smr_swqe *wqe;
	const struct smr_wr_info *wr;
	u32 first;
	u32 end;
};

bool smr_message_may_begin(struct smr_qp *qp, const struct smr_swqe *wqe,
			   const struct smr_wr_info *wr);
void smr_message_begin(struct smr_qp *qp, struct smr_swqe *wqe);
u8 smr_message_key(struct smr_qp *qp, enum smr_key_verdict verdict);
enum smr_step smr_message_sent(struct smr_message *m, struct smr_budget *budget,
			       u32 sent, int err);
enum smr_step smr_message_send(struct smr_message *m, struct smr_budget *budget);
bool smr_message_send_several(struct smr_message *m, struct smr_budget *budget,
			      enum smr_step *step);
void smr_message_done(struct smr_qp *qp, struct smr_swqe *wqe);

#endif /* SMR_MESSAGE_H */
