/* SPDX-License-Identifier: GPL-2.0 */
/* Receive dispatch: which QP a packet is for, and which side of it. */
#ifndef SMR_QP_RX_H
#define SMR_QP_RX_H

struct smr_rx_ops;

extern const struct smr_rx_ops smr_qp_rx_ops;

#endif /* SMR_QP_RX_H */
