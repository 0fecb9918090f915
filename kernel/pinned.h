/* SPDX-License-Identifier: GPL-2.0 */
/* Pinned memory of a process. */
#ifndef SMR_PINNED_H
#define SMR_PINNED_H

#include <linux/types.h>

#include "mem.h"

struct smr_pd;

/**
 * struct smr_pinned - pinned memory
 * @mem: the common part. The pages are accounted to mem.mm; without pages it
 *	is NULL
 * @pgoff: bytes before the memory in the first page
 * @own: allocated separately, not part of another struct
 * @written: the device may have written to it
 * @nr: number of @runs; 0 if it is empty
 * @runs: the runs, in the order of the memory
 * @one: storage for a single run
 *
 * All but @written are constant once it is created, and private to pinned.c. It is part of each
 * MR, so its size matters.
 */
struct smr_pinned {
	struct smr_mem mem;
	u16 pgoff;
	bool own;
	bool written;
	unsigned long nr;
	struct smr_extent *runs;
	struct smr_extent one;
};

struct smr_mem *smr_pinned_create(const struct smr_pd *pd,
				  struct smr_pinned *room, u64 start,
				  u64 length, bool writable);

#endif /* SMR_PINNED_H */
