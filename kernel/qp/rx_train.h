/* SPDX-License-Identifier: GPL-2.0 */
/* Reading a train by a side of a QP: packet by packet, or many similar packets at once. */
#ifndef SMR_RX_TRAIN_H
#define SMR_RX_TRAIN_H

#include <linux/types.h>

#include "net/cursor.h"
#include "net/icrc.h"

struct sk_buff;
struct smr_hdr;
struct smr_qp;
struct smr_budget;
struct smr_sgl;

/**
 * struct smr_rx_train - a train that is being read
 * @skb: the train, described by struct smr_rx_part
 * @cursor: position in it
 * @icrc: cached CRC state, also from earlier trains; owned by the side
 * @seg: the packet that was parsed last, from the first segment of the skb
 * @off: offset of its payload from skb->data
 * @len: bytes of its payload
 * @pad: bytes of its pad
 * @checked: its ICRC is correct; otherwise the copy checks it
 *
 * On the stack of the function that takes one step.
 */
struct smr_rx_train {
	struct sk_buff *skb;
	struct smr_cursor cursor;
	struct smr_icrc *icrc;
	unsigned int seg;
	unsigned int off;
	unsigned int len;
	u8 pad;
	bool checked;
};

void smr_rx_train_init(struct smr_rx_train *t, struct sk_buff *skb,
		       struct smr_icrc *icrc);
unsigned int smr_rx_train_parse(struct smr_qp *qp, struct smr_rx_train *t,
				unsigned int seg, bool response,
				struct smr_hdr *hdr, struct smr_budget *budget);
bool smr_rx_train_check(struct smr_qp *qp, struct smr_rx_train *t, bool late,
			const struct smr_hdr *hdr);
u32 smr_rx_train_max(const struct smr_rx_train *t, u32 max, const struct smr_budget *budget);
bool smr_rx_train_doubt(struct smr_rx_train *t, u32 count);
int smr_rx_train_copy(struct smr_rx_train *t, struct smr_sgl *sgl, struct smr_hdr *hdr,
		      u32 *count, size_t tail, struct smr_budget *budget);

#endif /* SMR_RX_TRAIN_H */
