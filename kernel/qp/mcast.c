// SPDX-License-Identifier: GPL-2.0
#include "qp/mcast.h"

#include <linux/err.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat/cleanup.h"
#include "net/group.h"
#include "qp/core.h"
#include "qp/members.h"

/**
 * struct census - what there is of one device's members of one group
 * @own: that of the QP at hand
 * @group: what they share; NULL: there are none
 * @nr: how many
 */
struct census {
	struct smr_member *own;
	struct smr_group *group;
	u32 nr;
};

static struct census take_census(const struct smr_qp *qp,
				 const struct in6_addr *addr)
{
	struct smr_members *members = &qp->env->tab->members;
	struct census c = {};
	struct smr_member *m;

	lockdep_assert_held(&members->mutex);
	hlist_for_each_entry(m, smr_members_bucket(members, addr), node) {
		if (m->qp->env != qp->env || !ipv6_addr_equal(&m->addr, addr))
			continue;
		c.nr++;
		c.group = m->group;
		if (m->qp == qp)
			c.own = m;
	}
	return c;
}

/* The first member has the netdev join the group. */
static struct smr_group *group_enter(struct smr_env *env,
				     const struct in6_addr *addr)
{
	struct smr_group *group;

	if (env->nr_groups == SMR_MAX_MCAST_GROUPS)
		return ERR_PTR(-ENOMEM);
	group = smr_group_join(env->egress, env->ndev, addr);
	if (!IS_ERR(group))
		env->nr_groups++;
	return group;
}

static int member_add(struct smr_members *members, struct smr_member *m)
{
	struct census c = take_census(m->qp, &m->addr);

	if (c.own)
		return -EINVAL;
	if (c.nr == SMR_MAX_MCAST_QPS)
		return -ENOMEM;
	m->group = c.group ?: group_enter(m->qp->env, &m->addr);
	if (IS_ERR(m->group))
		return PTR_ERR(m->group);
	hlist_add_head_rcu(&m->node, smr_members_bucket(members, &m->addr));
	return 0;
}

/**
 * smr_mcast_attach() - attach a QP to a multicast group
 * @qp: a UD QP
 * @addr: the group, an IPv4 one in its mapped form
 *
 * Context: process, may sleep; takes RTNL.
 * Return: 0; -EINVAL (attached already), -ENOMEM (no memory, or as many as
 * there may be), or the errors of smr_group_join().
 */
int smr_mcast_attach(struct smr_qp *qp, const struct in6_addr *addr)
{
	struct smr_members *members = &qp->env->tab->members;
	struct smr_member *m;
	int ret;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	m->addr = *addr;
	m->qp = qp;

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
 * What arrives from now on is not for the QP; what waits in its queue is.
 *
 * Context: process, may sleep; takes RTNL.
 * Return: 0, -EINVAL: it was not attached.
 */
int smr_mcast_detach(struct smr_qp *qp, const struct in6_addr *addr)
{
	struct smr_members *members = &qp->env->tab->members;
	struct census c;

	guard(mutex)(&members->mutex);
	c = take_census(qp, addr);
	if (!c.own)
		return -EINVAL;
	hlist_del_rcu(&c.own->node);
	kfree_rcu(c.own, rcu);
	if (c.nr == 1) {
		smr_group_leave(c.group);
		qp->env->nr_groups--;
	}
	return 0;
}

/**
 * smr_mcast_follow() - the netdev may have forgotten groups
 * @env: the device's
 *
 * Context: process, may sleep; takes RTNL.
 */
void smr_mcast_follow(const struct smr_env *env)
{
	struct smr_members *members = &env->tab->members;
	struct smr_member *m;
	size_t i;

	guard(mutex)(&members->mutex);
	rtnl_lock();
	for (i = 0; i < ARRAY_SIZE(members->hash); i++)
		hlist_for_each_entry(m, &members->hash[i], node)
			if (m->qp->env == env)
				smr_group_follow(m->group);
	rtnl_unlock();
}
