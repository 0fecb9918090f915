/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel memory, as kernel consumers register it. */
#ifndef SMR_KMEM_H
#define SMR_KMEM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "mem.h"

/**
 * struct smr_kblocks - memory as a list of blocks of equal size
 * @addrs: kernel virtual address of each block
 * @nr: number of blocks
 * @shift: the size of a block, as a power of two
 * @lead: offset of the first byte in the first block
 * @size: bytes in all
 */
struct smr_kblocks {
	u64 *addrs;
	u32 nr;
	u8 shift;
	u32 lead;
	u64 size;
};

/**
 * struct smr_kmem - kernel memory
 * @mem: the common part
 * @max_blocks: size of each list, in blocks
 * @staged: the list being built; belongs to the owner
 * @used: the list that spans use; constant while there can be a span
 *
 * The blocks kind uses all fields, the linear kind only @mem.
 */
struct smr_kmem {
	struct smr_mem mem;
	u32 max_blocks;
	struct smr_kblocks staged;
	struct smr_kblocks used;
};

void smr_kmem_init_linear(struct smr_kmem *kmem);
int __must_check smr_kmem_init_blocks(struct smr_kmem *kmem, u32 max_blocks);
void smr_kmem_free_blocks(struct smr_kmem *kmem);

void smr_kmem_stage(struct smr_kmem *kmem, u8 shift);
int smr_kmem_stage_block(struct smr_kmem *kmem, u64 addr);
void smr_kmem_use(struct smr_kmem *kmem);

/* The range of addresses that the linear kind covers, whether there is memory or not. */
static inline u64 smr_kmem_linear_start(void)
{
	return (unsigned long)PAGE_OFFSET;
}

#endif /* SMR_KMEM_H */
