// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of pages for trains, used again. Many kernels clear each page that they allocate
 * (init_on_alloc), which costs a tenth of all that a large message costs. A train overwrites all
 * the bytes that it sends, so its pages need not be cleared. Each CPU keeps a reference on its
 * last runs. When that is the last reference, all packets that used the run are freed.
 */
#include "net/run.h"

#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>

/* Runs that a CPU keeps of each order */
#define KEPT	16

struct kept {
	struct page *runs[KEPT];
	unsigned int next;
};

static DEFINE_PER_CPU(struct kept, kept[SMR_RUN_ORDER + 1]);

/**
 * smr_run_get() - get a run of pages
 * @order: at most SMR_RUN_ORDER
 * @gfp: for alloc_pages()
 *
 * The run may have the bytes of an earlier packet.
 *
 * Context: any but hard interrupts.
 * Return: a compound page with a reference for the caller, or NULL.
 */
struct page *smr_run_get(unsigned int order, gfp_t gfp)
{
	struct kept __percpu *k = &kept[order];
	unsigned int i = this_cpu_inc_return(k->next) % KEPT;
	struct page *page, *other;

	/* The context that takes a run out of its slot owns it, even on another CPU. */
	page = this_cpu_xchg(k->runs[i], NULL);
	if (page && (page_ref_count(page) != 1 || !dev_page_is_reusable(page))) {
		put_page(page);
		page = NULL;
	}
	if (!page)
		page = alloc_pages(gfp | __GFP_COMP, order);
	if (!page)
		return NULL;
	get_page(page);
	other = this_cpu_xchg(k->runs[i], page);
	if (other)
		put_page(other);
	return page;
}

/**
 * smr_runs_exit() - free all runs, after the last train was sent
 *
 * Context: process.
 */
void smr_runs_exit(void)
{
	struct page **run;
	int cpu, order, i;

	for_each_possible_cpu(cpu) {
		for (order = 0; order <= SMR_RUN_ORDER; order++) {
			run = per_cpu_ptr(&kept[order], cpu)->runs;
			for (i = 0; i < KEPT; i++)
				if (run[i])
					put_page(run[i]);
		}
	}
}
