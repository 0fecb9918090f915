/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions of kernel consumers. */
#ifndef SMR_KMR_H
#define SMR_KMR_H

#include <linux/types.h>

struct ib_pd;
struct scatterlist;
struct smr_ref_waiter;
struct smr_keys;
struct smr_mr;
struct smr_mw_bind;

/* Blocks that one fast registration may have */
#define SMR_MAX_FAST_REG_BLOCKS	512

struct smr_mr *smr_kmr_dma(struct smr_keys *keys, struct ib_pd *pd, int access);
struct smr_mr *smr_kmr_alloc(struct smr_keys *keys, struct ib_pd *pd,
			     u32 max_blocks);
int smr_kmr_map_sg(struct smr_mr *mr, struct scatterlist *sg, int nents,
		   unsigned int *offset);
int __must_check smr_kmr_register(struct smr_keys *keys, const struct ib_pd *pd,
				  const struct smr_mw_bind *req);
int __must_check smr_kmr_invalidate(struct smr_keys *keys,
				    const struct ib_pd *pd, u32 rkey,
				    struct smr_ref_waiter *waiter);
int __must_check smr_kmr_finish(struct smr_keys *keys, u32 rkey,
				struct smr_ref_waiter *waiter);

#endif /* SMR_KMR_H */
