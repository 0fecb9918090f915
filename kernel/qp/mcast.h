/* SPDX-License-Identifier: GPL-2.0 */
/* Attaching QPs to multicast groups. */
#ifndef SMR_MCAST_H
#define SMR_MCAST_H

struct in6_addr;
struct smr_env;
struct smr_qp;

/* Groups of a device, and QPs of each of them */
#define SMR_MAX_MCAST_GROUPS	1024
#define SMR_MAX_MCAST_QPS	128

int smr_mcast_attach(struct smr_qp *qp, const struct in6_addr *addr);
int smr_mcast_detach(struct smr_qp *qp, const struct in6_addr *addr);
void smr_mcast_follow(const struct smr_env *env);

#endif /* SMR_MCAST_H */
