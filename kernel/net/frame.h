/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of the stack as the frames that are on the wire. */
#ifndef SMR_NET_FRAME_H
#define SMR_NET_FRAME_H

struct sk_buff;

struct sk_buff *smr_frame_take(struct sk_buff *skb);

#endif /* SMR_NET_FRAME_H */
