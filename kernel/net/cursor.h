/* SPDX-License-Identifier: GPL-2.0 */
/* A position in a received packet, for sequential readers. */
#ifndef SMR_CURSOR_H
#define SMR_CURSOR_H

#include <linux/compiler.h>
#include <linux/types.h>

struct sk_buff;

/**
 * struct smr_cursor - the piece of a packet that was read last
 * @skb: the packet
 * @part: the packet, or the skb on its frag_list, that contains the piece
 * @frag: index of the fragment of @part; -1: the linear part
 * @begin: the offset of the piece's first byte, from skb->data
 * @end: one past its last byte
 * @addr: address of its first byte
 *
 * A packet may be in many pieces. Searching an offset from the front each time would take
 * longer with each segment of a train. Needs no lock; it is on the stack of a function that
 * owns the packet.
 */
struct smr_cursor {
	const struct sk_buff *skb;
	const struct sk_buff *part;
	int frag;
	unsigned int begin;
	unsigned int end;
	const u8 *addr;
};

bool __must_check smr_cursor_prepare(struct sk_buff *skb);
void smr_cursor_init(struct smr_cursor *cur, const struct sk_buff *skb);
bool __must_check smr_cursor_move(struct smr_cursor *cur, unsigned int off);
const u8 *smr_cursor_gather(struct smr_cursor *cur, unsigned int off,
			    unsigned int len, void *buf);

/**
 * smr_cursor_at() - find a byte of the packet
 * @cur: the cursor, which is moved
 * @off: the byte, from skb->data; cheap if it is not before the cursor
 * @len: set to the number of contiguous bytes from there, at least 1
 *
 * Return: its address; NULL if the packet is shorter.
 */
static inline const u8 *smr_cursor_at(struct smr_cursor *cur, unsigned int off,
				      unsigned int *len)
{
	if (unlikely(off < cur->begin || off >= cur->end) &&
	    !smr_cursor_move(cur, off))
		return NULL;
	*len = cur->end - off;
	return cur->addr + (off - cur->begin);
}

/**
 * smr_cursor_get() - read some bytes that may not be in one piece
 * @cur: the cursor, which is moved
 * @off: the first of them, from skb->data
 * @len: number of bytes, not 0
 * @buf: buffer for them
 *
 * Return: their address, in the packet or in @buf; NULL if the packet is shorter.
 */
static inline const u8 *smr_cursor_get(struct smr_cursor *cur, unsigned int off,
				       unsigned int len, void *buf)
{
	unsigned int n;
	const u8 *p = smr_cursor_at(cur, off, &n);

	return !p || likely(n >= len) ? p :
					smr_cursor_gather(cur, off, len, buf);
}

bool __must_check smr_cursor_crc(struct smr_cursor *cur, unsigned int off,
				 unsigned int len, u32 *crc);

#endif /* SMR_CURSOR_H */
