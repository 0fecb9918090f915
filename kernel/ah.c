// SPDX-License-Identifier: GPL-2.0
#include "ah.h"

#include <linux/err.h>
#include <linux/netdevice.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "net.h"
#include "transport.h"

/* Handles fit the work request's field and are not taken for a pointer. */
#define AH_HANDLES	XA_LIMIT(1, 0xffffff)

/* When an address attribute does not say: the usual default. */
#define AH_DEFAULT_TTL	64

/**
 * smr_ahtab_init() - prepare a device's table of address handles
 * @tab: the table
 */
void smr_ahtab_init(struct smr_ahtab *tab)
{
	xa_init_flags(&tab->xa, XA_FLAGS_ALLOC1);
}

/**
 * smr_ahtab_fini() - the end of a table, which must be empty by now
 * @tab: the table
 */
void smr_ahtab_fini(struct smr_ahtab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->xa));
	xa_destroy(&tab->xa);
}

/* Both ends speak the same IP version. */
static bool ah_family_ok(const struct ib_gid_attr *sgid,
			 const union ib_gid *dgid)
{
	bool from4 = ipv6_addr_v4mapped((const struct in6_addr *)&sgid->gid);
	bool to4 = ipv6_addr_v4mapped((const struct in6_addr *)dgid);

	return from4 == to4;
}

/*
 * The source's netdev, which for a VLAN is not the link's own. 0: it is gone
 * by now, or is of a namespace that our sockets are not in.
 */
static int ah_ifindex(const struct ib_gid_attr *sgid, const struct net *net)
{
	struct net_device *ndev;
	int ifindex = 0;

	rcu_read_lock();
	ndev = rcu_dereference(sgid->ndev);
	if (ndev && net_eq(dev_net(ndev), net))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

/**
 * smr_ah_check() - is this an address that a path can be made of?
 * @attr: the address; its sgid_attr is held by the caller, or NULL
 * @env: the device
 *
 * Whether the address is reachable is not asked: routes come and go.
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env)
{
	const struct ib_gid_attr *sgid = attr->grh.sgid_attr;
	const union ib_gid *dgid = &attr->grh.dgid;

	/* IBTA A17.4.5: RoCEv2 has an IP header, hence a GRH, always. */
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    rdma_ah_get_port_num(attr) != 1)
		return -EINVAL;
	if (!sgid || sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;
	if (rdma_is_zero_gid(dgid) || !ah_family_ok(sgid, dgid))
		return -EINVAL;
	if (attr->grh.flow_label & ~IB_GRH_FLOWLABEL_MASK)
		return -EINVAL;
	return ah_ifindex(sgid, env->sn->net) ? 0 : -EINVAL;
}

/**
 * smr_ah_set_path() - make a path of an address
 * @path: the path, after smr_path_init()
 * @attr: the address, which smr_ah_check() has accepted
 * @env: the device
 * @qpn: the sender's QP number
 * @dest_qpn: the receiver's
 *
 * The QP numbers spread flows over the paths of a network, and over the
 * queues of the receiver.
 *
 * Context: any.
 */
void smr_ah_set_path(struct smr_path *path, const struct rdma_ah_attr *attr,
		     const struct smr_env *env, u32 qpn, u32 dest_qpn)
{
	const struct ib_global_route *grh = &attr->grh;
	const struct ib_gid_attr *sgid = grh->sgid_attr;

	memcpy(&path->saddr, &sgid->gid, sizeof(path->saddr));
	memcpy(&path->daddr, &grh->dgid, sizeof(path->daddr));
	path->family = ipv6_addr_v4mapped(&path->saddr) ? AF_INET : AF_INET6;
	path->oif = ah_ifindex(sgid, env->sn->net);
	path->flow_label = grh->flow_label;
	/* We do not do what the ECN bits would promise to the network. */
	path->tos = grh->traffic_class & ~INET_ECN_MASK;
	path->ttl = grh->hop_limit ?: AH_DEFAULT_TTL;
	path->sport = rdma_get_udp_sport(grh->flow_label, qpn, dest_qpn);
}

/**
 * smr_ah_create() - make an address handle
 * @ah: allocated, zeroed
 * @tab: the device's handles
 * @env: the device
 * @attr: the address
 * @user: a process will name it in work requests
 *
 * Context: process and may sleep when @user; else any.
 * Return: 0, -EINVAL (see smr_ah_check()), -ENOMEM.
 */
int smr_ah_create(struct smr_ah *ah, struct smr_ahtab *tab,
		  const struct smr_env *env, const struct rdma_ah_attr *attr,
		  bool user)
{
	int ret;

	ret = smr_ah_check(attr, env);
	if (ret)
		return ret;
	ah->attr = *attr;
	/* The core holds the reference, in ah->ibah. */
	ah->attr.grh.sgid_attr = NULL;
	ah->tab = tab;
	smr_path_init(&ah->path, env->sn);
	smr_ah_set_path(&ah->path, attr, env, 0, 0);
	if (!user)
		return 0;
	ret = xa_alloc(&tab->xa, &ah->handle, ah, AH_HANDLES, GFP_KERNEL);
	if (ret)
		smr_path_fini(&ah->path);
	return ret == -EBUSY ? -ENOMEM : ret;
}

/**
 * smr_ah_destroy() - end an address handle
 * @ah: the handle; the caller frees it
 *
 * Context: process when a process made it; else any.
 */
void smr_ah_destroy(struct smr_ah *ah)
{
	if (ah->handle)
		xa_erase(&ah->tab->xa, ah->handle);
	smr_path_fini(&ah->path);
}
