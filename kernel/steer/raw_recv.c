// SPDX-License-Identifier: GPL-2.0
#include "steer/raw_recv.h"

#include <linux/skbuff.h>

#include "qp/core.h"
#include "qp/recv.h"
#include "stats.h"

static int frame_copy(struct smr_qp *qp, const void *from)
{
	const struct sk_buff *skb = from;

	return smr_sgl_write_skb(&qp->resp.sgl, skb, 0, skb->len);
}

/**
 * smr_raw_receive() - take a frame
 * @qp: its receiver, a RAW_PACKET QP
 * @skb: the frame
 * @run: how to run
 *
 * Context: as @run says; called by the response task.
 * Return: as smr_ud_receive().
 */
enum smr_resp_verdict smr_raw_receive(struct smr_qp *qp, struct sk_buff *skb,
				      struct smr_run *run)
{
	enum smr_resp_verdict verdict;

	verdict = smr_recv_place(qp, skb->len, run, frame_copy, skb);
	switch (verdict) {
	case SMR_RESP_OK:
		run->quota -= skb->len;
		smr_recv_done_raw(qp, skb->len);
		break;
	case SMR_RESP_RNR:
		smr_stat_inc(qp->env->stats, SMR_CNT_NO_RECV);
		break;
	case SMR_RESP_TOO_LONG:
		smr_stat_inc(qp->env->stats, SMR_CNT_DROPPED);
		break;
	default:
		break;
	}
	return verdict;
}
