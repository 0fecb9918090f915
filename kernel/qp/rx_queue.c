// SPDX-License-Identifier: GPL-2.0
/*
 * Packets queued for their QP. The stack no longer accounts for them, and they may wait long:
 * for a page to be brought in, or until the stack accepts an answer. To the sender, a packet
 * that is dropped here looks lost by the network.
 *
 * Packets that wait are charged to the user of their QP, by true size, which may be twice that of
 * the payload. A packet that the task handles at once is not charged. The QPs of a user share the
 * user's limit: each may take a part of what is free. So QPs that wait, perhaps for pages that
 * never arrive, do not block the others: a packet for a QP with an empty queue is refused only if
 * nothing at all is free.
 */
#include "qp/rx_queue.h"

#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/percpu_counter.h>
#include <linux/skbuff.h>

#include "account.h"
#include "qp/capture.h"
#include "qp/core.h"
#include "stats.h"

/*
 * Limit of one QP: the largest window of a requester, 4 MiB of payload, with the packets'
 * overhead
 */
#define QP_MAX		(8 * 1024 * 1024)
/* One QP may take 1/QP_PART of the free memory. */
#define QP_PART		4

static void rx_account(struct smr_qp *qp, int bytes)
{
	percpu_counter_add_batch(&qp->packets->bytes, bytes, qp->packets->batch);
	atomic_add(bytes, &qp->rx_mem);
	smr_stat_add(qp->env->stats, SMR_CNT_RX_WAITING, bytes);
}

/* A destructor of skbs. The QP still exists: it purges its queues before it is freed. */
static void rx_uncharge(struct sk_buff *skb)
{
	rx_account(smr_rx_part(skb)->qp, -(int)skb->truesize);
}

/* May a packet be queued? CPUs that run this at the same time may exceed the limits by one each. */
static bool rx_has_room(const struct smr_qp *qp)
{
	s64 room = qp->packets->max -
		   percpu_counter_read_positive(&qp->packets->bytes);

	return room > 0 && atomic_read(&qp->rx_mem) <= min_t(s64, room / QP_PART, QP_MAX);
}

static void rx_charge(struct smr_qp *qp, struct sk_buff *skb)
{
	smr_rx_part(skb)->qp = qp;
	rx_account(qp, skb->truesize);
	skb->destructor = rx_uncharge;
}

static struct sk_buff_head *rx_queue(struct smr_qp *qp, bool response)
{
	return response ? &qp->comp.queue : &qp->resp.queue;
}

/*
 * Queue a packet. It is charged, unless it is the first of the queue and @now is true: then the
 * caller runs the task, and charges it if it is still queued. Return: it may still be queued,
 * without being charged.
 */
static bool rx_queue_add(struct smr_qp *qp, struct sk_buff *skb, bool response, bool now)
{
	struct sk_buff_head *queue = rx_queue(qp, response);
	unsigned long flags;

	if (!rx_has_room(qp)) {
		smr_qp_drop(qp, DROP_QUEUE, SMR_CNT_DROPPED, NULL, skb->truesize);
		kfree_skb_reason(skb, SKB_DROP_REASON_SOCKET_RCVBUFF);
		return false;
	}
	smr_rx_part(skb)->reason = SKB_NOT_DROPPED_YET;
	spin_lock_irqsave(&queue->lock, flags);
	now = now && skb_queue_empty(queue);
	if (!now)
		rx_charge(qp, skb);
	/* Pairs with smr_rx_peek(): the packet is complete before a reader finds it. */
	smp_wmb();
	__skb_queue_tail(queue, skb);
	spin_unlock_irqrestore(&queue->lock, flags);
	return now;
}

/**
 * smr_qp_queue() - queue a packet to one side of a QP; the caller runs its task
 * @qp: the QP
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @response: for the requester, not for the responder
 *
 * If the limits are reached, the packet is dropped and counted.
 */
void smr_qp_queue(struct smr_qp *qp, struct sk_buff *skb, bool response)
{
	rx_queue_add(qp, skb, response, false);
}

/*
 * Charge a packet that was the first of the queue, if it still is. If it was freed, another one
 * may have its address; then it does not matter which context charges that one.
 */
static void rx_charge_waiting(struct smr_qp *qp, struct sk_buff_head *queue,
			      struct sk_buff *skb)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (skb_peek(queue) == skb && !skb->destructor)
		rx_charge(qp, skb);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * smr_rx_peek() - get the first packet of a queue without removing it
 * @queue: the queue of the side that the caller owns: only the owner removes packets
 *
 * Does not take the queue's lock, so packets may be added concurrently.
 *
 * Return: the packet, or NULL.
 */
struct sk_buff *smr_rx_peek(const struct sk_buff_head *queue)
{
	/* The packet's fields are read through this pointer: pairs with rx_queue_add(). */
	struct sk_buff *skb = READ_ONCE(queue->next);

	return skb == (const struct sk_buff *)queue ? NULL : skb;
}

/**
 * smr_rx_done() - free a packet that its QP no longer needs
 * @queue: the queue of the side that the caller owns
 * @skb: its first packet
 *
 * Drop monitors see a packet as dropped if one of its segments was.
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
 * smr_qp_receive() - queue a packet to a QP, and run the side that it is for
 * @qp: the QP, with a reference
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @response: for the requester, not for the responder
 *
 * Context: as struct smr_rx_ops.rx.
 */
void smr_qp_receive(struct smr_qp *qp, struct sk_buff *skb, bool response)
{
	const struct smr_rx_part *part = smr_rx_part(skb);
	bool now;

	smr_qp_add(qp, SMR_CNT_RX_PACKETS, part->count);
	smr_qp_add(qp, SMR_CNT_RX_BYTES,
		   min(part->count * part->info.seg_len, part->info.len));
	smr_capture_received(qp, skb);
	now = rx_queue_add(qp, skb, response, true);
	smr_task_kick(response ? &qp->send_task : &qp->resp_task);
	if (now && smr_rx_peek(rx_queue(qp, response)) == skb)
		rx_charge_waiting(qp, rx_queue(qp, response), skb);
}
