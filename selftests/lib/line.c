// SPDX-License-Identifier: GPL-2.0
#include "line.h"

#include <string.h>

#include "counter.h"
#include "work.h"

/* vt_line_connect() - the QP, which was reset, is connected to the peer. Return: 0 or -errno */
int vt_line_connect(struct vt_line *l)
{
	struct vt_addr peer = { .qpn = VT_LINE_QPN, .psn = VT_LINE_PSN };

	peer.gid = vt_roce_gid(&l->roce);
	return vt_ep_connect(&l->ep, &peer);
}

/* vt_line_open() - @conf is copied. Return: 0 or -errno */
int vt_line_open(struct vt_line *l, const struct vt_conf *conf)
{
	int ret;

	l->conf = *conf;
	l->psn = conf->sq_psn;
	ret = vt_roce_open(&l->roce);
	ret = ret ? ret : vt_roce_listen(&l->roce);
	ret = ret ? ret : vt_ep_open(&l->ep, &l->conf, 0);
	return ret ? ret : vt_line_connect(l);
}

void vt_line_close(struct vt_line *l)
{
	vt_ep_close(&l->ep);
	vt_roce_close(&l->roce);
}

/* vt_line_reset() - connect the QP again, from any state. Return: 0 or -errno */
int vt_line_reset(struct vt_line *l)
{
	int ret = vt_qp_reset(l->ep.qp);

	return ret ? ret : vt_line_connect(l);
}

/* vt_line_bth() - of a packet from the peer, which asks for an ACK */
struct vt_bth vt_line_bth(const struct vt_line *l, uint8_t opcode, uint32_t psn)
{
	return (struct vt_bth){
		.opcode = opcode, .pkey = VT_LINE_PKEY, .qpn = l->ep.qp->qp_num, .psn = psn,
		.ack_req = true,
	};
}

/* vt_line_hear() - get the next packet for the peer, within @ms. Return: false if there is none */
bool vt_line_hear(struct vt_line *l, struct vt_heard *packet, int ms)
{
	uint64_t end = vt_now_ms() + ms;
	int left = ms;

	for (; left > 0 && vt_roce_hear(&l->roce, packet, left); left = end - vt_now_ms())
		if (packet->bth.qpn == VT_LINE_QPN)
			return true;
	return false;
}

/*
 * vt_line_answer() - the peer sends an answer with PSN @psn and @opcode, an AETH with @syndrome
 * except for a MIDDLE, and @len bytes at @data. Return: 0 or -errno
 */
int vt_line_answer(struct vt_line *l, uint8_t opcode, uint32_t psn, uint8_t syndrome,
		   const void *data, uint32_t len)
{
	size_t aeth = opcode == VT_OP_READ_RESPONSE_MIDDLE ? 0 : 4;
	uint8_t packet[VT_MAX_PAYLOAD] = { syndrome };
	struct vt_bth bth = {
		.opcode = opcode, .pkey = 0xffff, .qpn = l->ep.qp->qp_num, .psn = psn,
		.flags = (-len & 3) << 4,
	};

	if (len)
		memcpy(packet + aeth, data, len);
	return vt_roce_send(&l->roce, &bth, packet, aeth + ((len + 3) & ~3u));
}

/*
 * vt_line_settled() - wait until the QP has handled all answers that were sent to it
 *
 * Sends an ACK of a PSN before its first one after them, which only changes the counter.
 */
bool vt_line_settled(struct vt_line *l)
{
	struct ibv_context *ctx = l->ep.dev.ctx;
	int64_t before = vt_counter_now(ctx, "acks_rx");

	return !vt_line_answer(l, VT_OP_ACK, (l->psn - 1) & 0xffffff, 0x1f, NULL, 0) &&
	       vt_counter_wait(ctx, "acks_rx", before + 1);
}
