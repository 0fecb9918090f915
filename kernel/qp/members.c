// SPDX-License-Identifier: GPL-2.0
#include "qp/members.h"

#include <linux/hash.h>
#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <net/ipv6.h>

#include "net/egress.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/rx_queue.h"

/**
 * smr_members_bucket() - where the members of a group are
 * @members: the namespace's attachments
 * @addr: the group, an IPv4 one in its mapped form
 *
 * Return: the list, which other groups may share.
 */
struct hlist_head *smr_members_bucket(struct smr_members *members,
				      const struct in6_addr *addr)
{
	u32 hash = jhash2((const u32 *)addr, sizeof(*addr) / sizeof(u32), 0);

	return &members->hash[hash_32(hash, SMR_MEMBERS_HASH_BITS)];
}

/* Did the packet come by the QP's netdev, or by a VLAN on it? */
static bool came_by(const struct smr_env *env, const struct sk_buff *skb)
{
	struct net_device *ndev;

	ndev = dev_get_by_index_rcu(env->egress->net, skb->skb_iif);
	return ndev && (ndev == env->ndev ||
			(is_vlan_dev(ndev) &&
			 vlan_dev_real_dev(ndev) == env->ndev));
}

/* Is it what the QP has sent itself, and does not want to hear? */
static bool is_echo(const struct smr_qp *qp, const struct in6_addr *saddr,
		    const struct smr_hdr *hdr)
{
	return qp->no_echo && hdr->src_qpn == qp->ibqp.qp_num &&
	       smr_qp_has_addr(qp, saddr);
}

/* IBTA 9.6.1.4: what must fit before a packet may go to a group's members */
static bool is_multicast(const struct smr_hdr *hdr)
{
	return (hdr->opcode & SMR_TRANSPORT_MASK) == SMR_TRANSPORT_UD &&
	       smr_pkey_ok(hdr->pkey);
}

static bool member_takes(const struct smr_member *member,
			 const struct sk_buff *skb,
			 const struct in6_addr *saddr,
			 const struct smr_hdr *hdr)
{
	const struct smr_qp *qp = member->qp;

	return smr_qp_receives(READ_ONCE(qp->state)) &&
	       came_by(qp->env, skb) && !is_echo(qp, saddr, hdr);
}

/**
 * smr_members_rx() - give a packet for a group to its members
 * @members: the namespace's attachments
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @hdr: its headers
 * @batch: QPs that are to be run
 *
 * Context: as struct smr_rx_ops.rx, whose batch it is.
 */
void smr_members_rx(struct smr_members *members, struct sk_buff *skb,
		    const struct smr_hdr *hdr, struct list_head *batch)
{
	struct in6_addr saddr, daddr;
	struct smr_member *m;
	struct sk_buff *copy;

	smr_rx_addrs(skb, &saddr, &daddr);
	hlist_for_each_entry_rcu(m, smr_members_bucket(members, &daddr), node) {
		if (!ipv6_addr_equal(&m->addr, &daddr) ||
		    !is_multicast(hdr) || !member_takes(m, skb, &saddr, hdr))
			continue;
		copy = skb_clone(skb, GFP_ATOMIC);
		if (copy && refcount_inc_not_zero(&m->qp->ref))
			smr_qp_receive(m->qp, copy, false, batch);
		else
			kfree_skb(copy);
	}
	consume_skb(skb);
}
