// SPDX-License-Identifier: GPL-2.0
/* softmr's part of `rdma resource show qp`: reads the state of a QP without locks. */
#include "qp/show.h"

#include <linux/capability.h>
#include <linux/minmax.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/ring.h"
#include "qp/tally.h"

/* Sends posted but not completed; racy, for diagnosis only. */
static u32 sends_pending(const struct smr_sq *sq)
{
	u32 head = smr_qp_glance(&sq->head);

	if (!sq->max_wr)
		return 0;
	return min(READ_ONCE(sq->ring.hdr->prod) - head, sq->ring.depth);
}

static u64 glance64(const u64 *count)
{
	/* As smr_qp_glance(): a slightly old value is good enough. */
	return data_race(READ_ONCE(*count));
}

/* Packets of the send task that are not acknowledged */
static u32 unacked(const struct smr_qp *qp)
{
	return smr_psn_off(smr_qp_glance(&qp->snd.psn),
			   smr_qp_glance(&qp->snd.una));
}

static bool has_fault(const struct smr_paging *paging)
{
	/* Only compare it with NULL: the task may free it. */
	return data_race(READ_ONCE(paging->fault));
}

static bool has_inval(const struct smr_inval *inv)
{
	/* As above */
	return data_race(READ_ONCE(inv->begun));
}

static bool is_refused(const struct smr_refused *refused)
{
	/* As glance64() */
	return data_race(READ_ONCE(refused->since));
}

/* The name of what the send task waits for; NULL: nothing */
static const char *sends_wait(const struct smr_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	enum smr_local_state handed = READ_ONCE(qp->handed.state);

	if (state != IB_QPS_RTS && state != IB_QPS_SQD)
		return NULL;
	if (has_fault(&qp->req.paging) || has_fault(&qp->comp.paging) ||
	    handed == SMR_LOCAL_FAULT)
		return "page";
	if (glance64(&qp->rto.rnr))
		return "receive";
	if (handed == SMR_LOCAL_HANDED)
		return "peer";
	if (has_inval(&qp->req.inval))
		return "copies";
	if (is_refused(&qp->req.refused))
		return "netdev";
	if (smr_qp_is_reliable(qp) && unacked(qp))
		return "ack";
	if (state == IB_QPS_SQD && sends_pending(&qp->sq))
		return "drain";
	return NULL;
}

/* The name of what the response task waits for; NULL: nothing */
static const char *answers_wait(const struct smr_qp *qp)
{
	if (has_fault(&qp->resp.paging))
		return "page";
	if (has_inval(&qp->resp.inval))
		return "copies";
	if (is_refused(&qp->resp.refused))
		return "netdev";
	return NULL;
}

/*
 * The names of the numbers must not change: debugging.rst documents them, and the tool reads
 * them.
 */
static int put_sent(struct sk_buff *msg, const struct smr_qp *qp)
{
	const struct smr_sent *sent = &qp->req.sent;
	u64 faults = glance64(&qp->req.paging.faults) +
		     glance64(&qp->comp.paging.faults);
	const char *wait = sends_wait(qp);

	if (rdma_nl_put_driver_u64(msg, "sent", glance64(&sent->messages)) ||
	    rdma_nl_put_driver_u64(msg, "sent_bytes", glance64(&sent->bytes)) ||
	    rdma_nl_put_driver_u64(msg, "retransmits",
				   glance64(&sent->retransmits)) ||
	    rdma_nl_put_driver_u64(msg, "ack_timeouts",
				   glance64(&sent->timeouts)) ||
	    rdma_nl_put_driver_u64(msg, "rnr_rx", glance64(&sent->rnr)) ||
	    rdma_nl_put_driver_u64(msg, "naks_rx", glance64(&sent->naks)) ||
	    rdma_nl_put_driver_u64(msg, "sq_faults", faults) ||
	    (wait && rdma_nl_put_driver_string(msg, "sq_waits_for", wait)))
		return -EMSGSIZE;
	return 0;
}

static int put_served(struct sk_buff *msg, const struct smr_qp *qp)
{
	const struct smr_served *served = &qp->resp.served;
	const char *wait = answers_wait(qp);

	if (rdma_nl_put_driver_u64(msg, "served", glance64(&served->messages)) ||
	    rdma_nl_put_driver_u64(msg, "served_bytes",
				   glance64(&served->bytes)) ||
	    rdma_nl_put_driver_u64(msg, "rnr_tx", glance64(&served->rnr)) ||
	    rdma_nl_put_driver_u64(msg, "naks_tx", glance64(&served->naks)) ||
	    rdma_nl_put_driver_u64(msg, "rq_faults",
				   glance64(&qp->resp.paging.faults)) ||
	    rdma_nl_put_driver_u32(msg, "rx_waiting_bytes",
				   atomic_read(&qp->rx_mem)) ||
	    (wait && rdma_nl_put_driver_string(msg, "rq_waits_for", wait)))
		return -EMSGSIZE;
	return 0;
}

/* The congestion window of a connection, and the state that it depends on */
static int put_path(struct sk_buff *msg, const struct smr_qp *qp)
{
	u32 rate = smr_qp_glance(&qp->cwnd.rate);

	if (rdma_nl_put_driver_u32(msg, "mtu", READ_ONCE(qp->mtu)) ||
	    rdma_nl_put_driver_u32(msg, "window",
				   smr_qp_glance(&qp->cwnd.size)) ||
	    rdma_nl_put_driver_u32(msg, "unacked", unacked(qp)) ||
	    (rate && rdma_nl_put_driver_u32(msg, "rate_kbps", rate)) ||
	    rdma_nl_put_driver_u32(msg, "rtt_us",
				   smr_qp_glance(&qp->rto.srtt) / 8) ||
	    rdma_nl_put_driver_u32(msg, "retries_left",
				   /* as glance64() */
				   data_race(READ_ONCE(qp->comp.retry))))
		return -EMSGSIZE;
	return 0;
}

static int put_psns(struct sk_buff *msg, const struct smr_qp *qp)
{
	if (rdma_nl_put_driver_u32(msg, "sq_psn", smr_qp_glance(&qp->snd.psn)) ||
	    rdma_nl_put_driver_u32(msg, "rq_psn", smr_qp_glance(&qp->resp.epsn)))
		return -EMSGSIZE;
	return 0;
}

/**
 * smr_qp_fill_res() - add softmr's part to `rdma resource show qp -dd`
 * @msg: the message
 * @qp: the QP
 *
 * Adds the number of work requests in its queues and what they wait for, the work done so far,
 * and the PSNs if the caller may see them. Both the process that opened the netlink socket and
 * the one that reads from it must have CAP_NET_ADMIN, as the core requires for keys. The answer
 * for a single QP has no socket yet when this is called, so it gets no PSNs.
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int smr_qp_fill_res(struct sk_buff *msg, const struct smr_qp *qp)
{
	struct nlattr *table;
	int ret;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	ret = rdma_nl_put_driver_u32(msg, "sq_pending",
				     sends_pending(&qp->sq));
	if (!ret && qp->rq.max_wr)
		ret = rdma_nl_put_driver_u32(msg, "rq_pending",
					     smr_ring_waiting(&qp->rq.ring));
	if (!ret && qp->sq.max_wr)
		ret = put_sent(msg, qp);
	if (!ret)
		ret = put_served(msg, qp);
	if (!ret && smr_qp_is_reliable(qp))
		ret = put_path(msg, qp);
	if (!ret && msg->sk && sk_capable(msg->sk, CAP_NET_ADMIN))
		ret = put_psns(msg, qp);
	if (ret) {
		nla_nest_cancel(msg, table);
		return ret;
	}
	nla_nest_end(msg, table);
	return 0;
}
