/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What creating and polling a completion queue share.
 */
#ifndef SMR_PROVIDER_CQ_H
#define SMR_PROVIDER_CQ_H

#include <stdint.h>

#include <softmr-abi.h>

#include "ring.h"
#include "softmr.h"

static inline void smr_cq_lock(struct smr_cq *cq)
{
	if (!cq->single_threaded)
		smr_lock(&cq->lock);
}

static inline void smr_cq_unlock(struct smr_cq *cq)
{
	if (!cq->single_threaded)
		smr_unlock(&cq->lock);
}

/*
 * How far the kernel has come. An index that no ring can have means that the
 * ring's memory went with its device: the CQ is empty. Caller holds the lock.
 */
static inline uint32_t smr_cq_prod(struct smr_cq *cq)
{
	uint32_t prod = smr_load_acquire(&cq->ring.hdr->prod);

	return prod - cq->cons <= cq->ring.depth ? prod : cq->cons;
}

/* Give back the entries before cq->cons. Caller holds the lock. */
static inline void smr_cq_release(struct smr_cq *cq)
{
	smr_store_release(&cq->ring.hdr->cons, cq->cons);
}

#endif /* SMR_PROVIDER_CQ_H */
