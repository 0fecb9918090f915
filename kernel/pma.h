/* SPDX-License-Identifier: GPL-2.0 */
/* The performance management agent: a port's counters as the standard has them. */
#ifndef SMR_PMA_H
#define SMR_PMA_H

#include <linux/types.h>

struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;

int smr_pma_process(struct ib_device *ibdev, int flags, u32 port,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);

#endif /* SMR_PMA_H */
