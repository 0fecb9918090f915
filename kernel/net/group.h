/* SPDX-License-Identifier: GPL-2.0 */
/* IP multicast groups that a netdev has joined. */
#ifndef SMR_GROUP_H
#define SMR_GROUP_H

struct in6_addr;
struct net_device;
struct net;
struct smr_group;

struct smr_group *smr_group_join(const struct net *net,
				 struct net_device *ndev,
				 const struct in6_addr *addr);
void smr_group_resync(struct smr_group *group);
void smr_group_leave(struct smr_group *group);

#endif /* SMR_GROUP_H */
