// SPDX-License-Identifier: GPL-2.0
/* Read a received packet that may be in many pieces, from front to back. */
#include "net/cursor.h"

#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "net/crc.h"

/**
 * smr_cursor_prepare() - prepare a packet for reading by a cursor
 * @skb: the packet, not shared, with fragments that can be read
 *
 * A cursor follows the packet's own frag_list, but not the frag_lists of the skbs on it. Such
 * packets are rare; they are linearised.
 *
 * Context: any but hard interrupts.
 * Return: false: no memory.
 */
bool smr_cursor_prepare(struct sk_buff *skb)
{
	const struct sk_buff *part;

	skb_walk_frags(skb, part)
		if (skb_has_frag_list(part))
			return !skb_linearize(skb);
	return true;
}

/* Begin with the linear part of @part, after the pieces read so far. */
static void part_begin(struct smr_cursor *cur, const struct sk_buff *part)
{
	cur->part = part;
	cur->frag = -1;
	cur->begin = cur->end;
	cur->end += skb_headlen(part);
	cur->addr = part->data;
}

/**
 * smr_cursor_init() - begin at the front of a packet
 * @cur: the cursor
 * @skb: the packet, which must not change; smr_cursor_prepare() was called for it
 */
void smr_cursor_init(struct smr_cursor *cur, const struct sk_buff *skb)
{
	cur->skb = skb;
	cur->end = 0;
	part_begin(cur, skb);
}

/* Advance to the next piece, which may be empty. False: there is none. */
static bool cursor_next(struct smr_cursor *cur)
{
	const struct skb_shared_info *info = skb_shinfo(cur->part);
	const struct sk_buff *part;

	if (++cur->frag < info->nr_frags) {
		const skb_frag_t *frag = &info->frags[cur->frag];

		cur->begin = cur->end;
		cur->end += skb_frag_size(frag);
		cur->addr = skb_frag_address(frag);
		return true;
	}
	part = cur->part == cur->skb ? info->frag_list : cur->part->next;
	if (!part)
		return false;
	part_begin(cur, part);
	return true;
}

/**
 * smr_cursor_move() - move to another piece, for smr_cursor_at()
 * @cur: the cursor
 * @off: a byte, from skb->data
 *
 * Return: true if the cursor is at the piece that contains the byte; false if the packet is
 *	shorter.
 */
bool smr_cursor_move(struct smr_cursor *cur, unsigned int off)
{
	if (off < cur->begin)
		smr_cursor_init(cur, cur->skb);
	while (off >= cur->end)
		if (!cursor_next(cur))
			return false;
	return true;
}

/**
 * smr_cursor_gather() - copy bytes that are not in one piece, for smr_cursor_get()
 * @cur: the cursor, which is moved
 * @off: the first of them, from skb->data
 * @len: number of bytes
 * @buf: buffer for them
 *
 * Return: @buf; NULL if the packet is shorter.
 */
const u8 *smr_cursor_gather(struct smr_cursor *cur, unsigned int off,
			    unsigned int len, void *buf)
{
	unsigned int done, n;
	const u8 *p;

	for (done = 0; done < len; done += n) {
		p = smr_cursor_at(cur, off + done, &n);
		if (!p)
			return NULL;
		n = min(n, len - done);
		memcpy(buf + done, p, n);
	}
	return buf;
}

/**
 * smr_cursor_crc() - continue a CRC-32 over some bytes
 * @cur: the cursor, which is moved
 * @off: the first of them, from skb->data
 * @len: number of bytes
 * @crc: the CRC, see smr_crc32()
 *
 * Return: false if the packet is shorter.
 */
bool smr_cursor_crc(struct smr_cursor *cur, unsigned int off, unsigned int len,
		    u32 *crc)
{
	unsigned int n;
	const u8 *p;

	for (; len; off += n, len -= n) {
		p = smr_cursor_at(cur, off, &n);
		if (!p)
			return false;
		n = min(n, len);
		*crc = smr_crc32(*crc, p, n);
	}
	return true;
}
