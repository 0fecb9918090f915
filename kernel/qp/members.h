/* SPDX-License-Identifier: GPL-2.0 */
/* Which QPs are attached to which multicast groups. */
#ifndef SMR_MEMBERS_H
#define SMR_MEMBERS_H

#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/types.h>

struct sk_buff;
struct smr_group;
struct smr_hdr;
struct smr_qp;

#define SMR_MEMBERS_HASH_BITS	8

/**
 * struct smr_member - an attachment of a QP to a group
 * @node: in struct smr_members
 * @addr: the group, an IPv4 one in its mapped form
 * @qp: the QP, which is detached before it goes
 * @group: the netdev's membership, which the QPs of its link share
 * @rcu: readers may still be at @node
 *
 * Constant while it is in the table.
 */
struct smr_member {
	struct hlist_node node;
	struct in6_addr addr;
	struct smr_qp *qp;
	struct smr_group *group;
	struct rcu_head rcu;
};

/**
 * struct smr_members - the attachments of a network namespace
 * @mutex: guards changes of @hash; taken before RTNL
 * @hash: by the group's address; readers use RCU
 */
struct smr_members {
	struct mutex mutex;
	struct hlist_head hash[1 << SMR_MEMBERS_HASH_BITS];
};

struct hlist_head *smr_members_bucket(struct smr_members *members,
				      const struct in6_addr *addr);
void smr_members_rx(struct smr_members *members, struct sk_buff *skb,
		    const struct smr_hdr *hdr, struct list_head *batch);

#endif /* SMR_MEMBERS_H */
