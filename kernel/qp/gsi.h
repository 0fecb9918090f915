/* SPDX-License-Identifier: GPL-2.0 */
/* QP1, the general services interface, which each device has. */
#ifndef SMR_GSI_H
#define SMR_GSI_H

#include <linux/types.h>

struct in6_addr;
struct smr_qp;
struct smr_qptab;

int smr_gsi_publish(struct smr_qp *qp);
void smr_gsi_unpublish(struct smr_qp *qp);
struct smr_qp *__must_check smr_qp_find_at(struct smr_qptab *tab, u32 qpn,
					   const struct in6_addr *daddr,
					   int iif);

#endif /* SMR_GSI_H */
