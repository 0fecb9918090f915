// SPDX-License-Identifier: GPL-2.0
/* Open the entries of a scatter/gather list into spans, and copy from and to the open list. */
#include "sgl.h"

#include <linux/minmax.h>
#include <linux/string.h>

#include "fault.h"
#include "net/cursor.h"
#include "pd.h"

static void sgl_clear(struct smr_sgl *sgl)
{
	sgl->nr = 0;
	sgl->data = NULL;
	sgl->len = 0;
	sgl->cur = 0;
	sgl->pos = 0;
}

/**
 * smr_sgl_open() - open a part of a scatter/gather list
 * @sgl: filled in; end it with smr_sgl_close() on SMR_KEY_OK
 * @pd: the PD that the keys must belong to
 * @qpn: the QP that accesses the memory
 * @access: IB_ACCESS_LOCAL_WRITE to write, 0 to read
 * @sge: the entries, already the kernel's own copy
 * @num_sge: number of entries
 * @skip: offset of the part in the list, in bytes
 * @len: bytes of the part. A shorter list is opened as far as it goes
 *
 * Context: any; lockless.
 * Return: SMR_KEY_OK, or why the first bad key did not open.
 */
enum smr_key_verdict
smr_sgl_open(struct smr_sgl *sgl, const struct smr_pd *pd, u32 qpn, int access,
	     const struct smr_sge *sge, unsigned int num_sge, u64 skip,
	     u64 len)
{
	enum smr_key_verdict verdict;
	unsigned int i;
	u64 n;

	sgl_clear(sgl);
	for (i = 0; i < num_sge && len; i++) {
		if (skip >= sge[i].length) {
			skip -= sge[i].length;
			continue;
		}
		n = min_t(u64, sge[i].length - skip, len);
		verdict = smr_key_open(pd->keys, sge[i].lkey, &pd->ibpd, qpn,
				       access, sge[i].addr + skip, n,
				       &sgl->spans[sgl->nr]);
		if (verdict != SMR_KEY_OK) {
			smr_sgl_close(sgl);
			return verdict;
		}
		sgl->nr++;
		sgl->len += n;
		len -= n;
		skip = 0;
	}
	return SMR_KEY_OK;
}

/**
 * smr_sgl_open_key() - open a range of one key, as a list of one span
 * @sgl: filled in; end it with smr_sgl_close() on SMR_KEY_OK
 * @pd: the PD that the key must belong to
 * @qpn: the QP that executes the request
 * @access: enum ib_access_flags that are needed
 * @key: the key
 * @addr: iova of the first byte
 * @len: bytes, at least 1
 *
 * Context: any; lockless.
 * Return: SMR_KEY_OK, or why the key did not open.
 */
enum smr_key_verdict
smr_sgl_open_key(struct smr_sgl *sgl, const struct smr_pd *pd, u32 qpn,
		 int access, u32 key, u64 addr, u64 len)
{
	enum smr_key_verdict verdict;

	sgl_clear(sgl);
	verdict = smr_key_open(pd->keys, key, &pd->ibpd, qpn, access, addr,
			       len, &sgl->spans[0]);
	if (verdict == SMR_KEY_OK) {
		sgl->nr = 1;
		sgl->len = len;
	}
	return verdict;
}

/**
 * smr_sgl_why() - why did a list not open?
 * @pd: as in smr_sgl_open()
 * @qpn: as in smr_sgl_open()
 * @access: as in smr_sgl_open()
 * @sge: as in smr_sgl_open()
 * @num_sge: as in smr_sgl_open()
 * @why: filled in with the first entry that does not open
 *
 * Context: any; lockless.
 * Return: false: all of it would open now.
 */
bool smr_sgl_why(const struct smr_pd *pd, u32 qpn, int access,
		 const struct smr_sge *sge, unsigned int num_sge,
		 struct smr_why *why)
{
	unsigned int i;

	for (i = 0; i < num_sge; i++)
		if (sge[i].length &&
		    smr_key_why(pd->keys, sge[i].lkey, &pd->ibpd, qpn, access,
				sge[i].addr, sge[i].length, why) != SMR_KEY_OK)
			return true;
	return false;
}

/**
 * smr_sgl_inline() - use inline data as a list
 * @sgl: filled in; needs no smr_sgl_close()
 * @data: the data, which must outlive @sgl
 * @len: bytes
 */
void smr_sgl_inline(struct smr_sgl *sgl, const void *data, size_t len)
{
	sgl_clear(sgl);
	sgl->data = data;
	sgl->len = len;
}

/**
 * smr_sgl_close() - drop the references of an open list
 * @sgl: the list
 */
void smr_sgl_close(struct smr_sgl *sgl)
{
	while (sgl->nr)
		smr_span_put(&sgl->spans[--sgl->nr]);
	sgl->data = NULL;
	sgl->len = 0;
}

/* The run at the position: its span, and how much of @len lies in it. */
static const struct smr_span *sgl_run(struct smr_sgl *sgl, size_t *len)
{
	const struct smr_span *span = &sgl->spans[sgl->cur];

	if (sgl->pos == span->len) {
		sgl->cur++;
		sgl->pos = 0;
		span++;
	}
	*len = min_t(u64, *len, span->len - sgl->pos);
	return span;
}

/* A position to return to if a copy fails. */
struct sgl_mark {
	unsigned int cur;
	size_t pos;
};

static struct sgl_mark sgl_tell(const struct smr_sgl *sgl)
{
	return (struct sgl_mark){ .cur = sgl->cur, .pos = sgl->pos };
}

static int sgl_seek(struct smr_sgl *sgl, struct sgl_mark mark, int err)
{
	sgl->cur = mark.cur;
	sgl->pos = mark.pos;
	return err;
}

/**
 * smr_sgl_read_pieces() - copy out of a list, into pieces
 * @sgl: the list
 * @to: destination; advanced, by an undefined amount after an error
 * @len: bytes, at most what is left of the list after the position
 *
 * Return: 0, SMR_PAGE_MISSING (see qp/paging.h) or -EFAULT.
 */
int smr_sgl_read_pieces(struct smr_sgl *sgl, struct smr_pieces *to, size_t len)
{
	struct sgl_mark mark = sgl_tell(sgl);
	const struct smr_span *span;
	size_t n;
	int err;

	if (sgl->data) {
		err = smr_pieces_write(to, sgl->data + sgl->pos, len);
		if (!err)
			sgl->pos += len;
		return err;
	}
	for (; len; len -= n, sgl->pos += n) {
		n = len;
		span = sgl_run(sgl, &n);
		err = smr_span_read(span, sgl->pos, to, n);
		if (err)
			return sgl_seek(sgl, mark, err);
	}
	return 0;
}

/**
 * smr_sgl_write_pieces() - copy pieces into a list
 * @sgl: the list
 * @from: source; advanced, by an undefined amount after an error
 * @len: bytes, at most what is left of the list after the position
 *
 * Return: 0, SMR_PAGE_MISSING (see qp/paging.h) or -EFAULT.
 */
int smr_sgl_write_pieces(struct smr_sgl *sgl, struct smr_pieces *from,
			 size_t len)
{
	struct sgl_mark mark = sgl_tell(sgl);
	const struct smr_span *span;
	size_t n;
	int err;

	for (; len; len -= n, sgl->pos += n) {
		n = len;
		span = sgl_run(sgl, &n);
		err = smr_span_write(span, sgl->pos, from, n);
		if (err)
			return sgl_seek(sgl, mark, err);
	}
	return 0;
}

/**
 * smr_sgl_write_packet() - copy a packet's payload into a list
 * @sgl: the list
 * @cur: the packet
 * @off: offset of the payload from skb->data
 * @len: bytes, at most what is left of the list after the position
 *
 * Return: 0, SMR_PAGE_MISSING (see qp/paging.h) or -EFAULT, also if the packet is too short.
 */
int smr_sgl_write_packet(struct smr_sgl *sgl, struct smr_cursor *cur,
			 unsigned int off, size_t len)
{
	struct sgl_mark mark = sgl_tell(sgl);
	unsigned int n;
	const u8 *from;
	int err;

	for (; len; len -= n, off += n) {
		from = smr_cursor_at(cur, off, &n);
		if (!from)
			return sgl_seek(sgl, mark, -EFAULT);
		n = min_t(size_t, n, len);
		err = smr_sgl_write(sgl, from, n);
		if (err)
			return sgl_seek(sgl, mark, err);
	}
	return 0;
}

/**
 * smr_sgl_copy() - copy from one list to another
 * @dst: destination
 * @src: source
 * @len: bytes, at most what is left of each
 *
 * Return: 0, SMR_PAGE_MISSING (see qp/paging.h), -EFAULT (@dst) or
 * -ENXIO (@src).
 */
int smr_sgl_copy(struct smr_sgl *dst, struct smr_sgl *src, size_t len)
{
	struct sgl_mark dst_mark = sgl_tell(dst), src_mark = sgl_tell(src);
	const struct smr_span *to, *from;
	size_t n;
	int err;

	if (src->data) {
		err = smr_sgl_write(dst, src->data + src->pos, len);
		if (!err)
			src->pos += len;
		return err;
	}
	for (; len; len -= n, dst->pos += n, src->pos += n) {
		n = len;
		to = sgl_run(dst, &n);
		from = sgl_run(src, &n);
		err = smr_span_copy(to, dst->pos, from, src->pos, n);
		if (err) {
			sgl_seek(src, src_mark, err);
			return sgl_seek(dst, dst_mark, err);
		}
	}
	return 0;
}

/**
 * smr_sgl_fault_here() - bring in pages of an open list without sleeping for any of them
 * @sgl: the list
 * @write: the pages will be written to
 *
 * Context: process, may sleep.
 * Return: as smr_span_fault_here().
 */
int smr_sgl_fault_here(const struct smr_sgl *sgl, bool write)
{
	unsigned int i;
	int err;

	for (i = 0; i < sgl->nr; i++) {
		err = smr_span_fault_here(&sgl->spans[i], write);
		if (err)
			return err;
	}
	return 0;
}

/**
 * smr_sgl_needs_thread() - must an open list be copied by another thread?
 * @sgl: the list
 *
 * Return: true if some of its memory may be used only by a kernel thread, and the caller is
 *	none.
 */
bool smr_sgl_needs_thread(const struct smr_sgl *sgl)
{
	unsigned int i;

	if (smr_mem_in_thread())
		return false;
	for (i = 0; i < sgl->nr; i++)
		if (sgl->spans[i].mem->ops->thread)
			return true;
	return false;
}

/**
 * smr_sgl_is_paged() - can pages of an open list be missing?
 * @sgl: the list
 *
 * Return: true if any part of it is paged on demand.
 */
bool smr_sgl_is_paged(const struct smr_sgl *sgl)
{
	unsigned int i;

	for (i = 0; i < sgl->nr; i++)
		if (sgl->spans[i].mem->ops->fault)
			return true;
	return false;
}

/**
 * smr_sgl_fault() - allocate a fault for all pages of an open list
 * @sgl: the list, for which smr_sgl_is_paged() is true
 * @write: the pages will be written to
 * @gfp: how to allocate it
 *
 * Context: any, as @gfp says.
 * Return: the fault, which the caller starts; or NULL.
 */
struct smr_fault *smr_sgl_fault(const struct smr_sgl *sgl, bool write,
				gfp_t gfp)
{
	struct smr_fault *fault;
	unsigned int i;

	fault = smr_fault_alloc(sgl->nr, write ? SMR_WANT_WRITE : SMR_WANT_READ,
				gfp);
	if (!fault)
		return NULL;
	for (i = 0; i < sgl->nr; i++)
		smr_fault_add(fault, &sgl->spans[i], 0, sgl->spans[i].len);
	return fault;
}

/**
 * smr_sgl_is_of() - is a fault for exactly the pages of an open list?
 * @sgl: the list
 * @write: the pages will be written to
 * @fault: the fault
 *
 * Return: true if it is.
 */
bool smr_sgl_is_of(const struct smr_sgl *sgl, bool write,
		   const struct smr_fault *fault)
{
	const struct smr_fault_range *r = fault->ranges;
	unsigned int i, n = 0;

	if (fault->want != (write ? SMR_WANT_WRITE : SMR_WANT_READ))
		return false;
	for (i = 0; i < sgl->nr; i++) {
		const struct smr_span *span = &sgl->spans[i];

		if (!span->mem->ops->fault)
			continue;
		if (n == fault->nr || r[n].serial != span->mem->serial ||
		    r[n].off != span->off || r[n].len != span->len)
			return false;
		n++;
	}
	return n == fault->nr;
}
