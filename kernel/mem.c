// SPDX-License-Identifier: GPL-2.0
/* References to memory, and the copies in and out of it. */
#include "mem.h"

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/string.h>

/* The bounce buffer on the stack, where two memories cannot be mapped at once */
#define BOUNCE_BYTES	256

/**
 * smr_mem_init() - make a memory ready; the caller owns the only reference
 * @mem: part of the kind's zeroed struct
 * @ops: the kind
 * @size: bytes
 */
void smr_mem_init(struct smr_mem *mem, const struct smr_mem_ops *ops, u64 size)
{
	mem->ops = ops;
	mem->size = size;
	refcount_set(&mem->ref[mem->turn], 1);
}

/* Drop the owner's reference of a turn. True: it was the last. */
static bool turn_end(struct smr_mem *mem, bool turn, struct completion *told)
{
	WRITE_ONCE(mem->awaited[turn], true);
	WRITE_ONCE(mem->drained, told);
	/* The decrement orders the store above before another's last put. */
	return refcount_dec_and_test(&mem->ref[turn]);
}

/**
 * smr_mem_destroy() - drop the owner's reference and release the memory
 * @mem: the memory; no key opens it any more
 *
 * Waits, without a time limit, for the spans in flight. Each is ended by a copy
 * that is running, or by a QP's task that will run.
 *
 * Context: process, may sleep.
 */
void smr_mem_destroy(struct smr_mem *mem)
{
	DECLARE_COMPLETION_ONSTACK(drained);

	if (!turn_end(mem, mem->turn, &drained))
		wait_for_completion(&drained);
	mem->ops->release(mem);
}

/**
 * smr_mem_suspend() - let no spans of a memory be opened, until it is resumed
 * @mem: the memory; its key is not valid any more
 * @idle: completed when the last span of it is gone
 *
 * Drops the owner's reference: smr_mem_get() fails until smr_mem_resume().
 *
 * Context: any.
 */
void smr_mem_suspend(struct smr_mem *mem, struct completion *idle)
{
	if (turn_end(mem, mem->turn, idle))
		complete(idle);
}

/**
 * smr_mem_try_suspend() - smr_mem_suspend(), if that need not wait
 * @mem: the memory; its key is not valid any more
 *
 * Context: any.
 * Return: false, and nothing has changed, when there are spans of it.
 */
bool smr_mem_try_suspend(struct smr_mem *mem)
{
	if (!refcount_dec_if_one(&mem->ref[mem->turn]))
		return false;
	/* Pairs with the put of the last span: its copy is visible. */
	smp_acquire__after_ctrl_dep();
	return true;
}

/* Let spans be opened in the owner's turn, which has none. */
static void turn_begin(struct smr_mem *mem)
{
	WRITE_ONCE(mem->awaited[mem->turn], false);
	/*
	 * Pairs with smr_mem_get(): a caller that gets a reference from now
	 * on sees that the key has changed since it read it.
	 */
	smp_wmb();
	refcount_set(&mem->ref[mem->turn], 1);
}

/**
 * smr_mem_resume() - let spans of a memory be opened again
 * @mem: suspended, and idle
 * @size: its new size, in bytes
 *
 * Context: any; if it has a key, between smr_key_update_begin() and _end().
 */
void smr_mem_resume(struct smr_mem *mem, u64 size)
{
	mem->size = size;
	turn_begin(mem);
}

/**
 * smr_mem_turn() - begin a new turn: count new spans apart from older ones
 * @mem: the memory; it has one key, none of whose readers sees the new turn
 *	before smr_key_update_end()
 *
 * The owner calls smr_mem_settle(), which waits for the older spans, once the key
 * has changed and before the next turn.
 *
 * Context: any; the owner excludes other calls of this and smr_mem_destroy().
 */
void smr_mem_turn(struct smr_mem *mem)
{
	mem->turn = !mem->turn;
	turn_begin(mem);
}

/**
 * smr_mem_settle() - wait for the spans that were opened before the turn
 * @mem: after smr_mem_turn()
 *
 * Waits without a time limit, as smr_mem_destroy(). Spans of the new turn are not
 * waited for.
 *
 * Context: process, may sleep.
 */
void smr_mem_settle(struct smr_mem *mem)
{
	DECLARE_COMPLETION_ONSTACK(settled);

	if (!turn_end(mem, !mem->turn, &settled))
		wait_for_completion(&settled);
}

/**
 * smr_mem_get() - take a reference, unless the memory is being destroyed
 * @mem: the memory
 * @turn: its turn, as its key says
 *
 * smr_mem_resume() or smr_mem_turn() may have come between reading the key and this
 * call. So the caller reads the key once more afterwards.
 *
 * Context: any; within an RCU read-side section, or with a reference.
 * Return: true if a reference was taken; end it as a span, smr_span_put().
 */
bool smr_mem_get(struct smr_mem *mem, bool turn)
{
	if (!refcount_inc_not_zero(&mem->ref[turn]))
		return false;
	/* Pairs with turn_begin(). */
	smp_mb__after_atomic();
	return true;
}

/**
 * smr_span_put() - end a span
 * @span: what smr_key_open() filled in; is empty afterwards
 *
 * Context: any.
 */
void smr_span_put(struct smr_span *span)
{
	struct smr_mem *mem = span->mem;

	if (!mem)
		return;
	span->mem = NULL;
	span->len = 0;
	/* The owner may free @mem as soon as this completes: do not touch it. */
	if (refcount_dec_and_test(&mem->ref[span->turn]))
		complete(mem->drained);
}

static int span_map(const struct smr_span *span, u64 off, size_t len,
		    bool write, struct smr_map *map)
{
	return span->mem->ops->map(span->mem, span->off + off, len, write, map);
}

/*
 * Move a map on, by @done bytes, to at most @len bytes at @off. False: the caller
 * ends the map and begins another one there, which returns the error if any.
 */
static bool span_go_on(const struct smr_span *span, u64 off, size_t len,
		       bool write, struct smr_map *map, size_t done)
{
	const struct smr_mem_ops *ops = span->mem->ops;

	if (!len)
		return false;
	map->addr += done;
	map->len -= done;
	if (map->len)
		return true;
	if (ops->next)
		return ops->next(span->mem, len, write, map);
	return !span_map(span, off, len, write, map);
}

static void span_unmap(const struct smr_span *span, struct smr_map *map)
{
	if (span->mem->ops->unmap)
		span->mem->ops->unmap(span->mem, map);
}

/**
 * smr_span_read() - copy out of a span
 * @span: source
 * @off: first byte, from the start of the span
 * @to: destination
 * @len: bytes
 *
 * Return: see mem.h.
 */
int smr_span_read(const struct smr_span *span, u64 off, void *to, size_t len)
{
	struct smr_map map;
	size_t step;
	int ret;

	while (len) {
		ret = span_map(span, off, len, false, &map);
		if (ret)
			return ret;
		do {
			step = map.len;
			memcpy(to, map.addr, step);
			to += step;
			off += step;
			len -= step;
		} while (span_go_on(span, off, len, false, &map, step));
		span_unmap(span, &map);
	}
	return 0;
}

/**
 * smr_span_write() - copy into a span
 * @span: destination
 * @off: first byte, from the start of the span
 * @from: source
 * @len: bytes
 *
 * Return: see mem.h.
 */
int smr_span_write(const struct smr_span *span, u64 off, const void *from,
		   size_t len)
{
	struct smr_map map;
	size_t step;
	int ret;

	while (len) {
		ret = span_map(span, off, len, true, &map);
		if (ret)
			return ret;
		do {
			step = map.len;
			memcpy(map.addr, from, step);
			from += step;
			off += step;
			len -= step;
		} while (span_go_on(span, off, len, true, &map, step));
		span_unmap(span, &map);
	}
	return 0;
}

/**
 * smr_span_write_skb() - copy from a packet into a span
 * @span: destination
 * @off: first byte, from the start of the span
 * @skb: source, of any shape
 * @skb_off: first byte, from skb->data
 * @len: bytes
 *
 * Return: see mem.h; -EFAULT also if the packet is shorter than that.
 */
int smr_span_write_skb(const struct smr_span *span, u64 off,
		       const struct sk_buff *skb, unsigned int skb_off,
		       size_t len)
{
	struct smr_map map;
	size_t step;
	int ret;

	while (len) {
		ret = span_map(span, off, len, true, &map);
		if (ret)
			return ret;
		do {
			step = map.len;
			ret = skb_copy_bits(skb, skb_off, map.addr, step);
			skb_off += step;
			off += step;
			len -= step;
		} while (!ret && span_go_on(span, off, len, true, &map, step));
		span_unmap(span, &map);
		if (ret)
			return ret;
	}
	return 0;
}

/* smr_span_copy() tells the source's error from the destination's. */
static int source_error(int err)
{
	return err == -EFAULT ? -ENXIO : err;
}

/* Copy a few bytes through the stack, with one map held at a time. */
static int copy_bounced(const struct smr_span *dst, u64 dst_off,
			const struct smr_span *src, u64 src_off, size_t *len)
{
	u8 bounce[BOUNCE_BYTES];
	int ret;

	*len = min(*len, sizeof(bounce));
	ret = smr_span_read(src, src_off, bounce, *len);
	if (ret)
		return source_error(ret);
	return smr_span_write(dst, dst_off, bounce, *len);
}

/*
 * Map the destination while a map of the source is held. If both maps are locks,
 * only try: other CPUs may take the two in the other order, and both may be the
 * same lock.
 */
static int map_second(const struct smr_span *dst, u64 off, size_t len,
		      const struct smr_span *src, struct smr_map *map)
{
	struct smr_mem *mem = dst->mem;

	if (src->mem->ops->unmap && mem->ops->unmap)
		return mem->ops->trymap(mem, dst->off + off, len, true, map);
	return span_map(dst, off, len, true, map);
}

/* Copy from map to map, and on to the runs that follow. Returns the bytes copied. */
static size_t copy_maps(const struct smr_span *dst, u64 dst_off,
			struct smr_map *to, const struct smr_span *src,
			u64 src_off, struct smr_map *from, size_t len)
{
	size_t done = 0, step;

	do {
		step = min(to->len, from->len);
		/* One memory can be both sides: the ranges may overlap. */
		memmove(to->addr, from->addr, step);
		done += step;
	} while (span_go_on(src, src_off + done, len - done, false, from,
			    step) &&
		 span_go_on(dst, dst_off + done, len - done, true, to, step));
	return done;
}

/* Copy at most *len bytes, as much as can be had with a map of each side. */
static int copy_step(const struct smr_span *dst, u64 dst_off,
		     const struct smr_span *src, u64 src_off, size_t *len)
{
	struct smr_map to, from;
	int ret;

	ret = span_map(src, src_off, *len, false, &from);
	if (ret)
		return source_error(ret);
	ret = map_second(dst, dst_off, *len, src, &to);
	if (ret)
		goto unmap_from;
	*len = copy_maps(dst, dst_off, &to, src, src_off, &from, *len);
	span_unmap(dst, &to);
unmap_from:
	span_unmap(src, &from);
	if (ret == -EBUSY)
		return copy_bounced(dst, dst_off, src, src_off, len);
	return ret;
}

/**
 * smr_span_copy() - copy from span to span
 * @dst: destination
 * @dst_off: first byte, from the start of @dst
 * @src: source
 * @src_off: first byte, from the start of @src
 * @len: bytes
 *
 * Return: see mem.h; -ENXIO is the source's -EFAULT. SMR_PAGE_MISSING does
 * not tell which side has the missing page: fault both.
 */
int smr_span_copy(const struct smr_span *dst, u64 dst_off,
		  const struct smr_span *src, u64 src_off, size_t len)
{
	size_t step;
	int ret;

	while (len) {
		step = len;
		ret = copy_step(dst, dst_off, src, src_off, &step);
		if (ret)
			return ret;
		dst_off += step;
		src_off += step;
		len -= step;
	}
	return 0;
}

/* Map the 8 bytes of an atomic. Aligned ones cannot straddle two runs. */
static int map_atomic(const struct smr_span *span, struct smr_map *map)
{
	int ret;

	if (span->len != sizeof(u64))
		return -EINVAL;
	ret = span_map(span, 0, sizeof(u64), true, map);
	if (ret)
		return ret;
	if (IS_ALIGNED((unsigned long)map->addr, sizeof(u64)))
		return 0;
	span_unmap(span, map);
	return -EINVAL;
}

/**
 * smr_span_cmp_swap() - store a value if the memory holds another
 * @span: 8 aligned bytes, in host order
 * @compare: what they must hold
 * @swap: what they then hold
 * @orig: what they held before
 *
 * Return: see mem.h.
 */
int smr_span_cmp_swap(const struct smr_span *span, u64 compare, u64 swap,
		      u64 *orig)
{
	struct smr_map map;
	int ret = map_atomic(span, &map);

	if (ret)
		return ret;
	*orig = atomic64_cmpxchg((atomic64_t *)map.addr, compare, swap);
	span_unmap(span, &map);
	return 0;
}

/**
 * smr_span_fetch_add() - add to the memory
 * @span: 8 aligned bytes, in host order
 * @add: the summand
 * @orig: what they held before
 *
 * Return: see mem.h.
 */
int smr_span_fetch_add(const struct smr_span *span, u64 add, u64 *orig)
{
	struct smr_map map;
	int ret = map_atomic(span, &map);

	if (ret)
		return ret;
	*orig = atomic64_fetch_add(add, (atomic64_t *)map.addr);
	span_unmap(span, &map);
	return 0;
}

/**
 * smr_span_store8() - store 8 bytes that no reader sees half of
 * @span: 8 aligned bytes
 * @value: stored in host order
 *
 * Return: see mem.h.
 */
int smr_span_store8(const struct smr_span *span, u64 value)
{
	struct smr_map map;
	int ret = map_atomic(span, &map);

	if (ret)
		return ret;
	/* A reader that sees the value sees all earlier writes. */
	smp_store_release((u64 *)map.addr, value);
	span_unmap(span, &map);
	return 0;
}

/**
 * smr_span_fault() - bring pages in after SMR_PAGE_MISSING
 * @span: the span
 * @off: first byte, from the start of the span
 * @len: bytes; off + len <= span->len
 * @write: they will be written to
 *
 * Context: process, may sleep.
 * Return: 0, -EFAULT, -ENOMEM or -EINTR. The pages may be gone again when it
 * returns.
 */
int smr_span_fault(const struct smr_span *span, u64 off, u64 len, bool write)
{
	struct smr_mem *mem = span->mem;

	if (!len || !mem->ops->fault)
		return 0;
	return mem->ops->fault(mem, span->turn, span->off + off, len, write);
}
