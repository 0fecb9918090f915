/* SPDX-License-Identifier: GPL-2.0 */
/* Receiving datagrams. */
#ifndef SMR_UD_RECV_H
#define SMR_UD_RECV_H

#include <linux/types.h>

#include "qp/core.h"

/* What stands in front of each message: a GRH, or an IPv4 header at its end */
#define SMR_GRH_LEN	40

enum smr_resp_verdict smr_ud_receive(struct smr_qp *qp, const struct smr_op *op,
				     struct smr_run *run);

#endif /* SMR_UD_RECV_H */
