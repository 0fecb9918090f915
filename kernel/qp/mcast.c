// SPDX-License-Identifier: GPL-2.0
/* Attach QPs to multicast groups, and deliver each packet of a group to its members. */
#include "qp/mcast.h"

#include <linux/err.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat/cleanup.h"
#include "limits.h"
#include "net/group.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/rx_queue.h"
#include "stats.h"
#include "why.h"

/* The hash bucket of a group; other groups may share it. */
static struct hlist_head *bucket(struct smr_members *members,
				 const struct in6_addr *addr)
{
	u32 hash = jhash2((const u32 *)addr, sizeof(*addr) / sizeof(u32), 0);

	return &members->hash[hash_32(hash, SMR_MEMBERS_HASH_BITS)];
}

/* Did the QP send the packet, and ask not to receive such packets? */
static bool is_echo(const struct smr_qp *qp, const struct in6_addr *saddr,
		    int iif, const struct smr_hdr *hdr)
{
	return qp->no_echo && hdr->src_qpn == qp->ibqp.qp_num &&
	       smr_qp_has_addr(qp, saddr, iif);
}

/* IBTA 9.6.1.4: may this packet be delivered to the members of a group? */
static bool is_multicast(const struct smr_hdr *hdr)
{
	return (hdr->opcode & SMR_TRANSPORT_MASK) == SMR_TRANSPORT_UD &&
	       smr_pkey_ok(hdr->pkey);
}

/* Get the QP's copy of a packet; NULL: it gets none. A packet that is lost is logged. */
static struct sk_buff *member_copy(struct smr_qp *qp, struct sk_buff *skb,
				   const struct in6_addr *saddr,
				   const struct smr_hdr *hdr)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct sk_buff *copy;

	if (!smr_env_has_ndev(qp->env, skb->skb_iif) || is_echo(qp, saddr, skb->skb_iif, hdr))
		return NULL;
	if (!smr_qp_receives(state)) {
		smr_qp_drop(qp, DROP_STATE, SMR_CNT_DROPPED, saddr, hdr->opcode,
			    state);
		return NULL;
	}
	copy = skb_clone(skb, GFP_ATOMIC);
	if (!copy)
		smr_qp_drop(qp, DROP_NO_MEMORY, SMR_CNT_DROPPED, saddr);
	return copy;
}

/**
 * smr_members_rx() - deliver a packet to the members of its group
 * @members: the namespace's attachments
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @hdr: its headers
 *
 * Context: as struct smr_rx_ops.rx.
 * Return: number of copies.
 */
unsigned int smr_members_rx(struct smr_members *members, struct sk_buff *skb,
			    const struct smr_hdr *hdr)
{
	unsigned int copies = 0;
	struct in6_addr saddr, daddr;
	struct smr_member *m;
	struct sk_buff *copy;
	struct smr_qp *qp;

	smr_rx_addrs(skb, &saddr, &daddr);
	hlist_for_each_entry_rcu(m, bucket(members, &daddr), node) {
		if (!ipv6_addr_equal(&m->addr, &daddr) || !is_multicast(hdr))
			continue;
		qp = smr_qp_get(m->handle);
		if (!qp)
			continue;
		copy = member_copy(qp, skb, &saddr, hdr);
		if (copy) {
			smr_qp_receive(qp, copy, false);
			copies++;
		}
		smr_qp_put(qp);
	}
	if (copies)
		consume_skb(skb);
	else
		kfree_skb_reason(skb, SKB_DROP_REASON_NO_SOCKET);
	return copies;
}

/**
 * struct member_counts - one device's members of one group
 * @own: the QP's own membership, or NULL
 * @group: the netdev's membership, which all members share; NULL: no members
 * @nr: number of members
 */
struct member_counts {
	struct smr_member *own;
	struct smr_group *group;
	u32 nr;
};

static struct member_counts count_members(const struct smr_qp *qp,
					  const struct in6_addr *addr)
{
	struct smr_members *members = &qp->env->tab->members;
	struct member_counts c = {};
	struct smr_member *m;

	lockdep_assert_held(&members->mutex);
	hlist_for_each_entry(m, bucket(members, addr), node) {
		if (m->qp->env != qp->env || !ipv6_addr_equal(&m->addr, addr))
			continue;
		c.nr++;
		c.group = m->group;
		if (m->qp == qp)
			c.own = m;
	}
	return c;
}

/* For the first member, join the group with the netdev. */
static struct smr_group *group_enter(const struct smr_qp *qp,
				     const struct in6_addr *addr)
{
	struct smr_env *env = qp->env;
	struct smr_group *group;
	int err;

	if (env->nr_groups == SMR_MAX_MCAST_GROUPS) {
		err = smr_qp_why(qp, MCAST_GROUPS, SMR_MAX_MCAST_GROUPS);
		return ERR_PTR(err);
	}
	group = smr_group_join(env->net, env->ndev, addr);
	if (!IS_ERR(group)) {
		env->nr_groups++;
		return group;
	}
	err = PTR_ERR(group);
	if (err == -ENOMEM)
		smr_why_general(qp->whys, qp->ibqp.qp_num, err);
	else
		smr_why_verb(qp->whys, qp->ibqp.qp_num, err,
			     SMR_REASON(MCAST_NETDEV, ipv6_addr_v4mapped(addr)));
	return group;
}

static int member_add(struct smr_members *members, struct smr_member *m)
{
	const struct smr_qp *qp = m->qp;
	struct member_counts c = count_members(m->qp, &m->addr);
	int ret;

	if (c.own)
		return smr_qp_why(qp, MCAST_AGAIN);
	if (c.nr == SMR_MAX_MCAST_QPS)
		return smr_qp_why(qp, MCAST_QPS, SMR_MAX_MCAST_QPS);
	ret = smr_limit_take(qp->limits, SMR_LIMIT_MCAST, qp->whys);
	if (ret)
		return ret;
	m->group = c.group ?: group_enter(qp, &m->addr);
	if (IS_ERR(m->group)) {
		smr_limit_give(qp->limits, SMR_LIMIT_MCAST);
		return PTR_ERR(m->group);
	}
	hlist_add_head_rcu(&m->node, bucket(members, &m->addr));
	return 0;
}

/**
 * smr_mcast_attach() - attach a QP to a multicast group
 * @qp: a UD QP
 * @addr: the group, an IPv4 one in its mapped form
 *
 * Context: process, may sleep; takes RTNL.
 * Return: 0; -EINVAL (attached already), -ENOMEM (no memory, or too many groups or members), or
 *	the errors of smr_group_join().
 */
int smr_mcast_attach(struct smr_qp *qp, const struct in6_addr *addr)
{
	struct smr_members *members = &qp->env->tab->members;
	struct smr_member *m;
	int ret;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return smr_qp_why(qp, NO_MEMORY);
	m->addr = *addr;
	m->qp = qp;
	m->handle = qp->handle;

	mutex_lock(&members->mutex);
	ret = member_add(members, m);
	mutex_unlock(&members->mutex);
	if (ret)
		kfree(m);
	return ret;
}

/**
 * smr_mcast_detach() - detach a QP from a multicast group
 * @qp: a UD QP
 * @addr: the group
 *
 * The QP still gets packets that are already in its queue.
 *
 * Context: process, may sleep; takes RTNL.
 * Return: 0, or -EINVAL if it was not attached.
 */
int smr_mcast_detach(struct smr_qp *qp, const struct in6_addr *addr)
{
	struct smr_members *members = &qp->env->tab->members;
	struct member_counts c;

	guard(mutex)(&members->mutex);
	c = count_members(qp, addr);
	if (!c.own)
		return -EINVAL;
	hlist_del_rcu(&c.own->node);
	kfree_rcu(c.own, rcu);
	if (c.nr == 1) {
		smr_group_leave(c.group);
		qp->env->nr_groups--;
	}
	smr_limit_give(qp->limits, SMR_LIMIT_MCAST);
	return 0;
}

/**
 * smr_mcast_resync() - rejoin groups that the netdev may have left
 * @env: of the device
 *
 * Context: process, may sleep; takes RTNL.
 */
void smr_mcast_resync(const struct smr_env *env)
{
	struct smr_members *members = &env->tab->members;
	struct smr_member *m;
	size_t i;

	guard(mutex)(&members->mutex);
	rtnl_lock();
	for (i = 0; i < ARRAY_SIZE(members->hash); i++)
		hlist_for_each_entry(m, &members->hash[i], node)
			if (m->qp->env == env)
				smr_group_resync(m->group);
	rtnl_unlock();
}
