/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets for sniffers and captures: for an operation between two QPs of this host, build the
 * packets that would have been sent on the wire. This is done only while there is a sniffer or a
 * capture.
 */
#ifndef SMR_QP_MIRROR_H
#define SMR_QP_MIRROR_H

#include <linux/types.h>

#include "qp/capture.h"
#include "qp/core.h"
#include "steer/steer.h"

struct sk_buff;

/* Is there a sniffer or a capture on any link? */
static inline bool smr_is_shown(void)
{
	return smr_is_sniffed() || smr_is_captured();
}

void smr_mirror_all(struct smr_qp *qp, const struct smr_local *local,
		    enum smr_local_answer answer, u8 syndrome);
void smr_mirror_datagram_all(const struct smr_qp *from, const struct smr_qp *to,
			     const struct smr_path *path,
			     const struct smr_hdr *hdr,
			     const struct sk_buff *skb);

/**
 * smr_mirror() - show the packets of an operation that is about to be answered
 * @qp: the caller owns its response task
 * @local: the operation, in its inbox
 * @answer: the kind of answer
 * @syndrome: of the reply
 */
static inline void smr_mirror(struct smr_qp *qp, const struct smr_local *local,
			      enum smr_local_answer answer, u8 syndrome)
{
	if (smr_is_shown())
		smr_mirror_all(qp, local, answer, syndrome);
}

/**
 * smr_mirror_datagram() - show a datagram that is about to be given to its receiver
 * @from: the sender's QP
 * @to: the receiver's QP
 * @path: from one to the other
 * @hdr: the datagram's headers
 * @skb: the datagram from its BTH on; not changed
 *
 * Context: any, bottom halves disabled; called by the send task.
 */
static inline void smr_mirror_datagram(const struct smr_qp *from,
				       const struct smr_qp *to,
				       const struct smr_path *path,
				       const struct smr_hdr *hdr,
				       const struct sk_buff *skb)
{
	if (smr_is_shown())
		smr_mirror_datagram_all(from, to, path, hdr, skb);
}

#endif /* SMR_QP_MIRROR_H */
