// SPDX-License-Identifier: GPL-2.0
#include "qp/ah.h"

#include <linux/err.h>
#include <linux/netdevice.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "net/egress.h"
#include "qp/core.h"

/* When an address attribute does not say: the usual default. */
#define AH_DEFAULT_TTL	64

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
	return ah_ifindex(sgid, env->egress->net) ? 0 : -EINVAL;
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
	path->oif = ah_ifindex(sgid, env->egress->net);
	path->flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;
	/* We do not do what the ECN bits would promise to the network. */
	path->tos = grh->traffic_class & ~INET_ECN_MASK;
	path->ttl = grh->hop_limit ?: AH_DEFAULT_TTL;
	path->sport = rdma_get_udp_sport(path->flow_label, qpn, dest_qpn);
}

/**
 * smr_ah_note() - what a query will tell of an address
 * @note: filled in
 * @attr: the address, whose source the core holds
 *
 * Of a flow label the 20 bits that there are count, as with adapters: UCX has
 * it all ones.
 *
 * Context: any.
 */
void smr_ah_note(struct rdma_ah_attr *note, const struct rdma_ah_attr *attr)
{
	*note = *attr;
	note->grh.sgid_attr = NULL;
	note->grh.flow_label &= IB_GRH_FLOWLABEL_MASK;
}

/**
 * smr_ah_create() - make an address handle
 * @ah: allocated, zeroed, and @ah->ibah.pd set by the core
 * @env: the device
 * @attr: the address
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: 0, -EINVAL (see smr_ah_check()), -ENOMEM.
 */
int smr_ah_create(struct smr_ah *ah, const struct smr_env *env,
		  const struct rdma_ah_attr *attr, gfp_t gfp)
{
	int ret;

	ret = smr_ah_check(attr, env);
	if (ret)
		return ret;
	smr_ah_note(&ah->attr, attr);
	ah->tab = env->ahs;
	ah->av = smr_av_alloc(ah->ibah.pd, env->egress, gfp);
	if (!ah->av)
		return -ENOMEM;
	smr_ah_set_path(&ah->av->path, attr, env, 0, 0);
	ret = smr_av_publish(ah->tab, ah->av, gfp);
	if (ret)
		smr_av_put(ah->av);
	return ret;
}

/**
 * smr_ah_destroy() - end an address handle
 * @ah: the handle; the caller frees it
 *
 * Work requests that name it and have not been sent by now fail.
 *
 * Context: any.
 */
void smr_ah_destroy(struct smr_ah *ah)
{
	smr_av_withdraw(ah->tab, ah->av);
	smr_av_put(ah->av);
}
