/* SPDX-License-Identifier: GPL-2.0 */
/* Multicast groups: QPs are attached to them, and get their packets. */
#ifndef SMR_MCAST_H
#define SMR_MCAST_H

struct in6_addr;
struct sk_buff;
struct smr_env;
struct smr_hdr;
struct smr_members;
struct smr_qp;

/* Maximum number of groups of a device, and of QPs in each */
#define SMR_MAX_MCAST_GROUPS	1024
#define SMR_MAX_MCAST_QPS	128

int smr_mcast_attach(struct smr_qp *qp, const struct in6_addr *addr);
int smr_mcast_detach(struct smr_qp *qp, const struct in6_addr *addr);
void smr_mcast_resync(const struct smr_env *env);

unsigned int smr_members_rx(struct smr_members *members, struct sk_buff *skb,
			    const struct smr_hdr *hdr);

#endif /* SMR_MCAST_H */
