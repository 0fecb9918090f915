// SPDX-License-Identifier: GPL-2.0
/*
 * The network marks packets where they begin to queue, if they say that their sender obeys
 * marks (ECT). The receiver of a marked packet sends a congestion notification packet (CNP)
 * to its sender. The sender narrows its window (qp/cwnd.c). Networks of adapters that use
 * DCQCN rely on both.
 *
 * Only QPs with a window ask for marks: RC and XRC. A UC or UD QP has nothing to narrow, so
 * its packets do not claim that it would. CNPs are sent for marked packets of UC, too: the
 * peer may be an adapter. A datagram's sender is no peer that a QP has a path to.
 */
#include "qp/ecn.h"

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>

#include "qp/packet.h"
#include "stats.h"
#include "trace.h"

/* From one CNP of a QP to the next at least: as adapters have it (A17.9.3 sets no limit) */
#define CNP_INTERVAL_NS	(50 * NSEC_PER_USEC)

/**
 * smr_ecn_path() - ask the network for marks, if the user asks for them
 * @qp: the QP; its path was made of @attr
 * @attr: the address; the ECN bits of its traffic class are the user's wish
 *
 * ECT(1) has become the sign of another kind of sender (RFC 9331), and CE is the network's
 * to set. So whatever bits the user has set, the packets have ECT(0).
 *
 * Context: any; the QP is paused.
 */
void smr_ecn_path(struct smr_qp *qp, const struct rdma_ah_attr *attr)
{
	if (smr_qp_is_reliable(qp) && attr->grh.traffic_class & INET_ECN_MASK)
		qp->path.tos |= INET_ECN_ECT_0;
}

/* A17.9.3. Both tasks may be here, and one of them sends. */
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

/* The network has marked what was sent, or what was asked for. */
static void narrow(struct smr_qp *qp)
{
	struct smr_snd *snd = &qp->snd;
	u32 was = qp->cwnd.size;

	if (smr_cwnd_marked(&qp->cwnd, snd->una, snd->max_psn))
		trace_smr_slow(&qp->ibqp, snd->una, snd->max_psn, was,
			       qp->cwnd.size, qp->cwnd.congestion);
}

/**
 * smr_ecn_marked() - the network has marked a packet
 * @qp: the receiver's QP
 * @hdr: the packet's headers; its ICRC is right
 * @count: how many packets there are like it
 *
 * Packets without data are counted only: they do not queue for their own sake. Data that
 * the QP has asked for by a READ comes as fast as its own window lets it, so that becomes
 * narrower, too. A CNP that could not be sent is sent for the next packet that is marked.
 *
 * Context: any; called by the task of that side.
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

/**
 * smr_ecn_notified() - a CNP has come
 * @qp: the QP, a reliable one; the packet is from its peer's address
 * @hdr: the CNP's headers; its ICRC is right
 *
 * A CNP has no PSN, so nothing tells an old or a forged one from others. What it can do is
 * bounded by smr_cwnd_marked().
 *
 * Context: any; called by the send task.
 */
void smr_ecn_notified(struct smr_qp *qp, const struct smr_hdr *hdr)
{
	if (hdr->len || hdr->pad) {
		smr_qp_inc(qp, SMR_CNT_BAD_HEADER);
		return;
	}
	smr_qp_inc(qp, SMR_CNT_CNP_HANDLED);
	narrow(qp);
}
