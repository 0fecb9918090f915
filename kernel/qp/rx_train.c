// SPDX-License-Identifier: GPL-2.0
/*
 * A long message consists mostly of MIDDLEs, and a train contains many of them. They differ
 * only in their PSN. So a side parses the first one, finds here how many similar ones follow,
 * and handles them together: one check of the QP's state, one key look-up, one answer.
 *
 * The headers of a packet are used only if its ICRC is correct. The ICRC of the first one is
 * checked before. The headers of the others must match those expected from the first, so it is
 * known where their payloads belong, and their ICRCs are checked while the payloads are copied.
 * If one is wrong, the only effect is that bytes were written to where correct ones belong,
 * before a completion or an ACK. Then the step is repeated with each ICRC checked first, which
 * drops the bad packet and all after it. The same is done if the packets are refused together.
 */
#include "qp/rx_train.h"

#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "net/train.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/task.h"
#include "sgl.h"
#include "stats.h"

/**
 * smr_rx_train_init() - start reading a train
 * @t: filled in
 * @skb: the train, the first of a QP's queue
 * @icrc: cached CRC state of the reading side
 */
void smr_rx_train_init(struct smr_rx_train *t, struct sk_buff *skb,
		       struct smr_icrc *icrc)
{
	t->skb = skb;
	t->icrc = icrc;
	if (smr_rx_part(skb)->sealed)
		smr_icrc_read(icrc, skb);
	t->seg = 0;
	t->hdr_len = 0;
	t->checked = 1;
	smr_cursor_init(&t->cursor, skb);
}

/* Is the ICRC of a packet correct? Packets that were not received from the wire have none. */
static bool seal_ok(struct smr_rx_train *t, unsigned int seg)
{
	return !smr_rx_part(t->skb)->sealed ||
	       smr_icrc_ok(t->icrc, &t->cursor, seg);
}

/**
 * smr_rx_train_parse() - read the headers of a packet, and check it
 * @qp: the QP in whose queue it is
 * @t: the train
 * @seg: index of the packet, from the first segment of the skb
 * @response: for the requester; otherwise it is a request
 * @hdr: its headers; undefined if it is invalid
 * @budget: the budget; an invalid packet reduces it as much as a valid one
 *
 * The receive path has checked only the first packet of a train. An invalid packet is counted.
 *
 * Context: as @budget says; called by the task of that side.
 * Return: offset of its payload from skb->data; 0: it is invalid, and the caller drops it.
 */
unsigned int smr_rx_train_parse(struct smr_qp *qp, struct smr_rx_train *t,
				unsigned int seg, bool response,
				struct smr_hdr *hdr, struct smr_budget *budget)
{
	unsigned int len, off = smr_rx_seg(t->skb, seg, &len);

	budget->left -= len + SMR_COST_PACKET;
	if (smr_wire_parse(&t->cursor, off, len, hdr) ||
	    !!(hdr->op->flags & SMR_OP_RESPONSE) != response ||
	    !smr_ecn_service_ok(qp, hdr)) {
		smr_qp_drop(qp, DROP_HEADER, SMR_CNT_BAD_HEADER, NULL,
			    len);
		smr_rx_part(t->skb)->reason = SKB_DROP_REASON_INVALID_PROTO;
		return 0;
	}
	if (!seal_ok(t, seg)) {
		smr_qp_drop(qp, DROP_ICRC, SMR_CNT_BAD_ICRC, NULL, hdr->opcode,
			    len);
		smr_rx_part(t->skb)->reason = SKB_DROP_REASON_SKB_CSUM;
		return 0;
	}
	return off + hdr->op->hdr_len;
}

/* Does this packet match the first one, @n PSNs before it? */
static bool is_alike(struct smr_rx_train *t, const u8 *first,
		     unsigned int hdr_len, unsigned int off, u32 n,
		     bool *ack_req)
{
	u8 buf[SMR_MAX_HDR_LEN];
	const u8 *next = smr_cursor_get(&t->cursor, off, hdr_len, buf);

	return next && smr_wire_follows(first, next, hdr_len, n, ack_req);
}

/*
 * Check the ICRC of the packet after @n similar ones, or leave it to the copy. False: it is
 * wrong, or neither is possible.
 */
static bool seal_later(struct smr_rx_train *t, unsigned int seg, u32 n)
{
	const struct smr_rx_part *part = smr_rx_part(t->skb);

	if (part->sealed && !part->careful &&
	    smr_icrc_can_expect(t->icrc, t->skb))
		return true;
	/* After a packet that is left to the copy, this one is checked when it is the first. */
	if (t->checked < n || !seal_ok(t, seg))
		return false;
	t->checked = n + 1;
	return true;
}

/**
 * smr_rx_train_alike() - count the similar packets that follow one
 * @t: the train
 * @seg: the packet, with the largest payload; its ICRC is correct
 * @max: upper limit of the count
 * @hdr: the packet's headers; ack_req is set if any of the packets requests an ACK
 * @budget: the budget; each packet reduces it, and the search ends when it is used up
 *
 * Return: their number. They have the same headers and length, consecutive PSNs, and ICRCs that
 *	are correct or will be checked by smr_rx_train_copy().
 */
u32 smr_rx_train_alike(struct smr_rx_train *t, unsigned int seg, u32 max,
		       struct smr_hdr *hdr, struct smr_budget *budget)
{
	const struct smr_rx_part *part = smr_rx_part(t->skb);
	unsigned int hdr_len = hdr->op->hdr_len, len, off, next_len;
	u8 first[SMR_MAX_HDR_LEN];
	const u8 *p;
	u32 n = 0;

	t->checked = 1;
	t->seg = seg;
	t->hdr_len = hdr_len;
	max = min3(max, part->first + part->count - seg - 1,
		   (u32)SMR_TRAIN_SEGS - 1);
	if (!max)
		return 0;
	off = smr_rx_seg(t->skb, seg, &len);
	p = smr_cursor_get(&t->cursor, off, hdr_len, first);
	if (!p)
		return 0;
	if (p != first)
		memcpy(first, p, hdr_len);
	for (; n < max && budget->left > 0; n++) {
		off = smr_rx_seg(t->skb, seg + n + 1, &next_len);
		if (next_len != len ||
		    !is_alike(t, first, hdr_len, off, n + 1, &hdr->ack_req) ||
		    !seal_later(t, seg + n + 1, n + 1))
			break;
		budget->left -= len + SMR_COST_PACKET;
	}
	return n;
}

/**
 * smr_rx_train_doubt() - could a refusal be caused by damaged packets?
 * @t: the train
 * @count: number of packets that were handled as similar
 *
 * A damaged packet may look similar by chance, and belong to no place in the message.
 *
 * Return: true if the ICRCs of some were not checked. The caller repeats the step, which then
 *	checks them.
 */
bool smr_rx_train_doubt(struct smr_rx_train *t, u32 count)
{
	if (t->checked >= count)
		return false;
	smr_rx_part(t->skb)->careful = true;
	return true;
}

/* The number of payload bytes in the @there bytes that begin with the first payload */
static size_t payload_inside(const struct smr_pieces *p, size_t there)
{
	size_t stride = p->each + p->gap, n = p->left, rest;

	if (there <= n)
		return there;
	there -= n;
	rest = there % stride;
	return n + there / stride * p->each + (rest > p->gap ? rest - p->gap : 0);
}

/* Copy the part of the payloads from @off to @end. @crcs: CRCs of packets to check */
static int part_copy(struct smr_rx_train *t, struct smr_sgl *sgl,
		     unsigned int first, u32 each, size_t off, size_t end,
		     u32 *crcs)
{
	unsigned int seg_len = smr_rx_info(t->skb)->seg_len, pos, there;
	struct smr_pieces from = {
		.each = each,
		.gap = seg_len - each,
		.crc_step = sizeof(*crcs),
	};
	size_t n, checked = crcs ? (size_t)t->checked * each : end;
	int err;

	for (; off < end; off += n) {
		pos = first + off / each * seg_len + off % each;
		from.left = each - off % each;
		from.at = (u8 *)smr_cursor_at(&t->cursor, pos, &there);
		if (!from.at)
			return -EFAULT;
		n = payload_inside(&from, there);
		n = min(n, (off < checked ? checked : end) - off);
		from.crc = off < checked ? NULL : &crcs[off / each];
		err = smr_sgl_write_pieces(sgl, &from, n);
		if (err)
			return err;
	}
	return 0;
}

/* Copy all payloads. The last @tail bytes become visible after all bytes before them. */
static int parts_copy(struct smr_rx_train *t, struct smr_sgl *sgl,
		      unsigned int first, u32 each, size_t len, size_t tail,
		      u32 *crcs)
{
	int err = part_copy(t, sgl, first, each, 0, len - tail, crcs);

	if (err || !tail)
		return err;
	/* Pairs with the read barrier of a program that polls the tail. */
	smp_wmb();
	return part_copy(t, sgl, first, each, len - tail, len, crcs);
}

/*
 * As parts_copy(), and check the ICRCs. A separate function, because kernels may be configured
 * to zero all stack variables.
 */
static noinline_for_stack int parts_check(struct smr_rx_train *t,
					  struct smr_sgl *sgl,
					  unsigned int first, u32 each,
					  size_t len, size_t tail)
{
	unsigned int seg_len = smr_rx_info(t->skb)->seg_len;
	u32 crcs[SMR_TRAIN_SEGS], n = len / each, i;
	bool right = true;
	int err;

	for (i = t->checked; right && i < n; i++)
		right = smr_icrc_expect(t->icrc, &t->cursor, t->seg + i,
					t->hdr_len, &crcs[i]);
	err = right ? parts_copy(t, sgl, first, each, len, tail, crcs) : 0;
	if (err)
		return err;
	for (i = t->checked; right && i < n; i++)
		right = smr_icrc_is(crcs[i], &t->cursor,
				    first + i * seg_len + each);
	if (right)
		return 0;
	smr_rx_part(t->skb)->careful = true;
	return -EBADMSG;
}

/**
 * smr_rx_train_copy() - copy payloads of similar packets into a list
 * @t: the train
 * @sgl: the open list
 * @first: offset of the first packet's payload from skb->data
 * @each: bytes of payload per packet, not 0
 * @len: bytes of all payloads, at most what is left of the list
 * @tail: number of bytes at the end that become visible after all bytes before them
 *
 * Return: as smr_sgl_write_packet(). After an error some of it may have been copied. -EBADMSG:
 * an ICRC is wrong. The caller discards its results for these packets, and calls
 * smr_rx_train_alike() again.
 */
int smr_rx_train_copy(struct smr_rx_train *t, struct smr_sgl *sgl,
		      unsigned int first, u32 each, size_t len, size_t tail)
{
	if ((size_t)t->checked * each < len)
		return parts_check(t, sgl, first, each, len, tail);
	return parts_copy(t, sgl, first, each, len, tail, NULL);
}
