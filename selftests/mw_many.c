// SPDX-License-Identifier: GPL-2.0
/*
 * A region with very many windows. All of them can be listed, also a bind that waits. A query for a
 * few of them does not take longer because there are others. They are unbound when their QP is
 * destroyed.
 *
 * timeout: 180
 * paths: host
 */
#include "harness.h"

#include <dlfcn.h>

#include <infiniband/softmrdv.h>

#include "disk.h"
#include "region.h"
#include "system.h"
#include "window.h"

#define FEW		10
#define SOME		3000	/* more than one call of the kernel lists */
#define MANY		20000
#define TRIES		50
#define TOO_SLOW	20	/* times */
#define DELAY_MS	500

typedef int query_fn(struct ibv_mr *mr, struct softmrdv_mr_window *windows,
		     uint32_t max, uint32_t *total);

/* @mw: @n windows of a type, bound to @mr by the QP of end b */
FIXTURE(many)
{
	struct vt_pair pair;
	struct ibv_mr *mr;
	struct ibv_mw **mw;
	struct softmrdv_mr_window *list;
	query_fn *query;
	int n;
};

FIXTURE_SETUP(many)
{
	void *lib = dlopen("libsoftmr.so.1", RTLD_NOW);

	if (!lib)
		SKIP(return, "softmr's own interface");
	self->query = (query_fn *)dlsym(lib, "softmrdv_query_mr_windows");
	ASSERT_NE(NULL, self->query);
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
	self->mr = vt_window_reg(&self->pair.b, self->pair.b.buf.len);
	ASSERT_NE(NULL, self->mr);
	self->mw = calloc(MANY, sizeof(*self->mw));
	self->list = calloc(MANY + 1, sizeof(*self->list));
	ASSERT_TRUE(self->mw && self->list);
}

static void drop_all(FIXTURE_DATA(many) *self)
{
	while (self->n)
		ibv_dealloc_mw(self->mw[--self->n]);
}

FIXTURE_TEARDOWN(many)
{
	drop_all(self);
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	vt_pair_close(&self->pair);
	free(self->list);
	free(self->mw);
}

/* Bind windows until there are @n. Return: 0, or what fails. */
static int bind_more(FIXTURE_DATA(many) *self, enum ibv_mw_type type, int n)
{
	struct vt_ep *b = &self->pair.b;
	int ret = 0;

	while (!ret && self->n < n) {
		struct ibv_mw *mw = ibv_alloc_mw(b->pd, type);

		if (!mw)
			return -errno;
		self->mw[self->n++] = mw;
		ret = vt_bind_page(b, mw, self->mr);
	}
	return ret;
}

static int by_rkey(const void *a, const void *b)
{
	const struct softmrdv_mr_window *x = a, *y = b;

	return x->rkey < y->rkey ? -1 : x->rkey > y->rkey;
}

/* How many of our windows are among the first @n of the list */
static int found(FIXTURE_DATA(many) *self, int n)
{
	struct softmrdv_mr_window *w, want;
	int i, hits = 0;

	qsort(self->list, n, sizeof(*self->list), by_rkey);
	for (i = 0; i < self->n; i++) {
		want.rkey = self->mw[i]->rkey;
		w = bsearch(&want, self->list, n, sizeof(want), by_rkey);
		if (w && w->handle == self->mw[i]->handle && !w->flags)
			hits++;
	}
	return hits;
}

TEST_F(many, all_are_listed)
{
	uint32_t total = 0;

	ASSERT_EQ(0, bind_more(self, IBV_MW_TYPE_1, SOME));
	EXPECT_EQ(0, self->query(self->mr, NULL, 0, &total));
	EXPECT_EQ(SOME, total);
	ASSERT_EQ(0, self->query(self->mr, self->list, MANY, &total));
	EXPECT_EQ(SOME, total);
	EXPECT_EQ(SOME, found(self, SOME));
	EXPECT_EQ(0, self->list[SOME].rkey);

	memset(self->list, 0, SOME * sizeof(*self->list));
	ASSERT_EQ(0, self->query(self->mr, self->list, SOME / 2, &total));
	EXPECT_EQ(SOME, total);
	EXPECT_EQ(SOME / 2, found(self, SOME / 2));
	EXPECT_EQ(0, self->list[SOME / 2].rkey);
}

struct flicker {
	FIXTURE_DATA(many) *self;
	volatile bool stop;
	int ret;
};

/* Bind and unbind the second half of the windows. */
static void *flicker_main(void *arg)
{
	struct flicker *f = arg;
	FIXTURE_DATA(many) *self = f->self;
	struct vt_bind nothing = {};
	int i = SOME / 2;

	while (!f->stop && !f->ret) {
		f->ret = vt_bind(&self->pair.b, self->mw[i], &nothing);
		if (!f->ret)
			f->ret = vt_bind_page(&self->pair.b, self->mw[i],
					      self->mr);
		if (++i == SOME)
			i = SOME / 2;
	}
	return NULL;
}

/* Windows that stay are listed, each once, while other windows are bound and unbound. */
TEST_F(many, listed_while_others_come_and_go)
{
	struct flicker f = { .self = self };
	pthread_t thread;
	uint32_t total;
	int i, k;

	ASSERT_EQ(0, bind_more(self, IBV_MW_TYPE_1, SOME));
	ASSERT_EQ(0, pthread_create(&thread, NULL, flicker_main, &f));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, self->query(self->mr, self->list, MANY, &total));
		ASSERT_GE(SOME, total);
		self->n = SOME / 2;
		EXPECT_EQ(SOME / 2, found(self, total));
		self->n = SOME;
		for (k = 1; k < (int)total; k++)
			if (self->list[k].handle == self->list[k - 1].handle)
				break;
		ASSERT_EQ((int)total, k);
	}
	f.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, f.ret);
}

static bool ask(FIXTURE_DATA(many) *self)
{
	uint32_t total;

	return !self->query(self->mr, self->list, 1, &total) &&
	       (int)total == self->n;
}

static bool is_refused(FIXTURE_DATA(many) *self)
{
	return ibv_dereg_mr(self->mr) == EBUSY;
}

/* ns of the quickest of some tries; 0: one of them failed */
static uint64_t quickest_ns(FIXTURE_DATA(many) *self,
			    bool (*try)(FIXTURE_DATA(many) *self))
{
	uint64_t best = UINT64_MAX, took;
	struct timespec a, b;
	int i;

	for (i = 0; i < TRIES; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		if (!try(self))
			return 0;
		clock_gettime(CLOCK_MONOTONIC, &b);
		took = (b.tv_sec - a.tv_sec) * 1000000000ULL + b.tv_nsec -
		       a.tv_nsec;
		if (took < best)
			best = took;
	}
	return best;
}

/* A query, or a refusal, takes a microsecond or two, for ten windows as for a million. */
TEST_F(many, do_not_make_questions_slow)
{
	uint64_t few, refused;

	ASSERT_EQ(0, bind_more(self, IBV_MW_TYPE_1, FEW));
	few = quickest_ns(self, ask);
	refused = quickest_ns(self, is_refused);
	ASSERT_TRUE(few && refused);
	ASSERT_EQ(0, bind_more(self, IBV_MW_TYPE_1, MANY));
	TH_LOG("%d windows: a question %d ns, a refusal %d ns", FEW, (int)few,
	       (int)refused);
	EXPECT_GT(TOO_SLOW * few, quickest_ns(self, ask));
	EXPECT_GT(TOO_SLOW * refused, quickest_ns(self, is_refused));
	TH_LOG("%d windows: a question %d ns, a refusal %d ns", MANY,
	       (int)quickest_ns(self, ask), (int)quickest_ns(self, is_refused));
}

/* A QP with as many windows of type 2 ends. */
TEST_F(many, end_with_their_qp)
{
	struct vt_ep *b = &self->pair.b;
	uint32_t total;

	ASSERT_EQ(0, bind_more(self, IBV_MW_TYPE_2, MANY));
	ASSERT_EQ(EBUSY, ibv_dereg_mr(self->mr));
	ASSERT_EQ(0, ibv_destroy_qp(b->qp));
	b->qp = NULL;
	ASSERT_EQ(0, self->query(self->mr, NULL, 0, &total));
	EXPECT_EQ(0, total);
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	self->mr = NULL;
}

/* A READ of a slow page through a window, which may block the thread that posts it */
struct reader {
	struct ibv_qp *qp;
	struct ibv_sge sge;
	uint64_t addr;
	uint32_t rkey;
	pthread_t thread;
	int ret;
};

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct ibv_send_wr *bad, wr = vt_rdma_wr(IBV_WR_RDMA_READ, 1, &r->sge, r->addr, r->rkey);

	r->ret = ibv_post_send(r->qp, &wr, &bad);
	return NULL;
}

/*
 * A bind that waits prevents the deregistration of its new region, and so is listed. It waits
 * because a peer reads a slow page through the window. If the module does not wait for that, it is
 * bound at once.
 */
TEST_F(many, waiting_bind_is_listed)
{
	struct vt_ep *b = &self->pair.b;
	struct softmrdv_mr_window w = {};
	struct vt_conn side = {};
	struct vt_bind slow = { .len = PAGE, .access = IBV_ACCESS_REMOTE_READ };
	struct ibv_mw_bind bind = {
		.wr_id = 2, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = self->mr, .length = PAGE,
			.addr = (uintptr_t)self->mr->addr,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};
	uint32_t total = 77;
	struct reader r;
	struct ibv_wc wc;
	bool waits;
	uint8_t *p;
	int fd;

	VT_SETUP(vt_need_odp(b, IBV_ODP_SUPPORT));
	if (!vt_disk_add(DELAY_MS))
		SKIP(return, "no slow disk (null_blk)");
	fd = open(VT_DISK, O_RDONLY);
	ASSERT_LE(0, fd);
	p = vt_disk_map(fd, PAGE);
	ASSERT_NE(NULL, p);
	slow.addr = (uintptr_t)p;
	slow.mr = ibv_reg_mr(b->pd, p, PAGE, VT_ACCESS_ODP | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, slow.mr);
	self->mw[self->n++] = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
	ASSERT_NE(NULL, self->mw[0]);
	ASSERT_EQ(0, vt_bind(b, self->mw[0], &slow));
	ASSERT_EQ(0, vt_conn_open(&side, &self->pair.a, b));
	r = (struct reader){ side.a, vt_sge(&self->pair.a.buf, 0, 8), slow.addr,
			     self->mw[0]->rkey };
	ASSERT_EQ(0, pthread_create(&r.thread, NULL, reader_main, &r));
	usleep(DELAY_MS / 10 * 1000);

	ASSERT_EQ(0, ibv_bind_mw(b->qp, self->mw[0], &bind));
	usleep(DELAY_MS / 10 * 1000);
	EXPECT_EQ(EBUSY, ibv_dereg_mr(self->mr));
	ASSERT_EQ(0, self->query(self->mr, &w, 1, &total));
	waits = vt_no_completion(b->scq, 0);
	TH_LOG("the bind %s", waits ? "waits" : "is done");
	EXPECT_EQ(1, total);
	EXPECT_EQ(self->mw[0]->handle, w.handle);
	EXPECT_EQ(self->mw[0]->rkey, w.rkey);
	EXPECT_EQ((uintptr_t)self->mr->addr, w.addr);
	EXPECT_EQ(PAGE, w.length);
	if (waits) {
		EXPECT_EQ(SOFTMRDV_MR_WINDOW_PENDING, w.flags);
		EXPECT_EQ(b->qp->qp_num, w.qp_num);
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->scq, 2));
	}
	ASSERT_EQ(0, self->query(self->mr, &w, 1, &total));
	EXPECT_EQ(1, total);
	EXPECT_EQ(0, w.flags);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(0, r.ret);
	EXPECT_EQ(0, vt_wait(self->pair.a.scq, &wc));
	drop_all(self);
	vt_conn_close(&side);
	EXPECT_EQ(0, ibv_dereg_mr(slow.mr));
	munmap(p, PAGE);
	close(fd);
	EXPECT_TRUE(vt_disk_del(0));
}

/* The region is newer than the window, so the core's clean-up destroys it first. */
static int leaver_main(int sock, const void *arg)
{
	struct vt_bind to = { .access = IBV_ACCESS_REMOTE_WRITE };
	struct vt_pair pair;
	struct ibv_mw *mw;

	(void)arg;
	if (vt_pair_open(&pair, &vt_defaults))
		return 1;
	mw = ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_1);
	to.mr = vt_window_reg(&pair.b, PAGE);
	if (!mw || !to.mr)
		return 2;
	to.addr = (uintptr_t)to.mr->addr;
	to.len = PAGE;
	if (vt_bind(&pair.b, mw, &to))
		return 3;
	/* A deregistration that is refused */
	return ibv_dereg_mr(to.mr) != EBUSY || write(sock, "", 1) != 1;
}

/* Only dereg_mr counts as refused, not the end of the process. */
TEST_F(many, exit_is_no_refusal)
{
	struct ibv_context *ctx = self->pair.a.dev.ctx;
	int64_t before = vt_counter_now(ctx, "mr_dereg_refused");
	int sock, status;
	char byte;
	pid_t pid;

	pid = vt_child(&sock, leaver_main, NULL);
	ASSERT_LT(0, pid);
	EXPECT_EQ(1, read(sock, &byte, 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(before + 1, vt_counter_now(ctx, "mr_dereg_refused"));
	close(sock);
}

VT_HARNESS_MAIN
