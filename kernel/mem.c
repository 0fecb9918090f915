// SPDX-License-Identifier: GPL-2.0
/* References to memory, and the copies in and out of it. */
#include "mem.h"

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/cpufeature.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "ref.h"

/* Size of the bounce buffer on the stack, for two memories that cannot be mapped at once */
#define BOUNCE_BYTES	256

/* The serial number last given to a memory that can have faults */
static atomic64_t last_serial = ATOMIC64_INIT(0);

/*
 * Initialize a memory; the caller owns the only reference. @mem: part of a zeroed struct of its
 * kind. @ops: operations of its kind.
 */
void smr_mem_init(struct smr_mem *mem, const struct smr_mem_ops *ops, u64 size)
{
	mem->ops = ops;
	mem->size = size;
	if (ops->fault)
		mem->serial = atomic64_inc_return(&last_serial);
	refcount_set(&mem->ref, 1);
}

/* Take a reference. @mem: the caller has a reference, or a span of it. */
void smr_mem_get(struct smr_mem *mem)
{
	refcount_inc(&mem->ref);
}

/*
 * Drop a reference; the last one releases the memory. @mem: the memory; if this is the last
 * reference, all keys' references on it are dead.
 */
void smr_mem_put(struct smr_mem *mem)
{
	if (refcount_dec_and_test(&mem->ref))
		mem->ops->release(mem);
}

/* Report the state of a memory. @mem: the caller has a reference. */
void smr_mem_look(struct smr_mem *mem, struct smr_mem_look *look)
{
	*look = (struct smr_mem_look){ .present = mem->size };
	if (mem->ops->look)
		mem->ops->look(mem, look);
}

/* End a span. @span: what smr_key_open() filled in; is empty afterwards. */
void smr_span_put(struct smr_span *span)
{
	struct smr_ref *ref = span->ref;

	*span = (struct smr_span){};
	/* The owner may free the memory as soon as the last span is put. */
	if (ref)
		smr_ref_put(ref);
}

/*
 * Can a copy survive an uncorrectable memory error in its source? x86 can do so only with fast
 * string instructions; without them, copy_mc_to_kernel() is memcpy().
 */
static bool can_recover(void)
{
#ifdef CONFIG_X86
	return cpu_feature_enabled(X86_FEATURE_ERMS);
#else
	return IS_ENABLED(CONFIG_ARCH_HAS_COPY_MC);
#endif
}

/*
 * Copy out of mapped memory. @from: source, of a map; may overlap. Returns 0; -EFAULT: the source
 * has an uncorrectable memory error, and the machine can recover (x86 with MCA recovery, powerpc).
 * smr_mem_is_bad() finds errors that are already known; this finds new ones. Elsewhere memmove() is
 * used, because it copies long runs by string instructions where memcpy() does not.
 */
int smr_mem_copy(void *to, const void *from, size_t len)
{
	if (can_recover())
		return copy_mc_to_kernel(to, from, len) ? -EFAULT : 0;
	memmove(to, from, len);
	return 0;
}

/*
 * Map the first bytes of a part of a span. @off: first byte of the part, from the start of the
 * span. @len: its bytes, at least 1. @write: they will be written to. @map: filled in; end it with
 * smr_span_unmap(). Context: any but hard interrupts. Returns as smr_mem_ops.map.
 */
int smr_span_map(const struct smr_span *span, u64 off, size_t len, bool write,
		 struct smr_map *map)
{
	map->extent = NULL;
	return span->mem->ops->map(span->mem, span->off + off, len, write, map);
}

/*
 * Find the first page with a memory error. @pgoff: the first byte, from the start of that page.
 * Returns the number of bytes before it.
 */
unsigned long smr_good_bytes(unsigned long pfn, unsigned long pgoff, unsigned long len)
{
	unsigned long good = 0, step = PAGE_SIZE - pgoff;

	for (; good < len; good += step, step = PAGE_SIZE)
		if (smr_mem_is_bad(pfn_to_page(pfn++)))
			return good;
	return len;
}

/* smr_span_next() of memory without extents. */
bool smr_span_remap(const struct smr_span *span, u64 off, size_t len, bool write,
		    struct smr_map *map)
{
	const struct smr_mem_ops *ops = span->mem->ops;

	if (ops->next)
		return ops->next(span->mem, len, write, map);
	return !smr_span_map(span, off, len, write, map);
}

void smr_span_unmap(const struct smr_span *span, struct smr_map *map)
{
	if (span->mem->ops->unmap)
		span->mem->ops->unmap(span->mem, map);
}

/* smr_span_copy() returns different errors for the source and the destination. */
static int source_error(int err)
{
	return err == -EFAULT ? -ENXIO : err;
}

/* Copy a few bytes through the stack, with one map held at a time. */
static int copy_bounced(const struct smr_span *dst, u64 dst_off,
			const struct smr_span *src, u64 src_off, size_t *len)
{
	u8 bounce[BOUNCE_BYTES];
	struct smr_map map;
	int ret;

	*len = min(*len, sizeof(bounce));
	ret = smr_span_map(src, src_off, *len, false, &map);
	if (ret)
		return source_error(ret);
	*len = min(*len, map.len);
	ret = smr_mem_copy(bounce, map.addr, *len);
	smr_span_unmap(src, &map);
	if (ret)
		return source_error(ret);
	ret = smr_span_map(dst, dst_off, *len, true, &map);
	if (ret)
		return ret;
	*len = min(*len, map.len);
	memcpy(map.addr, bounce, *len);
	smr_span_unmap(dst, &map);
	return 0;
}

/*
 * Map the destination while a map of the source is held. If both maps hold locks, only try:
 * other CPUs may take the two in the other order, and both may be the same lock.
 */
static int map_second(const struct smr_span *dst, u64 off, size_t len,
		      const struct smr_span *src, struct smr_map *map)
{
	struct smr_mem *mem = dst->mem;

	map->extent = NULL;
	if (src->mem->ops->unmap && mem->ops->unmap)
		return mem->ops->trymap(mem, dst->off + off, len, true, map);
	return smr_span_map(dst, off, len, true, map);
}

/* Source and destination can be the same memory: the ranges may overlap. */
static int copy_run(void *to, const void *from, size_t len)
{
	if (to < from + len && from < to + len) {
		memmove(to, from, len);
		return 0;
	}
	return smr_mem_copy(to, from, len);
}

/* Advance a map by @done bytes, to at most @len bytes at @off. False: it cannot be advanced. */
static bool span_go_on(const struct smr_span *span, u64 off, size_t len,
		       bool write, struct smr_map *map, size_t done)
{
	if (!len)
		return false;
	map->addr += done;
	map->len -= done;
	return map->len || smr_span_next(span, off, len, write, map);
}

/* Copy from map to map, and continue with the runs that follow; *len gets the bytes copied. */
static int copy_maps(const struct smr_span *dst, u64 dst_off,
		     struct smr_map *to, const struct smr_span *src,
		     u64 src_off, struct smr_map *from, size_t *len)
{
	size_t done = 0, step, max = *len;
	int ret;

	do {
		step = min(to->len, from->len);
		ret = copy_run(to->addr, from->addr, step);
		done += step;
	} while (!ret &&
		 span_go_on(src, src_off + done, max - done, false, from,
			    step) &&
		 span_go_on(dst, dst_off + done, max - done, true, to, step));
	*len = done;
	return source_error(ret);
}

/* Copy at most *len bytes, as many as one map of each side covers. */
static int copy_step(const struct smr_span *dst, u64 dst_off,
		     const struct smr_span *src, u64 src_off, size_t *len)
{
	struct smr_map to, from;
	int ret;

	ret = smr_span_map(src, src_off, *len, false, &from);
	if (ret)
		return source_error(ret);
	ret = map_second(dst, dst_off, *len, src, &to);
	if (ret)
		goto unmap_from;
	ret = copy_maps(dst, dst_off, &to, src, src_off, &from, len);
	smr_span_unmap(dst, &to);
unmap_from:
	smr_span_unmap(src, &from);
	if (ret == -EBUSY)
		return copy_bounced(dst, dst_off, src, src_off, len);
	return ret;
}

/*
 * Copy from span to span. @dst_off: first byte, from the start of @dst. @src_off: first byte, from
 * the start of @src. Returns see mem.h; -ENXIO is -EFAULT of the source. SMR_PAGE_MISSING does not
 * say which side misses a page: fault both.
 */
int smr_span_copy(const struct smr_span *dst, u64 dst_off,
		  const struct smr_span *src, u64 src_off, size_t len)
{
	size_t all = len;
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
	smr_span_moved(dst, all);
	smr_span_moved(src, all);
	return 0;
}

/*
 * Map a word for one access of the CPU. @rmw: for a read-modify-write, rather than a store. @map:
 * filled in; end it with smr_span_unmap(). An aligned word cannot straddle two runs. Context: any
 * but hard interrupts. Returns as the copies; or -EINVAL: the span is not 8 bytes long, or its
 * memory is not aligned, or does not support @rmw.
 */
int smr_span_map_word(const struct smr_span *span, bool rmw, struct smr_map *map)
{
	int ret;

	if (span->len != sizeof(u64) || (rmw && span->mem->no_atomics))
		return -EINVAL;
	ret = smr_span_map(span, 0, sizeof(u64), true, map);
	if (ret || IS_ALIGNED((unsigned long)map->addr, sizeof(u64)))
		return ret;
	smr_span_unmap(span, map);
	return -EINVAL;
}
