// SPDX-License-Identifier: GPL-2.0
/*
 * A group is joined as the netdev's member, not as a socket's: a socket may
 * only be in so many (net.ipv4.igmp_max_memberships), and takes what the netdev
 * listens to in any case (IP_MULTICAST_ALL).
 */
#include "group.h"

#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

static int join4(struct net_device *ndev, __be32 addr)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, addr);
	return 0;
}

static void leave4(struct net_device *ndev, __be32 addr)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	/* What the netdev knew of IPv4 may be gone, its groups with it. */
	if (in_dev)
		ip_mc_dec_group(in_dev, addr);
}

#if IS_ENABLED(CONFIG_IPV6)
static int join6(struct net_device *ndev, const struct in6_addr *addr)
{
	return ipv6_dev_mc_inc(ndev, addr);
}

static void leave6(struct net_device *ndev, const struct in6_addr *addr)
{
	ipv6_dev_mc_dec(ndev, addr);
}
#else
static int join6(struct net_device *ndev, const struct in6_addr *addr)
{
	return -EAFNOSUPPORT;
}

static void leave6(struct net_device *ndev, const struct in6_addr *addr)
{
}
#endif

/**
 * smr_group_join() - have a netdev listen to a multicast group
 * @ndev: the netdev
 * @addr: the group, an IPv4 one in its mapped form
 *
 * Memberships are counted: each join needs its smr_group_leave().
 *
 * Context: process, may sleep; takes RTNL.
 * Return: 0, -ENODEV (the netdev does not speak that protocol), -ENOMEM,
 * -EAFNOSUPPORT.
 */
int smr_group_join(struct net_device *ndev, const struct in6_addr *addr)
{
	int ret;

	rtnl_lock();
	ret = ipv6_addr_v4mapped(addr) ? join4(ndev, addr->s6_addr32[3]) :
					 join6(ndev, addr);
	rtnl_unlock();
	return ret == -EINVAL ? -ENODEV : ret;
}

/**
 * smr_group_leave() - the end of smr_group_join()
 * @ndev: the netdev
 * @addr: the group
 *
 * Context: process, may sleep; takes RTNL.
 */
void smr_group_leave(struct net_device *ndev, const struct in6_addr *addr)
{
	rtnl_lock();
	if (ipv6_addr_v4mapped(addr))
		leave4(ndev, addr->s6_addr32[3]);
	else
		leave6(ndev, addr);
	rtnl_unlock();
}
