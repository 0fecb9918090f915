/* SPDX-License-Identifier: GPL-2.0 */
/* The path to one peer: addresses, and the cached route. */
#ifndef SMR_PATH_H
#define SMR_PATH_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/net_namespace.h>

struct dst_entry;

/**
 * struct smr_path - addresses and route to one peer; part of a QP or of an AH
 * @net: the namespace; no reference is held, since it outlives the path
 * @saddr: source address, an IPv4 address in its mapped form
 * @daddr: destination address, likewise
 * @oif: index of the netdev of the source GID, 0 for any
 * @flow_label: IPv6 flow label, 20 bits
 * @family: AF_INET or AF_INET6
 * @sport: UDP source port, for the entropy of the network's flow hashing; host order. In an AH,
 *	it is only used for the route look-up: each datagram has the source port of its QPs
 * @tos: traffic class octet
 * @ttl: time to live, or hop limit; 0: that of the route
 * @ip_id: next IPv4 identification; one per segment
 * @dst: the cached route, a reference; NULL before the first use. Read under RCU, written
 *	under @lock
 * @dst_cookie: validates @dst; same rules. While @dst is replaced, a reader may see the cookie of
 *	the other one: then it looks the route up again, or uses the old one once more
 * @lock: see @dst; softirqs off
 *
 * After smr_path_init() the owner fills in the addressing fields, from @saddr to @ttl, which
 * are constant from the first use on.
 */
struct smr_path {
	struct net *net;
	struct in6_addr saddr;
	struct in6_addr daddr;
	int oif;
	u32 flow_label;
	u16 family;
	u16 sport;
	u8 tos;
	u8 ttl;
	atomic_t ip_id;
	struct dst_entry __rcu *dst;
	u32 dst_cookie;
	spinlock_t lock;
};

/*
 * Can a link in @net still use its netdev? Not if that is being unregistered, or was moved. The
 * caller holds RTNL.
 */
static inline bool smr_netdev_stays(const struct net_device *ndev,
				    const struct net *net)
{
	ASSERT_RTNL();
	return ndev->reg_state == NETREG_REGISTERED && net_eq(dev_net(ndev), net);
}

void smr_path_init(struct smr_path *path, struct net *net);
void smr_path_fini(struct smr_path *path);
int smr_path_route(struct smr_path *path, bool *local);
struct dst_entry *smr_path_dst_get(struct smr_path *path);

#endif /* SMR_PATH_H */
