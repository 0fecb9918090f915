// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that wait for their QP. The stack does not account them any more, and they may
 * wait long: for a page that is brought in, or until the stack takes an answer. To the
 * sender a packet that is dropped here is lost by the network.
 *
 * Each QP has some room of its own. Beyond that it takes room from a pool that all QPs of
 * the namespace share. So many waiting QPs do not take many times the maximum, and cannot
 * stop another QP.
 *
 * All of it is counted by true size, which may be twice that of the payload.
 */
#include "qp/rx_queue.h"

#include <linux/atomic.h>
#include <linux/skbuff.h>

#include "qp/core.h"
#include "stats.h"

/* A QP's own: the smallest window of a requester, 16 packets of 4096 bytes */
#define OWN_MAX		(128 * 1024)
/* The largest one: 1024 packets. No peer that keeps to it needs more. */
#define QP_MAX		(8 * 1024 * 1024)
/* Several of these at a time */
#define POOL_MAX	(64 * 1024 * 1024)

/* A destructor of skbs. The QP is still there: it purges its queues before it goes. */
static void rx_uncharge(struct sk_buff *skb)
{
	const struct smr_rx_part *part = smr_rx_part(skb);
	struct smr_qp *qp = part->qp;

	if (part->pooled)
		atomic_long_sub(skb->truesize, &qp->env->tab->rx_mem);
	atomic_sub(skb->truesize, &qp->rx_mem);
}

/* CPUs that run this at the same time may exceed the limits by a packet each. */
static bool rx_charge(struct smr_qp *qp, struct sk_buff *skb)
{
	struct smr_rx_part *part = smr_rx_part(skb);
	atomic_long_t *pool = &qp->env->tab->rx_mem;
	int used = atomic_read(&qp->rx_mem);

	part->qp = qp;
	part->pooled = used > OWN_MAX;
	if (used > QP_MAX ||
	    (part->pooled && atomic_long_read(pool) > POOL_MAX))
		return false;
	if (part->pooled)
		atomic_long_add(skb->truesize, pool);
	atomic_add(skb->truesize, &qp->rx_mem);
	skb->destructor = rx_uncharge;
	return true;
}

/**
 * smr_qp_queue() - queue a packet to one side of a QP; the caller runs its task
 * @qp: the QP
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @response: it is for the requester, not for the responder
 *
 * If the limits are reached, the packet is dropped and counted.
 *
 * Context: any.
 */
void smr_qp_queue(struct smr_qp *qp, struct sk_buff *skb, bool response)
{
	if (rx_charge(qp, skb)) {
		skb_queue_tail(response ? &qp->comp.queue : &qp->resp.queue,
			       skb);
		return;
	}
	smr_stat_inc(qp->env->stats, SMR_CNT_DROPPED);
	kfree_skb(skb);
}

/**
 * smr_qp_receive() - queue a packet to a QP, and put the QP on a batch
 * @qp: the QP, with a reference, which is consumed
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @response: it is for the requester, not for the responder
 * @batch: QPs that are to be run
 *
 * Context: as struct smr_rx_ops.rx, whose batch it is.
 */
void smr_qp_receive(struct smr_qp *qp, struct sk_buff *skb, bool response,
		    struct list_head *batch)
{
	const struct smr_rx_part *part = smr_rx_part(skb);

	smr_stat_add(qp->env->stats, SMR_CNT_RX_PACKETS, part->count);
	smr_stat_add(qp->env->stats, SMR_CNT_RX_BYTES,
		     min(part->count * part->info.seg_len, part->info.len));
	smr_qp_queue(qp, skb, response);
	if (test_and_set_bit(0, &qp->rx_batched))
		smr_qp_put(qp);
	else
		list_add_tail(&qp->rx_node, batch);
}
