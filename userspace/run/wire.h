/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol between softmr-run on the host and the init of its guest, over
 * one serial line of the guest: frames of a head and up to 4096 bytes. A longer
 * frame ends the connection. The guest is not trusted, because its programs can
 * write to the memory of its kernel.
 *
 *   guest                          host
 *   FRAME_HELLO            ->
 *                          <-      FRAME_JOB..., FRAME_START
 *   FRAME_UP or FRAME_WHY  ->
 *   FRAME_DATA             ->      output of a node's command
 *                          <-      FRAME_DATA: its input
 *   FRAME_ACK             <->      so many bytes of a stream were consumed
 *   FRAME_CLOSE           <->      end of input; nobody reads an output
 *                          <-      FRAME_SIGNAL, FRAME_WINCH
 *   FRAME_EXIT             ->      a node's command has ended
 *   FRAME_LOG..., FRAME_DOWN ->    the kernel's log; nothing is left to do
 *
 *                FRAME_TAKEN ->      so many bytes were read from the line
 *
 * A stream has at most WIRE_WINDOW bytes that are sent and not acknowledged. So
 * neither side blocks, and a control frame never waits for a data frame.
 *
 * The host has at most WIRE_LINE bytes of any kind on the line that the guest
 * has not read. With nearly 4096, the guest's terminal would throttle the
 * line, and the driver of UML's serial lines (up to 7.3 at least) then never
 * hears of input again: line_throttle() removes the interrupt for reading,
 * and line_unthrottle() does not bring it back.
 */
#ifndef SMR_RUN_WIRE_H
#define SMR_RUN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAX	4096
#define WIRE_WINDOW	65536
#define WIRE_LINE	2048

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_JOB,
	FRAME_START,
	FRAME_UP,
	FRAME_WHY,	/* text: why the guest cannot run the command */
	FRAME_DATA,
	FRAME_ACK,	/* uint32_t */
	FRAME_CLOSE,
	FRAME_SIGNAL,	/* int32_t */
	FRAME_WINCH,	/* struct winsize */
	FRAME_EXIT,	/* int32_t, as a shell's $? */
	FRAME_LOG,
	FRAME_DOWN,
	FRAME_TAKEN,	/* int32_t; wire_next() handles it */
};

/* Streams are numbered as file descriptors. */
struct frame {
	uint8_t type;
	uint8_t node;	/* 1 is the first; 0 where it does not matter */
	uint16_t stream;
	uint32_t len;
	const uint8_t *data;	/* valid until the next wire_next() */
};

struct wire_buf {
	uint8_t *data;
	size_t start, end, size;
};

struct wire {
	int fd;		/* non-blocking */
	bool host;	/* this is the host's end */
	bool broken;	/* the received data is no frame */
	int room;	/* the host: bytes that the line accepts */
	int taken;	/* the guest: bytes read since the last FRAME_TAKEN */
	struct wire_buf in, out;
};

/* The number of bytes that wait in @b */
static inline size_t wire_buf_len(const struct wire_buf *b)
{
	return b->end - b->start;
}

/* There is something to send, and the line accepts it */
static inline bool wire_can_send(const struct wire *w)
{
	return wire_buf_len(&w->out) && (!w->host || w->room > 0);
}

void wire_buf_add(struct wire_buf *b, const void *data, size_t len);
void wire_buf_drop(struct wire_buf *b, size_t len);

/* Queue a frame; wire_send() sends what is queued. */
void wire_put(struct wire *w, enum frame_type type, int node, int stream,
	      const void *data, size_t len);
void wire_put_int(struct wire *w, enum frame_type type, int node, int stream, int32_t value);
/* Queue @len bytes as frames of WIRE_MAX. */
void wire_put_all(struct wire *w, enum frame_type type, int node, int stream,
		  const void *data, size_t len);

/*
 * Both functions do what is possible without waiting; false: the other side is
 * gone.
 */
bool wire_send(struct wire *w);
bool wire_receive(struct wire *w);

/* The next whole frame that was received; false if there is none. */
bool wire_next(struct wire *w, struct frame *f);
/* The number in a frame that has one. */
int32_t wire_int(const struct frame *f);

#endif
