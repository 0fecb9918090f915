/* SPDX-License-Identifier: GPL-2.0 */
/* Links on VLAN netdevs, which the core would give no GIDs. */
#ifndef SMR_VLAN_H
#define SMR_VLAN_H

struct smr_verbs;

void smr_vlan_init(struct smr_verbs *verbs);
void smr_vlan_registered(struct smr_verbs *verbs);

#endif /* SMR_VLAN_H */
