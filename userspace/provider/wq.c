// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work queues: map, resize, reset, unmap. */
#include "wq.h"

#include <errno.h>

/* Whether an entry whose header has @head bytes has room for its payload */
static bool entries_fit(const struct smr_ring_info *info, uint32_t head)
{
	if (info->max_sge > SMR_MAX_SGE || info->max_inline > SMR_MAX_INLINE)
		return false;
	return info->stride >= head + info->max_sge * sizeof(struct smr_sge) &&
	       info->stride >= head + info->max_inline;
}

static void load_indices(struct smr_wq *wq)
{
	wq->cons = smr_load_acquire(&wq->ring.hdr->cons);
	wq->prod = smr_load_acquire(&wq->ring.hdr->prod);
}

static int map_ring(struct smr_ring *ring, struct smr_maps *maps,
		    const struct smr_ring_info *info, uint32_t head,
		    struct smr_room *room)
{
	if (info->depth && !entries_fit(info, head))
		return EPROTO;
	return smr_ring_map(ring, maps, info, head, room);
}

static void set_limits(struct smr_wq *wq, const struct smr_ring_info *info)
{
	wq->max_wr = info->max_wr;
	wq->max_sge = info->max_sge;
	wq->max_inline = info->max_inline;
}

/* @head: bytes of an entry before its SGEs or inline data. There may be no ring. */
int smr_wq_init(struct smr_wq *wq, struct ibv_context *context, uint32_t qpn,
		struct smr_maps *maps, const struct smr_ring_info *info,
		uint32_t head)
{
	int ret = map_ring(&wq->ring, maps, info, head, NULL);

	if (ret)
		return ret;

	smr_lock_init(&wq->lock);
	wq->context = context;
	wq->qpn = qpn;
	set_limits(wq, info);
	smr_wq_reset(wq);
	wq->full_at = wq->prod - 1;
	return 0;
}

/* The kernel already uses the new ring. On failure nothing can be posted until the queue gets another one. */
int smr_wq_use_ring(struct smr_wq *wq, struct smr_maps *maps,
		    const struct smr_ring_info *info, uint32_t head,
		    struct smr_room *room)
{
	struct smr_ring ring;
	int ret = map_ring(&ring, maps, info, head, room);

	if (!ret && !ring.hdr)
		ret = EPROTO;
	if (ret) {
		static const struct smr_ring_info nothing;

		smr_ring_lose(&wq->ring);
		set_limits(wq, &nothing);
	} else {
		smr_ring_unmap(&wq->ring);
		wq->ring = ring;
		set_limits(wq, info);
	}
	load_indices(wq);
	return ret;
}

void smr_wq_fini(struct smr_wq *wq)
{
	smr_lock_destroy(&wq->lock);
	smr_ring_unmap(&wq->ring);
}

/* Adopt the indices that the kernel has set: the QP is in the RESET state. */
void smr_wq_reset(struct smr_wq *wq)
{
	if (!wq->ring.hdr)
		return;
	smr_lock(&wq->lock);
	load_indices(wq);
	smr_unlock(&wq->lock);
}

int smr_wq_refuse_full(struct smr_wq *wq)
{
	if (wq->full_at == wq->prod)
		return ENOMEM;
	wq->full_at = wq->prod;
	return smr_wq_refuse(wq, POST_FULL, wq->max_wr);
}
