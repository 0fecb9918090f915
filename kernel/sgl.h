/* SPDX-License-Identifier: GPL-2.0 */
/* Scatter/gather lists of work requests, opened into spans. */
#ifndef SMR_SGL_H
#define SMR_SGL_H

#include <linux/minmax.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "key.h"
#include "mem.h"
#include "net/crc.h"
#include "uapi/softmr-abi.h"

struct smr_cursor;
struct smr_fault;
struct smr_pd;
struct smr_reason;

/**
 * struct smr_sgl - a part of a scatter/gather list, or inline data
 * @spans: opened, in order
 * @nr: number of @spans
 * @data: inline data, instead of spans
 * @len: bytes in all
 * @cur: the span that contains the position
 * @pos: the position within it, or within @data
 *
 * Owned by the task that opened it, for one copy. A task that waits for a peer or a page holds
 * no spans, so neither can delay a deregistration.
 */
struct smr_sgl {
	struct smr_span spans[SMR_MAX_SGE];
	unsigned int nr;
	const u8 *data;
	size_t len;
	unsigned int cur;
	size_t pos;
};

enum smr_key_verdict __must_check
smr_sgl_open(struct smr_sgl *sgl, const struct smr_pd *pd, u32 qpn, int access,
	     const struct smr_sge *sge, unsigned int num_sge, u64 skip,
	     u64 len);
enum smr_key_verdict __must_check
smr_sgl_open_key(struct smr_sgl *sgl, const struct smr_pd *pd, u32 qpn,
		 int access, u32 key, u64 addr, u64 len);
struct smr_reason smr_sgl_why(const struct smr_pd *pd, u32 qpn, int access,
			      const struct smr_sge *sge, unsigned int num_sge);
void smr_sgl_inline(struct smr_sgl *sgl, const void *data, size_t len);
void smr_sgl_close(struct smr_sgl *sgl);

/**
 * struct smr_miter - a mapping iterator: one copy from, or to, a list, in several parts
 * @sgl: the list; its position is the beginning of the run
 * @map: the mapped run; its @len bytes are not copied yet
 * @run: bytes of the run
 * @left: bytes of the copy from the beginning of the run on
 * @section: use of the vector registers, see struct smr_crc_section
 * @write: it copies to the list
 * @mapped: @map is to be ended
 *
 * With it, a copy looks each page up once, and not once per packet. The caller does not sleep
 * before smr_miter_stop().
 */
struct smr_miter {
	struct smr_sgl *sgl;
	struct smr_map map;
	size_t run;
	size_t left;
	struct smr_crc_section section;
	bool write;
	bool mapped;
};

/**
 * smr_miter_start() - begin a copy from, or to, a list
 * @m: end it with smr_miter_stop()
 * @sgl: the list, open
 * @len: bytes of the copy, at most what is left of the list after the position
 * @write: copy to the list
 */
static inline void smr_miter_start(struct smr_miter *m, struct smr_sgl *sgl, size_t len, bool write)
{
	*m = (struct smr_miter) { .sgl = sgl, .left = len, .write = write };
}

void smr_miter_stop(struct smr_miter *m);
int __must_check smr_miter_next(struct smr_miter *m);

/*
 * The copies advance the position. They return 0, SMR_PAGE_MISSING or -EFAULT, as
 * smr_span_copy(). smr_miter_copy_packet() also returns -EFAULT if the packet is too short. After
 * an error some bytes may have been copied, and the list has no defined position.
 */
int __must_check smr_miter_copy(struct smr_miter *m, void *buf, size_t len);
int __must_check smr_miter_copy_packet(struct smr_miter *m, struct smr_cursor *cur,
				       unsigned int off, size_t len, u32 *crc);

/* Set *n to the mapped bytes of the next @len, at least one. Maps a run if there is none. */
static inline int smr_miter_piece(struct smr_miter *m, size_t len, size_t *n)
{
	int err = m->map.len ? 0 : smr_miter_next(m);

	*n = min(len, m->map.len);
	return err;
}

/**
 * smr_miter_copy_crc() - copy the next bytes, and continue a CRC-32 over them
 * @m: the copy
 * @buf: source or destination
 * @len: bytes, at most what is left of the copy
 * @crc: see smr_crc32_copy()
 *
 * Return: see above.
 */
static inline int smr_miter_copy_crc(struct smr_miter *m, void *buf, size_t len, u32 *crc)
{
	size_t n;
	int err;

	for (; len; len -= n, buf += n) {
		err = smr_miter_piece(m, len, &n);
		if (err)
			return err;
		err = smr_crc32_copy(crc, m->write ? m->map.addr : buf,
				     m->write ? buf : m->map.addr, n, buf, &m->section);
		if (err)
			return err;
		m->map.addr += n;
		m->map.len -= n;
	}
	return 0;
}

int smr_sgl_read(struct smr_sgl *sgl, void *to, size_t len);
int smr_sgl_write(struct smr_sgl *sgl, const void *from, size_t len);
int smr_sgl_write_packet(struct smr_sgl *sgl, struct smr_cursor *cur,
			 unsigned int off, size_t len);
int smr_sgl_copy(struct smr_sgl *dst, struct smr_sgl *src, size_t len);

bool smr_sgl_needs_thread(const struct smr_sgl *sgl);
bool smr_sgl_is_paged(const struct smr_sgl *sgl);
int smr_sgl_fault_here(const struct smr_sgl *sgl, bool write);
struct smr_fault *smr_sgl_fault(const struct smr_sgl *sgl, bool write,
				gfp_t gfp);
bool smr_sgl_is_of(const struct smr_sgl *sgl, bool write,
		   const struct smr_fault *fault);

#endif /* SMR_SGL_H */
