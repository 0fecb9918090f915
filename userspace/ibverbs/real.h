/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the functions of include/layout.h are where the provider is compiled with rdma-core's own headers: plain
 * members. scripts/export writes these into the provider's source.
 */
#ifndef SMR_IBVERBS_REAL_H
#define SMR_IBVERBS_REAL_H

struct smr_layout_room { };

#define smr_layout_context(vctx)		(vctx)
#define smr_layout_add_comp_mask(vqp, bits)	((void)((vqp)->comp_mask |= (bits)))
#define smr_layout_send_ops()			(~0ULL)
#define smr_layout_set_wr_atomic_write(qpx, fn)	((void)((qpx)->wr_atomic_write = (fn)))
#define smr_layout_set_wr_flush(qpx, fn)	((void)((qpx)->wr_flush = (fn)))

#endif /* SMR_IBVERBS_REAL_H */
