/* SPDX-License-Identifier: GPL-2.0 */
/* A place in a received packet, for readers that go from front to back. */
#ifndef SMR_CURSOR_H
#define SMR_CURSOR_H

#include <linux/compiler.h>
#include <linux/types.h>

struct sk_buff;

/**
 * struct smr_cursor - the piece of a packet that was read last
 * @skb: the packet
 * @part: the packet, or one on its frag_list, in which the piece is
 * @frag: which of the fragments of @part it is; -1: the linear part
 * @begin: the offset of the piece's first byte, from skb->data
 * @end: one past its last byte
 * @addr: where its first byte is
 *
 * A packet may be in many pieces. To find an offset from the front each time would cost
 * more with each segment of a train. Needs no lock; lives on the stack of a function that
 * keeps the packet.
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
 * smr_cursor_at() - where is a byte of the packet?
 * @cur: the cursor, which is moved there
 * @off: the byte, from skb->data; cheap if it is not before the cursor
 * @len: set to how many bytes there are in one piece, at least 1
 *
 * Context: any.
 * Return: where it is; NULL if the packet is shorter.
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
 * @cur: the cursor, which is moved there
 * @off: the first of them, from skb->data
 * @len: how many, not 0
 * @buf: room for them
 *
 * Context: any.
 * Return: where they are, in the packet or in @buf; NULL if the packet is shorter.
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
