/* SPDX-License-Identifier: GPL-2.0 */
/* How work requests complete: in order, each exactly once. */
#ifndef SMR_COMPLETE_H
#define SMR_COMPLETE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp/task.h"

struct smr_hdr;
struct smr_qp;

#define SMR_NO_VLAN	0xffff

/**
 * struct smr_recv_from - what a datagram's completion says of where it is from
 * @vlan_id: the VLAN that it came by, or SMR_NO_VLAN
 * @v4: it came over IPv4
 */
struct smr_recv_from {
	u16 vlan_id;
	bool v4;
};

void smr_send_retire(struct smr_qp *qp);
void smr_send_fail(struct smr_qp *qp, enum ib_wc_status status);
enum ib_wc_status smr_nak_status(u8 syndrome);
void smr_send_flush_all(struct smr_qp *qp);
enum smr_task_verdict smr_send_flush(struct smr_qp *qp, struct smr_run *run);

int smr_recv_take(struct smr_qp *qp);
bool smr_recv_available(const struct smr_qp *qp);
void smr_recv_done(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len);
void smr_recv_done_ud(struct smr_qp *qp, const struct smr_hdr *hdr, u32 len,
		      const struct smr_recv_from *from);
void smr_recv_done_raw(struct smr_qp *qp, u32 len);
void smr_recv_fail(struct smr_qp *qp, enum ib_wc_status status);
enum smr_task_verdict smr_recv_flush(struct smr_qp *qp, struct smr_run *run);

#endif /* SMR_COMPLETE_H */
