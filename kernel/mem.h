/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory behind a span, of any kind: references, and the copies. The data path accesses
 * memory only by these copies. A span is held for one copy. A fault holds a reference on the
 * memory, but no span; see fault.h.
 */
#ifndef SMR_MEM_H
#define SMR_MEM_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/pfn.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "watch.h"

struct mm_struct;
struct sk_buff;
struct smr_faults;
struct smr_ref;
struct smr_mem;

/*
 * The error of a copy that meets a missing page of on-demand memory. It is not -EAGAIN, which
 * the network stack returns when a buffer is full.
 */
#define SMR_PAGE_MISSING	(-ENODATA)

/**
 * struct smr_extent - physically contiguous pages of a memory, which has an array of them
 * @end: index, in the memory, of the page behind the last one. The first one is that behind the
 *	extent before.
 * @delta: the PFN of each page, less its index
 */
struct smr_extent {
	unsigned long end;
	unsigned long delta;
};

/**
 * struct smr_map - a mapped run of memory
 * @addr: its kernel address
 * @len: bytes that may be accessed there
 * @extent: of a kind with extents: the next one, if the copy goes on there; else NULL
 * @next: private to the kind: the next run
 * @left: private to the kind: bytes by which it can still be advanced
 * @cookie: private to the kind, for its unmap
 *
 * No sleeping between map and unmap.
 */
struct smr_map {
	void *addr;
	size_t len;
	const struct smr_extent *extent;
	u64 next;
	size_t left;
	void *cookie;
};

/**
 * struct smr_mem_look - the state of a memory, for reports
 * @present: bytes of it that can be used without a fault
 * @faults: number of times that a copy met a missing page
 */
struct smr_mem_look {
	u64 present;
	u64 faults;
};

/* The access that pages are brought in for */
enum smr_want {
	SMR_WANT_READ,		/* they can be read */
	SMR_WANT_WRITE,		/* they can be written to */
	SMR_WANT_PRESENT,	/* only pages that the process has now; no faults */
};

/**
 * struct smr_populate - how to bring pages in
 * @want: the access that is needed
 * @advice: it is a prefetch, for the counters
 * @at_once: do not wait for any page: return -EAGAIN instead
 * @stop: becomes true when the pages are no longer needed; or NULL
 */
struct smr_populate {
	enum smr_want want;
	bool advice;
	bool at_once;
	const bool *stop;
};

/**
 * struct smr_mem_ops - a kind of memory
 * @map: map the run at @off for reading, or for writing: at least one byte, at most @len. Any
 *	context. Returns 0; SMR_PAGE_MISSING: see @fault; or -EFAULT: the page cannot be brought
 *	in.
 * @trymap: as @map, but -EBUSY rather than wait for a lock. For a caller that already holds a
 *	map, perhaps of the same memory. Required if there is an @unmap; else NULL.
 * @next: advance a map to the next run, at most @len bytes, without releasing what it holds.
 *	False if it cannot: the caller ends the map and begins another. Required if there is an
 *	@unmap; else NULL.
 * @unmap: ends @map; NULL if there is nothing to do. Maps are ended in reverse order.
 * @fault: bring pages in, see struct smr_populate. Process context, may sleep. Returns 0,
 *	-EFAULT, -ENOMEM, -EINTR or -EAGAIN (it would wait with @at_once, or the page of a
 *	prefetch is unmapped again each time). NULL for kinds whose pages are always present.
 * @faults: the struct smr_faults that executes asynchronous faults. Required if there is a
 *	@fault; else NULL.
 * @release: free it, after the last reference is dropped. Process context, may sleep.
 * @name: the kind's name, for reports
 * @look: see struct smr_mem_look; process context. NULL: all of it is present
 * @any_access: the memory allows every access that a region can be registered for, so a rereg
 *	that changes only the access needs no new memory
 * @thread: @map or @unmap may sleep. So the memory is mapped only where smr_mem_in_thread() is
 *	true; elsewhere @map returns SMR_PAGE_MISSING
 *
 * Offsets are bytes from the start of the memory; the caller has checked
 * them against @size.
 */
struct smr_mem_ops {
	const char *name;
	bool any_access;
	bool thread;
	int (*map)(struct smr_mem *mem, u64 off, size_t len, bool write,
		   struct smr_map *map);
	int (*trymap)(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map);
	bool (*next)(struct smr_mem *mem, size_t len, bool write,
		     struct smr_map *map);
	void (*unmap)(struct smr_mem *mem, struct smr_map *map);
	int (*fault)(struct smr_mem *mem, const struct smr_populate *how,
		     u64 off, u64 len);
	struct smr_faults *(*faults)(const struct smr_mem *mem);
	void (*release)(struct smr_mem *mem);
	void (*look)(struct smr_mem *mem, struct smr_mem_look *look);
};

/**
 * struct smr_mem - memory that keys can reach; part of each kind's struct
 * @ops: the kind
 * @mm: the process whose memory it is, with a mmgrab() reference held by the kind; NULL if it
 *	belongs to no process
 * @ref: one for the owner, one for each fault
 * @no_atomics: the CPU's atomics do not work on it
 * @serial: serial number, never reused; 0 if the kind has no faults
 * @size: bytes
 * @moved: bytes copied from it and to it while it was watched; see watch.h
 *
 * All but @ref and @moved are constant as long as a key can open it. Spans need no reference: the
 * owner kills the references of the key, and so ends all spans, before it drops its own.
 */
struct smr_mem {
	const struct smr_mem_ops *ops;
	struct mm_struct *mm;
	refcount_t ref;
	bool no_atomics;
	u64 serial;
	u64 size;
	atomic64_t moved;
};

/**
 * struct smr_span - an authorised range of a memory, for one copy
 * @mem: the memory; NULL when @len is 0
 * @ref: a reference is held
 * @off: first byte
 * @len: bytes
 */
struct smr_span {
	struct smr_mem *mem;
	struct smr_ref *ref;
	u64 off;
	u64 len;
};

/*
 * Does a page have an uncorrectable memory error? @page: the caller keeps it from being freed, by a
 * pin or a valid entry of a chunk. A pinned page with such an error stays mapped, and the pinner is
 * not notified. A page of hugetlbfs counts as bad as a whole, because only its head page is marked.
 * Returns true if it must not be touched.
 */
static inline bool smr_mem_is_bad(struct page *page)
{
	return IS_ENABLED(CONFIG_MEMORY_FAILURE) &&
	       unlikely(is_page_hwpoison(page));
}

unsigned long smr_good_bytes(unsigned long pfn, unsigned long pgoff, unsigned long len);

/*
 * Map bytes of an extent. @page: the index of one of its pages. @pgoff: the first byte, from the
 * start of that page. @len: bytes wanted, at least 1. Pages with memory errors are looked for in
 * each copy: there is no notifier of memory errors, and MMU notifiers do not apply to pinned pages.
 * Reading the flag costs little compared to copying a page. A copy that ends before such a page
 * does not go on. Returns false: the first page has a memory error.
 */
static inline bool smr_map_extent(struct smr_map *map, const struct smr_extent *extent,
				  unsigned long page, unsigned long pgoff, size_t len)
{
	unsigned long pfn = page + extent->delta;
	size_t room = min_t(u64, len, PFN_PHYS((u64)extent->end - page) - pgoff);

	map->addr = page_address(pfn_to_page(pfn)) + pgoff;
	map->len = smr_mem_is_bad(pfn_to_page(pfn)) ? 0 : room;
	map->extent = room < len ? extent + 1 : NULL;
	if (room > PAGE_SIZE - pgoff)
		map->len = smr_good_bytes(pfn, pgoff, room);
	if (unlikely(map->len < room))
		map->extent = NULL;
	return map->len;
}

/* Is this a kernel thread that may sleep? A QP's workqueue, or a fault's, is one. */
static inline bool smr_mem_in_thread(void)
{
	return current->flags & PF_KTHREAD && in_task() && !in_softirq();
}

/* Bytes of a span were copied, from it or to it. */
static inline void smr_span_moved(const struct smr_span *span, size_t len)
{
	if (smr_is_watched() && len)
		atomic64_add(len, &span->mem->moved);
}

void smr_mem_init(struct smr_mem *mem, const struct smr_mem_ops *ops, u64 size);
void smr_mem_get(struct smr_mem *mem);
void smr_mem_put(struct smr_mem *mem);
void smr_span_put(struct smr_span *span);
void smr_mem_look(struct smr_mem *mem, struct smr_mem_look *look);

/*
 * Maps of a span, for the copies of a list, see sgl.h. @off counts from the start of the span; the
 * caller guarantees off + len <= span->len. Between map and unmap the caller does not sleep.
 */
int smr_span_map(const struct smr_span *span, u64 off, size_t len, bool write,
		 struct smr_map *map);
bool smr_span_remap(const struct smr_span *span, u64 off, size_t len, bool write,
		    struct smr_map *map);
void smr_span_unmap(const struct smr_span *span, struct smr_map *map);

/*
 * Advance a map whose bytes are all copied. @off: the next byte, from the start of the span. @len:
 * bytes wanted there, at least 1. Returns false: it cannot be advanced. The caller ends it, and
 * begins another one there, which returns any error.
 */
static inline bool smr_span_next(const struct smr_span *span, u64 off, size_t len, bool write,
				 struct smr_map *map)
{
	const struct smr_extent *extent = map->extent;

	if (extent)
		return smr_map_extent(map, extent, extent[-1].end, 0, len);
	return smr_span_remap(span, off, len, write, map);
}

/* Returns 0 or -EFAULT, as the copies below */
int smr_mem_copy(void *to, const void *from, size_t len);

/*
 * The copies. @off counts as above. All return 0, SMR_PAGE_MISSING (bring the pages in, see
 * fault.h, then open the span again and repeat this copy; bytes before the missing page may have
 * been copied) or -EFAULT (the page cannot be brought in, or has an uncorrectable error). Any
 * context but hard interrupts.
 */
int smr_span_copy(const struct smr_span *dst, u64 dst_off,
		  const struct smr_span *src, u64 src_off, size_t len);

int smr_span_map_word(const struct smr_span *span, bool rmw, struct smr_map *map);

#endif /* SMR_MEM_H */
