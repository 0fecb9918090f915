/* SPDX-License-Identifier: GPL-2.0 */
/* Which QPs are attached to which multicast groups. */
#ifndef SMR_MEMBERS_H
#define SMR_MEMBERS_H

struct hlist_head;
struct in6_addr;
struct list_head;
struct sk_buff;
struct smr_hdr;
struct smr_members;

struct hlist_head *smr_members_bucket(struct smr_members *members,
				      const struct in6_addr *addr);
void smr_members_rx(struct smr_members *members, struct sk_buff *skb,
		    const struct smr_hdr *hdr, struct list_head *batch);

#endif /* SMR_MEMBERS_H */
