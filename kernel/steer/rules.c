// SPDX-License-Identifier: GPL-2.0
/*
 * What a link has for Ethernet frames: RAW_PACKET QPs, and steering rules, of which the first one
 * opens the hook on the netdev. Runs in verbs, under RTNL.
 */
#include "steer/rules.h"

#include <linux/bitmap.h>
#include <linux/etherdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "limits.h"
#include "net/path.h"
#include "qp/core.h"
#include "steer/frame.h"
#include "steer/raw.h"
#include "steer/steer.h"
#include "why.h"

/* After all priorities */
#define ORDER_DEFAULT	((u32)U16_MAX + 1)

static bool is_normal(const struct smr_rule *rule)
{
	return rule->order != ORDER_DEFAULT;
}

static int attr_check(const struct smr_qp *qp, const struct ib_flow_attr *attr)
{
	if (qp->ibqp.qp_type != IB_QPT_RAW_PACKET)
		return smr_qp_why(qp, FLOW_QP, qp->ibqp.qp_type);
	if (attr->flags & ~IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		return smr_qp_why(qp, FLOW_FLAGS, attr->flags);
	if (attr->type > IB_FLOW_ATTR_MC_DEFAULT)
		return smr_qp_why(qp, FLOW_TYPE, attr->type);
	/* Specs and flags are only allowed for a normal rule. */
	if (attr->type != IB_FLOW_ATTR_NORMAL &&
	    (attr->num_of_specs || attr->flags))
		return smr_qp_why(qp, FLOW_DEFAULT, attr->type,
			       attr->num_of_specs, attr->flags);
	return 0;
}

/* Does it match only frames to one unicast address? */
static bool match_is_of_one(const struct smr_match *match)
{
	return is_broadcast_ether_addr(match->mask.eth.dst_mac) &&
	       !is_multicast_ether_addr(match->val.eth.dst_mac);
}

/*
 * The mode that a normal rule needs depends on the addresses that it matches, and on
 * the netdev's own address, which may change.
 */
static enum smr_rx_mode match_rx_mode(const struct smr_match *match,
				      const struct net_device *ndev)
{
	const u8 *mac = match->val.eth.dst_mac;
	const u8 *mask = match->mask.eth.dst_mac;

	ASSERT_RTNL();
	if (is_broadcast_ether_addr(mask) &&
	    (ether_addr_equal(mac, ndev->dev_addr) ||
	     is_broadcast_ether_addr(mac)))
		return SMR_RX_MODE_OWN;
	if (is_multicast_ether_addr(mask) && is_multicast_ether_addr(mac))
		return SMR_RX_MODE_MULTICAST;
	return is_zero_ether_addr(mask) ? SMR_RX_MODE_OWN : SMR_RX_MODE_ALL;
}

/* Add a condition. */
static int match_add(struct smr_rule *rule, const union ib_flow_spec *spec)
{
	int ret = smr_match_add(&rule->match, spec);

	if (ret == -EINVAL)
		return smr_qp_why(rule->qp, FLOW_TWICE, spec->type);
	if (ret && spec->type == IB_FLOW_SPEC_IPV4)
		return smr_qp_why(rule->qp, FLOW_IP_FLAGS, spec->ipv4.mask.flags);
	return ret ? smr_qp_why(rule->qp, FLOW_SPEC, spec->type) : 0;
}

/* Add a spec: an action, or a condition. */
static int rule_add_spec(struct smr_rule *rule, const union ib_flow_spec *spec,
			 bool *tagged)
{
	switch (spec->type) {
	case IB_FLOW_SPEC_ACTION_DROP:
		rule->drops = true;
		return 0;
	case IB_FLOW_SPEC_ACTION_TAG:
		if (*tagged)
			return smr_qp_why(rule->qp, FLOW_TWICE, spec->type);
		*tagged = true;
		rule->tag = spec->flow_tag.tag_id;
		return 0;
	default:
		return match_add(rule, spec);
	}
}

static int rule_add_specs(struct smr_rule *rule,
			  const struct ib_flow_attr *attr)
{
	const union ib_flow_spec *spec = attr->flows;
	bool tagged = false;
	int i, ret = 0;

	for (i = 0; i < attr->num_of_specs && !ret; i++) {
		ret = rule_add_spec(rule, spec, &tagged);
		spec = (const void *)spec + spec->size;
	}
	return ret;
}

static int rule_set_normal(struct smr_rule *rule,
			   const struct ib_flow_attr *attr)
{
	int ret = rule_add_specs(rule, attr);

	if (ret)
		return ret;
	rule->order = attr->priority;
	rule->steals = !(attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP);
	if (rule->drops && !rule->steals)
		return smr_qp_why(rule->qp, FLOW_DROP);
	rule->owns = rule->steals && match_is_of_one(&rule->match);
	return 0;
}

static int rule_set(struct smr_rule *rule, const struct ib_flow_attr *attr)
{
	switch (attr->type) {
	case IB_FLOW_ATTR_ALL_DEFAULT:
		rule->order = ORDER_DEFAULT;
		rule->rx_mode = SMR_RX_MODE_ALL;
		return 0;
	case IB_FLOW_ATTR_MC_DEFAULT:
		rule->order = ORDER_DEFAULT;
		rule->rx_mode = SMR_RX_MODE_MULTICAST;
		smr_match_add_multicast(&rule->match);
		return 0;
	default:
		return rule_set_normal(rule, attr);
	}
}

/* The slot of the rule's QP: that of the QP's other rules, or an unused one */
static unsigned int slot_find(const struct smr_steer *steer,
			      const struct smr_rule *rule)
{
	DECLARE_BITMAP(used, SMR_MAX_RULES) = {};
	const struct smr_rule *r;

	list_for_each_entry(r, &steer->rules, node) {
		if (r->qp == rule->qp)
			return r->slot;
		__set_bit(r->slot, used);
	}
	return find_first_zero_bit(used, SMR_MAX_RULES);
}

/* Insert after the rules of the same order. */
static void rule_insert(struct smr_steer *steer, struct smr_rule *rule)
{
	struct smr_rule *r;

	list_for_each_entry(r, &steer->rules, node)
		if (r->order > rule->order)
			break;
	list_add_tail_rcu(&rule->node, &r->node);
}

static int rule_show(struct smr_steer *steer, struct smr_rule *rule)
{
	int ret;

	if (list_empty(&steer->rules)) {
		ret = smr_ingress_open(&steer->in);
		if (ret)
			return smr_why_errno(rule->qp->whys,
					     rule->qp->ibqp.qp_num, ret);
	}
	rule->slot = slot_find(steer, rule);
	rule_insert(steer, rule);
	return 0;
}

static void rule_hide(struct smr_steer *steer, struct smr_rule *rule)
{
	list_del_rcu(&rule->node);
	if (list_empty(&steer->rules) && !steer->closed)
		smr_ingress_close(&steer->in);
}

static int rule_add(struct smr_steer *steer, struct smr_rule *rule)
{
	struct net_device *ndev = steer->in.ndev;
	int ret;

	ASSERT_RTNL();
	/* The netdev may be unregistering although its notifier has not run yet. */
	if (steer->closed ||
	    !smr_netdev_stays(ndev, rule->qp->env->net))
		return smr_qp_why(rule->qp, FLOW_NETDEV);
	if (steer->nr == SMR_MAX_RULES)
		return smr_qp_why(rule->qp, FLOW_MANY, SMR_MAX_RULES);
	if (is_normal(rule))
		rule->rx_mode = match_rx_mode(&rule->match, ndev);
	ret = smr_ingress_set_rx_mode(ndev, rule->rx_mode, 1);
	if (ret)
		return smr_why_verb(rule->qp->whys, rule->qp->ibqp.qp_num, ret,
				    SMR_REASON(FLOW_RX_MODE, rule->rx_mode));
	ret = rule_show(steer, rule);
	if (ret)
		smr_ingress_set_rx_mode(ndev, rule->rx_mode, -1);
	else
		steer->nr++;
	return ret;
}

/**
 * smr_rule_create() - steer frames to a QP
 * @qp: the QP, which outlives the rule
 * @attr: the frames, in the core's format
 *
 * A normal rule takes its frames away from rules of lower priority and from the host; rules of
 * the same priority also get them. A default rule, and one that does not trap, gets copies of
 * frames that were not taken before.
 *
 * Context: process, may sleep; takes RTNL.
 * Return: the rule; -EINVAL, -EOPNOTSUPP (a QP, flag or spec of another kind), -ENODEV (the
 * netdev is being removed), -ENOMEM (no memory, or too many rules), -EOVERFLOW, -E2BIG (see
 * smr_ingress_open()).
 */
struct ib_flow *smr_rule_create(struct smr_qp *qp,
				const struct ib_flow_attr *attr)
{
	struct smr_rule *rule;
	int ret;

	ret = attr_check(qp, attr);
	if (ret)
		return ERR_PTR(ret);
	ret = smr_limit_take(qp->limits, SMR_LIMIT_RULE, qp->whys);
	if (ret)
		return ERR_PTR(ret);
	rule = kzalloc(sizeof(*rule), GFP_KERNEL_ACCOUNT);
	if (!rule) {
		ret = smr_qp_why(qp, NO_MEMORY);
		goto give;
	}
	rule->steer = qp->env->steer;
	rule->qp = qp;
	rule->handle = qp->handle;
	rule->process = qp->ibqp.pd->uobject->context;
	ret = rule_set(rule, attr);
	if (!ret) {
		rtnl_lock();
		ret = rule_add(rule->steer, rule);
		rtnl_unlock();
	}
	if (!ret)
		return &rule->ibflow;
	kfree(rule);
give:
	smr_limit_give(qp->limits, SMR_LIMIT_RULE);
	return ERR_PTR(ret);
}

/**
 * smr_rule_destroy() - destroy a rule
 * @ibflow: the rule; freed after a grace period
 *
 * Its QP may still get frames that are being matched now.
 *
 * Context: process, may sleep; takes RTNL.
 */
void smr_rule_destroy(struct ib_flow *ibflow)
{
	struct smr_rule *rule = to_smr_rule(ibflow);
	struct smr_limits *limits = rule->qp->limits;
	struct smr_steer *steer = rule->steer;

	rtnl_lock();
	rule_hide(steer, rule);
	steer->nr--;
	if (!steer->closed)
		smr_ingress_set_rx_mode(steer->in.ndev, rule->rx_mode, -1);
	rtnl_unlock();
	kfree_rcu(rule, rcu);
	smr_limit_give(limits, SMR_LIMIT_RULE);
}

static void rule_follow(struct smr_rule *rule, struct net_device *ndev)
{
	enum smr_rx_mode rx_mode = match_rx_mode(&rule->match, ndev);

	if (rx_mode == rule->rx_mode ||
	    smr_ingress_set_rx_mode(ndev, rx_mode, 1))
		return;
	smr_ingress_set_rx_mode(ndev, rule->rx_mode, -1);
	rule->rx_mode = rx_mode;
}

/**
 * smr_raw_resync() - update the rx modes after the netdev's address has changed
 * @env: the link
 *
 * A rule for the former address now needs a wider mode. A rule for the new address no longer
 * needs one.
 *
 * Context: process, may sleep; takes RTNL. Not from a netdev's notifier, which may hold that
 *	netdev's lock.
 */
void smr_raw_resync(struct smr_env *env)
{
	struct smr_steer *steer = env->steer;
	struct smr_rule *rule;

	rtnl_lock();
	if (!steer->closed)
		list_for_each_entry(rule, &steer->rules, node)
			if (is_normal(rule))
				rule_follow(rule, steer->in.ndev);
	rtnl_unlock();
}

/**
 * smr_raw_leave() - disable the rules when the netdev is removed or moved
 * @env: the link; its rules get no more frames
 *
 * Context: process, may sleep; caller holds RTNL.
 */
void smr_raw_leave(struct smr_env *env)
{
	struct smr_steer *steer = env->steer;
	struct smr_rule *rule;

	ASSERT_RTNL();
	if (steer->closed)
		return;
	steer->closed = true;
	if (!list_empty(&steer->rules))
		smr_ingress_close(&steer->in);
	list_for_each_entry(rule, &steer->rules, node)
		smr_ingress_set_rx_mode(steer->in.ndev, rule->rx_mode, -1);
}

static const struct smr_frames frames = {
	.send = smr_raw_send,
	.receive = smr_raw_receive,
};

/**
 * smr_raw_open() - let a link have RAW_PACKET QPs and rules, if its netdev has Ethernet frames
 * @env: the link, whose netdev is set; @env->frames stays NULL if it cannot have them
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_raw_open(struct smr_env *env)
{
	env->steer = kzalloc(sizeof(*env->steer), GFP_KERNEL);
	if (!env->steer)
		return -ENOMEM;
	smr_steer_init(env->steer, env->ndev);
	if (smr_frame_on(env->ndev))
		env->frames = &frames;
	return 0;
}

/**
 * smr_raw_close() - the reverse of smr_raw_open()
 * @env: the link; its QPs and rules are destroyed
 *
 * Context: process, may sleep.
 */
void smr_raw_close(struct smr_env *env)
{
	smr_steer_fini(env->steer);
	kfree(env->steer);
}
