// SPDX-License-Identifier: GPL-2.0
/*
 * Switches mark packets when they begin to queue, if ECT in the packets says that the sender
 * reacts to marks. The receiver of a marked packet sends a congestion notification packet (CNP)
 * to the sender, whose congestion control shrinks its window or lowers its rate (qp/cc_*.c).
 * Networks with DCQCN adapters rely on both.
 *
 * Only QPs with a window set ECT: RC and XRC. UC and UD QPs have no window, so their packets do
 * not set it. CNPs are also sent for marked packets of UC, since the peer may be an adapter;
 * but not for datagrams, since a UD QP has no path to their sender.
 */
#include "qp/ecn.h"

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>

#include "qp/packet.h"
#include "stats.h"
#include "trace.h"

/* Minimum interval between CNPs of a QP, as in adapters (A17.9.3 sets no limit) */
#define CNP_INTERVAL_NS	(50 * NSEC_PER_USEC)

/*
 * Set ECT if the user asks for ECN. @qp: the QP; its path was set from @attr. @attr: the address;
 * the user asks for ECN by the ECN bits of its traffic class. ECT(1) now denotes another kind of
 * sender (RFC 9331), and only the network may set CE. So whichever of the bits the user sets, the
 * packets have ECT(0). Context: any; the QP is paused.
 */
void smr_ecn_path(struct smr_qp *qp, const struct rdma_ah_attr *attr)
{
	if (smr_qp_is_reliable(qp) && attr->grh.traffic_class & INET_ECN_MASK)
		qp->path.tos |= INET_ECN_ECT_0;
}

/* A17.9.3. Both tasks may call this at once; one of them sends. */
static bool cnp_is_due(struct smr_qp *qp, s64 *last)
{
	s64 now = ktime_get_ns();

	*last = atomic64_read(&qp->cnp_next);
	return now >= *last &&
	       atomic64_try_cmpxchg(&qp->cnp_next, last, now + CNP_INTERVAL_NS);
}

static int cnp_send(struct smr_qp *qp, u16 pkey, struct smr_refused *refused)
{
	const struct smr_hdr hdr = {
		.opcode = SMR_OPCODE_CNP,
		.op = smr_wire_op(SMR_OPCODE_CNP),
		.becn = true,
		.pkey = pkey,
		.qpn = qp->attr.dest_qp_num,
	};

	return smr_packet_send_urgent(qp, &hdr, refused);
}

/* Send less: the network has marked packets of this QP, or responses to it. */
static void narrow(struct smr_qp *qp)
{
	struct smr_cc_event event = smr_ecn_event(qp);
	struct smr_cwnd *cwnd = &qp->cwnd;
	u32 was = cwnd->size;

	if (smr_cwnd_marked(cwnd, &event))
		trace_smr_slow(&qp->ibqp, event.una, event.max_psn, was,
			       cwnd->size, cwnd->congestion, cwnd->rate);
}

/*
 * Handle a packet with a congestion mark. @hdr: the packet's headers; its ICRC is correct. @count:
 * number of such packets. Packets without data are only counted: they do not cause the queue. The
 * data of a READ arrives as fast as the QP's own window allows, so that window shrinks, too. If a
 * CNP cannot be sent, it is sent for the next marked packet. Context: any; called by the task of
 * that side.
 */
void smr_ecn_marked(struct smr_qp *qp, const struct smr_hdr *hdr, u32 count)
{
	struct smr_refused *refused = &qp->resp.refused;
	s64 last;

	smr_qp_add(qp, SMR_CNT_ECN_MARKED, count);
	if (!(hdr->op->flags & SMR_OP_PAYLOAD) ||
	    qp->service == SMR_TRANSPORT_UD)
		return;
	if (hdr->op->flags & SMR_OP_RESPONSE) {
		narrow(qp);
		refused = &qp->req.refused;
	}
	if (!cnp_is_due(qp, &last))
		return;
	if (cnp_send(qp, hdr->pkey, refused)) {
		atomic64_set(&qp->cnp_next, last);
		return;
	}
	smr_qp_inc(qp, SMR_CNT_CNP_SENT);
	trace_smr_cnp_sent(&qp->ibqp, qp->attr.dest_qp_num, hdr->opcode,
			   hdr->psn);
}

/*
 * Handle a CNP. @qp: the QP, a reliable one; the packet is from its peer's address. @hdr: the CNP's
 * headers; its ICRC is correct. A CNP has no PSN, so a stale or forged one cannot be recognised.
 * smr_cwnd_marked() limits its effect. Context: any; called by the send task.
 */
void smr_ecn_notified(struct smr_qp *qp, const struct smr_hdr *hdr)
{
	if (hdr->len || hdr->pad) {
		smr_qp_drop(qp, DROP_HEADER, SMR_CNT_BAD_HEADER, NULL,
			    hdr->len);
		return;
	}
	smr_qp_inc(qp, SMR_CNT_CNP_HANDLED);
	narrow(qp);
}
