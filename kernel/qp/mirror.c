// SPDX-License-Identifier: GPL-2.0
/*
 * Build the packets that an operation between two QPs of this host would have had on the wire,
 * for sniffers and captures.
 */
#include "qp/mirror.h"

#include <linux/etherdevice.h>
#include <linux/ipv6.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "compat/unaligned.h"
#include "net/crc.h"
#include "net/icrc.h"
#include "net/train.h"
#include "net/wire.h"
#include "qp/capture.h"
#include "qp/opcode.h"
#include "qp/packet.h"
#include "qp/task.h"
#include "sgl.h"
#include "stats.h"

/* Headers in front of the BTH */
#define HEADROOM	(ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

/* Maximum packets shown of an operation: its answer waits for them, and BH are off meanwhile. */
#define PACKETS_MAX	1024

/**
 * struct mirror - an operation whose packets are reconstructed
 * @local: the operation
 * @from: sender of the packet
 * @to: receiver of the packet
 * @sgl: the requester's list, as far as its keys open; read in order
 * @hdr: headers of the packet
 * @left: number of packets that may still be shown
 */
struct mirror {
	const struct smr_local *local;
	struct smr_qp *from;
	struct smr_qp *to;
	struct smr_sgl sgl;
	struct smr_hdr hdr;
	unsigned int left;
};

/* Both ends are this netdev. */
static void push_eth(struct sk_buff *skb, struct net_device *ndev)
{
	struct ethhdr *eth = skb_push(skb, ETH_HLEN);

	skb_reset_mac_header(skb);
	ether_addr_copy(eth->h_dest, ndev->dev_addr);
	ether_addr_copy(eth->h_source, ndev->dev_addr);
	eth->h_proto = skb->protocol;
	skb->dev = ndev;
	skb->pkt_type = PACKET_OUTGOING;
	/* as the stack gives packets to taps */
	skb_pull(skb, ETH_HLEN);
}

/* NULL: no memory */
static struct sk_buff *packet_alloc(unsigned int len)
{
	struct sk_buff *skb;

	skb = alloc_skb(HEADROOM + len, GFP_ATOMIC | __GFP_NOWARN);
	if (skb)
		skb_reserve(skb, HEADROOM);
	return skb;
}

/* @skb has a packet from its BTH on: set the ICRC, and put the other headers in front. */
static void packet_finish(struct sk_buff *skb, const struct smr_hdr *hdr,
			  const struct smr_path *path, u16 sport,
			  struct net_device *ndev)
{
	unsigned int len = skb->len, hdr_len = hdr->op->hdr_len;
	struct smr_icrc icrc = {};
	u8 *seg = skb->data;
	u32 crc;

	crc = smr_icrc_begin(&icrc, path, sport, 0, seg, hdr_len, len);
	crc = smr_crc32(crc, seg + hdr_len, hdr->len + hdr->pad);
	put_unaligned_le32(~crc, seg + len - SMR_ICRC_LEN);
	smr_xmit_push_udp(skb, path, sport);
	smr_xmit_push_ip(skb, path, 0);
	smr_xmit_finish_ip(skb, path);
	push_eth(skb, ndev);
}

/* Build a packet with its ICRC; NULL: no memory, or its payload cannot be read now. */
static struct sk_buff *packet_make(struct mirror *m)
{
	unsigned int len = smr_packet_len(&m->hdr);
	const struct smr_path *path = &m->from->path;
	struct sk_buff *skb = packet_alloc(len);

	if (!skb)
		return NULL;
	if (smr_packet_fill(skb_put(skb, len), &m->hdr, &m->sgl)) {
		kfree_skb(skb);
		return NULL;
	}
	packet_finish(skb, &m->hdr, path, path->sport, m->from->env->ndev);
	return skb;
}

/* Sniffers of both links get a copy, and captures of both users. */
static void packet_give(struct sk_buff *skb, const struct smr_qp *from,
			const struct smr_qp *to)
{
	if (to->env != from->env)
		smr_steer_show(to->env->steer, skb);
	smr_steer_show(from->env->steer, skb);
	smr_capture_local(from, to, skb);
	consume_skb(skb);
}

/*
 * Show a packet. False: the budget is used up, or the packet cannot be built; then the rest of
 * the operation is not shown.
 */
static bool packet_show(struct mirror *m)
{
	struct smr_env *env = m->from->env;
	struct sk_buff *skb = NULL;

	m->hdr.pad = -m->hdr.len & 3;
	if (m->left && smr_task_charge(SMR_COST_PACKET))
		skb = packet_make(m);
	if (!skb) {
		smr_stat_inc(env->stats, SMR_CNT_DROPPED);
		return false;
	}
	m->left--;
	packet_give(skb, m->from, m->to);
	return true;
}

/* Show packet @i of @npsn packets of a message, with its payload from the list */
static bool part_show(struct mirror *m, u32 i, u32 npsn, u32 total)
{
	bool asks = i + 1 == npsn && !(m->hdr.op->flags & SMR_OP_AETH);

	m->hdr.psn = smr_psn_add(m->local->hdr->psn, i);
	m->hdr.len = min_t(u32, total - i * m->local->src->mtu,
			   m->local->src->mtu);
	m->hdr.ack_req = asks && smr_qp_is_reliable(m->from);
	m->hdr.solicited = asks && m->local->hdr->solicited;
	return packet_show(m);
}

/*
 * Show a SEND or WRITE as the requester would have sent it, or the single packet of another
 * request
 */
static bool request_show(struct mirror *m, const struct smr_wr_info *wr)
{
	const struct smr_local *local = m->local;
	u32 i, total = local->hdr->len, npsn = local->npsn;
	u8 opcode;

	m->hdr = *local->hdr;
	if (wr->flags & SMR_WR_NONPOSTED)
		return packet_show(m);
	for (i = 0; i < npsn; i++) {
		opcode = npsn == 1 ? wr->only : !i ? wr->first :
			 i + 1 < npsn ? wr->middle : wr->last;
		smr_req_hdr_opcode(m->from, &m->hdr, opcode);
		if (!part_show(m, i, npsn, total))
			return false;
	}
	return true;
}

static void reply_hdr(struct mirror *m, u8 opcode, u8 syndrome)
{
	const struct smr_local *local = m->local;

	m->hdr = (struct smr_hdr){
		.pkey = SMR_DEFAULT_PKEY,
		.migreq = true,
		.qpn = local->src->ibqp.qp_num,
		.psn = local->hdr->psn,
		.syndrome = syndrome,
		.msn = m->from->resp.msn,
		.orig = local->hdr->orig,
	};
	smr_req_hdr_opcode(m->from, &m->hdr, opcode);
}

/* Show a READ response: the data has arrived, and is read from the requester's list. */
static void read_show(struct mirror *m, u8 syndrome)
{
	u32 i, npsn = m->local->npsn, total = m->local->wqe->len;
	u8 opcode;

	for (i = 0; i < npsn; i++) {
		opcode = npsn == 1 ? IB_OPCODE_RDMA_READ_RESPONSE_ONLY :
			 !i ? IB_OPCODE_RDMA_READ_RESPONSE_FIRST :
			 i + 1 < npsn ? IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE :
					IB_OPCODE_RDMA_READ_RESPONSE_LAST;
		reply_hdr(m, opcode, syndrome);
		if (!part_show(m, i, npsn, total))
			return;
	}
}

static void reply_show(struct mirror *m, const struct smr_wr_info *wr,
		       u8 syndrome)
{
	bool ack = (syndrome & SMR_AETH_TYPE_MASK) == SMR_AETH_ACK;

	if (ack && wr->flags & SMR_WR_READ) {
		read_show(m, syndrome);
		return;
	}
	reply_hdr(m, !ack ? IB_OPCODE_ACKNOWLEDGE :
		     wr->flags & SMR_WR_ATOMIC ? IB_OPCODE_ATOMIC_ACKNOWLEDGE :
		     wr->flags & SMR_WR_CONFIRMED ?
			     IB_OPCODE_RDMA_READ_RESPONSE_ONLY :
			     IB_OPCODE_ACKNOWLEDGE, syndrome);
	if (ack)
		m->hdr.psn = smr_psn_add(m->hdr.psn, m->local->npsn - 1);
	packet_show(m);
}

/*
 * Open the part of the requester's list that is shown. False: a key is refused, so there is no
 * data to show.
 */
static bool list_open(struct mirror *m)
{
	const struct smr_swqe *wqe = m->local->wqe;
	const struct smr_qp *src = m->local->src;

	if (wqe->send_flags & IB_SEND_INLINE) {
		smr_sgl_inline(&m->sgl, wqe->data, wqe->len);
		return true;
	}
	return smr_sgl_open(&m->sgl, src->pd, src->ibqp.qp_num, 0, wqe->sge,
			    wqe->num_sge, 0,
			    min_t(u32, wqe->len, PACKETS_MAX * src->mtu)) ==
	       SMR_KEY_OK;
}

/* smr_is_shown() may be true because of other links or other users. */
static bool is_looked_at(const struct smr_qp *from, const struct smr_qp *to)
{
	return smr_steer_is_sniffed(from->env->steer) ||
	       smr_steer_is_sniffed(to->env->steer) ||
	       smr_capture_wants(from, to);
}

/**
 * smr_mirror_all() - see smr_mirror()
 * @qp: the caller owns its response task
 * @local: the operation, in its inbox
 * @answer: the kind of answer
 * @syndrome: of the reply
 *
 * Of a long message, only the first packets are shown: at most PACKETS_MAX, and as many as the
 * softirq's budget for copies allows. The next one is counted as dropped.
 */
void smr_mirror_all(struct smr_qp *qp, const struct smr_local *local,
		    enum smr_local_answer answer, u8 syndrome)
{
	const struct smr_wr_info *wr;
	struct mirror *m;

	if (!is_looked_at(local->src, qp))
		return;
	wr = smr_wr_info(local->src->ibqp.qp_type, local->wqe->opcode);
	m = kzalloc(sizeof(*m), GFP_ATOMIC | __GFP_NOWARN);
	if (!m || !wr)
		goto free;
	m->local = local;
	m->from = local->src;
	m->to = qp;
	m->left = PACKETS_MAX;
	if (!list_open(m))
		goto free;
	local_bh_disable();
	if (request_show(m, wr) && answer == SMR_LOCAL_REPLY) {
		m->from = qp;
		m->to = local->src;
		reply_show(m, wr, syndrome);
	}
	local_bh_enable();
	smr_sgl_close(&m->sgl);
free:
	kfree(m);
}

/**
 * smr_mirror_datagram_all() - see smr_mirror_datagram()
 * @from: the sender's QP
 * @to: the receiver's QP
 * @path: from one to the other
 * @hdr: the datagram's headers
 * @skb: the datagram from its BTH on; not changed
 *
 * Context: any, bottom halves disabled; called by the send task.
 */
void smr_mirror_datagram_all(const struct smr_qp *from, const struct smr_qp *to,
			     const struct smr_path *path,
			     const struct smr_hdr *hdr,
			     const struct sk_buff *skb)
{
	u16 sport = rdma_get_udp_sport(path->flow_label, hdr->src_qpn, hdr->qpn);
	const struct smr_env *env = from->env;
	struct sk_buff *copy = NULL;

	if (!is_looked_at(from, to))
		return;
	if (smr_task_charge(SMR_COST_PACKET))
		copy = packet_alloc(skb->len);
	if (!copy) {
		smr_stat_inc(env->stats, SMR_CNT_DROPPED);
		return;
	}
	skb_put_data(copy, skb->data, skb->len);
	packet_finish(copy, hdr, path, sport, env->ndev);
	packet_give(copy, from, to);
}
