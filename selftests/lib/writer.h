/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that lets memory be written to, again and again, until an operation
 * fails.
 */
#ifndef VT_WRITER_H
#define VT_WRITER_H

#include <pthread.h>
#include <stdbool.h>

#include "rights.h"

/**
 * struct vt_writer - a writer's parameters and state
 * @ep: where it posts
 * @op: which operation
 * @local: its local part
 * @remote: its remote part
 * @done: operations so far
 * @status: of the last one
 */
struct vt_writer {
	struct vt_ep *ep;
	enum ibv_wr_opcode op;
	struct ibv_sge local;
	struct vt_remote remote;
	pthread_t thread;
	int done;
	int status;
};

void vt_writer_aim(struct vt_writer *w, struct vt_pair *pair,
		   const struct vt_place *r, bool remote);
int vt_writer_start(struct vt_writer *w);
int vt_writer_end(struct vt_writer *w);

#endif /* VT_WRITER_H */
