/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory behind a span, whatever kind it is of: references, and the
 * copies that are all the data path ever does with memory. A span is held for one
 * copy. Who waits for a page holds the memory only; see fault.h.
 */
#ifndef SMR_MEM_H
#define SMR_MEM_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/page-flags.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/types.h>

struct mm_struct;
struct sk_buff;
struct smr_faults;
struct smr_grant;
struct smr_mem;

/*
 * The error of a copy that meets a missing page of on-demand memory. It is not
 * -EAGAIN, by which the network stack says that it has no room.
 */
#define SMR_PAGE_MISSING	(-ENODATA)

/**
 * struct smr_map - a run of memory that may be touched right now
 * @addr: where it is mapped
 * @len: bytes that may be touched there
 * @next: the kind's own: where the run behind it begins
 * @left: the kind's own: how many bytes more it may be moved on by
 * @cookie: the kind's own, for its unmap
 *
 * No sleeping between map and unmap.
 */
struct smr_map {
	void *addr;
	size_t len;
	u64 next;
	size_t left;
	void *cookie;
};

/**
 * struct smr_mem_look - what can be seen of a memory
 * @present: bytes of it that can be used without a fault
 * @faults: how many times a copy has missed a page
 */
struct smr_mem_look {
	u64 present;
	u64 faults;
};

/* The access that pages are brought in for */
enum smr_want {
	SMR_WANT_READ,		/* they can be read */
	SMR_WANT_WRITE,		/* they can be written to */
	SMR_WANT_PRESENT,	/* whatever the process has now; no faults */
};

/**
 * struct smr_populate - how to bring pages in
 * @want: the access that is needed
 * @advice: it is a prefetch, for the counters
 * @at_once: the caller must not wait for any page: -EAGAIN if it would have to
 * @stop: set when nobody needs the pages any more; or NULL
 */
struct smr_populate {
	enum smr_want want;
	bool advice;
	bool at_once;
	const bool *stop;
};

/**
 * struct smr_mem_ops - a kind of memory
 * @map: map the run at @off for reading, or for writing: at least one byte,
 *	at most @len. Any context. 0; SMR_PAGE_MISSING: see @fault; -EFAULT:
 *	the page will never be there.
 * @will_write: bytes at @off are about to be written to, by maps that follow. Any
 *	context. NULL where nobody needs to know.
 * @trymap: @map, but -EBUSY rather than wait for a lock. For a caller that
 *	holds a map of another memory, or of the same one. Needed by kinds that
 *	have an @unmap, and only by them.
 * @next: move a map on to the run behind it, at most @len bytes, without a
 *	release of what it holds. False if it cannot be: end it, and begin
 *	another. Needed by kinds that have an @unmap, and only by them.
 * @unmap: the end of @map; NULL where there is nothing to do. Maps end in the
 *	reverse order of their beginning.
 * @fault: bring pages in, see struct smr_populate. Process context, may sleep.
 *	0 or -EFAULT, -ENOMEM, -EINTR; -EAGAIN (at once, or a prefetch whose page keeps
 *	going away). NULL for kinds whose pages are
 *	always there.
 * @faults: where faults of it are executed that are not waited for. Needed by
 *	kinds that have a @fault, and only by them.
 * @release: free it, last reference gone. Process context, may sleep.
 * @name: what people call it
 * @look: see struct smr_mem_look; process context. NULL: all of it is present
 * @any_access: the memory allows every access that a region can be registered
 *	for. So a rereg that changes only the access needs no new memory
 * @thread: the beginning or the end of a map may sleep. So it is mapped only where
 *	smr_mem_in_thread() is true; elsewhere @map says SMR_PAGE_MISSING
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
	void (*will_write)(struct smr_mem *mem, u64 off, size_t len);
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
 * @mm: whose memory it is, a mmgrab() reference of the kind's; NULL if it is
 *	no process's
 * @ref: one for the owner, one for each fault
 * @no_atomics: the CPU's atomics do not work on it
 * @serial: of no other memory, ever; 0 if it never had faults
 * @size: bytes
 * @moved: how many bytes were copied from it and to it while somebody looked; see watch.h
 *
 * All but @ref and @moved are constant while a grant of it is not retired. Spans need no
 * reference: the owner retires their grants before it drops its own.
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
 * @grant: a reference is held
 * @off: first byte
 * @len: bytes
 */
struct smr_span {
	struct smr_mem *mem;
	struct smr_grant *grant;
	u64 off;
	u64 len;
};

/**
 * struct smr_pieces - pieces of equal length that bytes are copied to, or from
 * @at: the next byte
 * @left: bytes from there to the end of its piece, not 0
 * @each: bytes of a piece
 * @gap: bytes between the end of a piece and the next one
 * @crc: a u32, not aligned: the CRC of the piece so far, which goes on with the copy. NULL:
 *	none is wanted
 * @crc_step: bytes from there to the CRC of the next piece
 *
 * The payloads of a train's packets lie like that. They are copied in one go, so that
 * memory is looked up once for each of its pages, and not for each packet.
 */
struct smr_pieces {
	u8 *at;
	size_t left;
	size_t each;
	size_t gap;
	void *crc;
	size_t crc_step;
};

static inline void smr_pieces_advance(struct smr_pieces *p, size_t n)
{
	p->at += n;
	p->left -= n;
	if (p->left)
		return;
	p->at += p->gap;
	p->left = p->each;
	if (p->crc)
		p->crc += p->crc_step;
}

/* All that is copied is one piece. */
static inline struct smr_pieces smr_one_piece(const void *at, size_t len)
{
	return (struct smr_pieces){ .at = (u8 *)at, .left = len };
}

/**
 * smr_mem_is_bad() - has a page an uncorrectable error?
 * @page: the caller makes sure that it stays, as a pin or a valid entry of a chunk does
 *
 * Such a page stays where it is pinned, and nobody tells. A page of hugetlbfs is bad
 * as a whole, because only its head says so.
 *
 * Context: any.
 * Return: true if it must not be touched.
 */
static inline bool smr_mem_is_bad(struct page *page)
{
	return IS_ENABLED(CONFIG_MEMORY_FAILURE) &&
	       unlikely(is_page_hwpoison(page));
}

/* Is this a kernel thread that may sleep? A QP's workqueue, or a fault's, is one. */
static inline bool smr_mem_in_thread(void)
{
	return current->flags & PF_KTHREAD && in_task() && !in_softirq();
}

void smr_mem_init(struct smr_mem *mem, const struct smr_mem_ops *ops, u64 size);
void smr_mem_get(struct smr_mem *mem);
void smr_mem_put(struct smr_mem *mem);
void smr_span_put(struct smr_span *span);
void smr_mem_look(struct smr_mem *mem, struct smr_mem_look *look);

/* 0 or -EFAULT, as the copies below; the pieces are moved on, or after an error anywhere */
int smr_pieces_write(struct smr_pieces *to, const void *from, size_t len);

/*
 * The copies. @off counts from the start of the span; the caller guarantees
 * off + len <= span->len. All return 0, SMR_PAGE_MISSING (have the pages brought
 * in, see fault.h, open the span again, and start this copy again; bytes before the
 * missing page may have been copied) or -EFAULT (the page will never be there, or has
 * an uncorrectable error). Any context but hard interrupts.
 */
int smr_span_read(const struct smr_span *span, u64 off, struct smr_pieces *to,
		  size_t len);
int smr_span_write(const struct smr_span *span, u64 off,
		   struct smr_pieces *from, size_t len);
int smr_span_copy(const struct smr_span *dst, u64 dst_off,
		  const struct smr_span *src, u64 src_off, size_t len);

/*
 * 8-byte atomics on an aligned offset; *orig gets the value before. Atomic
 * against each other and against the CPU. The aligned store is for the
 * ATOMIC WRITE of annex A19. As the copies above; -EINVAL: the span is not
 * of 8 bytes, its memory is not aligned, or does no atomics.
 */
int smr_span_cmp_swap(const struct smr_span *span, u64 compare, u64 swap,
		      u64 *orig);
int smr_span_fetch_add(const struct smr_span *span, u64 add, u64 *orig);
int smr_span_store8(const struct smr_span *span, u64 value);

#endif /* SMR_MEM_H */
