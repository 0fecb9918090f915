// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation that a verb makes fails once. The verb still succeeds, or fails with an error for
 * lack of memory and leaves nothing behind. Tested are registering, reregistering, windows,
 * prefetches, and faults of on-demand paging with some failing allocations.
 *
 * beds: uml-checked
 * timeout: 180
 * boot: kmemleak
 * paths: host wire
 */
#include "harness.h"
#include "fail.h"
#include "region.h"
#include "system.h"

#define CHUNK		(2 * MIB)
#define LEN		(2 * CHUNK)
/* More than any verb makes */
#define SWEEP_MAX	2000

FIXTURE(nth)
{
	struct vt_pair pair;
	struct vt_region r;
	uint8_t *apart;
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	int fd;
};

/*
 * A MiB of pages none of which has its neighbour in physical memory beside it: the page that was
 * allocated in between is in the other half of the mapping.
 */
static uint8_t *pages_apart(void)
{
	uint8_t *p = vt_map(2 * MIB, PAGE, MAP_PRIVATE, -1);
	size_t i;

	if (!p)
		return NULL;
	/* fails where there are no huge pages */
	madvise(p, 2 * MIB, MADV_NOHUGEPAGE);
	for (i = 0; i < MIB; i += PAGE) {
		p[i] = 1;
		p[MIB + i] = 1;
	}
	return p;
}

FIXTURE_SETUP(nth)
{
	uint8_t *p;

	self->fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (self->fd < 0 || !vt_fail_prepare())
		SKIP(return, "this kernel does not inject faults");
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.mtu = IBV_MTU_4096, .buf_len = 2 * MIB)));
	self->other = ibv_alloc_pd(self->pair.b.dev.ctx);
	ASSERT_NE(NULL, self->other);
	p = vt_map(LEN, CHUNK, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, LEN,
				   (uintptr_t)p, VT_ACCESS_ODP));
	self->apart = pages_apart();
	ASSERT_NE(NULL, self->apart);
}

FIXTURE_TEARDOWN(nth)
{
	vt_fail_some(false);
	if (self->fd >= 0)
		close(self->fd);
	vt_region_close(&self->r);
	if (self->apart)
		munmap(self->apart, 2 * MIB);
	if (self->other)
		EXPECT_EQ(0, ibv_dealloc_pd(self->other));
	vt_pair_close(&self->pair);
}

/* Let the @n-th allocation from now on fail; 0: none. */
static void fail_nth(FIXTURE_DATA(nth) *self, int n)
{
	if (vt_fail_nth(self->fd, n))
		abort();
}

/* Did it fail? Also cancels a failure that did not happen yet. */
static bool has_failed(FIXTURE_DATA(nth) *self)
{
	int ret = vt_fail_happened(self->fd);

	if (ret < 0)
		abort();
	return ret;
}

/*
 * Pages that are currently pinned, by anybody. The kernel counts pins and unpins itself,
 * independently of softmr's accounting.
 */
static long pinned(void)
{
	if (vt_write_file("/proc/sys/vm/stat_refresh", "1"))
		return -1;
	return vt_number("/proc/vmstat", "nr_foll_pin_acquired ") -
	       vt_number("/proc/vmstat", "nr_foll_pin_released ");
}

/* KiB of this process that softmr has accounted for as pinned */
static long accounted(void)
{
	return vt_number("/proc/self/status", "VmPin:");
}

/* Exactly the pinned pages are accounted for. */
struct held {
	long pages;
	long kib;
};

static struct held held(void)
{
	return (struct held){ pinned(), accounted() };
}

/* The same as before, after the @n-th allocation has failed */
#define ASSERT_HELD(was, n) do {						\
	struct held _now = held();						\
										\
	ASSERT_EQ((was).kib, _now.kib) TH_LOG("allocation %d", n);		\
	ASSERT_EQ((was).pages, _now.pages) TH_LOG("allocation %d", n);	\
} while (0)

/**
 * struct verb - an operation that is tried with failing allocations
 * @prepare: before each try, without failures; or NULL
 * @run: 0, or an errno, or a work completion's status as a negative number
 * @undo: reverts a success; or NULL
 */
struct verb {
	int (*prepare)(FIXTURE_DATA(nth) *self);
	int (*run)(FIXTURE_DATA(nth) *self);
	int (*undo)(FIXTURE_DATA(nth) *self);
};

/* How a lack of memory may be reported to the caller and to a peer. */
static bool failed_clean(int ret)
{
	switch (ret) {
	case ENOMEM:
	case EFAULT:
	case -IBV_WC_LOC_PROT_ERR:
	case -IBV_WC_LOC_QP_OP_ERR:
	case -IBV_WC_REM_ACCESS_ERR:
	case -IBV_WC_REM_OP_ERR:
	case -IBV_WC_WR_FLUSH_ERR:
		return true;
	default:
		return false;
	}
}

static void sweep(struct __test_metadata *_metadata, FIXTURE_DATA(nth) *self,
		  const struct verb *verb)
{
	int n, ret, worked = 0, failed = 0;
	struct held was = held();
	bool injected = true;

	for (n = 1; injected && n < SWEEP_MAX; n++) {
		ret = verb->prepare ? verb->prepare(self) : 0;
		ASSERT_EQ(0, ret);
		fail_nth(self, n);
		ret = verb->run(self);
		injected = has_failed(self);
		if (!injected)
			ASSERT_EQ(0, ret);
		if (!ret) {
			worked++;
			if (verb->undo)
				ASSERT_EQ(0, verb->undo(self));
		} else {
			failed++;
			ASSERT_TRUE(failed_clean(ret))
				TH_LOG("allocation %d: %d", n, ret);
			ASSERT_EQ(0, vt_pair_recover(&self->pair));
		}
		ASSERT_HELD(was, n);
	}
	TH_LOG("%d allocations: %d times it worked, %d times it failed",
	       n - 2, worked, failed);
	EXPECT_GT(SWEEP_MAX, n);
	EXPECT_LT(0, failed);
	/* everything still works */
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, CHUNK - MIB / 2,
				    MIB));
}

#define SWEEP(...) \
	sweep(_metadata, self, &(struct verb){ __VA_ARGS__ })

/* -- regions */

static int reg(FIXTURE_DATA(nth) *self, void *p, size_t len, int access)
{
	errno = 0;
	self->mr = ibv_reg_mr(self->pair.b.pd, p, len, access);
	return self->mr ? 0 : errno;
}

static int dereg(FIXTURE_DATA(nth) *self)
{
	int ret = self->mr ? ibv_dereg_mr(self->mr) : 0;

	if (!ret)
		self->mr = NULL;
	return ret;
}

static int reg_page(FIXTURE_DATA(nth) *self)
{
	return reg(self, self->pair.b.buf.p, 8, VT_ACCESS_ALL);
}

static int reg_many(FIXTURE_DATA(nth) *self)
{
	return reg(self, self->apart, MIB, VT_ACCESS_ALL);
}

/* Pages that have not been touched yet */
static int no_pages(FIXTURE_DATA(nth) *self)
{
	return madvise(self->r.p, LEN, MADV_DONTNEED) ? errno : 0;
}

static int reg_fresh(FIXTURE_DATA(nth) *self)
{
	return reg(self, self->r.p, 20 * PAGE, VT_ACCESS_ALL);
}

static int reg_odp(FIXTURE_DATA(nth) *self)
{
	return reg(self, self->r.p, LEN, VT_ACCESS_ODP);
}

static int reg_implicit(FIXTURE_DATA(nth) *self)
{
	return reg(self, NULL, SIZE_MAX, VT_ACCESS_ODP);
}

TEST_F(nth, reg_one_page) { SWEEP(.run = reg_page, .undo = dereg); }
TEST_F(nth, reg_many_pages) { SWEEP(.run = reg_many, .undo = dereg); }
TEST_F(nth, reg_on_demand) { SWEEP(.run = reg_odp, .undo = dereg); }
TEST_F(nth, reg_implicit) { SWEEP(.run = reg_implicit, .undo = dereg); }
TEST_F(nth, reg_pages_not_there) { SWEEP(.prepare = no_pages, .run = reg_fresh, .undo = dereg); }

static int reg_unless(FIXTURE_DATA(nth) *self)
{
	return self->mr ? 0 : reg_many(self);
}

TEST_F(nth, dereg)
{
	int n, ret;
	bool injected = true;
	struct held was = held();

	for (n = 1; injected && n < SWEEP_MAX; n++) {
		ASSERT_EQ(0, reg_unless(self));
		fail_nth(self, n);
		ret = dereg(self);
		injected = has_failed(self);
		if (ret)
			ASSERT_EQ(ENOMEM, ret);
		/*
		 * An object whose operation failed is intact, and the operation
		 * can be repeated.
		 */
		ASSERT_EQ(0, dereg(self));
		ASSERT_HELD(was, n);
	}
}

/* -- reregistering */

static int rereg(FIXTURE_DATA(nth) *self, int flags, void *p, size_t len,
		 int access)
{
	struct ibv_pd *pd = flags & IBV_REREG_MR_CHANGE_PD ? self->other :
							     self->pair.b.pd;
	int ret = ibv_rereg_mr(self->mr, flags, pd, p, len, access);

	if (!ret)
		return 0;
	/* A command that failed has changed nothing. */
	return ret == IBV_REREG_MR_ERR_CMD || ret == IBV_REREG_MR_ERR_INPUT ?
		errno : EUCLEAN;
}

static int reg_read_only(FIXTURE_DATA(nth) *self)
{
	return reg(self, self->pair.b.buf.p, MIB, 0);
}

static int rereg_translation(FIXTURE_DATA(nth) *self)
{
	return rereg(self, IBV_REREG_MR_CHANGE_TRANSLATION,
		     self->pair.b.buf.p + PAGE, MIB / 2, 0);
}

static int rereg_access(FIXTURE_DATA(nth) *self)
{
	return rereg(self, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, VT_ACCESS_ALL);
}

static int rereg_odp(FIXTURE_DATA(nth) *self)
{
	return rereg(self, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, VT_ACCESS_ODP);
}

static int rereg_all(FIXTURE_DATA(nth) *self)
{
	return rereg(self, IBV_REREG_MR_CHANGE_TRANSLATION |
		     IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD,
		     self->pair.b.buf.p, 2 * PAGE, VT_ACCESS_ALL);
}

/*
 * The region survives a failure and a success. It is registered anew before the next try, and
 * pinned pages are counted without it.
 */
static void sweep_rereg(struct __test_metadata *_metadata,
			FIXTURE_DATA(nth) *self,
			int (*first)(FIXTURE_DATA(nth) *self),
			int (*then)(FIXTURE_DATA(nth) *self))
{
	int n, ret, failed = 0;
	struct held was = held(), before;
	bool injected = true;

	for (n = 1; injected && n < SWEEP_MAX; n++) {
		ASSERT_EQ(0, first(self));
		before = held();
		fail_nth(self, n);
		ret = then(self);
		injected = has_failed(self);
		if (!injected)
			ASSERT_EQ(0, ret);
		if (ret) {
			failed++;
			ASSERT_TRUE(failed_clean(ret))
				TH_LOG("allocation %d: %d", n, ret);
			ASSERT_HELD(before, n);
		}
		ASSERT_EQ(0, dereg(self)) TH_LOG("allocation %d", n);
		ASSERT_HELD(was, n);
	}
	EXPECT_GT(SWEEP_MAX, n);
	EXPECT_LT(0, failed);
}

#define SWEEP_REREG(first, then) sweep_rereg(_metadata, self, first, then)

TEST_F(nth, rereg_translation) { SWEEP_REREG(reg_many, rereg_translation); }
TEST_F(nth, rereg_access) { SWEEP_REREG(reg_read_only, rereg_access); }
TEST_F(nth, rereg_to_on_demand) { SWEEP_REREG(reg_many, rereg_odp); }
TEST_F(nth, rereg_from_on_demand) { SWEEP_REREG(reg_odp, rereg_access); }
TEST_F(nth, rereg_all) { SWEEP_REREG(reg_many, rereg_all); }

/* -- windows */

static int alloc(FIXTURE_DATA(nth) *self, enum ibv_mw_type type)
{
	self->mw = ibv_alloc_mw(self->pair.b.pd, type);
	return self->mw ? 0 : errno;
}

static int alloc_1(FIXTURE_DATA(nth) *self)
{
	return alloc(self, IBV_MW_TYPE_1);
}

static int alloc_2(FIXTURE_DATA(nth) *self)
{
	return alloc(self, IBV_MW_TYPE_2);
}

static int dealloc(FIXTURE_DATA(nth) *self)
{
	int ret = self->mw ? ibv_dealloc_mw(self->mw) : 0;

	self->mw = NULL;
	return ret;
}

TEST_F(nth, alloc_mw_type_1) { SWEEP(.run = alloc_1, .undo = dealloc); }
TEST_F(nth, alloc_mw_type_2) { SWEEP(.run = alloc_2, .undo = dealloc); }

static int bind_window(FIXTURE_DATA(nth) *self)
{
	struct ibv_mw_bind_info info = {
		.mr = self->mr, .addr = (uintptr_t)self->pair.b.buf.p,
		.length = PAGE, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_send_wr wr = {
		.wr_id = 5, .opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = self->mw, .bind_info = info,
			.rkey = ibv_inc_rkey(self->mw->rkey),
		},
	};
	int ret = -vt_post(&self->pair.b, &wr);

	return ret ? ret : -vt_status(self->pair.b.scq, 5);
}

/* After the doorbell, neither a bind nor an unbind allocates memory. */
static void sweep_bind(struct __test_metadata *_metadata,
		       FIXTURE_DATA(nth) *self, enum ibv_mw_type type)
{
	bool injected = true;
	int n, ret;

	ASSERT_EQ(0, reg(self, self->pair.b.buf.p, PAGE,
			 VT_ACCESS_ALL | IBV_ACCESS_MW_BIND));
	for (n = 1; injected && n < SWEEP_MAX; n++) {
		ASSERT_EQ(0, alloc(self, type));
		fail_nth(self, n);
		ret = bind_window(self);
		injected = has_failed(self);
		ASSERT_TRUE(!ret || ret == ENOMEM) TH_LOG("%d: %d", n, ret);
		if (!ret) {
			ASSERT_EQ(EBUSY, ibv_dereg_mr(self->mr));
		} else {
			ASSERT_EQ(0, vt_pair_recover(&self->pair));
		}
		ASSERT_EQ(0, dealloc(self));
	}
	EXPECT_EQ(0, dereg(self));
	EXPECT_GT(SWEEP_MAX, n);
}

TEST_F(nth, bind_type_1) { sweep_bind(_metadata, self, IBV_MW_TYPE_1); }
TEST_F(nth, bind_type_2) { sweep_bind(_metadata, self, IBV_MW_TYPE_2); }

/* -- prefetch */

static int advise(FIXTURE_DATA(nth) *self, uint32_t flags)
{
	struct ibv_sge sge[2] = {
		{ self->r.iova + PAGE, 20 * PAGE, self->r.mr->lkey },
		{ self->r.iova + CHUNK - PAGE, 3 * PAGE, self->r.mr->lkey },
	};

	return ibv_advise_mr(self->pair.b.pd,
			     IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, flags, sge,
			     2);
}

static int advise_now(FIXTURE_DATA(nth) *self)
{
	return advise(self, IBV_ADVISE_MR_FLAG_FLUSH);
}

static int advise_later(FIXTURE_DATA(nth) *self)
{
	return advise(self, 0);
}

TEST_F(nth, advise_flush) { SWEEP(.prepare = no_pages, .run = advise_now); }
TEST_F(nth, advise) { SWEEP(.prepare = no_pages, .run = advise_later); }

/* -- faults */

static int go(FIXTURE_DATA(nth) *self, enum vt_way way)
{
	int status = vt_region_copy(&self->pair, &self->r, way, CHUNK - 2 * PAGE,
				    5 * PAGE);

	return -status;
}

static int fault_write(FIXTURE_DATA(nth) *self)
{
	return go(self, VT_WRITE);
}

static int fault_read(FIXTURE_DATA(nth) *self)
{
	return go(self, VT_READ);
}

static int fault_fetch(FIXTURE_DATA(nth) *self)
{
	return go(self, VT_FETCH);
}

#define SOME_TRIES	40
#define SOME_MS		5000

/*
 * Workers handle the faults, and their allocations cannot be counted. On the
 * wire, the allocation that fails may be that of the packet which reports the
 * failure.
 */
static void some_fail(struct __test_metadata *_metadata,
		      FIXTURE_DATA(nth) *self,
		      int (*run)(FIXTURE_DATA(nth) *self))
{
	uint64_t end = vt_now_ms() + SOME_MS;
	int n, ret, worked = 0, failed = 0;

	vt_fail_mark_workers(true);
	for (n = 0; n < SOME_TRIES && vt_now_ms() < end; n++) {
		EXPECT_EQ(0, no_pages(self));
		EXPECT_TRUE(vt_fail_some(true));
		ret = run(self);
		EXPECT_TRUE(vt_fail_some(false));
		if (!ret) {
			worked++;
			continue;
		}
		failed++;
		EXPECT_TRUE(failed_clean(ret) ||
			    ret == -IBV_WC_RETRY_EXC_ERR) TH_LOG("%d", ret);
		EXPECT_EQ(0, vt_pair_recover(&self->pair));
	}
	vt_fail_mark_workers(false);
	TH_LOG("%d times it worked, %d times it failed", worked, failed);
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, CHUNK - MIB / 2,
				    MIB));
}

TEST_F(nth, fault_by_write) { some_fail(_metadata, self, fault_write); }
TEST_F(nth, fault_by_read) { some_fail(_metadata, self, fault_read); }
TEST_F(nth, fault_of_own) { some_fail(_metadata, self, fault_fetch); }

/*
 * The device has no memory to bring pages in. This is not an access error, and must not be reported
 * as one.
 */
static void none_for_the_device(struct __test_metadata *_metadata,
				FIXTURE_DATA(nth) *self, enum vt_way way,
				int status)
{
	int ret, fd;

	EXPECT_EQ(0, no_pages(self));
	fd = vt_fail_accounted_begin();
	ASSERT_LE(0, fd);
	ret = go(self, way);
	EXPECT_TRUE(vt_fail_accounted_end(fd));
	EXPECT_EQ(-status, ret);
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, CHUNK - MIB / 2,
				    MIB));
}

TEST_F(nth, none_for_write) { none_for_the_device(_metadata, self, VT_WRITE, IBV_WC_REM_OP_ERR); }
TEST_F(nth, none_for_read) { none_for_the_device(_metadata, self, VT_READ, IBV_WC_REM_OP_ERR); }

TEST_F(nth, none_for_receive)
{
	none_for_the_device(_metadata, self, VT_RECV, IBV_WC_LOC_QP_OP_ERR);
}

TEST_F(nth, none_for_fetch)
{
	none_for_the_device(_metadata, self, VT_FETCH, IBV_WC_LOC_QP_OP_ERR);
}

TEST_F(nth, none_for_push) { none_for_the_device(_metadata, self, VT_PUSH, IBV_WC_LOC_QP_OP_ERR); }

VT_HARNESS_MAIN
