/* SPDX-License-Identifier: GPL-2.0 */
/* Pinned memory of a process. */
#ifndef SMR_PINNED_H
#define SMR_PINNED_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "mem.h"

struct smr_pd;

/**
 * struct smr_extent - physically contiguous pages
 * @pfn: the first page
 * @first: index of that page in the memory. The extent ends where the next begins.
 */
struct smr_extent {
	unsigned long pfn;
	unsigned long first;
};

/**
 * struct smr_pinned - pinned memory
 * @mem: the common part. The pages are accounted to mem.mm; without pages it
 *	is NULL
 * @pgoff: bytes before the memory in the first page
 * @shift: direct: pages of a piece, as a power of two
 * @part_shift: pages that a bit of @written stands for, as a power of two
 * @own: allocated separately, not part of another struct
 * @written: bitmap of the parts that the device may have written to
 * @lead: direct: index of the first page in the first piece
 * @nr: search: number of @runs
 * @pfn: single: the first page
 * @pieces: direct: the first page of each piece
 * @runs: search: the runs
 *
 * All but @written are constant once it is created, and private to pinned.c, which explains
 * single, direct and search. It is part of each MR, so its size matters.
 */
struct smr_pinned {
	struct smr_mem mem;
	u16 pgoff;
	u8 shift;
	u8 part_shift;
	bool own;
	atomic_long_t written;
	union {
		unsigned long lead;
		unsigned long nr;
	};
	union {
		unsigned long pfn;
		unsigned long *pieces;
		struct smr_extent *runs;
	};
};

struct smr_mem *smr_pinned_create(const struct smr_pd *pd,
				  struct smr_pinned *room, u64 start,
				  u64 length, bool writable);

#endif /* SMR_PINNED_H */
