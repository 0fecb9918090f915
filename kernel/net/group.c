// SPDX-License-Identifier: GPL-2.0
/*
 * The netdev joins a group, and no socket does. The number of groups of a socket is limited
 * (net.ipv4.igmp_max_memberships), and a socket receives all groups of the netdev in any case
 * (IP_MULTICAST_ALL).
 */
#include "net/group.h"

#include <linux/err.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

#include "net/path.h"

/**
 * struct smr_group - a netdev's membership in a group, held by one link
 * @net: the namespace of that link
 * @ndev: its netdev
 * @addr: the group, an IPv4 one in its mapped form
 * @in4: the netdev's in_device that is the member, a reference; NULL: none
 * @in6: the same for IPv6
 *
 * The netdev gets a new @in4 or @in6, without the groups of the former one, after its MTU was
 * too small for the protocol, and in another namespace.
 *
 * RTNL guards @in4 and @in6; the rest is constant.
 */
struct smr_group {
	const struct net *net;
	struct net_device *ndev;
	struct in6_addr addr;
	struct in_device *in4;
	struct inet6_dev *in6;
};

static bool is_member4(const struct smr_group *group)
{
	return group->in4 && group->in4 == __in_dev_get_rtnl(group->ndev);
}

static int join4(struct smr_group *group)
{
	struct in_device *in_dev = __in_dev_get_rtnl(group->ndev);

	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, group->addr.s6_addr32[3]);
	in_dev_hold(in_dev);
	group->in4 = in_dev;
	return 0;
}

static void leave4(struct smr_group *group)
{
	if (is_member4(group))
		ip_mc_dec_group(group->in4, group->addr.s6_addr32[3]);
	if (group->in4)
		in_dev_put(group->in4);
	group->in4 = NULL;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool is_member6(const struct smr_group *group)
{
	return group->in6 && group->in6 == __in6_dev_get(group->ndev);
}

static int join6(struct smr_group *group)
{
	int ret = ipv6_dev_mc_inc(group->ndev, &group->addr);

	if (!ret)
		group->in6 = in6_dev_get(group->ndev);
	/* The netdev has no IPv6. */
	return ret == -EINVAL ? -ENODEV : ret;
}

static void leave6(struct smr_group *group)
{
	if (is_member6(group))
		ipv6_dev_mc_dec(group->ndev, &group->addr);
	in6_dev_put_clear(&group->in6);
}
#else
static bool is_member6(const struct smr_group *group)
{
	return false;
}

static int join6(struct smr_group *group)
{
	return -EAFNOSUPPORT;
}

static void leave6(struct smr_group *group)
{
}
#endif

static bool is_member(const struct smr_group *group)
{
	return is_member4(group) || is_member6(group);
}

static int join(struct smr_group *group)
{
	ASSERT_RTNL();
	if (!smr_netdev_stays(group->ndev, group->net))
		return -ENODEV;
	return ipv6_addr_v4mapped(&group->addr) ? join4(group) : join6(group);
}

static void leave(struct smr_group *group)
{
	ASSERT_RTNL();
	leave4(group);
	leave6(group);
}

/**
 * smr_group_join() - join a multicast group with a link's netdev
 * @net: the namespace of the link; outlives the membership
 * @ndev: the netdev, likewise
 * @addr: the group, an IPv4 one in its mapped form
 *
 * Context: process, may sleep; takes RTNL.
 * Return: the membership, which smr_group_leave() ends; -ENODEV (the netdev lacks that
 *	protocol, or is being removed), -ENOMEM, -EAFNOSUPPORT.
 */
struct smr_group *smr_group_join(const struct net *net,
				 struct net_device *ndev,
				 const struct in6_addr *addr)
{
	struct smr_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!group)
		return ERR_PTR(-ENOMEM);
	group->net = net;
	group->ndev = ndev;
	group->addr = *addr;
	rtnl_lock();
	ret = join(group);
	rtnl_unlock();
	if (!ret)
		return group;
	kfree(group);
	return ERR_PTR(ret);
}

/**
 * smr_group_resync() - restore a membership that the netdev may have lost
 * @group: the membership
 *
 * Joins again if possible. Call this after each event that may make it possible.
 *
 * Context: process, may sleep; caller holds RTNL.
 */
void smr_group_resync(struct smr_group *group)
{
	if (is_member(group))
		return;
	leave(group);
	join(group);
}

/**
 * smr_group_leave() - end a membership
 * @group: the membership; freed
 *
 * Context: process, may sleep; takes RTNL.
 */
void smr_group_leave(struct smr_group *group)
{
	rtnl_lock();
	leave(group);
	rtnl_unlock();
	kfree(group);
}
