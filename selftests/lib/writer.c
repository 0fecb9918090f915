// SPDX-License-Identifier: GPL-2.0
#include "writer.h"

#include <errno.h>
#include <string.h>

#include "work.h"

#define WARM_UP	20

/**
 * vt_writer_aim() - say what is written to
 * @w: filled in
 * @pair: connected
 * @r: on the PD of pair->b
 * @remote: by WRITEs of the peer; otherwise by READs of b itself
 */
void vt_writer_aim(struct vt_writer *w, struct vt_pair *pair,
		   const struct vt_place *r, bool remote)
{
	memset(w, 0, sizeof(*w));
	if (remote) {
		w->ep = &pair->a;
		w->op = IBV_WR_RDMA_WRITE;
		w->local = vt_sge(&pair->a.buf, 0, r->len);
		w->remote = (struct vt_remote){ r->iova, r->mr->rkey };
		return;
	}
	w->ep = &pair->b;
	w->op = IBV_WR_RDMA_READ;
	w->local = vt_place_sge(r, 0, r->len);
	w->remote = (struct vt_remote){ (uintptr_t)pair->a.buf.p,
					pair->a.buf.mr->rkey };
}

static void *write_until_refused(void *arg)
{
	struct vt_writer *w = arg;

	do {
		w->status = vt_op(w->ep, w->op, &w->local, w->remote);
		__atomic_add_fetch(&w->done, 1, __ATOMIC_RELEASE);
	} while (w->status == IBV_WC_SUCCESS);
	return NULL;
}

/**
 * vt_writer_start() - start the thread, and wait until it is well under way
 *
 * Return: 0 or a negative errno
 */
int vt_writer_start(struct vt_writer *w)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	int ret = pthread_create(&w->thread, NULL, write_until_refused, w);

	if (ret)
		return -ret;
	while (__atomic_load_n(&w->done, __ATOMIC_ACQUIRE) < WARM_UP)
		if (vt_now_ms() > end)
			return -ETIMEDOUT;
	return 0;
}

/**
 * vt_writer_end() - wait until an operation has failed
 *
 * Return: its status
 */
int vt_writer_end(struct vt_writer *w)
{
	int ret = pthread_join(w->thread, NULL);

	return ret ? -ret : w->status;
}
