// SPDX-License-Identifier: GPL-2.0
/*
 * Routes. The source address is part of the look-up, as for any socket. The first look-up does
 * not specify a device, so an address of this host is found to be local on whichever device it
 * is. If the result is another device than that of the source GID, a second look-up specifies
 * that device. Link-local and multicast destinations need a device, and a device in a VRF has
 * its own tables; their only look-up specifies the device.
 *
 * A path caches its route until the tables change. For a message that stays on this host, only
 * the end of the route is needed: that takes neither a lock nor a reference.
 */
#include "net/path.h"

#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/sock.h>

#include "compat/cleanup.h"
#include "compat/net.h"
#include "net/udp_rx.h"

/**
 * smr_path_init() - initialize a path
 * @path: end it with smr_path_fini()
 * @net: the namespace; outlives @path
 */
void smr_path_init(struct smr_path *path, struct net *net)
{
	memset(path, 0, sizeof(*path));
	path->net = net;
	atomic_set(&path->ip_id, get_random_u16());
	spin_lock_init(&path->lock);
}

/*
 * Readers may still use the old one: a route is freed a grace period after its last put. The
 * caller holds @path->lock, or is the last user.
 */
static void dst_replace(struct smr_path *path, struct dst_entry *dst)
{
	dst_release(unrcu_pointer(xchg(&path->dst, RCU_INITIALIZER(dst))));
}

/**
 * smr_path_fini() - drop the cached route
 * @path: no longer in use
 *
 * Trains that were begun on @path may still be in the stack.
 *
 * Context: any but hard interrupts.
 */
void smr_path_fini(struct smr_path *path)
{
	dst_replace(path, NULL);
}

static bool dst_is_local(const struct smr_path *path,
			 const struct dst_entry *dst)
{
	if (path->family == AF_INET)
		return dst_rtable(dst)->rt_type == RTN_LOCAL;
	return dst_rt6_info(dst)->rt6i_flags & RTF_LOCAL;
}

static void flow4_init(const struct smr_path *path, int oif,
		       struct flowi4 *fl4)
{
	flowi4_init_output(fl4, oif, 0, path->tos & ~INET_ECN_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   path->daddr.s6_addr32[3], path->saddr.s6_addr32[3],
			   cpu_to_be16(SMR_UDP_PORT), cpu_to_be16(path->sport),
			   sock_net_uid(path->net, NULL));
}

static struct dst_entry *lookup4(const struct smr_path *path, int oif)
{
	struct flowi4 fl4;
	struct rtable *rt;

	flow4_init(path, oif, &fl4);
	rt = ip_route_output_flow(path->net, &fl4, NULL);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return ERR_PTR(-EACCES);
	}
	return &rt->dst;
}

/*
 * If no table has a route through the given device, ip_route_output_flow() assumes that the
 * destination is on that device's link. That is worse than the result without a device.
 */
static bool has_route4(const struct smr_path *path, int oif)
{
	struct fib_result res = {};
	struct flowi4 fl4;
	int err;

	flow4_init(path, oif, &fl4);
	rcu_read_lock();
	err = fib_lookup(path->net, &fl4, &res, 0);
	rcu_read_unlock();
	return !err;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *lookup6(const struct smr_path *path, int oif)
{
	struct flowi6 fl6 = {
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(path->net, NULL),
		.daddr = path->daddr,
		.saddr = path->saddr,
		.fl6_dport = cpu_to_be16(SMR_UDP_PORT),
		.fl6_sport = cpu_to_be16(path->sport),
		.flowlabel = ip6_make_flowinfo(path->tos & ~INET_ECN_MASK,
					       cpu_to_be32(path->flow_label)),
	};

	if (!ipv6_mod_enabled())
		return ERR_PTR(-EAFNOSUPPORT);
	return ip6_dst_lookup_flow(path->net, NULL, &fl6, NULL);
}
#else
static struct dst_entry *lookup6(const struct smr_path *path, int oif)
{
	return ERR_PTR(-EAFNOSUPPORT);
}
#endif

static struct dst_entry *lookup(const struct smr_path *path, int oif)
{
	if (path->family == AF_INET6)
		return lookup6(path, oif);
	return lookup4(path, oif);
}

/* Is the device part of the destination's address? */
static bool path_is_scoped(const struct smr_path *path)
{
	if (!path->oif)
		return false;
	if (path->family == AF_INET ?
	    ipv4_is_multicast(path->daddr.s6_addr32[3]) :
	    ipv6_addr_type(&path->daddr) & (IPV6_ADDR_MULTICAST |
					    IPV6_ADDR_LINKLOCAL))
		return true;
	return l3mdev_master_ifindex_by_index(path->net, path->oif);
}

static bool dst_suits(const struct smr_path *path, const struct dst_entry *dst)
{
	bool suits;

	if (!path->oif || dst_is_local(path, dst))
		return true;

	rcu_read_lock();
	suits = READ_ONCE(dst->dev)->ifindex == path->oif;
	rcu_read_unlock();
	return suits;
}

/* Look up a route. Return: a new reference, or an ERR_PTR() */
static struct dst_entry *path_route(const struct smr_path *path)
{
	struct dst_entry *dst, *bound;

	if (path_is_scoped(path))
		return lookup(path, path->oif);

	dst = lookup(path, 0);
	if (!IS_ERR(dst) && dst_suits(path, dst))
		return dst;
	if (!path->oif)
		return dst;
	if (path->family == AF_INET && !has_route4(path, path->oif))
		return dst;

	bound = lookup(path, path->oif);
	if (IS_ERR(bound))
		return dst;
	if (!IS_ERR(dst))
		dst_release(dst);
	return bound;
}

/*
 * IPsec may return that it waits for its keys. There is no event when it has them, and to the
 * callers -EAGAIN means "woken when there is budget". So until then there is no route: packets
 * are lost, and senders retry after their timeouts.
 */
static struct dst_entry *path_lookup(const struct smr_path *path)
{
	struct dst_entry *dst = path_route(path);

	return dst == ERR_PTR(-EAGAIN) ? ERR_PTR(-EHOSTUNREACH) : dst;
}

/*
 * The route of a multicast determines whether it is looped back to this host. There is no event
 * when that changes, so do not cache it. A route that holds packets until IPsec has its keys
 * claims to be valid for ever, and would delay each packet even after that.
 */
static bool may_cache(const struct smr_path *path, const struct dst_entry *dst)
{
	if (dst->flags & DST_XFRM_QUEUE)
		return false;
	if (path->family == AF_INET)
		return !ipv4_is_multicast(path->daddr.s6_addr32[3]);
	return !ipv6_addr_is_multicast(&path->daddr);
}

/* The cached route, if the tables have not changed since. Called in an RCU read section. */
static struct dst_entry *path_cached(const struct smr_path *path)
{
	struct dst_entry *dst = rcu_dereference(path->dst);

	return dst && dst_check(dst, READ_ONCE(path->dst_cookie)) ? dst : NULL;
}

static void path_cache(struct smr_path *path, struct dst_entry *dst)
{
	guard(spinlock_bh)(&path->lock);
	WRITE_ONCE(path->dst_cookie, path->family == AF_INET6 ?
				     rt6_get_cookie(dst_rt6_info(dst)) : 0);
	dst_replace(path, dst_clone(dst));
}

/**
 * smr_path_dst_get() - get the route to a peer
 * @path: the path
 *
 * Context: any but hard interrupts.
 * Return: the route, with a reference for the caller, or an ERR_PTR(): -ENETUNREACH,
 *	-EHOSTUNREACH or another error of the look-up, -EAFNOSUPPORT without IPv6, -EACCES for a
 *	broadcast address.
 */
struct dst_entry *smr_path_dst_get(struct smr_path *path)
{
	struct dst_entry *dst;

	scoped_guard(rcu) {
		dst = path_cached(path);
		if (dst && dst_hold_safe(dst))
			return dst;
	}

	dst = path_lookup(path);
	if (!IS_ERR(dst) && may_cache(path, dst))
		path_cache(path, dst);
	return dst;
}

/**
 * smr_path_route() - is there a route, and does it end at this host?
 * @path: the path
 * @local: set to whether the destination is an address of this namespace
 *
 * Cheap as long as the routing tables do not change.
 *
 * Context: any but hard interrupts.
 * Return: 0 or the errors of smr_path_dst_get().
 */
int smr_path_route(struct smr_path *path, bool *local)
{
	struct dst_entry *dst;

	scoped_guard(rcu) {
		dst = path_cached(path);
		if (dst) {
			*local = dst_is_local(path, dst);
			return 0;
		}
	}
	dst = smr_path_dst_get(path);
	if (IS_ERR(dst))
		return PTR_ERR(dst);

	*local = dst_is_local(path, dst);
	dst_release(dst);
	return 0;
}
