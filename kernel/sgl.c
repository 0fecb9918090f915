// SPDX-License-Identifier: GPL-2.0
/* Open the entries of a scatter/gather list into spans, and copy from and to the open list. */
#include "sgl.h"

#include <linux/minmax.h>
#include <linux/string.h>

#include "fault.h"
#include "net/cursor.h"
#include "pd.h"
#include "why.h"

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
 *
 * Context: any; lockless.
 * Return: why the first entry that does not open does not; its id is 0 if all of it would open now.
 */
struct smr_reason smr_sgl_why(const struct smr_pd *pd, u32 qpn, int access,
			      const struct smr_sge *sge, unsigned int num_sge)
{
	struct smr_reason why = {};
	unsigned int i;

	for (i = 0; i < num_sge && !why.id; i++)
		if (sge[i].length)
			why = smr_key_why(pd->keys, sge[i].lkey, &pd->ibpd, qpn,
					  access, sge[i].addr, sge[i].length);
	return why;
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

/* The span at the position; *len is limited to what is left of it. */
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

/* Move the position behind the bytes that are copied. */
static void miter_advance(struct smr_miter *m)
{
	struct smr_sgl *sgl = m->sgl;
	size_t n = m->run - m->map.len;

	if (!n)
		return;
	if (m->mapped)
		smr_span_moved(&sgl->spans[sgl->cur], n);
	m->run -= n;
	m->left -= n;
	sgl->pos += n;
}

static void miter_unmap(struct smr_miter *m)
{
	smr_crc_section_end(&m->section);
	if (m->mapped)
		smr_span_unmap(&m->sgl->spans[m->sgl->cur], &m->map);
	m->mapped = false;
}

/**
 * smr_miter_stop() - end a copy
 * @m: the copy
 */
void smr_miter_stop(struct smr_miter *m)
{
	miter_advance(m);
	miter_unmap(m);
}

static int miter_map(struct smr_miter *m)
{
	struct smr_sgl *sgl = m->sgl;
	const struct smr_span *span = &sgl->spans[sgl->cur];
	size_t len = m->left;
	int err;

	if (m->mapped && sgl->pos < span->len) {
		/* Maps that have an unmap() may take locks, or sleep, when they advance. */
		if (span->mem->ops->unmap)
			smr_crc_section_end(&m->section);
		if (smr_span_next(span, sgl->pos, min_t(u64, len, span->len - sgl->pos),
				  m->write, &m->map))
			return 0;
	}
	miter_unmap(m);
	span = sgl_run(sgl, &len);
	err = smr_span_map(span, sgl->pos, len, m->write, &m->map);
	m->mapped = !err;
	return err;
}

/**
 * smr_miter_next() - map the next run of memory
 * @m: the copy; all bytes of the run are copied, and there are more
 *
 * Return: as smr_miter_copy().
 */
int smr_miter_next(struct smr_miter *m)
{
	struct smr_sgl *sgl = m->sgl;
	int err = 0;

	miter_advance(m);
	if (sgl->data)
		m->map = (struct smr_map) {
			.addr = (void *)sgl->data + sgl->pos,
			.len = m->left,
		};
	else
		err = miter_map(m);
	if (err)
		m->map.len = 0;
	m->run = m->map.len;
	return err;
}

/**
 * smr_miter_copy() - copy the next bytes
 * @m: the copy
 * @buf: source or destination
 * @len: bytes, at most what is left of the copy
 *
 * Return: see sgl.h.
 */
int smr_miter_copy(struct smr_miter *m, void *buf, size_t len)
{
	size_t n;
	int err;

	for (; len; len -= n, buf += n) {
		err = smr_miter_piece(m, len, &n);
		if (err)
			return err;
		if (m->write)
			memmove(m->map.addr, buf, n);
		else if (smr_mem_copy(buf, m->map.addr, n))
			return -EFAULT;
		m->map.addr += n;
		m->map.len -= n;
	}
	return 0;
}

/**
 * smr_miter_copy_packet() - copy bytes of a packet into a list
 * @m: the copy
 * @cur: the packet
 * @off: offset of the bytes from skb->data
 * @len: bytes, at most what is left of the copy
 * @crc: as for smr_miter_copy_crc(); or NULL
 *
 * Return: see sgl.h.
 */
int smr_miter_copy_packet(struct smr_miter *m, struct smr_cursor *cur,
			  unsigned int off, size_t len, u32 *crc)
{
	unsigned int n;
	const u8 *from;
	int err;

	for (; len; len -= n, off += n) {
		from = smr_cursor_at(cur, off, &n);
		if (!from)
			return -EFAULT;
		n = min_t(size_t, n, len);
		err = crc ? smr_miter_copy_crc(m, (void *)from, n, crc) :
			    smr_miter_copy(m, (void *)from, n);
		if (err)
			return err;
	}
	return 0;
}

/**
 * smr_sgl_read() - copy out of a list
 * @sgl: the list
 * @to: destination
 * @len: bytes, at most what is left of the list after the position
 *
 * Return: see sgl.h.
 */
int smr_sgl_read(struct smr_sgl *sgl, void *to, size_t len)
{
	struct smr_miter m;
	int err;

	smr_miter_start(&m, sgl, len, false);
	err = smr_miter_copy(&m, to, len);
	smr_miter_stop(&m);
	return err;
}

/**
 * smr_sgl_write() - copy into a list
 * @sgl: the list
 * @from: source
 * @len: bytes, at most what is left of the list after the position
 *
 * Return: see sgl.h.
 */
int smr_sgl_write(struct smr_sgl *sgl, const void *from, size_t len)
{
	struct smr_miter m;
	int err;

	smr_miter_start(&m, sgl, len, true);
	err = smr_miter_copy(&m, (void *)from, len);
	smr_miter_stop(&m);
	return err;
}

/**
 * smr_sgl_write_packet() - copy a packet's payload into a list
 * @sgl: the list
 * @cur: the packet
 * @off: offset of the payload from skb->data
 * @len: bytes, at most what is left of the list after the position
 *
 * Return: see sgl.h.
 */
int smr_sgl_write_packet(struct smr_sgl *sgl, struct smr_cursor *cur,
			 unsigned int off, size_t len)
{
	struct smr_miter m;
	int err;

	smr_miter_start(&m, sgl, len, true);
	err = smr_miter_copy_packet(&m, cur, off, len, NULL);
	smr_miter_stop(&m);
	return err;
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
	const struct smr_span *to, *from;
	size_t n;
	int err;

	if (src->data) {
		err = smr_sgl_write(dst, src->data + src->pos, len);
		src->pos += len;
		return err;
	}
	for (; len; len -= n, dst->pos += n, src->pos += n) {
		n = len;
		to = sgl_run(dst, &n);
		from = sgl_run(src, &n);
		err = smr_span_copy(to, dst->pos, from, src->pos, n);
		if (err)
			return err;
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
 * smr_sgl_needs_thread() - must a kernel thread copy an open list?
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
