/* SPDX-License-Identifier: GPL-2.0 */
/* IP multicast groups that a netdev has joined. */
#ifndef SMR_GROUP_H
#define SMR_GROUP_H

struct in6_addr;
struct net_device;
struct smr_egress;
struct smr_group;

struct smr_group *smr_group_join(const struct smr_egress *eg,
				 struct net_device *ndev,
				 const struct in6_addr *addr);
void smr_group_resync(struct smr_group *group);
void smr_group_leave(struct smr_group *group);

#endif /* SMR_GROUP_H */
