// SPDX-License-Identifier: GPL-2.0
/*
 * A long message is mostly MIDDLEs, and a train brings many of them at once. They differ in
 * their PSN only. So a side looks at the first one, learns here how many follow it that are
 * like it, and handles them together: one look at the QP's state, one key, one answer.
 */
#include "qp/rx_train.h"

#include <linux/minmax.h>
#include <linux/string.h>

#include "net/wire.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/task.h"
#include "sgl.h"
#include "stats.h"

/**
 * smr_rx_train_init() - begin to read a train
 * @t: filled in
 * @skb: the train, the first of a QP's queue
 */
void smr_rx_train_init(struct smr_rx_train *t, struct sk_buff *skb)
{
	t->skb = skb;
	t->icrc = (struct smr_icrc){};
	smr_cursor_init(&t->cursor, skb);
}

/* Is the ICRC of a packet right? What did not come over the wire has none. */
static bool seal_ok(struct smr_rx_train *t, unsigned int seg)
{
	return !smr_rx_part(t->skb)->sealed ||
	       smr_icrc_ok(&t->icrc, &t->cursor, seg);
}

/**
 * smr_rx_train_parse() - read the headers of a packet, and check it
 * @qp: the QP in whose queue it is
 * @t: the train
 * @seg: which packet, counted from the first segment of the skb
 * @response: it is for the requester; otherwise it is a request
 * @hdr: its headers; undefined if it is bad
 * @run: how to run; a bad packet reduces the quota as much as a good one
 *
 * The receive path has checked only the first packet of a train. A bad one is counted.
 *
 * Context: as @run says; called by the task of that side.
 * Return: where its payload begins, from skb->data; 0: it is bad, and is to be dropped.
 */
unsigned int smr_rx_train_parse(struct smr_qp *qp, struct smr_rx_train *t,
				unsigned int seg, bool response,
				struct smr_hdr *hdr, struct smr_run *run)
{
	unsigned int len, off = smr_rx_seg(t->skb, seg, &len);

	run->quota -= len + SMR_COST_PACKET;
	if (smr_wire_parse(&t->cursor, off, len, hdr) ||
	    !!(hdr->op->flags & SMR_OP_RESPONSE) != response ||
	    !smr_ecn_service_ok(qp, hdr)) {
		smr_qp_inc(qp, SMR_CNT_BAD_HEADER);
		return 0;
	}
	if (!seal_ok(t, seg)) {
		smr_qp_inc(qp, SMR_CNT_BAD_ICRC);
		return 0;
	}
	return off + hdr->op->hdr_len;
}

/* Is this packet like the first one, @n PSNs before it? */
static bool is_alike(struct smr_rx_train *t, const u8 *first,
		     unsigned int hdr_len, unsigned int off, u32 n,
		     bool *ack_req)
{
	u8 buf[SMR_MAX_HDR_LEN];
	const u8 *next = smr_cursor_get(&t->cursor, off, hdr_len, buf);

	return next && smr_wire_follows(first, next, hdr_len, n, ack_req);
}

/**
 * smr_rx_train_alike() - how many packets like this one follow it?
 * @t: the train
 * @seg: the packet, of the largest payload; its ICRC is right
 * @max: how many are wanted at most
 * @hdr: the packet's headers; whether it asks for an acknowledge becomes whether any does
 * @run: how to run: each packet reduces the quota, and none is looked for without one
 *
 * Context: any.
 * Return: how many. They have the same headers and the same length, consecutive PSNs, and
 * ICRCs that are right.
 */
u32 smr_rx_train_alike(struct smr_rx_train *t, unsigned int seg, u32 max,
		       struct smr_hdr *hdr, struct smr_run *run)
{
	const struct smr_rx_part *part = smr_rx_part(t->skb);
	unsigned int hdr_len = hdr->op->hdr_len, len, off, next_len;
	u8 first[SMR_MAX_HDR_LEN];
	const u8 *p;
	u32 n = 0;

	max = min(max, part->first + part->count - seg - 1);
	if (!max)
		return 0;
	off = smr_rx_seg(t->skb, seg, &len);
	p = smr_cursor_get(&t->cursor, off, hdr_len, first);
	if (!p)
		return 0;
	if (p != first)
		memcpy(first, p, hdr_len);
	for (; n < max && run->quota > 0; n++) {
		off = smr_rx_seg(t->skb, seg + n + 1, &next_len);
		if (next_len != len ||
		    !is_alike(t, first, hdr_len, off, n + 1, &hdr->ack_req) ||
		    !seal_ok(t, seg + n + 1))
			break;
		run->quota -= len + SMR_COST_PACKET;
	}
	return n;
}

/* How many bytes of payloads are in the @there bytes that begin with the first payload? */
static size_t payload_inside(const struct smr_pieces *p, size_t there)
{
	size_t stride = p->each + p->gap, n = p->left, rest;

	if (there <= n)
		return there;
	there -= n;
	rest = there % stride;
	return n + there / stride * p->each + (rest > p->gap ? rest - p->gap : 0);
}

/**
 * smr_rx_train_copy() - copy payloads of packets that are alike into a list
 * @t: the train
 * @sgl: the open list
 * @first: where the first packet's payload begins, from skb->data
 * @each: how many bytes of payload each packet has, not 0
 * @off: where to begin in all payloads together
 * @len: how many bytes, at most what is left of the list
 *
 * Context: any.
 * Return: as smr_sgl_write_packet(). After an error some of it may have been copied.
 */
int smr_rx_train_copy(struct smr_rx_train *t, struct smr_sgl *sgl,
		      unsigned int first, u32 each, size_t off, size_t len)
{
	unsigned int seg_len = smr_rx_info(t->skb)->seg_len, pos, there;
	struct smr_pieces from = { .each = each, .gap = seg_len - each };
	size_t n;
	int err;

	for (; len; off += n, len -= n) {
		pos = first + off / each * seg_len + off % each;
		from.left = each - off % each;
		from.at = (u8 *)smr_cursor_at(&t->cursor, pos, &there);
		if (!from.at)
			return -EFAULT;
		n = min(len, payload_inside(&from, there));
		err = smr_sgl_write_pieces(sgl, &from, n);
		if (err)
			return err;
	}
	return 0;
}
