/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory behind a span, whatever kind it is of: references, and the
 * copies that are all the data path ever does with memory.
 */
#ifndef SMR_MEM_H
#define SMR_MEM_H

#include <linux/errno.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct completion;
struct mm_struct;
struct sk_buff;
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
 * struct smr_mem_ops - a kind of memory
 * @map: map the run at @off for reading, or for writing: at least one byte,
 *	at most @len. Any context. 0; SMR_PAGE_MISSING: see @fault; -EFAULT:
 *	the page will never be there.
 * @trymap: @map, but -EBUSY rather than wait for a lock. For a caller that
 *	holds a map of another memory, or of the same one. Needed by kinds that
 *	have an @unmap, and only by them.
 * @next: move a map on to the run behind it, at most @len bytes, without a
 *	release of what it holds. False if it cannot be: end it, and begin
 *	another. Needed by kinds that have an @unmap, and only by them.
 * @unmap: the end of @map; NULL where there is nothing to do. Maps end in the
 *	reverse order of their beginning.
 * @fault: bring the whole range in, for a span of @turn. Process context, may
 *	sleep. 0 or -EFAULT, -ENOMEM, -EINTR. NULL for kinds whose pages are always
 *	there.
 * @release: free it, last reference gone. Process context, may sleep. What
 *	holds the struct smr_mem must outlive an RCU grace period:
 *	kfree_rcu(..., mem.rcu).
 * @any_access: the memory allows every access that a region can be registered
 *	for. So a rereg that changes only the access needs no new memory
 *
 * Offsets are bytes from the start of the memory; the caller has checked
 * them against @size.
 */
struct smr_mem_ops {
	bool any_access;
	int (*map)(struct smr_mem *mem, u64 off, size_t len, bool write,
		   struct smr_map *map);
	int (*trymap)(struct smr_mem *mem, u64 off, size_t len, bool write,
		      struct smr_map *map);
	bool (*next)(struct smr_mem *mem, size_t len, bool write,
		     struct smr_map *map);
	void (*unmap)(struct smr_mem *mem, struct smr_map *map);
	int (*fault)(struct smr_mem *mem, bool turn, u64 off, u64 len,
		     bool write);
	void (*release)(struct smr_mem *mem);
};

/**
 * struct smr_mem - memory that keys can reach; part of each kind's struct
 * @ops: the kind
 * @mm: whose memory it is, a mmgrab() reference of the kind's; NULL if it is
 *	no process's
 * @ref: by turn: one for the owner, if it is its turn, and one for each span in
 *	flight that was opened in it
 * @turn: the owner's; see smr_mem_turn()
 * @awaited: by turn: the owner waits for its spans
 * @size: bytes
 * @drained: completed when a @ref has dropped to 0; set only while an owner waits
 *	for that
 * @rcu: for @release; in the place of @size and @drained, which nothing reads then
 *
 * @ops, @mm and @size are constant once a key of it is published; @size may
 * change while it is suspended.
 */
struct smr_mem {
	const struct smr_mem_ops *ops;
	struct mm_struct *mm;
	refcount_t ref[2];
	bool turn;
	bool awaited[2];
	union {
		struct {
			u64 size;
			struct completion *drained;
		};
		struct rcu_head rcu;
	};
};

/**
 * struct smr_span - an authorised, referenced range of a memory
 * @mem: the memory, a reference is held; NULL when @len is 0
 * @off: first byte
 * @len: bytes
 * @turn: of the memory, when the span was opened
 */
struct smr_span {
	struct smr_mem *mem;
	u64 off;
	u64 len;
	bool turn;
};

/* Does an owner wait for the spans of a turn? Long operations then give up. */
static inline bool smr_mem_is_awaited(const struct smr_mem *mem, bool turn)
{
	return READ_ONCE(mem->awaited[turn]);
}

void smr_mem_init(struct smr_mem *mem, const struct smr_mem_ops *ops, u64 size);
void smr_mem_destroy(struct smr_mem *mem);
void smr_mem_suspend(struct smr_mem *mem, struct completion *idle);
bool __must_check smr_mem_try_suspend(struct smr_mem *mem);
void smr_mem_resume(struct smr_mem *mem, u64 size);
void smr_mem_turn(struct smr_mem *mem);
void smr_mem_settle(struct smr_mem *mem);
bool __must_check smr_mem_get(struct smr_mem *mem, bool turn);
void smr_span_put(struct smr_span *span);

/*
 * The copies. @off counts from the start of the span; the caller guarantees
 * off + len <= span->len. All return 0, SMR_PAGE_MISSING (call
 * smr_span_fault() in process context, then start this copy again; bytes
 * before the missing page may have been copied) or -EFAULT. Any context
 * but hard interrupts.
 */
int smr_span_read(const struct smr_span *span, u64 off, void *to, size_t len);
int smr_span_write(const struct smr_span *span, u64 off, const void *from,
		   size_t len);
int smr_span_copy(const struct smr_span *dst, u64 dst_off,
		  const struct smr_span *src, u64 src_off, size_t len);
int smr_span_write_skb(const struct smr_span *span, u64 off,
		       const struct sk_buff *skb, unsigned int skb_off,
		       size_t len);

/*
 * 8-byte atomics on an aligned offset; *orig gets the value before. Atomic
 * against each other and against the CPU. The aligned store is for the
 * ATOMIC WRITE of annex A19. As the copies above; -EINVAL: the span is not
 * of 8 bytes, or its memory not aligned.
 */
int smr_span_cmp_swap(const struct smr_span *span, u64 compare, u64 swap,
		      u64 *orig);
int smr_span_fetch_add(const struct smr_span *span, u64 add, u64 *orig);
int smr_span_store8(const struct smr_span *span, u64 value);

/* Process context; may sleep. 0, -EFAULT, -ENOMEM or -EINTR. */
int smr_span_fault(const struct smr_span *span, u64 off, u64 len, bool write);

#endif /* SMR_MEM_H */
