/* SPDX-License-Identifier: GPL-2.0 */
/* IP multicast groups that a netdev listens to. */
#ifndef SMR_GROUP_H
#define SMR_GROUP_H

struct in6_addr;
struct net_device;

int smr_group_join(struct net_device *ndev, const struct in6_addr *addr);
void smr_group_leave(struct net_device *ndev, const struct in6_addr *addr);

#endif /* SMR_GROUP_H */
