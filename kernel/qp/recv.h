/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a receive work request: taken, opened, filled, completed. */
#ifndef SMR_RECV_H
#define SMR_RECV_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp/core.h"

struct smr_reason;

#define SMR_NO_VLAN	0xffff

/**
 * struct smr_recv_from - the source of a datagram, for its completion
 * @vlan_id: the VLAN that received it, or SMR_NO_VLAN
 * @v4: it was received over IPv4
 */
struct smr_recv_from {
	u16 vlan_id;
	bool v4;
};

enum smr_resp_verdict smr_recv_take(struct smr_qp *qp);
enum smr_resp_verdict smr_recv_open(struct smr_qp *qp, u64 skip, u64 len);
enum smr_step smr_recv_place(struct smr_qp *qp, struct smr_op *op, u64 len,
			     struct smr_budget *budget,
			     int (*copy)(struct smr_qp *qp, const struct smr_op *op));
bool smr_recv_available(const struct smr_qp *qp);
void smr_recv_done(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len);
void smr_recv_done_ud(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len,
		      const struct smr_recv_from *from);
void smr_recv_done_raw(struct smr_qp *qp, u32 len, u32 flow_tag);
void smr_recv_fail(struct smr_qp *qp, enum ib_wc_status status, u32 why);
struct smr_reason smr_recv_why(const struct smr_qp *qp);

#endif /* SMR_RECV_H */
