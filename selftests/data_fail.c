// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations fail while data is transferred: each one in the poster's own task, and some in the processing of packets,
 * timers and workers. Requests still succeed, or complete with an error that fits. No byte is wrong, no request is
 * executed twice, and the QPs can be connected again.
 *
 *   SMR_FAIL_SECONDS=N ./data_fail	for how long each of them
 *
 * beds: uml-checked
 * timeout: 240
 * boot: kmemleak
 * paths: host wire veth
 */
#include "harness.h"
#include "fail.h"
#include "mix.h"
#include "random.h"
#include "region.h"
#include "why.h"

#define SECONDS		4
#define SWEEP_MAX	2000
/* Requests that are posted together */
#define BATCH		10

FIXTURE(data)
{
	struct vt_pair pair;
	struct vt_mix mix;
	unsigned int seconds;
	int fd;
};

FIXTURE_SETUP(data)
{
	const char *given = getenv("SMR_FAIL_SECONDS");

	self->seconds = given ? atoi(given) : SECONDS;
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (self->fd < 0 || !vt_fail_prepare())
		SKIP(return, "this kernel does not inject faults");
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 13, .buf_len = VT_MIX_BUF)));
	self->mix = vt_mix(&self->pair.a, &self->pair.b, 0, vt_random_begin(vt_seed(), 0));
}

FIXTURE_TEARDOWN(data)
{
	EXPECT_TRUE(vt_fail_atomic(0));
	vt_pair_close(&self->pair);
	close(self->fd);
}

/* The errors that a lack of memory at either end may become */
static bool failed_clean(int status)
{
	return status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_REM_OP_ERR ||
	       status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_WR_FLUSH_ERR;
}

/* A batch has ended with @ret. After an error, connect the QPs again, without failing allocations. */
static void judge(struct __test_metadata *_metadata, FIXTURE_DATA(data) *self, int ret)
{
	if (!ret)
		return;
	ASSERT_TRUE(ret == -ENOMEM || failed_clean(ret)) TH_LOG("%d", ret);
	if (ret == IBV_WC_REM_OP_ERR)
		EXPECT_TRUE(vt_why_is(self->pair.b.dev.ctx, REQ_NO_MEMORY));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	vt_mix_restart(&self->mix);
	ASSERT_EQ(0, vt_mix_run(&self->mix, BATCH));
}

/*
 * Each allocation of the task that posts and polls. The random requests differ, and so does the number of allocations.
 */
TEST_F_TIMEOUT(data, posting, 120)
{
	int n, ret, injected, failed = 0, none = 0;

	for (n = 1; none < 5 && n < SWEEP_MAX; n++) {
		ASSERT_EQ(0, vt_fail_nth(self->fd, n));
		ret = vt_mix_run(&self->mix, BATCH);
		injected = vt_fail_happened(self->fd);
		ASSERT_LE(0, injected);
		if (!injected)
			ASSERT_EQ(0, ret);
		none += !injected;
		failed += !!ret;
		judge(_metadata, self, ret);
	}
	TH_LOG("%d allocations, %d times it failed", n - 1, failed);
	EXPECT_GT(SWEEP_MAX, n);
}

/*
 * Run batches for some seconds while allocations fail. @no_pages: remove the responder's pages before each. Return: how
 * many allocations have failed
 */
static int go_on(struct __test_metadata *_metadata, FIXTURE_DATA(data) *self,
		 bool (*fail)(bool on), bool no_pages)
{
	uint64_t end = vt_now_ms() + 1000ull * self->seconds;
	int ret, worked = 0, failed = 0, injected = 0;
	struct vt_buf *buf = &self->pair.b.buf;

	while (vt_now_ms() < end) {
		if (no_pages)
			ASSERT_EQ(0, madvise(buf->p, VT_MIX_BUF - 4096, MADV_REMOVE));
		ASSERT_TRUE(fail(true));
		ret = vt_mix_run(&self->mix, BATCH);
		ASSERT_TRUE(fail(false));
		injected += vt_fail_count();
		worked += !ret;
		failed += !!ret;
		judge(_metadata, self, ret);
	}
	TH_LOG("%d allocations failed; of the batches %d worked, %d did not; %llu KiB moved",
	       injected, worked, failed, (unsigned long long)self->mix.bytes / 1024);
	EXPECT_LT(0, worked);
	return injected;
}

static bool few(bool on) { return vt_fail_atomic(on ? 3 : 0); }
static bool many(bool on) { return vt_fail_atomic(on ? 30 : 0); }
static bool in_workers(bool on) { return vt_fail_marked(on ? 2 : 0); }

/* Data transfer allocates in softirqs only on the wire. On the same host there may be no allocation that could fail. */
static bool allocates(void)
{
	const char *path = getenv("SMR_PATH");

	return path && strcmp(path, "host");
}

TEST_F_TIMEOUT(data, few_in_softirqs, 120)
{
	int injected = go_on(_metadata, self, few, false);

	if (allocates())
		EXPECT_LT(0, injected);
}

TEST_F_TIMEOUT(data, many_in_softirqs, 120)
{
	int injected = go_on(_metadata, self, many, false);

	if (allocates())
		EXPECT_LT(0, injected);
}

/* The pages are paged on demand. They are shared ones, so that workers bring them in, and not the process. */
TEST_F_TIMEOUT(data, workers, 120)
{
	struct vt_ep *b = &self->pair.b;

	ASSERT_EQ(0, ibv_dereg_mr(b->buf.mr));
	ASSERT_EQ(b->buf.p, mmap(b->buf.p, VT_MIX_BUF - 4096, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	b->buf.mr = ibv_reg_mr(b->pd, b->buf.p, b->buf.len, VT_ACCESS_ODP);
	ASSERT_NE(NULL, b->buf.mr);
	vt_fail_mark_workers(true);
	EXPECT_LT(0, go_on(_metadata, self, in_workers, true));
	vt_fail_mark_workers(false);
	EXPECT_EQ(0, vt_mix_run(&self->mix, BATCH));
}

VT_HARNESS_MAIN
