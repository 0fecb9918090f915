// SPDX-License-Identifier: GPL-2.0
/*
 * What a link has for Ethernet frames: RAW_PACKET QPs, and steering rules, of which the first one
 * opens a netfilter hook on the netdev. Runs in verbs and with the netdev's events, under RTNL.
 */
#include "raw/raw.h"

#include <linux/bitmap.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "limits.h"
#include "net/path.h"
#include "qp/core.h"
#include "raw/private.h"
#include "why.h"

/* After all priorities */
#define ORDER_DEFAULT	((u32)U16_MAX + 1)

/* What a rule has so far: a tag, and conditions by their layers, as bits 1 << (layer >> 4) */
struct rule_specs {
	bool tagged;
	u8 layers;
};

static void match_want_l3(struct smr_match *match, u8 version)
{
	match->val.l3 = version;
	match->mask.l3 = U8_MAX;
}

static void match_want_l4(struct smr_match *match, u8 proto,
			  const struct ib_flow_spec_tcp_udp *spec)
{
	match->val.l4 = proto;
	match->mask.l4 = U8_MAX;
	match->val.ports = spec->val;
	match->mask.ports = spec->mask;
}

/* Add a condition. */
static int rule_add_match(struct smr_rule *rule, const union ib_flow_spec *spec)
{
	struct smr_match *match = &rule->match;

	switch (spec->type) {
	case IB_FLOW_SPEC_ETH:
		match->val.eth = spec->eth.val;
		match->mask.eth = spec->eth.mask;
		if (spec->eth.mask.vlan_tag) {
			match->val.tagged = 1;
			match->mask.tagged = U8_MAX;
		}
		return 0;
	case IB_FLOW_SPEC_IPV4:
		if (spec->ipv4.mask.flags &
		    ~(IB_IPV4_DONT_FRAG | IB_IPV4_MORE_FRAG))
			return smr_qp_why(rule->qp, FLOW_IP_FLAGS,
					  spec->ipv4.mask.flags);
		match_want_l3(match, 4);
		match->val.ip4 = spec->ipv4.val;
		match->mask.ip4 = spec->ipv4.mask;
		return 0;
	case IB_FLOW_SPEC_IPV6:
		match_want_l3(match, 6);
		match->val.ip6 = spec->ipv6.val;
		match->mask.ip6 = spec->ipv6.mask;
		return 0;
	case IB_FLOW_SPEC_TCP:
		match_want_l4(match, IPPROTO_TCP, &spec->tcp_udp);
		return 0;
	case IB_FLOW_SPEC_UDP:
		match_want_l4(match, IPPROTO_UDP, &spec->tcp_udp);
		return 0;
	default:
		return smr_qp_why(rule->qp, FLOW_SPEC, spec->type);
	}
}

/*
 * Add a spec: an action, or a condition; at most one condition of each layer, in any order. If one
 * contains a VLAN tag, only tagged frames match. Conditions that contradict each other match no
 * frame.
 */
static int rule_add_spec(struct smr_rule *rule, const union ib_flow_spec *spec,
			 struct rule_specs *seen)
{
	u8 layer = 1 << ((spec->type & IB_FLOW_SPEC_LAYER_MASK) >> 4 & 7);
	int ret;

	switch (spec->type) {
	case IB_FLOW_SPEC_ACTION_DROP:
		rule->drops = true;
		return 0;
	case IB_FLOW_SPEC_ACTION_TAG:
		if (seen->tagged)
			return smr_qp_why(rule->qp, FLOW_TWICE, spec->type);
		seen->tagged = true;
		rule->tag = spec->flow_tag.tag_id;
		return 0;
	default:
		ret = rule_add_match(rule, spec);
		if (!ret && seen->layers & layer)
			ret = smr_qp_why(rule->qp, FLOW_TWICE, spec->type);
		seen->layers |= layer;
		return ret;
	}
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

static int rule_set_normal(struct smr_rule *rule,
			   const struct ib_flow_attr *attr)
{
	const union ib_flow_spec *spec = attr->flows;
	struct rule_specs seen = {};
	int i, ret;

	for (i = 0; i < attr->num_of_specs; i++) {
		ret = rule_add_spec(rule, spec, &seen);
		if (ret)
			return ret;
		spec = (const void *)spec + spec->size;
	}
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
		/* multicast frames, and broadcasts */
		rule->match.val.eth.dst_mac[0] = 1;
		rule->match.mask.eth.dst_mac[0] = 1;
		return 0;
	default:
		return rule_set_normal(rule, attr);
	}
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

/* @inc: 1 to begin, -1 to end */
static int rx_mode_change(struct net_device *ndev, enum smr_rx_mode rx_mode, int inc)
{
	ASSERT_RTNL();
	switch (rx_mode) {
	case SMR_RX_MODE_MULTICAST:
		return dev_set_allmulti(ndev, inc);
	case SMR_RX_MODE_ALL:
		return dev_set_promiscuity(ndev, inc);
	default:
		return 0;
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

/* The first rule opens the hook, which runs before the host's own filters. */
static int hook_open(struct smr_steer *steer)
{
	if (steer->nr)
		return 0;
	steer->hook = (struct nf_hook_ops){
		.hook = smr_steer_hook,
		.dev = steer->ndev,
		.priv = steer,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_INGRESS,
		.priority = INT_MIN,
	};
	return nf_register_net_hook(dev_net(steer->ndev), &steer->hook);
}

/* The netdev may be in another namespace than when the hook was opened. */
static void hook_close(struct smr_steer *steer)
{
	nf_unregister_net_hook(dev_net(steer->ndev), &steer->hook);
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

static int rule_add(struct smr_steer *steer, struct smr_rule *rule)
{
	struct net_device *ndev = steer->ndev;
	const struct smr_qp *qp = rule->qp;
	int ret;

	ASSERT_RTNL();
	/* The netdev may be unregistering although its notifier has not run yet. */
	if (steer->closed || !smr_netdev_stays(ndev, qp->env->net))
		return smr_qp_why(qp, FLOW_NETDEV);
	if (steer->nr == SMR_MAX_RULES)
		return smr_qp_why(qp, FLOW_MANY, SMR_MAX_RULES);
	if (rule->order != ORDER_DEFAULT)
		rule->rx_mode = match_rx_mode(&rule->match, ndev);
	ret = rx_mode_change(ndev, rule->rx_mode, 1);
	if (ret)
		return smr_why_verb(qp->whys, qp->ibqp.qp_num, ret,
				    SMR_REASON(FLOW_RX_MODE, rule->rx_mode));
	ret = hook_open(steer);
	if (ret) {
		rx_mode_change(ndev, rule->rx_mode, -1);
		return smr_why_errno(qp->whys, qp->ibqp.qp_num, ret);
	}
	rule->slot = slot_find(steer, rule);
	rule_insert(steer, rule);
	steer->nr++;
	return 0;
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
 * netdev is being removed), -ENOMEM (no memory, or too many rules), -EOVERFLOW.
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
	rule->steer = to_smr_steer(qp->env);
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
	struct smr_rule *rule = container_of(ibflow, struct smr_rule, ibflow);
	struct smr_limits *limits = rule->qp->limits;
	struct smr_steer *steer = rule->steer;

	rtnl_lock();
	list_del_rcu(&rule->node);
	steer->nr--;
	if (!steer->closed) {
		if (!steer->nr)
			hook_close(steer);
		rx_mode_change(steer->ndev, rule->rx_mode, -1);
	}
	rtnl_unlock();
	kfree_rcu(rule, rcu);
	smr_limit_give(limits, SMR_LIMIT_RULE);
}

static void rule_follow(struct smr_rule *rule, struct net_device *ndev)
{
	enum smr_rx_mode rx_mode = match_rx_mode(&rule->match, ndev);

	if (rx_mode == rule->rx_mode || rx_mode_change(ndev, rx_mode, 1))
		return;
	rx_mode_change(ndev, rule->rx_mode, -1);
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
	struct smr_steer *steer;
	struct smr_rule *rule;

	if (!env->frames)
		return;
	steer = to_smr_steer(env);
	rtnl_lock();
	if (!steer->closed)
		list_for_each_entry(rule, &steer->rules, node)
			if (rule->order != ORDER_DEFAULT)
				rule_follow(rule, steer->ndev);
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
	struct smr_steer *steer;
	struct smr_rule *rule;

	ASSERT_RTNL();
	if (!env->frames)
		return;
	steer = to_smr_steer(env);
	if (steer->closed)
		return;
	steer->closed = true;
	if (steer->nr)
		hook_close(steer);
	list_for_each_entry(rule, &steer->rules, node)
		rx_mode_change(steer->ndev, rule->rx_mode, -1);
}

/**
 * smr_raw_open() - let a link have RAW_PACKET QPs and rules, if its netdev has Ethernet frames
 * @env: the link, whose netdev is set; @env->frames stays NULL if it cannot have them
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_raw_open(struct smr_env *env)
{
	struct smr_steer *steer;

	/* Some netdevs carry plain IP. */
	if (env->ndev->type != ARPHRD_ETHER &&
	    env->ndev->type != ARPHRD_LOOPBACK)
		return 0;
	steer = kzalloc(sizeof(*steer), GFP_KERNEL);
	if (!steer)
		return -ENOMEM;
	steer->frames = (struct smr_frames){ smr_raw_send, smr_raw_receive };
	steer->ndev = env->ndev;
	INIT_LIST_HEAD(&steer->rules);
	env->frames = &steer->frames;
	return 0;
}

/**
 * smr_raw_close() - the reverse of smr_raw_open()
 * @env: the link; its QPs and rules are destroyed
 *
 * The hook may still be running in a read-side section.
 *
 * Context: process, may sleep.
 */
void smr_raw_close(struct smr_env *env)
{
	struct smr_steer *steer;

	if (!env->frames)
		return;
	steer = to_smr_steer(env);
	WARN_ON_ONCE(steer->nr);
	synchronize_rcu_expedited();
	kfree(steer);
}
