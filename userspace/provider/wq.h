/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A work queue: a ring into which the provider produces (SQ, RQ and SRQ).
 */
#ifndef SMR_PROVIDER_WQ_H
#define SMR_PROVIDER_WQ_H

#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "ring.h"
#include "why_note.h"

/* The producer's view of a work queue */
struct smr_wq {
	struct ibv_context *context;
	uint32_t qpn;		/* the number of the QP; 0: an SRQ */
	struct smr_ring ring;	/* the ring; absent for the receive side of a QP with an SRQ */
	struct smr_lock lock;	/* guards every field below and the entries not yet published */
	/* the next entry to write; runs ahead of the ring's while posting */
	uint32_t prod;
	uint32_t cons;		/* the kernel's index when it was last read */
	uint32_t max_wr;	/* entries that may be outstanding */
	uint32_t max_sge;	/* SGEs an entry may have */
	uint32_t max_inline;	/* bytes of inline data an entry may have */
	/* the entry for which a full queue was last reported: a program may retry often */
	uint32_t full_at;
};

int smr_wq_init(struct smr_wq *wq, struct ibv_context *context, uint32_t qpn,
		struct smr_maps *maps, const struct smr_ring_info *info,
		uint32_t head);
int smr_wq_use_ring(struct smr_wq *wq, struct smr_maps *maps,
		    const struct smr_ring_info *info, uint32_t head,
		    struct smr_room *room);
void smr_wq_fini(struct smr_wq *wq);
void smr_wq_reset(struct smr_wq *wq);
int smr_wq_refuse_full(struct smr_wq *wq) __attribute__((cold));

/* Refuse a request to a queue; see smr_refuse(). */
#define smr_wq_refuse(wq, name, ...)                                           \
	smr_refuse((wq)->context, (wq)->qpn, name, ##__VA_ARGS__)

/* Caller holds the lock. The kernel's index is read only when it matters. */
static inline bool smr_wq_full(struct smr_wq *wq)
{
	if (wq->prod - wq->cons < wq->max_wr)
		return false;
	wq->cons = smr_load_acquire(&wq->ring.hdr->cons);
	return wq->prod - wq->cons >= wq->max_wr;
}

/* Publish everything that was written so far. Caller holds the lock. */
static inline void smr_wq_publish(struct smr_wq *wq)
{
	smr_store_release(&wq->ring.hdr->prod, wq->prod);
}

#endif /* SMR_PROVIDER_WQ_H */
