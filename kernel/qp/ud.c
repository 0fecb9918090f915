// SPDX-License-Identifier: GPL-2.0
/*
 * For a datagram to a QP on this host, a packet is built and queued to the receiver like any
 * other. So no receiver can delay a sender.
 */
#include "qp/ud.h"

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "compat/cleanup.h"
#include "net/train.h"
#include "net/wire.h"
#include "pd.h"
#include "qp/ah.h"
#include "qp/capture.h"
#include "qp/core.h"
#include "qp/gsi.h"
#include "qp/opcode.h"
#include "qp/packet.h"
#include "qp/payload.h"
#include "qp/recv.h"
#include "qp/rx_queue.h"
#include "qp/rx_train.h"
#include "qp/sq.h"
#include "stats.h"
#include "trace.h"

/* IBTA 10.2.5: a work request's Q_Key with this bit means the QP's Q_Key */
#define QKEY_OF_QP	BIT(31)

/**
 * struct datagram - a datagram that is being sent
 * @qp: its sender
 * @wqe: the work request
 * @av: the receiver's address
 * @hdr: its headers
 * @len: bytes, BTH to ICRC
 */
struct datagram {
	struct smr_qp *qp;
	struct smr_swqe *wqe;
	struct smr_av *av;
	struct smr_hdr hdr;
	unsigned int len;
};

static void datagram_init(struct datagram *d)
{
	const struct smr_swqe *wqe = d->wqe;
	struct smr_qp *qp = d->qp;
	struct smr_hdr *hdr = &d->hdr;

	hdr->opcode = smr_wr_info(qp->ibqp.qp_type, wqe->opcode)->only;
	hdr->op = smr_wire_op(hdr->opcode);
	hdr->solicited = wqe->send_flags & IB_SEND_SOLICITED;
	hdr->migreq = true;
	hdr->pkey = SMR_DEFAULT_PKEY;
	hdr->qpn = wqe->ud.qpn;
	hdr->psn = qp->snd.psn;
	hdr->imm = wqe->imm_or_rkey;
	hdr->qkey = wqe->ud.qkey & QKEY_OF_QP ? qp->attr.qkey : wqe->ud.qkey;
	hdr->src_qpn = qp->ibqp.qp_num;
	hdr->len = wqe->len;
	hdr->pad = -hdr->len & 3;
	d->len = smr_packet_len(hdr);
}

/* Check everything except the memory. */
static u8 datagram_check(const struct datagram *d)
{
	/* IBTA 9.8.3: no message is longer than a packet */
	if (d->wqe->len > ib_mtu_enum_to_int(smr_env_mtu(d->qp->env)))
		return IB_WC_LOC_LEN_ERR;
	if (d->wqe->ud.qpn & ~SMR_QPN_MASK || !d->av)
		return IB_WC_LOC_QP_OP_ERR;
	return IB_WC_SUCCESS;
}

/* Add the IP header that it would have on the wire: the receiver gets it. */
static void local_headers(struct sk_buff *skb, const struct smr_path *path)
{
	unsigned int len = skb->len;

	smr_xmit_push_ip(skb, path, 0);
	skb_pull(skb, skb->len - len);
	skb->skb_iif = path->oif;
	smr_rx_part(skb)->info = (struct smr_rx_info) {
		.len = len,
		.seg_len = len,
		.nsegs = 1,
		.family = path->family,
		.tos = path->tos,
		.ttl = path->ttl,
	};
	smr_rx_part(skb)->first = 0;
	smr_rx_part(skb)->count = 1;
	smr_rx_part(skb)->sealed = false;
	smr_rx_part(skb)->careful = false;
}

/* Find the receiver. The checks are those of rx_lookup() for the wire. */
static struct smr_qp *local_peer(const struct datagram *d)
{
	const struct smr_path *path = &d->av->path;
	enum ib_qp_state state;
	struct smr_qp *peer;

	guard(rcu)();
	peer = smr_qp_find_at(d->qp->env->tab, d->hdr.qpn, &path->daddr,
			      path->oif);
	if (!peer) {
		smr_qptab_stray(d->qp->env->tab, &d->hdr.bth, &path->saddr, 1);
		return NULL;
	}
	state = READ_ONCE(peer->state);
	if (peer->service != SMR_TRANSPORT_UD)
		smr_qp_drop(peer, DROP_SERVICE, SMR_CNT_DROPPED, &path->saddr,
			    d->hdr.opcode, peer->ibqp.qp_type);
	else if (!smr_qp_receives(state))
		smr_qp_drop(peer, DROP_STATE, SMR_CNT_DROPPED, &path->saddr,
			    d->hdr.opcode, state);
	else if (!smr_qp_has_addr(peer, &path->daddr, path->oif))
		smr_qp_drop(peer, DROP_SOURCE, SMR_CNT_BAD_SOURCE, &path->saddr);
	else
		return peer;
	smr_qp_put(peer);
	return NULL;
}

static int local_send(struct datagram *d, struct smr_budget *budget)
{
	struct smr_qp *qp = d->qp, *peer;
	struct sk_buff *skb;
	int err;

	skb = alloc_skb(sizeof(struct ipv6hdr) + d->len,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return 0;
	skb_reserve(skb, sizeof(struct ipv6hdr));
	err = smr_packet_fill(skb_put(skb, d->len), &d->hdr, &qp->req.sgl);
	guard(smr_bh)();
	peer = err ? NULL : local_peer(d);
	if (!peer) {
		kfree_skb(skb);
		return err;
	}
	local_headers(skb, &d->av->path);
	smr_qp_inc(qp, SMR_CNT_LOCAL_OPS);
	smr_qp_add(qp, SMR_CNT_LOCAL_BYTES, d->wqe->len);
	smr_qp_queue(peer, skb, false);
	smr_task_run_foreign(&peer->resp_task, budget, NULL);
	smr_qp_put(peer);
	return 0;
}

static bool is_captured(const struct datagram *d)
{
	struct smr_path *path = &d->av->path;
	struct smr_qp *peer;
	bool wanted;

	if (!smr_is_captured())
		return false;
	guard(smr_bh)();
	scoped_guard(rcu)
		peer = smr_qp_find_at(d->qp->env->tab, d->hdr.qpn, &path->daddr, path->oif);
	wanted = smr_capture_wants(d->qp, peer, path->family);
	if (peer)
		smr_qp_put(peer);
	return wanted;
}

/*
 * IBTA 9.8.3: datagrams have no order. So when a capture ends, the next one does not wait until
 * those before it have arrived.
 */
static bool is_local(const struct datagram *d)
{
	bool local;

	return d->qp->env->loopback && !smr_path_route(&d->av->path, &local) && local &&
	       !is_captured(d);
}

/*
 * The source port depends on both QP numbers. So the packets of one pair of QPs stay in order, and
 * those of other pairs may take other paths of the network, and be received by other CPUs. If the
 * consumer has set a flow label, the port depends on that instead.
 */
static int wire_send(struct datagram *d)
{
	struct smr_path *path = &d->av->path;
	u16 sport = rdma_get_udp_sport(path->flow_label, d->hdr.src_qpn,
				       d->hdr.qpn);

	return smr_packet_send(d->qp, path, sport, &d->hdr, &d->qp->req.sgl);
}

/* It was sent, or is lost, which the sender cannot tell. */
static void datagram_done(struct datagram *d, struct smr_budget *budget)
{
	struct smr_qp *qp = d->qp;

	smr_send_begin(qp, d->wqe, d->hdr.psn, 1);
	smr_snd_pass(&qp->snd, 1);
	smr_snd_settle(&qp->snd);
	budget->left -= d->len + SMR_COST_PACKET;
	smr_send_retire(qp);
}

static enum smr_step datagram_send(struct datagram *d, struct smr_budget *budget)
{
	struct smr_qp *qp = d->qp;
	enum smr_step step;
	int err;

	if (!smr_payload_open(qp, d->wqe))
		return SMR_STEP_DONE;
	err = is_local(d) ? local_send(d, budget) : wire_send(d);
	step = smr_payload_result(qp, err, budget);
	if (step == SMR_STEP_DONE)
		datagram_done(d, budget);
	smr_sgl_close(&qp->req.sgl);
	return step;
}

/*
 * Send the oldest work request of a UD QP. @qp: the QP, in RTS. @wqe: the work request; may have
 * completed on return. Context: as @budget says; called by the send task. Returns SMR_STEP_WAIT
 * until the stack accepts packets, or a page is present; SMR_STEP_DEFER; SMR_STEP_DONE or
 * SMR_STEP_AGAIN otherwise.
 */
enum smr_step smr_ud_send(struct smr_qp *qp, struct smr_swqe *wqe,
			  struct smr_budget *budget)
{
	struct datagram d = {
		.qp = qp,
		.wqe = wqe,
		.av = smr_av_find(qp->env->ahs, wqe->ud.ah, &qp->pd->ibpd),
	};
	enum smr_step step = SMR_STEP_DONE;
	u8 status = datagram_check(&d);

	if (status) {
		smr_send_fail(qp, status);
	} else {
		datagram_init(&d);
		step = datagram_send(&d, budget);
	}
	if (d.av)
		smr_av_put(d.av);
	return step;
}

/* IBTA 9.8.3.1: may the datagram use a receive work request? */
static enum smr_resp_verdict received_check(struct smr_qp *qp,
					    const struct smr_hdr *hdr)
{
	if (hdr->qkey != qp->attr.qkey) {
		smr_qp_drop(qp, DROP_QKEY, SMR_CNT_BAD_QKEY, NULL, hdr->qkey,
			    qp->attr.qkey);
		return SMR_RESP_DROP;
	}
	if (hdr->len > ib_mtu_enum_to_int(IB_MTU_4096)) {
		smr_qp_drop(qp, DROP_HEADER, SMR_CNT_BAD_HEADER, NULL,
			    hdr->len);
		return SMR_RESP_DROP;
	}
	return smr_recv_available(qp) ? SMR_RESP_OK : SMR_RESP_RNR;
}

/*
 * IBTA A17.4.5.1: the IPv6 header, or 20 undefined octets and the IPv4 header. GRO may have
 * merged the packet with others, so its lengths are recomputed.
 */
static void grh_build(const struct smr_op *op, u8 *grh)
{
	unsigned int len = sizeof(struct udphdr) + op->hdr->op->hdr_len +
			   op->hdr->len + op->hdr->pad + SMR_ICRC_LEN;
	struct ipv6hdr *ip6h = (struct ipv6hdr *)grh;
	struct iphdr *iph = (struct iphdr *)(grh + SMR_GRH_LEN - sizeof(*iph));

	if (smr_rx_info(op->skb)->family == AF_INET) {
		memset(grh, 0, SMR_GRH_LEN);
		memcpy(iph, ip_hdr(op->skb), sizeof(*iph));
		iph->ihl = sizeof(*iph) / 4;
		iph->tot_len = cpu_to_be16(sizeof(*iph) + len);
		ip_send_check(iph);
	} else {
		memcpy(ip6h, ipv6_hdr(op->skb), sizeof(*ip6h));
		ip6h->payload_len = cpu_to_be16(len);
	}
}

/* Copy GRH and message into the open list. */
static int datagram_copy(struct smr_qp *qp, const struct smr_op *op)
{
	u8 grh[SMR_GRH_LEN] __aligned(4);
	int err;

	grh_build(op, grh);
	err = smr_sgl_write(&qp->resp.sgl, grh, sizeof(grh));
	if (!err)
		err = smr_sgl_write_packet(&qp->resp.sgl, &op->train->cursor,
					   op->off, op->hdr->len);
	return err;
}

/* The VLAN id of the netdev that received the packet. */
static u16 datagram_vlan(const struct smr_qp *qp, const struct sk_buff *skb)
{
	const struct net_device *ndev;
	u16 vlan = SMR_NO_VLAN;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(qp->env->net, skb->skb_iif);
	if (ndev && is_vlan_dev(ndev))
		vlan = vlan_dev_vlan_id(ndev);
	rcu_read_unlock();
	return vlan;
}

/*
 * Receive a datagram. @qp: its receiver, a UD QP. @op: the datagram; its verdict is set on
 * SMR_STEP_DONE. Context: as @budget says; called by the response task. Returns SMR_STEP_DONE if it
 * was received, or refused; otherwise call again.
 */
enum smr_step smr_ud_receive(struct smr_qp *qp, struct smr_op *op,
			     struct smr_budget *budget)
{
	struct smr_recv_from from = {
		.v4 = smr_rx_info(op->skb)->family == AF_INET,
	};
	enum smr_step step = SMR_STEP_DONE;

	op->verdict = received_check(qp, op->hdr);
	if (op->verdict == SMR_RESP_OK)
		step = smr_recv_place(qp, op, op->hdr->len + SMR_GRH_LEN, budget,
				      datagram_copy);
	if (step != SMR_STEP_DONE || op->verdict != SMR_RESP_OK)
		return step;
	from.vlan_id = datagram_vlan(qp, op->skb);
	budget->left -= op->hdr->len;
	smr_recv_done_ud(qp, op->hdr, op->hdr->len + SMR_GRH_LEN, &from);
	return step;
}
