/* SPDX-License-Identifier: GPL-2.0 */
/* Advice on memory regions: prefetch. */
#ifndef SMR_ADVISE_H
#define SMR_ADVISE_H

#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

struct smr_keys;

/**
 * struct smr_flushes - those who wait for prefetches of a device
 * @wait: woken when one has ended, and when @stop is set
 * @stop: the device is being removed
 */
struct smr_flushes {
	wait_queue_head_t wait;
	bool stop;
};

void smr_flushes_init(struct smr_flushes *flushes);
void smr_flushes_stop(struct smr_flushes *flushes, bool stop);
int smr_mr_advise(struct smr_keys *keys, struct smr_flushes *flushes,
		  const struct ib_pd *pd,
		  enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  const struct ib_sge *sges, u32 num_sge);

#endif /* SMR_ADVISE_H */
