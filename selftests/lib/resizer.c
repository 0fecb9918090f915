// SPDX-License-Identifier: GPL-2.0
#include "resizer.h"

#include <unistd.h>

static void *resize_on(void *arg)
{
	struct vt_resizer *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED) && !r->ret) {
		r->ret = r->resize(r->queue, r->rounds % 2 ? r->small :
							     r->large);
		__atomic_fetch_add(&r->rounds, 1, __ATOMIC_RELAXED);
		usleep(1000);
	}
	return NULL;
}

/**
 * vt_resizer_start() - start the thread
 *
 * Return: 0 or a negative errno
 */
int vt_resizer_start(struct vt_resizer *r)
{
	return -pthread_create(&r->thread, NULL, resize_on, r);
}

/**
 * vt_resizer_rounds() - how often the queue was resized so far
 */
int vt_resizer_rounds(const struct vt_resizer *r)
{
	return __atomic_load_n(&r->rounds, __ATOMIC_RELAXED);
}

/**
 * vt_resizer_end() - end the thread
 *
 * Return: 0, or the error of a resize that failed
 */
int vt_resizer_end(struct vt_resizer *r)
{
	__atomic_store_n(&r->stop, true, __ATOMIC_RELAXED);
	pthread_join(r->thread, NULL);
	return r->ret;
}
