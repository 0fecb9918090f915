/* SPDX-License-Identifier: GPL-2.0 */
/* Sending datagrams: each is one packet, and done when it has left. */
#ifndef SMR_UD_SEND_H
#define SMR_UD_SEND_H

#include "qp/task.h"

struct smr_qp;
struct smr_swqe;

int smr_ud_send(struct smr_qp *qp, struct smr_swqe *wqe, struct smr_run *run);

#endif /* SMR_UD_SEND_H */
