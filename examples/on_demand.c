// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand memory: registration pins nothing; pages are brought in when a request needs them, or by a prefetch.
 *
 * on_demand DEVICE GID_INDEX
 */
#include "pair.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 16384
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND)

static size_t page;

/* Print how many pages of it are in memory */
static void say_resident(const char *when, void *memory)
{
	static unsigned char pages[PAGES];
	int n = 0;

	if (mincore(memory, PAGES * page, pages))
		err(1, "mincore");
	for (int i = 0; i < PAGES; i++)
		n += pages[i] & 1;
	printf("%s: %d of %d pages are in memory\n", when, n, PAGES);
}

static char *map(void *where)
{
	char *memory = mmap(where, PAGES * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0), -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	madvise(memory, PAGES * page, MADV_NOHUGEPAGE); /* or one WRITE may bring in 2 MiB */
	return memory;
}

static void explicit_region(struct pair *pair, struct ibv_mr *from)
{
	char *memory = map(NULL);
	struct ibv_mr *mr = ibv_reg_mr(pair->pd, memory, PAGES * page, ACCESS);
	struct ibv_sge sge;
	int error;

	if (!mr)
		err(1, "ibv_reg_mr");
	say_resident("registered", memory);
	pair_write(pair, from, (uintptr_t)memory, mr->rkey, 8, "WRITE to the first page");
	say_resident("after it", memory);

	sge = (struct ibv_sge){ .addr = (uintptr_t)memory + 100 * page, .length = 16 * page, .lkey = mr->lkey };
	error = ibv_advise_mr(pair->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	printf("prefetch 16 pages: %s\n", error ? strerror(error) : "success");
	say_resident("after it", memory);

	/* the region covers addresses, not pages */
	map(memory);
	say_resident("unmapped, and mapped again", memory);
	pair_write(pair, from, (uintptr_t)memory, mr->rkey, 8, "WRITE by the same key");
	printf("the new page has it: %s\n", memory);
	ibv_dereg_mr(mr);
	munmap(memory, PAGES * page);
}

/* One region for everything that the process has mapped, and will map */
static void implicit_region(struct pair *pair, struct ibv_mr *from)
{
	struct ibv_mr *mr = ibv_reg_mr(pair->pd, NULL, SIZE_MAX, ACCESS);
	char *later;

	if (!mr)
		err(1, "ibv_reg_mr of all");
	later = map(NULL);
	pair_write(pair, from, (uintptr_t)later, mr->rkey, 8, "WRITE to what was mapped after the registration");
	munmap(later, PAGES * page);
	pair_write(pair, from, (uintptr_t)later, mr->rkey, 8, "WRITE to what is not mapped");
	ibv_dereg_mr(mr);
}

int main(int argc, char **argv)
{
	struct ibv_device_attr_ex attr;
	static char source[8] = "hello";
	struct ibv_mr *from;
	struct pair pair;

	page = sysconf(_SC_PAGESIZE);
	pair_open(&pair, argc, argv);
	if (ibv_query_device_ex(pair.context, NULL, &attr) || !(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		errx(1, "%s has no on-demand memory", argv[1]);
	pair_connect(&pair);
	from = ibv_reg_mr(pair.pd, source, sizeof(source), 0);
	if (!from)
		err(1, "ibv_reg_mr");
	explicit_region(&pair, from);
	if (attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT)
		implicit_region(&pair, from);
	ibv_dereg_mr(from);
	pair_close(&pair);
	return 0;
}
