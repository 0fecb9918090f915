// SPDX-License-Identifier: GPL-2.0
#include "buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pattern.h"

#define MAX_PARTS	64

/**
 * vt_buf_open() - map and register a buffer, filled with its background
 *
 * Return: 0 or a negative errno
 */
int vt_buf_open(struct vt_buf *buf, struct ibv_pd *pd, size_t len, int access)
{
	buf->len = len;
	buf->p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf->p == MAP_FAILED) {
		buf->p = NULL;
		return -errno;
	}
	buf->seed = 0xbac6 + (uint32_t)len;
	vt_fill(buf->p, len, buf->seed, 0);
	buf->mr = ibv_reg_mr(pd, buf->p, len, access);
	return buf->mr ? 0 : -errno;
}

void vt_buf_close(struct vt_buf *buf)
{
	if (buf->mr)
		ibv_dereg_mr(buf->mr);
	if (buf->p)
		munmap(buf->p, buf->len);
	memset(buf, 0, sizeof(*buf));
}

/**
 * vt_sge() - @len bytes from @off on
 */
struct ibv_sge vt_sge(const struct vt_buf *buf, size_t off, uint32_t len)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)buf->p + off,
		.length = len,
		.lkey = buf->mr ? buf->mr->lkey : 0,
	};
}

/**
 * vt_split() - lay @len bytes over a list of @n parts behind the guard
 * @buf: large enough for @len, two guards and the gaps (1 KiB for 32 parts)
 * @sge: the list that is filled in
 * @n: parts
 * @len: bytes in all
 * @zeros: every second part is empty
 *
 * Parts have odd lengths, odd addresses and gaps between them. A single part is
 * aligned, as in an ordinary program.
 *
 * Return: @n
 */
int vt_split(const struct vt_buf *buf, struct ibv_sge *sge, int n, size_t len,
	     bool zeros)
{
	size_t off = VT_GUARD, part;
	int i, full;

	for (i = 0; i < n; i++) {
		full = zeros ? (n - i + 1) / 2 : n - i;
		part = len / full;
		if (full > 1 && part)
			part = (part - 1) | 1;
		if (zeros && (n - i) % 2 == 0)
			part = 0;
		if (n > 1)
			off += 2 * i + 1;
		sge[i] = vt_sge(buf, off, part);
		off += part;
		len -= part;
	}
	return n;
}

static int by_addr(const void *a, const void *b)
{
	const struct ibv_sge *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/*
 * Keep the part of @sge that the first @len bytes of the list cover; in
 * ascending order.
 */
static int written_parts(struct ibv_sge *out, const struct ibv_sge *sge, int n,
			 size_t len)
{
	int i, m = 0;

	for (i = 0; i < n && len; i++) {
		if (!sge[i].length)
			continue;
		out[m] = sge[i];
		if (out[m].length > len)
			out[m].length = len;
		len -= out[m++].length;
	}
	qsort(out, m, sizeof(*out), by_addr);
	return m;
}

/**
 * vt_buf_restore() - check that only a message was written, and wipe it
 * @buf: the buffer
 * @sge: the list that the message was written to
 * @n: parts of @sge
 * @len: bytes of the message; the rest of the list must be untouched
 *
 * Checks the bytes from the guard before the list to the guard after it, and
 * fills them with the background.
 */
bool vt_buf_restore(struct vt_buf *buf, const struct ibv_sge *sge, int n,
		    size_t len)
{
	struct ibv_sge part[MAX_PARTS];
	size_t from = buf->len, to = 0, at, end;
	bool ok = true;
	int i, m;

	for (i = 0; i < n; i++) {
		at = sge[i].addr - (uintptr_t)buf->p;
		from = at < from ? at : from;
		end = at + sge[i].length;
		to = end > to ? end : to;
	}
	if (!n)
		from = to = VT_GUARD;
	from = from > VT_GUARD ? from - VT_GUARD : 0;
	to = to + VT_GUARD < buf->len ? to + VT_GUARD : buf->len;

	m = written_parts(part, sge, n, len);
	for (i = 0; i < m; i++) {
		at = part[i].addr - (uintptr_t)buf->p;
		ok &= vt_check("gap", buf->p + from, at - from, buf->seed, from);
		vt_fill(buf->p + at, part[i].length, buf->seed, at);
		from = at + part[i].length;
	}
	return vt_check("end", buf->p + from, to - from, buf->seed, from) && ok;
}
