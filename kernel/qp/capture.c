// SPDX-License-Identifier: GPL-2.0
/*
 * Add packets to captures. They wait in the buffer of a capture for its reader. If that is slow,
 * packets are lost, and counted.
 */
#include "qp/capture.h"

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <linux/timekeeping.h>

#include "compat/cleanup.h"
#include "net/frame.h"
#include "net/train.h"
#include "net/udp_rx.h"
#include "qp/core.h"
#include "qp/env.h"
#include "qp/task.h"
#include "why.h"

/*
 * Any user may begin and end a capture, and switching the static key patches code on all CPUs.
 * So the key stays on for a while after the last capture has ended.
 */
#define LINGER_JIFFIES	(10 * HZ)

DEFINE_STATIC_KEY_DEFERRED_FALSE(smr_captured, LINGER_JIFFIES);

/* A packet without an Ethernet header gets one, so that all packets of a capture have one. */
static unsigned int head_put(u8 *to, const struct sk_buff *frame)
{
	const struct ethhdr eth = { .h_proto = frame->protocol };

	if (skb_network_offset(frame))
		return 0;
	memcpy(to, &eth, sizeof(eth));
	return sizeof(eth);
}

static void capture_add(struct smr_capture *cap, const struct sk_buff *frame)
{
	struct smr_captured_packet *packet = &cap->packet;
	unsigned int head;

	guard(spinlock_bh)(&cap->lock);
	head = head_put(cap->room, frame);
	packet->time = ktime_get_real_ns();
	packet->lost = cap->lost++;
	packet->len = head + frame->len;
	if (packet->len > sizeof(cap->room) ||
	    skb_copy_bits(frame, 0, cap->room + head, frame->len))
		return;
	if (kfifo_in(&cap->fifo, (u8 *)packet, sizeof(*packet) + packet->len))
		cap->lost = 0;
	wake_up_interruptible(&cap->wait);
}

/**
 * struct parties - the users whose captures get a packet of a link
 * @env: the link
 * @one: a user, or INVALID_UID
 * @other: likewise
 */
struct parties {
	const struct smr_env *env;
	kuid_t one;
	kuid_t other;
};

static kuid_t user_of(const struct smr_qp *qp)
{
	return qp->whys ? smr_why_log_uid(qp->whys) : INVALID_UID;
}

static bool is_party(const struct smr_capture *cap, const struct parties *p)
{
	return uid_eq(cap->uid, p->one) || uid_eq(cap->uid, p->other);
}

static bool is_wanted(const struct parties *p)
{
	const struct smr_capture *cap;

	guard(rcu)();
	list_for_each_entry_rcu(cap, &p->env->captures, node)
		if (is_party(cap, p))
			return true;
	return false;
}

static void frames_add(const struct parties *p, const struct sk_buff *frames,
		       unsigned int first, unsigned int count)
{
	const struct sk_buff *frame;
	struct smr_capture *cap;
	unsigned int i;

	guard(rcu)();
	list_for_each_entry_rcu(cap, &p->env->captures, node) {
		if (!is_party(cap, p))
			continue;
		for (frame = frames, i = 0; frame; frame = frame->next, i++)
			if (i - first < count)
				capture_add(cap, frame);
	}
}

static void frames_lost(const struct parties *p, unsigned int count)
{
	struct smr_capture *cap;

	guard(rcu)();
	list_for_each_entry_rcu(cap, &p->env->captures, node) {
		if (!is_party(cap, p))
			continue;
		guard(spinlock_bh)(&cap->lock);
		cap->lost += count;
	}
}

/* Add @count packets of a train from @first on. Consumes @skb; if it is NULL, they are lost. */
static void train_add(const struct parties *p, struct sk_buff *skb,
		      unsigned int first, unsigned int count)
{
	struct sk_buff *frames = NULL;

	if (skb && smr_task_charge(count * SMR_COST_PACKET))
		frames = smr_frame_take(skb);
	if (frames)
		frames_add(p, frames, first, count);
	else
		frames_lost(p, count);
	kfree_skb_list(frames);
	consume_skb(skb);
}

/**
 * smr_capture_sent_all() - see smr_capture_sent()
 * @qp: the sender
 * @train: all its segments are sealed
 */
void smr_capture_sent_all(const struct smr_qp *qp, const struct smr_train *train)
{
	const struct parties p = { qp->env, user_of(qp), INVALID_UID };
	struct sk_buff *skb;

	if (!is_wanted(&p))
		return;
	skb = smr_train_copy(train);
	if (skb)
		skb->dev = qp->env->ndev;
	train_add(&p, skb, 0, train->nsegs);
}

/**
 * smr_capture_received_all() - see smr_capture_received()
 * @qp: the receiver
 * @skb: the packet; not changed
 */
void smr_capture_received_all(const struct smr_qp *qp, struct sk_buff *skb)
{
	const struct smr_rx_part *part = smr_rx_part(skb);
	const struct parties p = { qp->env, user_of(qp), INVALID_UID };
	struct sk_buff *whole;

	if (!is_wanted(&p))
		return;
	whole = skb_clone(skb, GFP_ATOMIC);
	if (whole) {
		whole->dev = qp->env->ndev;
		skb_push(whole, -skb_network_offset(whole));
		if (!smr_frame_on(whole->dev))
			skb_reset_mac_header(whole);
	}
	train_add(&p, whole, part->first, part->count);
}

/* A packet between two QPs of this host is for the captures of both users, on both links. */
static void parties_of(const struct smr_qp *from, const struct smr_qp *to,
		       struct parties p[2])
{
	bool same = from->env == to->env;

	p[0] = (struct parties){ from->env, user_of(from),
				 same ? user_of(to) : INVALID_UID };
	p[1] = (struct parties){ to->env, same ? INVALID_UID : user_of(to),
				 INVALID_UID };
}

/**
 * smr_capture_wants() - is there a capture of packets between two QPs of this host?
 * @from: their sender
 * @to: their receiver
 *
 * Return: true if there is.
 */
bool smr_capture_wants(const struct smr_qp *from, const struct smr_qp *to)
{
	struct parties p[2];

	if (!smr_is_captured())
		return false;
	parties_of(from, to, p);
	return is_wanted(&p[0]) || is_wanted(&p[1]);
}

/**
 * smr_capture_local_all() - see smr_capture_local()
 * @from: the sender
 * @to: the receiver
 * @skb: the packet, as for taps; not changed
 */
void smr_capture_local_all(const struct smr_qp *from, const struct smr_qp *to,
			   struct sk_buff *skb)
{
	struct parties p[2];
	int i;

	parties_of(from, to, p);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		if (is_wanted(&p[i]))
			train_add(&p[i], skb_get(skb), 0, 1);
}
