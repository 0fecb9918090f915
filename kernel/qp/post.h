/* SPDX-License-Identifier: GPL-2.0 */
/* Posting by kernel consumers: put work requests into rings. */
#ifndef SMR_POST_H
#define SMR_POST_H

struct ib_recv_wr;
struct ib_send_wr;
struct smr_qp;
struct smr_srq;

int smr_post_send(struct smr_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int smr_post_recv(struct smr_qp *qp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
int smr_post_srq_recv(struct smr_srq *srq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

#endif /* SMR_POST_H */
