// SPDX-License-Identifier: GPL-2.0
/*
 * Each packet that a netdev receives is matched against the rules of its link before the stack
 * gets it. Each frame that a RAW_PACKET QP of the link sends is matched against the rules of
 * other processes, as in an adapter's switch: if a rule owns the frame's destination address,
 * the frame does not leave the host.
 *
 * A packet may match many rules. The copies for their QPs cannot be deferred: no queue holds the
 * packet before the rules, and it goes on to the stack at once. The first receiver costs about as
 * much as a socket of the stack, and gets each packet. The copies for the others are charged to
 * the softirq, which drops them when its budget is used up.
 */
#include "steer/steer.h"

#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>

#include "net/frame.h"
#include "qp/core.h"
#include "qp/rx_queue.h"
#include "qp/task.h"
#include "stats.h"

/**
 * struct passing - a packet that is being matched against the rules
 * @skb: the packet, with a MAC header
 * @sender: the process that has sent it; NULL: it was received
 * @key: its headers
 * @frames: the frames to copy to receivers; NULL: no receiver yet, or no memory
 * @nr: number of @frames
 * @taken: @frames and @nr are valid
 * @served: slots of the QPs that have received them
 * @given: a QP has received them
 * @stolen: a rule has stolen it
 * @owned: the rule that has stolen it is for its unicast address
 */
struct passing {
	struct sk_buff *skb;
	const struct ib_ucontext *sender;
	struct smr_frame_key key;
	struct sk_buff *frames;
	unsigned int nr;
	bool taken;
	DECLARE_BITMAP(served, SMR_MAX_RULES);
	bool given;
	bool stolen;
	bool owned;
};

/* Queue the QP's own copy of a frame. The caller runs the QP's task. */
static void qp_give(struct smr_qp *qp, struct sk_buff *frame, u32 tag)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct smr_stats *stats = qp->env->stats;
	struct sk_buff *copy;

	if (!smr_qp_receives(state)) {
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, NULL, 0, state);
		return;
	}
	copy = skb_clone(frame, GFP_ATOMIC);
	if (!copy) {
		smr_qp_drop(qp, DROP_NO_MEMORY, SMR_CNT_DROPPED, NULL);
		return;
	}
	copy->dev = NULL;
	*smr_rx_part(copy) = (struct smr_rx_part){
		.flow_tag = tag,
		.count = 1,
	};
	smr_stat_inc(stats, SMR_CNT_RX_PACKETS);
	smr_stat_add(stats, SMR_CNT_RX_BYTES, copy->len);
	smr_qp_queue(qp, copy, false);
}

static void qp_give_all(struct smr_qp *qp, struct sk_buff *frames, u32 tag)
{
	if (!frames) {
		smr_qp_drop(qp, DROP_NO_MEMORY, SMR_CNT_DROPPED, NULL);
		return;
	}
	for (; frames; frames = frames->next)
		qp_give(qp, frames, tag);
	smr_task_kick(&qp->resp_task);
}

static void rule_give_all(const struct smr_rule *rule, struct sk_buff *frames)
{
	struct smr_qp *qp = smr_qp_get(rule->handle);

	if (!qp)
		return;
	qp_give_all(qp, frames, rule->tag);
	smr_qp_put(qp);
}

/* The QP of a rule does not get a packet. */
static void __cold rule_drop(const struct smr_rule *rule, u32 id)
{
	struct smr_qp *qp = smr_qp_get(rule->handle);

	if (!qp)
		return;
	smr_qp_dropped(qp, SMR_CNT_DROPPED, (struct smr_reason){ .id = id }, NULL);
	smr_qp_put(qp);
}

/* The receivers have copies, so freeing this is not a drop. */
static void frames_consume(struct sk_buff *frames)
{
	struct sk_buff *next;

	for (; frames; frames = next) {
		next = frames->next;
		consume_skb(frames);
	}
}

static struct sk_buff *passing_frames(struct passing *p)
{
	const struct sk_buff *frame;

	if (p->taken)
		return p->frames;
	p->taken = true;
	p->frames = smr_frame_take(p->skb);
	for (frame = p->frames; frame; frame = frame->next)
		p->nr++;
	return p->frames;
}

/*
 * Several rules of a QP may match a frame. The QP gets one copy, with the tag of the first
 * of them.
 */
static void rule_give(const struct smr_rule *rule, struct passing *p)
{
	struct sk_buff *frames;

	if (rule->drops || __test_and_set_bit(rule->slot, p->served))
		return;
	frames = passing_frames(p);
	if (!smr_task_charge(p->nr * SMR_COST_PACKET) && p->given) {
		rule_drop(rule, SMR_WHY_DROP_BUDGET);
		return;
	}
	rule_give_all(rule, frames);
	p->given = true;
}

static bool rule_takes(const struct smr_rule *rule, const struct passing *p)
{
	return (!p->sender || p->sender != rule->process) &&
	       smr_match_key(&rule->match, &p->key);
}

static void steer_pass(const struct smr_steer *steer, struct passing *p)
{
	const struct smr_rule *rule;
	u32 last = U32_MAX;

	smr_frame_key_parse(&p->key, p->skb, skb_mac_offset(p->skb));
	list_for_each_entry_rcu(rule, &steer->rules, node) {
		if (rule->order > last)
			break;
		if (!rule_takes(rule, p))
			continue;
		rule_give(rule, p);
		if (!rule->steals)
			continue;
		last = rule->order;
		p->stolen = true;
		p->owned |= rule->owns;
	}
	frames_consume(p->frames);
}

static bool steer_ingress(struct smr_ingress *in, struct sk_buff *skb)
{
	struct passing p = { .skb = skb };

	steer_pass(container_of(in, struct smr_steer, in), &p);
	if (!p.stolen)
		return false;
	if (p.given && p.frames)
		consume_skb(skb);
	else
		kfree_skb_reason(skb, p.given ? SKB_DROP_REASON_NOMEM :
						SKB_DROP_REASON_SOCKET_FILTER);
	return true;
}

/**
 * smr_steer_init() - initialize the list of rules of a link
 * @steer: zeroed
 * @ndev: the netdev
 */
void smr_steer_init(struct smr_steer *steer, struct net_device *ndev)
{
	steer->in.ndev = ndev;
	steer->in.take = steer_ingress;
	INIT_LIST_HEAD(&steer->rules);
}

/**
 * smr_steer_fini() - wait for the last users of a link's rules
 * @steer: the rules, all destroyed
 *
 * A hook may still be running in a read-side section.
 *
 * Context: process, may sleep.
 */
void smr_steer_fini(struct smr_steer *steer)
{
	WARN_ON_ONCE(steer->nr);
	synchronize_rcu_expedited();
}

/**
 * smr_steer_sent() - match a frame that is being sent against the rules
 * @qp: its sender
 * @skb: the frame, finished; not changed
 *
 * Only QPs of other processes get it. A process whose QP receives all frames of this kind does
 * not need its own; on a loopback netdev it receives them in any case.
 *
 * Context: BH off, inside an RCU read section; called by the send task.
 * Return: the receivers.
 */
enum smr_steer_sent smr_steer_sent(struct smr_qp *qp, struct sk_buff *skb)
{
	struct passing p;

	if (skb->dev->flags & IFF_LOOPBACK)
		return SMR_STEER_NOBODY;
	if (list_empty(&qp->env->steer->rules))
		return SMR_STEER_NOBODY;
	p = (struct passing){
		.skb = skb,
		.sender = qp->ibqp.pd->uobject->context,
	};
	steer_pass(qp->env->steer, &p);
	if (p.owned)
		return SMR_STEER_OWNER;
	return p.frames ? SMR_STEER_SOME : SMR_STEER_NOBODY;
}
