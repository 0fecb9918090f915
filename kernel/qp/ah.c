// SPDX-License-Identifier: GPL-2.0
#include "qp/ah.h"

#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "net/egress.h"
#include "qp/core.h"
#include "why.h"

/*
 * An address handle may be destroyed while work requests that use it are waiting or being
 * sent. So work requests name an address vector by a number, and each use of it holds a
 * reference.
 */

/* Numbers fit a work request's field, and do not look like a pointer. */
#define AV_NUMBERS	XA_LIMIT(1, 0xffffff)

/**
 * smr_ahtab_init() - prepare a device's table of address vectors
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
 * smr_av_alloc() - make an address vector, whose path is still to be filled in
 * @pd: the protection domain of its address handle
 * @eg: the sockets to send from
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: it, with one reference, or NULL.
 */
struct smr_av *smr_av_alloc(const struct ib_pd *pd, struct smr_egress *eg,
			    gfp_t gfp)
{
	struct smr_av *av = kzalloc(sizeof(*av), gfp);

	if (!av)
		return NULL;
	refcount_set(&av->ref, 1);
	av->pd = pd;
	smr_path_init(&av->path, eg);
	return av;
}

/**
 * smr_av_publish() - give an address vector its number and put it into the table
 * @tab: the device's table
 * @av: complete
 * @gfp: how to allocate
 *
 * Context: as @gfp says; interrupts may be off when it does not sleep.
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
	/* 1: the numbers have begun from the first one again. */
	return ret < 0 ? -ENOMEM : 0;
}

/**
 * smr_av_withdraw() - take an address vector out of the table
 * @tab: the device's table
 * @av: published
 *
 * Context: any.
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
 * @pd: the caller's protection domain
 *
 * Context: any.
 * Return: the address vector with a reference, which smr_av_put() drops; NULL if the
 * protection domain has none of this number.
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
 *
 * Context: any.
 */
void smr_av_put(struct smr_av *av)
{
	if (!refcount_dec_and_test(&av->ref))
		return;
	smr_path_fini(&av->path);
	kfree_rcu(av, rcu);
}

/* The usual default, for an address attribute that sets none */
#define AH_DEFAULT_TTL	64

static bool gid_is_v4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

/*
 * The index of the source GID's netdev, which may be a VLAN on the link's netdev. 0: it
 * is gone, or is in another namespace than our sockets.
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
 * smr_ah_check() - can a path be made of this address?
 * @attr: the address; its sgid_attr is held by the caller, or NULL
 * @env: the device
 * @why: a refusal says why
 *
 * This does not check whether the address is reachable: routes come and go.
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env,
		 struct smr_why *why)
{
	const struct ib_gid_attr *sgid = attr->grh.sgid_attr;
	const union ib_gid *dgid = &attr->grh.dgid;
	u8 index = attr->grh.sgid_index;

	/* IBTA A17.4.5: RoCEv2 has an IP header, hence a GRH, always. */
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return smr_why(why, AH_NO_GRH, 0);
	if (rdma_ah_get_port_num(attr) != 1)
		return smr_why(why, AH_PORT, rdma_ah_get_port_num(attr));
	if (!sgid || sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return smr_why(why, AH_GID_TYPE, index);
	if (rdma_is_zero_gid(dgid))
		return smr_why(why, AH_NO_DGID, index);
	/* Both ends speak the same IP version. */
	if (gid_is_v4(&sgid->gid) != gid_is_v4(dgid))
		return smr_why(why, AH_FAMILY, index, gid_is_v4(&sgid->gid),
			       gid_is_v4(dgid));
	if (!ah_ifindex(sgid, env->egress->net))
		return smr_why(why, AH_NETDEV, index);
	return 0;
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
	/* Who obeys marks asks for them, see smr_ecn_path(). */
	path->tos = grh->traffic_class & ~INET_ECN_MASK;
	path->ttl = grh->hop_limit ?: AH_DEFAULT_TTL;
	path->sport = rdma_get_udp_sport(path->flow_label, qpn, dest_qpn);
}

/**
 * smr_ah_note() - keep an address for queries
 * @note: filled in, without references
 * @attr: the address, whose source the core holds
 *
 * Only the 20 bits of a flow label are kept, as adapters do: UCX sets all 32.
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
 * @why: a refusal says why
 *
 * Context: as @gfp says.
 * Return: 0, -EINVAL (see smr_ah_check()), -ENOMEM.
 */
int smr_ah_create(struct smr_ah *ah, const struct smr_env *env,
		  const struct rdma_ah_attr *attr, gfp_t gfp,
		  struct smr_why *why)
{
	int ret;

	ret = smr_ah_check(attr, env, why);
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
 * Work requests that name it and have not been sent yet fail.
 *
 * Context: any.
 */
void smr_ah_destroy(struct smr_ah *ah)
{
	smr_av_withdraw(ah->tab, ah->av);
	smr_av_put(ah->av);
}
