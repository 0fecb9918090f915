/* SPDX-License-Identifier: GPL-2.0 */
/* Receiving Ethernet frames. */
#ifndef SMR_RAW_RECV_H
#define SMR_RAW_RECV_H

#include "qp/core.h"

enum smr_resp_verdict smr_raw_receive(struct smr_qp *qp, struct sk_buff *skb,
				      struct smr_run *run);

#endif /* SMR_RAW_RECV_H */
