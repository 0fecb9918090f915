/* SPDX-License-Identifier: GPL-2.0 */
/* Receive dispatch: find the QP, and its side, that a packet is for. */
#ifndef SMR_QP_RX_H
#define SMR_QP_RX_H

struct smr_rx_ops;

extern const struct smr_rx_ops smr_qp_rx_ops;

#endif /* SMR_QP_RX_H */
