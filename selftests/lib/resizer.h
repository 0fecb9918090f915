/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that resizes a queue up and down while a test uses it. */
#ifndef VT_RESIZER_H
#define VT_RESIZER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct vt_resizer - a resizer's parameters and state
 * @resize: gives @queue another size; 0 or an errno
 * @queue: a CQ or an SRQ
 * @small: entries in one round
 * @large: entries in the next
 */
struct vt_resizer {
	int (*resize)(void *queue, uint32_t size);
	void *queue;
	uint32_t small;
	uint32_t large;
	pthread_t thread;
	bool stop;
	int rounds;
	int ret;
};

int vt_resizer_start(struct vt_resizer *r);
int vt_resizer_rounds(const struct vt_resizer *r);
int vt_resizer_end(struct vt_resizer *r);

#endif /* VT_RESIZER_H */
