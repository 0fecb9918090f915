/* SPDX-License-Identifier: GPL-2.0 */
/* Runs of pages for trains. */
#ifndef SMR_RUN_H
#define SMR_RUN_H

#include <linux/gfp.h>
#include <linux/mmzone.h>

struct page;

/*
 * The memory of a train is allocated in runs of at most this order. Larger runs are costly to
 * allocate, and the kernel does not cache them per CPU.
 */
#define SMR_RUN_ORDER	PAGE_ALLOC_COSTLY_ORDER

struct page *smr_run_get(unsigned int order, gfp_t gfp);
void smr_runs_exit(void);

#endif /* SMR_RUN_H */
