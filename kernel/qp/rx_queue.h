/* SPDX-License-Identifier: GPL-2.0 */
/* Packets that wait for the tasks of their QP, and the limits of their memory. */
#ifndef SMR_RX_QUEUE_H
#define SMR_RX_QUEUE_H

#include <linux/types.h>

struct sk_buff;
struct sk_buff_head;
struct smr_qp;

void smr_qp_queue(struct smr_qp *qp, struct sk_buff *skb, bool response);

void smr_qp_receive(struct smr_qp *qp, struct sk_buff *skb, bool response);

struct sk_buff *smr_rx_peek(const struct sk_buff_head *queue);
void smr_rx_done(struct sk_buff_head *queue, struct sk_buff *skb);

#endif /* SMR_RX_QUEUE_H */
