/* SPDX-License-Identifier: GPL-2.0 */
/* Build the headers of requests, and packets from headers and payload. */
#ifndef SMR_PACKET_H
#define SMR_PACKET_H

#include <linux/types.h>

#include "net/wire.h"

struct smr_path;
struct smr_qp;
struct smr_refused;
struct smr_sgl;
struct smr_swqe;
struct smr_train;
struct smr_wr_info;

/* Bytes from the BTH to the ICRC */
static inline unsigned int smr_packet_len(const struct smr_hdr *hdr)
{
	return hdr->op->hdr_len + hdr->len + hdr->pad + SMR_ICRC_LEN;
}

int smr_packet_fill(u8 *seg, const struct smr_hdr *hdr, struct smr_sgl *sgl);
int smr_packet_append(struct smr_train *train, const struct smr_hdr *hdr,
		      unsigned int n, struct smr_sgl *sgl);
int smr_packets_leave(struct smr_qp *qp, struct smr_train *train,
		      struct smr_refused *refused);
int smr_packet_send(struct smr_qp *qp, struct smr_path *path, u16 sport,
		    const struct smr_hdr *hdr, struct smr_sgl *sgl);
int smr_packet_send_urgent(struct smr_qp *qp, const struct smr_hdr *hdr,
			   struct smr_refused *refused);

void smr_req_hdr_init(const struct smr_qp *qp, const struct smr_swqe *wqe,
		      const struct smr_wr_info *wr, struct smr_hdr *hdr);
void smr_req_hdr_opcode(const struct smr_qp *qp, struct smr_hdr *hdr,
			u8 opcode);

#endif /* SMR_PACKET_H */
