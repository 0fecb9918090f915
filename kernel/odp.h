/* SPDX-License-Identifier: GPL-2.0 */
/* On-demand paged memory of a process; never pinned. */
#ifndef SMR_ODP_H
#define SMR_ODP_H

#include <linux/types.h>

struct smr_mem;
struct smr_stats;

struct smr_mem *smr_odp_create(struct smr_stats *stats, u64 start, u64 length,
			       bool writable);
struct smr_mem *smr_odp_create_implicit(struct smr_stats *stats, bool writable);

#endif /* SMR_ODP_H */
