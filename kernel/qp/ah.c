// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles, and the table in which work requests find their address vectors by number.
 */
#include "qp/ah.h"

#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "limits.h"
#include "net/egress.h"
#include "pd.h"
#include "qp/core.h"
#include "why.h"

/*
 * An address handle may be destroyed while work requests that use it are waiting or being sent.
 * So a work request contains the number of an address vector, and each use of the vector holds
 * a reference.
 */

/* The numbers fit a field of a work request, and cannot be mistaken for a pointer. */
#define AV_NUMBERS	XA_LIMIT(1, 0xffffff)

/**
 * smr_ahtab_init() - initialize a device's table of address vectors
 * @tab: the table
 */
void smr_ahtab_init(struct smr_ahtab *tab)
{
	xa_init_flags(&tab->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ |
				 XA_FLAGS_ACCOUNT);
}

/**
 * smr_ahtab_fini() - free a table
 * @tab: the table, empty
 */
void smr_ahtab_fini(struct smr_ahtab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->xa));
	xa_destroy(&tab->xa);
}

/**
 * smr_av_alloc() - allocate an address vector; the caller fills in its path
 * @pd: the protection domain of its address handle
 * @net: the namespace
 * @gfp: allocation flags
 *
 * Context: as @gfp says.
 * Return: the address vector, with one reference; or NULL.
 */
struct smr_av *smr_av_alloc(const struct ib_pd *pd, struct net *net,
			    gfp_t gfp)
{
	struct smr_av *av = kzalloc(sizeof(*av), gfp);

	if (!av)
		return NULL;
	refcount_set(&av->ref, 1);
	av->pd = pd;
	smr_path_init(&av->path, net);
	return av;
}

/**
 * smr_av_publish() - give an address vector its number and put it into the table
 * @tab: the device's table
 * @av: complete
 * @gfp: allocation flags
 *
 * Context: as @gfp says; interrupts may be off if @gfp does not sleep.
 * Return: 0 or -ENOMEM.
 */
int smr_av_publish(struct smr_ahtab *tab, struct smr_av *av, gfp_t gfp)
{
	unsigned long flags;
	int ret;

	if (gfpflags_allow_blocking(gfp)) {
		ret = xa_alloc_cyclic_irq(&tab->xa, &av->number, av, AV_NUMBERS,
					  &tab->next, gfp);
	} else {
		xa_lock_irqsave(&tab->xa, flags);
		ret = __xa_alloc_cyclic(&tab->xa, &av->number, av, AV_NUMBERS,
					&tab->next, gfp);
		xa_unlock_irqrestore(&tab->xa, flags);
	}
	/* 1: the numbers have wrapped. */
	return ret < 0 ? -ENOMEM : 0;
}

/**
 * smr_av_withdraw() - remove an address vector from the table
 * @tab: the device's table
 * @av: published
 */
void smr_av_withdraw(struct smr_ahtab *tab, struct smr_av *av)
{
	unsigned long flags;

	xa_lock_irqsave(&tab->xa, flags);
	__xa_erase(&tab->xa, av->number);
	xa_unlock_irqrestore(&tab->xa, flags);
}

/**
 * smr_av_find() - find an address vector by its number
 * @tab: the device's table
 * @number: any value
 * @pd: of the caller
 *
 * Return: the address vector with a reference, which smr_av_put() drops; NULL if the PD has
 *	none with this number.
 */
struct smr_av *smr_av_find(struct smr_ahtab *tab, u32 number,
			   const struct ib_pd *pd)
{
	struct smr_av *av;

	rcu_read_lock();
	av = xa_load(&tab->xa, number);
	if (av && (av->pd != pd || !refcount_inc_not_zero(&av->ref)))
		av = NULL;
	rcu_read_unlock();
	return av;
}

/**
 * smr_av_put() - drop a reference
 * @av: the address vector
 */
void smr_av_put(struct smr_av *av)
{
	if (!refcount_dec_and_test(&av->ref))
		return;
	smr_path_fini(&av->path);
	kfree_rcu(av, rcu);
}

/* The usual default, for an address attribute without a hop limit */
#define AH_DEFAULT_TTL	64

static bool gid_is_v4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

/*
 * The index of the source GID's netdev, which may be a VLAN on the link's netdev. 0: it is
 * gone, or not in the namespace of the sockets.
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
 * smr_ah_check() - is this address valid for a path?
 * @attr: the address; the caller holds its sgid_attr, which may be NULL
 * @env: the device
 * @log: logs why not
 * @qpn: the QP that it is for, or 0
 *
 * This does not check whether the address is reachable: routes change.
 *
 * Return: 0 or -EINVAL.
 */
int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env,
		 struct smr_why_log *log, u32 qpn)
{
	const struct ib_gid_attr *sgid = attr->grh.sgid_attr;
	const union ib_gid *dgid = &attr->grh.dgid;
	u8 index = attr->grh.sgid_index;

	/* IBTA A17.4.5: RoCEv2 has an IP header, hence a GRH, always. */
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return smr_why_qp(log, qpn, AH_NO_GRH, 0);
	if (rdma_ah_get_port_num(attr) != 1)
		return smr_why_qp(log, qpn, AH_PORT, rdma_ah_get_port_num(attr));
	if (!sgid || sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return smr_why_qp(log, qpn, AH_GID_TYPE, index);
	if (rdma_is_zero_gid(dgid))
		return smr_why_qp(log, qpn, AH_NO_DGID, index);
	/* Both ends must use the same IP version. */
	if (gid_is_v4(&sgid->gid) != gid_is_v4(dgid))
		return smr_why_qp(log, qpn, AH_FAMILY, index, gid_is_v4(&sgid->gid),
			       gid_is_v4(dgid));
	if (!ah_ifindex(sgid, env->net))
		return smr_why_qp(log, qpn, AH_NETDEV, index);
	return 0;
}

/**
 * smr_ah_set_path() - set a path to an address
 * @path: initialized by smr_path_init()
 * @attr: the address, which smr_ah_check() has accepted
 * @env: the device
 * @qpn: QP number of the sender
 * @dest_qpn: QP number of the receiver
 *
 * The QP numbers spread flows over the paths of a network, and over the
 * queues of the receiver.
 */
void smr_ah_set_path(struct smr_path *path, const struct rdma_ah_attr *attr,
		     const struct smr_env *env, u32 qpn, u32 dest_qpn)
{
	const struct ib_global_route *grh = &attr->grh;
	const struct ib_gid_attr *sgid = grh->sgid_attr;

	memcpy(&path->saddr, &sgid->gid, sizeof(path->saddr));
	memcpy(&path->daddr, &grh->dgid, sizeof(path->daddr));
	path->family = ipv6_addr_v4mapped(&path->saddr) ? AF_INET : AF_INET6;
	path->oif = ah_ifindex(sgid, env->net);
	path->flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;
	/* QPs that react to marks set ECT: see smr_ecn_path(). */
	path->tos = grh->traffic_class & ~INET_ECN_MASK;
	path->ttl = grh->hop_limit ?: AH_DEFAULT_TTL;
	path->sport = rdma_get_udp_sport(path->flow_label, qpn, dest_qpn);
}

/**
 * smr_ah_note() - store an address for queries
 * @note: filled in, without references
 * @attr: the address; the core holds its source GID
 *
 * Only the 20 bits of a flow label are kept, as adapters do: UCX sets all 32.
 */
void smr_ah_note(struct rdma_ah_attr *note, const struct rdma_ah_attr *attr)
{
	*note = *attr;
	note->grh.sgid_attr = NULL;
	note->grh.flow_label &= IB_GRH_FLOWLABEL_MASK;
}

/**
 * smr_ah_create() - initialize an address handle
 * @ah: allocated, zeroed, and @ah->ibah.pd set by the core
 * @env: the device
 * @attr: the address
 * @gfp: allocation flags
 *
 * Context: as @gfp says.
 * Return: 0, -EINVAL (see smr_ah_check()), -ENOMEM.
 */
int smr_ah_create(struct smr_ah *ah, const struct smr_env *env,
		  const struct rdma_ah_attr *attr, gfp_t gfp)
{
	const struct smr_pd *pd = to_smr_pd(ah->ibah.pd);
	int ret;

	ret = smr_ah_check(attr, env, pd->whys, 0);
	if (ret)
		return ret;
	ret = smr_limit_take(pd->limits, SMR_LIMIT_AH, pd->whys);
	if (ret)
		return ret;
	ret = -ENOMEM;
	smr_ah_note(&ah->attr, attr);
	ah->tab = env->ahs;
	ah->av = smr_av_alloc(ah->ibah.pd, env->net, gfp);
	if (!ah->av)
		goto give;
	smr_ah_set_path(&ah->av->path, attr, env, 0, 0);
	ret = smr_av_publish(ah->tab, ah->av, gfp);
	if (!ret)
		return 0;
	smr_av_put(ah->av);
give:
	smr_limit_give(pd->limits, SMR_LIMIT_AH);
	return smr_why_errno(pd->whys, 0, ret);
}

/**
 * smr_ah_destroy() - end an address handle
 * @ah: the handle; the caller frees it
 *
 * Work requests that use it and have not been sent yet fail.
 */
void smr_ah_destroy(struct smr_ah *ah)
{
	smr_av_withdraw(ah->tab, ah->av);
	smr_av_put(ah->av);
	smr_limit_give(to_smr_pd(ah->ibah.pd)->limits, SMR_LIMIT_AH);
}
