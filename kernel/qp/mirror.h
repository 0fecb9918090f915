/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets for sniffers: for an operation between two QPs of this host, build the packets that
 * would have been sent on the wire. This is done only while there is a sniffer.
 */
#ifndef SMR_QP_MIRROR_H
#define SMR_QP_MIRROR_H

#include <linux/types.h>

#include "qp/core.h"
#include "steer/steer.h"

void smr_mirror_all(struct smr_qp *qp, const struct smr_local *local,
		    enum smr_local_answer answer, u8 syndrome);

/**
 * smr_mirror() - show sniffers an operation that is about to be answered
 * @qp: the caller owns its response task
 * @local: the operation, claimed
 * @answer: the kind of answer
 * @syndrome: of the reply
 */
static inline void smr_mirror(struct smr_qp *qp, const struct smr_local *local,
			      enum smr_local_answer answer, u8 syndrome)
{
	if (static_branch_unlikely(&smr_sniffed))
		smr_mirror_all(qp, local, answer, syndrome);
}

#endif /* SMR_QP_MIRROR_H */
