// SPDX-License-Identifier: GPL-2.0
#include "qp/ud_recv.h"

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "net/egress.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/recv.h"
#include "stats.h"

/* IBTA 9.8.3.1: what a datagram must be to be given a receive work request */
static enum smr_resp_verdict datagram_check(struct smr_qp *qp,
					    const struct smr_hdr *hdr)
{
	if (hdr->qkey != qp->attr.qkey) {
		smr_stat_inc(qp->env->stats, SMR_CNT_BAD_QKEY);
		return SMR_RESP_DROP;
	}
	if (hdr->len > ib_mtu_enum_to_int(IB_MTU_4096)) {
		smr_stat_inc(qp->env->stats, SMR_CNT_BAD_HEADER);
		return SMR_RESP_DROP;
	}
	if (!smr_recv_available(qp)) {
		smr_stat_inc(qp->env->stats, SMR_CNT_NO_RECV);
		return SMR_RESP_RNR;
	}
	return SMR_RESP_OK;
}

/*
 * IBTA A17.4.5.1: the IPv6 header, or 20 octets that mean nothing and the IPv4
 * header. A packet that was joined with others gets lengths of its own again.
 */
static void grh_build(const struct smr_op *op, u8 *grh)
{
	unsigned int len = sizeof(struct udphdr) + op->hdr.op->hdr_len +
			   op->hdr.len + op->hdr.pad + SMR_ICRC_LEN;
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

/* GRH and message, into the open list. */
static int datagram_copy(struct smr_qp *qp, const void *from)
{
	u8 grh[SMR_GRH_LEN] __aligned(4);
	const struct smr_op *op = from;
	int err;

	grh_build(op, grh);
	err = smr_sgl_write(&qp->resp.sgl, grh, sizeof(grh));
	if (!err)
		err = smr_sgl_write_skb(&qp->resp.sgl, op->skb, op->off,
					op->hdr.len);
	return err;
}

/* The VLAN whose netdev a packet came by. */
static u16 datagram_vlan(const struct smr_qp *qp, const struct sk_buff *skb)
{
	const struct net_device *ndev;
	u16 vlan = SMR_NO_VLAN;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(qp->env->egress->net, skb->skb_iif);
	if (ndev && is_vlan_dev(ndev))
		vlan = vlan_dev_vlan_id(ndev);
	rcu_read_unlock();
	return vlan;
}

/**
 * smr_ud_receive() - take a datagram
 * @qp: its receiver, a UD QP
 * @op: the datagram
 * @run: how to run
 *
 * Context: as @run says; called by the response task.
 * Return: SMR_RESP_OK when it was received; SMR_RESP_MORE, SMR_RESP_DEFER to
 * be called again; or why it was not.
 */
enum smr_resp_verdict smr_ud_receive(struct smr_qp *qp, const struct smr_op *op,
				     struct smr_run *run)
{
	struct smr_recv_from from = {
		.v4 = smr_rx_info(op->skb)->family == AF_INET,
	};
	enum smr_resp_verdict verdict;

	verdict = datagram_check(qp, &op->hdr);
	if (verdict == SMR_RESP_OK)
		verdict = smr_recv_place(qp, op->hdr.len + SMR_GRH_LEN, run,
					 datagram_copy, op);
	if (verdict != SMR_RESP_OK)
		return verdict;
	from.vlan_id = datagram_vlan(qp, op->skb);
	run->quota -= op->hdr.len;
	smr_recv_done_ud(qp, &op->hdr, op->hdr.len + SMR_GRH_LEN, &from);
	return SMR_RESP_OK;
}
