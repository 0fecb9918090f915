// SPDX-License-Identifier: GPL-2.0
/*
 * A long message consists mostly of MIDDLEs, and a train contains many of them. They differ
 * only in their PSN. So a side parses the first one, and handles it together with those that
 * follow: one check of the QP's state, one key look-up, one answer. It finds their number while it
 * copies.
 *
 * The headers of a packet are used only if its ICRC is correct, with one exception: if the packet
 * continues a message, and the QP's state alone says where its payload belongs, the copy checks
 * the ICRC. The same holds for each further packet, whose headers must be those expected after the
 * first one's. The first packet that does not match, or whose ICRC is wrong, ends the copy, and is
 * the first of the next step. By then, wrong bytes may have been written where correct ones
 * belong, but before any completion or ACK.
 *
 * If a packet whose ICRC was not checked, or several packets together, are refused, the step is
 * repeated for one packet, whose ICRC is checked first.
 */
#include "qp/rx_train.h"

#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "compat/unaligned.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/task.h"
#include "sgl.h"
#include "stats.h"

/*
 * Start reading a train. @skb: the train, the first of a QP's queue. @icrc: cached CRC state of the
 * reading side.
 */
void smr_rx_train_init(struct smr_rx_train *t, struct sk_buff *skb,
		       struct smr_icrc *icrc)
{
	t->skb = skb;
	t->icrc = icrc;
	if (smr_rx_part(skb)->sealed)
		smr_icrc_read(icrc, skb);
	smr_cursor_init(&t->cursor, skb);
}

/*
 * Read the headers of a packet. @qp: the QP in whose queue it is. @seg: index of the packet, from
 * the first segment of the skb. @response: for the requester; otherwise it is a request. @hdr: its
 * headers; undefined if it is invalid. @budget: the budget; an invalid packet reduces it as much as
 * a valid one. The receive path has looked only at the first packet of a train. An invalid packet
 * is counted. Context: as @budget says; called by the task of that side. Returns offset of its
 * payload from skb->data; 0: it is invalid, and the caller drops it.
 */
unsigned int smr_rx_train_parse(struct smr_qp *qp, struct smr_rx_train *t,
				unsigned int seg, bool response,
				struct smr_hdr *hdr, struct smr_budget *budget)
{
	unsigned int len, off = smr_rx_seg(t->skb, seg, &len);

	budget->left -= len + SMR_COST_PACKET;
	if (smr_wire_parse(&t->cursor, off, len, hdr) ||
	    !!(hdr->op->flags & SMR_OP_RESPONSE) != response ||
	    !smr_ecn_service_ok(qp, &hdr->bth)) {
		smr_qp_drop(qp, DROP_HEADER, SMR_CNT_BAD_HEADER, NULL,
			    len);
		smr_rx_part(t->skb)->reason = SKB_DROP_REASON_INVALID_PROTO;
		return 0;
	}
	t->seg = seg;
	t->off = off + hdr->op->hdr_len;
	t->len = hdr->len;
	t->pad = hdr->pad;
	return t->off;
}

/*
 * Check the ICRC of the packet that was parsed last. @qp: the QP in whose queue it is. @late: the
 * copy can check it: the packet has a payload and no header but a BTH, and the QP's state alone
 * says where the payload belongs. Nothing else is done before the copy. A wrong ICRC is counted.
 * Packets that were not received from the wire have none. Context: as smr_rx_train_parse(). Returns
 * false: it is wrong, and the caller drops the packet.
 */
bool smr_rx_train_check(struct smr_qp *qp, struct smr_rx_train *t, bool late,
			const struct smr_hdr *hdr)
{
	struct smr_rx_part *part = smr_rx_part(t->skb);

	t->checked = !late || part->careful || !part->sealed;
	if (!t->checked || !part->sealed || smr_icrc_ok(t->icrc, &t->cursor, t->seg))
		return true;
	smr_qp_drop(qp, DROP_ICRC, SMR_CNT_BAD_ICRC, NULL, hdr->opcode,
		    hdr->op->hdr_len + hdr->len + hdr->pad + SMR_ICRC_LEN);
	part->reason = SKB_DROP_REASON_SKB_CSUM;
	return false;
}

/*
 * How many packets may be handled together? @t: the train; a packet in the middle of a message was
 * parsed last. @max: number of similar packets that may follow it in the message. Returns their
 * maximum number, including the packet. smr_rx_train_copy() finds the number.
 */
u32 smr_rx_train_max(const struct smr_rx_train *t, u32 max, const struct smr_budget *budget)
{
	const struct smr_rx_part *part = smr_rx_part(t->skb);
	int cost = part->info.seg_len + SMR_COST_PACKET;

	if (part->careful || !part->sealed || budget->left <= 0)
		return 1;
	return 1 + min3(max, part->first + part->count - t->seg - 1,
			(u32)budget->left / cost);
}

/*
 * Could packets that have not been checked have caused a refusal? @count: maximum number of packets
 * that were to be handled together. Returns true if so. The caller repeats the step, which then
 * handles one packet, and checks it first.
 */
bool smr_rx_train_doubt(struct smr_rx_train *t, u32 count)
{
	if (t->checked && count == 1)
		return false;
	smr_rx_part(t->skb)->careful = true;
	return true;
}

/*
 * Copy the payload of a packet that follows the first one, @n PSNs later. False: it is another
 * packet, its ICRC is wrong, it is in several pieces, or the memory cannot be written to.
 */
static bool next_copy(struct smr_rx_train *t, struct smr_miter *to, struct smr_hdr *hdr, u32 n)
{
	unsigned int hdr_len = hdr->op->hdr_len, len, there;
	unsigned int off = smr_rx_seg(t->skb, t->seg + n, &len);
	const u8 *seg = smr_cursor_at(&t->cursor, off, &there);
	bool ack_req;
	u32 crc;

	if (!seg || there < len || !smr_icrc_covers(t->icrc, seg, len) ||
	    !smr_wire_follows(seg, hdr, n, &ack_req))
		return false;
	crc = smr_icrc_head(t->icrc, seg, hdr_len, smr_icrc_id(t->icrc, t->seg + n));
	if (smr_miter_copy_crc(to, (u8 *)seg + hdr_len, t->len, &crc) ||
	    get_unaligned_le32(seg + hdr_len + t->len) != ~crc)
		return false;
	hdr->ack_req |= ack_req;
	return true;
}

/* Copy the payload of the first packet. The last @tail bytes become visible after all others. */
static int first_copy(struct smr_rx_train *t, struct smr_miter *to, size_t tail)
{
	unsigned int body = t->len - tail, end = t->off + t->len;
	u32 crc, *late = t->checked ? NULL : &crc;
	int err;

	if (late && !smr_icrc_expect(t->icrc, &t->cursor, t->seg, late))
		return -EBADMSG;
	err = smr_miter_copy_packet(to, &t->cursor, t->off, body, late);
	if (!err && tail) {
		/* Pairs with the read barrier of a program that polls the tail. */
		smp_wmb();
		err = smr_miter_copy_packet(to, &t->cursor, t->off + body, tail, late);
	}
	if (err || !late)
		return err;
	return smr_cursor_crc(&t->cursor, end, t->pad, late) &&
	       smr_icrc_is(crc, &t->cursor, end + t->pad) ? 0 : -EBADMSG;
}

/*
 * Copy the payload of a packet, and of similar ones that follow, into a list. @t: the train; the
 * packet was parsed last. @hdr: the packet's headers; ack_req is set if any of the packets requests
 * an ACK. @count: maximum number of packets: 1, or at most what smr_rx_train_max() returned. Set to
 * the number copied: at least 1, unless there is an error. @tail: number of bytes at the end of the
 * packet that become visible after all bytes before them; its @count is 1. @budget: the budget;
 * each further packet reduces it. Returns as smr_sgl_write_packet(). -EBADMSG: the ICRC of the
 * packet is wrong; the caller repeats the step, which drops the packet.
 */
int smr_rx_train_copy(struct smr_rx_train *t, struct smr_sgl *sgl, struct smr_hdr *hdr,
		      u32 *count, size_t tail, struct smr_budget *budget)
{
	struct smr_miter to;
	u32 n = 1;
	int err;

	smr_miter_start(&to, sgl, (size_t)*count * t->len, true);
	err = first_copy(t, &to, tail);
	if (!err)
		while (n < *count && next_copy(t, &to, hdr, n))
			n++;
	smr_miter_stop(&to);
	if (err == -EBADMSG)
		smr_rx_part(t->skb)->careful = true;
	budget->left -= (n - 1) * (smr_rx_info(t->skb)->seg_len + SMR_COST_PACKET);
	*count = n;
	return err;
}
