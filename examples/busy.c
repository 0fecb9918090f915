// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A region that cannot be deregistered, because memory windows are bound to it: softmr says which.
 *
 * busy DEVICE GID_INDEX [WINDOWS [COMMAND]]: so many windows of each type; COMMAND runs while they are bound
 */
#include "pair.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <infiniband/softmrdv.h>

#define PART	16
#define ACCESS	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* Each window has a part of the region, and is bound by one end of the pair, for the other */
struct window {
	struct ibv_mw *mw;
	char *part;
	int end;
};

static struct ibv_mw_bind_info part_of(struct ibv_mr *mr, const struct window *w)
{
	return (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)w->part, .length = PART, .mw_access_flags = ACCESS,
	};
}

static void want(int ok, const char *what)
{
	if (!ok)
		errx(1, "%s", what);
}

static void bind_type_1(struct pair *pair, struct window *w, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED, .bind_info = info };

	want(!ibv_bind_mw(pair->qp[w->end], w->mw, &bind) && !pair_wait(pair, w->end, "bind of a type 1 window"), "ibv_bind_mw");
}

static void bind_window(struct pair *pair, struct ibv_mr *mr, struct window *w, enum ibv_mw_type type)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	w->mw = ibv_alloc_mw(pair->pd, type);
	if (!w->mw)
		err(1, "ibv_alloc_mw");
	if (type == IBV_MW_TYPE_1) {
		bind_type_1(pair, w, part_of(mr, w));
		return;
	}
	wr.bind_mw.mw = w->mw;
	wr.bind_mw.rkey = ibv_inc_rkey(w->mw->rkey);
	wr.bind_mw.bind_info = part_of(mr, w);
	want(!pair_do(pair, w->end, &wr, "bind of a type 2 window"), "bind");
	w->mw->rkey = wr.bind_mw.rkey;
}

static void unbind_window(struct pair *pair, struct window *w)
{
	if (w->mw->type == IBV_MW_TYPE_1)
		bind_type_1(pair, w, (struct ibv_mw_bind_info){});
	else
		want(!pair_do(pair, w->end, &(struct ibv_send_wr){
			.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = w->mw->rkey }, "invalidate"), "invalidate");
}

static void write_through(struct pair *pair, const struct window *w, struct ibv_mr *from)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
		.sg_list = &(struct ibv_sge){ .addr = (uintptr_t)from->addr, .length = sizeof(w->mw->rkey), .lkey = from->lkey },
		.wr.rdma = { .remote_addr = (uintptr_t)w->part, .rkey = w->mw->rkey },
	};

	memcpy(from->addr, &w->mw->rkey, sizeof(w->mw->rkey));
	want(!pair_do(pair, !w->end, &wr, "WRITE"), "WRITE through a window");
	want(!memcmp(w->part, from->addr, sizeof(w->mw->rkey)), "what was written did not arrive");
}

static uint32_t bound(struct ibv_mr *mr, struct softmrdv_mr_window *list, uint32_t n)
{
	uint32_t total;

	errno = softmrdv_query_mr_windows(mr, list, n, &total);
	if (errno)
		err(1, "softmrdv_query_mr_windows");
	return total;
}

/* Type 1 may be used through any QP */
static int describes(const struct softmrdv_mr_window *said, const struct window *w, const struct pair *pair)
{
	return said->handle == w->mw->handle && said->rkey == w->mw->rkey && said->type == w->mw->type &&
	       said->qp_num == (w->mw->type == IBV_MW_TYPE_2 ? pair->qp[w->end]->qp_num : 0) &&
	       said->addr == (uintptr_t)w->part && said->length == PART && said->access == ACCESS;
}

static void list_windows(struct pair *pair, struct ibv_mr *mr, const struct window *windows, uint32_t n)
{
	struct softmrdv_mr_window *said = calloc(n, sizeof(*said));
	uint32_t i, k;

	want(said && bound(mr, said, n) == n, "there are not as many windows as were bound");
	printf("%6s %4s %-10s %8s %-14s %6s\n", "HANDLE", "TYPE", "RKEY", "QP", "ADDRESS", "LENGTH");
	for (i = 0; i < n; i++) {
		printf("%6u %4u 0x%08x %8u 0x%012" PRIx64 " %6" PRIu64 "\n", said[i].handle, said[i].type, said[i].rkey,
		       said[i].qp_num, said[i].addr, said[i].length);
		for (k = 0; k < n && !describes(&said[k], &windows[i], pair); k++)
			;
		want(k < n, "a window is missing or wrong");
	}
	free(said);
}

/* While the windows are bound: after a refusal the RDMA core no longer lists the region */
static void run(const char *command, struct ibv_mr *mr)
{
	printf("lkey 0x%x\n", mr->lkey);
	fflush(stdout);
	want(!command || !system(command), "the command failed");
}

int main(int argc, char **argv)
{
	uint32_t i, n = argc > 3 ? 2 * atoi(argv[3]) : 4;
	struct window *windows = calloc(n, sizeof(*windows));
	char *memory = calloc(n, PART);
	struct ibv_mr *mr, *from;
	struct pair pair;
	uint32_t source;

	pair_open(&pair, argc, argv);
	pair.quiet = 1;
	want(softmrdv_is_supported(pair.context->device), "this is not a softmr device");
	mr = ibv_reg_mr(pair.pd, memory, (size_t)n * PART, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	from = ibv_reg_mr(pair.pd, &source, sizeof(source), 0);
	if (!windows || !mr || !from)
		err(1, "ibv_reg_mr");
	pair_connect(&pair);
	want(!bound(mr, NULL, 0), "a window is bound to a new region");
	for (i = 0; i < n; i++) {
		windows[i] = (struct window){ .part = memory + i * PART, .end = i % 2 };
		bind_window(&pair, mr, &windows[i], i < n / 2 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	}
	run(argc > 4 ? argv[4] : NULL, mr);
	want(ibv_dereg_mr(mr) == EBUSY, "to deregister it is not refused with EBUSY");
	printf("deregister: %s, since these are bound to it:\n", strerror(EBUSY));
	list_windows(&pair, mr, windows, n);
	for (i = 0; i < n; i++)
		write_through(&pair, &windows[i], from);
	printf("write through each of them: ok\n");
	for (i = 0; i < n; i++)
		unbind_window(&pair, &windows[i]);
	want(!bound(mr, NULL, 0) && !ibv_dereg_mr(mr), "the region is still bound");
	printf("unbind them, deregister: ok\n");
	for (i = 0; i < n; i++)
		ibv_dealloc_mw(windows[i].mw);
	ibv_dereg_mr(from);
	pair_close(&pair);
	return 0;
}
