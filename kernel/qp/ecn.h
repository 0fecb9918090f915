/* SPDX-License-Identifier: GPL-2.0 */
/* ECN: the reaction to packets that the network has marked. RoCEv2 annex A17.9. */
#ifndef SMR_ECN_H
#define SMR_ECN_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <net/inet_ecn.h>

#include "net/udp_rx.h"
#include "net/wire.h"
#include "qp/core.h"

struct rdma_ah_attr;

void smr_ecn_path(struct smr_qp *qp, const struct rdma_ah_attr *attr);
void smr_ecn_marked(struct smr_qp *qp, const struct smr_hdr *hdr, u32 count);
void smr_ecn_notified(struct smr_qp *qp, const struct smr_hdr *hdr);

/* Check @count packets of a train for congestion marks. Their ICRCs are correct. */
static inline void smr_ecn_look(struct smr_qp *qp, const struct sk_buff *skb,
				const struct smr_hdr *hdr, u32 count)
{
	if (unlikely(INET_ECN_is_ce(smr_rx_info(skb)->tos)))
		smr_ecn_marked(qp, hdr, count);
}

/* What a congestion control may know now */
static inline struct smr_cc_event smr_ecn_event(const struct smr_qp *qp)
{
	return (struct smr_cc_event) {
		.now = ktime_get_ns(),
		.una = qp->snd.una,
		.max_psn = qp->snd.max_psn,
		.rtt_us = smr_rto_rtt_us(&qp->rto),
		.mtu = qp->mtu,
	};
}

/*
 * Is a packet of the QP's service? A CNP is accepted by all services whose QPs have a window.
 */
static inline bool smr_ecn_service_ok(const struct smr_qp *qp,
				      const struct smr_bth *bth)
{
	if (bth->op->flags & SMR_OP_CNP)
		return smr_qp_is_reliable(qp);
	return (bth->opcode & SMR_TRANSPORT_MASK) == qp->service;
}

#endif /* SMR_ECN_H */
