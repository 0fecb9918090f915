/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a dma-buf. */
#ifndef SMR_DMABUF_H
#define SMR_DMABUF_H

#include <linux/types.h>

struct smr_mem;
struct smr_pd;

struct smr_mem *smr_dmabuf_create(const struct smr_pd *pd, int fd, u64 offset,
				  u64 length);

#endif /* SMR_DMABUF_H */
