/* SPDX-License-Identifier: GPL-2.0 */
/* Advice on memory regions: prefetch. */
#ifndef SMR_ADVISE_H
#define SMR_ADVISE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct smr_awaits;
struct smr_keys;

int smr_mr_advise(struct smr_keys *keys, struct smr_awaits *awaits,
		  const struct ib_pd *pd,
		  enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  const struct ib_sge *sges, u32 num_sge);

#endif /* SMR_ADVISE_H */
