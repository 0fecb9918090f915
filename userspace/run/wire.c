// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct head {
	uint8_t type;
	uint8_t node;
	uint16_t stream;
	uint32_t len;
};

static void make_room(struct wire_buf *b, size_t len)
{
	if (b->size - b->end >= len)
		return;
	memmove(b->data, b->data + b->start, wire_buf_len(b));
	b->end -= b->start;
	b->start = 0;
	while (b->size - b->end < len) {
		b->size = b->size ? 2 * b->size : 4 * WIRE_MAX;
		b->data = realloc(b->data, b->size);
		if (!b->data) {
			fputs("softmr-run: out of memory\n", stderr);
			_exit(125);
		}
	}
}

void wire_buf_add(struct wire_buf *b, const void *data, size_t len)
{
	if (!len)
		return;
	make_room(b, len);
	memcpy(b->data + b->end, data, len);
	b->end += len;
}

void wire_buf_drop(struct wire_buf *b, size_t len)
{
	b->start += len;
	if (b->start == b->end)
		b->start = b->end = 0;
}

void wire_put(struct wire *w, enum frame_type type, int node, int stream,
	      const void *data, size_t len)
{
	struct head h = { .type = type, .node = node, .stream = stream,
			  .len = len };

	wire_buf_add(&w->out, &h, sizeof(h));
	wire_buf_add(&w->out, data, len);
}

void wire_put_int(struct wire *w, enum frame_type type, int node, int stream, int32_t value)
{
	wire_put(w, type, node, stream, &value, sizeof(value));
}

void wire_put_all(struct wire *w, enum frame_type type, int node, int stream,
		  const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		size_t n = len < WIRE_MAX ? len : WIRE_MAX;

		wire_put(w, type, node, stream, p, n);
		p += n;
		len -= n;
	}
}

bool wire_send(struct wire *w)
{
	while (wire_can_send(w)) {
		size_t len = wire_buf_len(&w->out);
		ssize_t n;

		if (w->host && len > (size_t)w->room)
			len = w->room;
		n = write(w->fd, w->out.data + w->out.start, len);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (!n)
			break;
		wire_buf_drop(&w->out, n);
		if (w->host)
			w->room -= n;
	}
	return true;
}

bool wire_receive(struct wire *w)
{
	ssize_t n;

	if (w->broken)
		return false;
	make_room(&w->in, 4 * WIRE_MAX);
	n = read(w->fd, w->in.data + w->in.end, w->in.size - w->in.end);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	w->in.end += n;
	if (w->host)
		return true;
	w->taken += n;
	if (w->taken >= WIRE_LINE / 4) {
		wire_put_int(w, FRAME_TAKEN, 0, 0, w->taken);
		w->taken = 0;
	}
	return true;
}

static bool next_frame(struct wire *w, struct frame *f)
{
	struct head h;

	if (wire_buf_len(&w->in) < sizeof(h))
		return false;
	memcpy(&h, w->in.data + w->in.start, sizeof(h));
	if (h.len > WIRE_MAX)
		w->broken = true;
	if (w->broken || wire_buf_len(&w->in) - sizeof(h) < h.len)
		return false;
	f->type = h.type;
	f->node = h.node;
	f->stream = h.stream;
	f->len = h.len;
	f->data = w->in.data + w->in.start + sizeof(h);
	/* The bytes remain in their place until make_room() moves them. */
	w->in.start += sizeof(h) + h.len;
	return true;
}

bool wire_next(struct wire *w, struct frame *f)
{
	while (next_frame(w, f)) {
		if (f->type != FRAME_TAKEN)
			return true;
		w->room += wire_int(f);
	}
	return false;
}

int32_t wire_int(const struct frame *f)
{
	int32_t value = 0;

	if (f->len >= sizeof(value))
		memcpy(&value, f->data, sizeof(value));
	return value;
}
