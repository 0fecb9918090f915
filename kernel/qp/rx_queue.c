// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that wait for their QP. The stack does not account them any more, and they may
 * wait long: for a page that is brought in, or until the stack takes an answer. To the
 * sender a packet that is dropped here is lost by the network.
 *
 * All of them count against their user, by true size, which may be twice that of the
 * payload. The QPs of a user share what the user may have: the less is free, the less of
 * it one QP may take. So QPs that wait, for pages that do not come perhaps, do not stop
 * the others: a QP without packets is refused only when nothing at all is free.
 */
#include "qp/rx_queue.h"

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/percpu_counter.h>
#include <linux/skbuff.h>

#include "account.h"
#include "qp/core.h"
#include "stats.h"

/* The largest window of a requester: 4 MiB of payload, and the packets' overhead */
#define QP_MAX		(8 * 1024 * 1024)
/* One QP may take this part of what is free. */
#define QP_PART		4

static void rx_account(struct smr_qp *qp, int bytes)
{
	percpu_counter_add_batch(&qp->packets->bytes, bytes, qp->packets->batch);
	atomic_add(bytes, &qp->rx_mem);
	smr_stat_add(qp->env->stats, SMR_CNT_RX_WAITING, bytes);
}

/* A destructor of skbs. The QP is still there: it purges its queues before it goes. */
static void rx_uncharge(struct sk_buff *skb)
{
	rx_account(smr_rx_part(skb)->qp, -(int)skb->truesize);
}

/* CPUs that run this at the same time may exceed the limits by a packet each. */
static bool rx_charge(struct smr_qp *qp, struct sk_buff *skb)
{
	s64 room = qp->packets->max -
		   percpu_counter_read_positive(&qp->packets->bytes);

	if (room <= 0 ||
	    atomic_read(&qp->rx_mem) > min_t(s64, room / QP_PART, QP_MAX))
		return false;
	smr_rx_part(skb)->qp = qp;
	smr_rx_part(skb)->reason = SKB_NOT_DROPPED_YET;
	rx_account(qp, skb->truesize);
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
		/* Pairs with smr_rx_peek(): the packet is complete before it is found. */
		smp_wmb();
		skb_queue_tail(response ? &qp->comp.queue : &qp->resp.queue,
			       skb);
		return;
	}
	smr_qp_inc(qp, SMR_CNT_DROPPED);
	kfree_skb_reason(skb, SKB_DROP_REASON_SOCKET_RCVBUFF);
}

/**
 * smr_rx_peek() - the first packet of a queue, which stays there
 * @queue: the queue of the side that the caller owns: only the owner removes packets
 *
 * The queue's lock is not taken, so packets may be added meanwhile.
 *
 * Return: the packet, or NULL.
 */
struct sk_buff *smr_rx_peek(const struct sk_buff_head *queue)
{
	/* The packet's fields are read through this pointer: smp_wmb() in smr_qp_queue(). */
	struct sk_buff *skb = READ_ONCE(queue->next);

	return skb == (const struct sk_buff *)queue ? NULL : skb;
}

/**
 * smr_rx_done() - free a packet that its QP needs no longer
 * @queue: the queue of the side that the caller owns
 * @skb: its first packet
 *
 * The network's tools see a packet as dropped if one of its segments was.
 *
 * Context: any.
 */
void smr_rx_done(struct sk_buff_head *queue, struct sk_buff *skb)
{
	enum skb_drop_reason reason = smr_rx_part(skb)->reason;

	skb_unlink(skb, queue);
	if (unlikely(reason))
		kfree_skb_reason(skb, reason);
	else
		consume_skb(skb);
}

/**
 * smr_qp_receive() - give a packet to a QP, and run the side that it is for
 * @qp: the QP, with a reference
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @response: it is for the requester, not for the responder
 *
 * Context: as struct smr_rx_ops.rx.
 */
void smr_qp_receive(struct smr_qp *qp, struct sk_buff *skb, bool response)
{
	const struct smr_rx_part *part = smr_rx_part(skb);

	smr_qp_add(qp, SMR_CNT_RX_PACKETS, part->count);
	smr_qp_add(qp, SMR_CNT_RX_BYTES,
		   min(part->count * part->info.seg_len, part->info.len));
	smr_qp_queue(qp, skb, response);
	smr_task_kick(response ? &qp->send_task : &qp->resp_task);
}
