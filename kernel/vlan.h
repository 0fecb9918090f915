/* SPDX-License-Identifier: GPL-2.0 */
/* Links on VLAN netdevs, which the core would give no GIDs. */
#ifndef SMR_VLAN_H
#define SMR_VLAN_H

#include <linux/types.h>

struct net_device;
struct smr_verbs;

bool smr_vlan_has_gid(const struct smr_verbs *verbs,
		      const struct net_device *ndev);
void smr_vlan_init(struct smr_verbs *verbs);
void smr_vlan_registered(struct smr_verbs *verbs);

#endif /* SMR_VLAN_H */
