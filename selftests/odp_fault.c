// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: which pages a fault can bring in, and which it cannot.
 * Addresses that differ from those of the process, chunk borders, faults in the
 * middle of a message, read-only mappings, and holes.
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#include <sys/syscall.h>
#include <sys/time.h>

#include "region.h"
#include "system.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret	447
#endif

/* The device manages pages in chunks of this size. */
#define CHUNK		(2 * MIB)

FIXTURE(odp)
{
	struct vt_pair pair;
	struct vt_region r;
};

FIXTURE_SETUP(odp)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.mtu = IBV_MTU_4096, .buf_len = 2 * MIB)));
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT));
}

FIXTURE_TEARDOWN(odp)
{
	vt_region_close(&self->r);
	vt_pair_close(&self->pair);
}

/* Untouched memory with its region; two chunks or more. */
static int fresh(FIXTURE_DATA(odp) *self, size_t len, int access)
{
	uint8_t *p = vt_map(len, CHUNK, MAP_PRIVATE, -1);

	vt_region_close(&self->r);
	if (!p)
		return -errno;
	/* no huge pages: a fault would bring a whole one in */
	madvise(p, len, MADV_NOHUGEPAGE);
	return vt_region_reg(&self->r, self->pair.b.pd, p, len, (uintptr_t)p,
			     access);
}

#define FRESH(len)	ASSERT_EQ(0, fresh(self, len, VT_ACCESS_ODP))

TEST_F(odp, each_way)
{
	FRESH(2 * CHUNK);
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, 3 * PAGE));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 80 * PAGE + 16, 1));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 90 * PAGE - 8,
				    5 * PAGE + 3));
}

/* Each way of access meets untouched pages. */
TEST_F(odp, each_way_first)
{
	size_t len = 40 * PAGE + 5;
	int way;

	for (way = 0; way < VT_WAYS; way++) {
		FRESH(CHUNK);
		EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, way,
					    3 * PAGE + 7, len));
	}
}

/* The address in the request differs from that in the process. */
TEST_F(odp, iova_differs_from_address)
{
	static const uint64_t iovas[] = {
		0, PAGE, 0x123456789000, 0x7ff000, 0xfffffffff0000000,
	};
	uint8_t *p = vt_map(2 * CHUNK, CHUNK, MAP_PRIVATE, -1);
	int i;

	ASSERT_NE(NULL, p);
	for (i = 0; i < ARRAY_SIZE(iovas); i++) {
		if (self->r.mr)
			ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
		ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p,
					   2 * CHUNK, iovas[i],
					   VT_ACCESS_ODP));
		madvise(p, 2 * CHUNK, MADV_DONTNEED);
		EXPECT_TRUE(vt_region_works(&self->pair, &self->r,
					    CHUNK - 5 * PAGE - 8, 11 * PAGE))
			TH_LOG("iova 0x%llx", (unsigned long long)iovas[i]);
	}
}

/* A region that begins and ends in the middle of pages */
TEST_F(odp, unaligned_region)
{
	uint8_t *p = vt_map(2 * CHUNK, CHUNK, MAP_PRIVATE, -1);
	struct vt_region r;

	ASSERT_NE(NULL, p);
	p += CHUNK - 3 * PAGE - 24;
	ASSERT_EQ(0, vt_region_reg(&r, self->pair.b.pd, p, 5 * PAGE + 1,
				   (uintptr_t)p, VT_ACCESS_ODP));
	EXPECT_TRUE(vt_region_works(&self->pair, &r, 0, r.len));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_region_copy(&self->pair, &r, VT_WRITE, 1, r.len));
	EXPECT_EQ(0, ibv_dereg_mr(r.mr));
}

TEST_F(odp, across_chunks)
{
	FRESH(4 * CHUNK);
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, CHUNK - 8, 16));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 2 * CHUNK - 512,
				    1023));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r,
				    3 * CHUNK - MIB / 2, MIB));
}

/* Parts of the message are present, others are not, at either end. */
TEST_F(odp, fault_in_the_middle)
{
	static const struct { size_t first, n; } holes[] = {
		{ 128, 1 }, { 1, 1 }, { 255, 1 }, { 100, 100 }, { 0, 256 },
	};
	size_t at = CHUNK - MIB / 2;
	int i, way;

	FRESH(2 * CHUNK);
	for (i = 0; i < ARRAY_SIZE(holes); i++)
		for (way = 0; way < VT_WAYS; way++) {
			/* all pages are present; then some are not */
			ASSERT_TRUE(vt_region_moves(&self->pair, &self->r,
						    VT_WRITE, at, MIB));
			ASSERT_EQ(0, madvise(self->r.p + at +
					     holes[i].first * PAGE,
					     holes[i].n * PAGE,
					     MADV_DONTNEED));
			EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, way,
						    at, MIB));
		}
}

/* Both ends use on-demand memory, which may even be the same. */
TEST_F(odp, both_ends)
{
	struct vt_ep *a = &self->pair.a;
	uint8_t *p = a->buf.p;
	struct ibv_mr *odp, *pinned = a->buf.mr;
	int way;

	FRESH(2 * CHUNK);
	odp = ibv_reg_mr(a->pd, p, a->buf.len, VT_ACCESS_ODP);
	ASSERT_NE(NULL, odp);
	a->buf.mr = odp;
	for (way = 0; way < VT_WAYS; way++) {
		madvise(self->r.p, 2 * CHUNK, MADV_DONTNEED);
		EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, way,
					    CHUNK - MIB / 2 - 1, MIB + 2));
	}
	a->buf.mr = pinned;
	EXPECT_EQ(0, ibv_dereg_mr(odp));
}

/* Nothing is mapped at [@first, @first + @n) of the region. */
static int make_hole(struct vt_region *r, size_t first, size_t n)
{
	return munmap(r->p + first * PAGE, n * PAGE) ? -errno : 0;
}

static int fill_hole(struct vt_region *r, size_t first, size_t n)
{
	return mmap(r->p + first * PAGE, n * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		MAP_FAILED ? -errno : 0;
}

/* The status that each way gives if the region cannot be reached. */
static enum ibv_wc_status expected(enum vt_way way)
{
	return way == VT_WRITE || way == VT_READ ? IBV_WC_REM_ACCESS_ERR :
						   IBV_WC_LOC_PROT_ERR;
}

static void each_way_fails(struct __test_metadata *_metadata,
			   struct vt_pair *pair, const struct vt_region *r,
			   size_t off, size_t len)
{
	int way;

	for (way = 0; way < VT_WAYS; way++) {
		EXPECT_EQ(expected(way), vt_region_copy(pair, r, way, off, len))
			TH_LOG("way %d", way);
		ASSERT_EQ(0, vt_pair_recover(pair));
	}
}

TEST_F(odp, holes)
{
	FRESH(2 * CHUNK);
	memset(self->r.p, 1, 2 * CHUNK);
	ASSERT_EQ(0, make_hole(&self->r, 20, 5));
	each_way_fails(_metadata, &self->pair, &self->r, 22 * PAGE, 8);
	each_way_fails(_metadata, &self->pair, &self->r, 10 * PAGE, 11 * PAGE);
	each_way_fails(_metadata, &self->pair, &self->r, 24 * PAGE + 100,
		       2 * PAGE);
	/* the adjacent pages still work */
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 10 * PAGE,
				    10 * PAGE));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 25 * PAGE,
				    10 * PAGE));
	/* and when something is mapped again, it is reached */
	ASSERT_EQ(0, fill_hole(&self->r, 20, 5));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 10 * PAGE,
				    20 * PAGE));
}

/* The last pages of a long message are missing. */
TEST_F(odp, hole_at_the_end_of_a_long_message)
{
	FRESH(2 * CHUNK);
	ASSERT_EQ(0, make_hole(&self->r, 255, 1));
	each_way_fails(_metadata, &self->pair, &self->r, 0, MIB);
	ASSERT_EQ(0, fill_hole(&self->r, 255, 1));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, MIB));
}

/* Registering needs no mapping: the memory may be mapped later, or never. */
TEST_F(odp, nothing_is_mapped_yet)
{
	FRESH(CHUNK);
	ASSERT_EQ(0, make_hole(&self->r, 0, CHUNK / PAGE));
	ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, self->r.p, CHUNK,
				   (uintptr_t)self->r.p, VT_ACCESS_ODP));
	each_way_fails(_metadata, &self->pair, &self->r, 0, 100);
	ASSERT_EQ(0, fill_hole(&self->r, 0, CHUNK / PAGE));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, 100 * PAGE));
}

static int prefetch_present(FIXTURE_DATA(odp) *self, size_t off, size_t len)
{
	struct ibv_sge sge = {
		.addr = self->r.iova + off, .length = len,
		.lkey = self->r.mr->lkey,
	};

	return ibv_advise_mr(self->pair.b.pd,
			     IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

/* PROT_NONE: even the kernel cannot read it. Pinning refuses it, too. */
TEST_F(odp, secret_memory)
{
	struct ibv_pd *pd = self->pair.b.pd;
	int fd = syscall(SYS_memfd_secret, 0);
	size_t len = 4 * PAGE;
	uint8_t *p;

	if (fd < 0)
		SKIP(return, "this kernel has no memfd_secret()");
	ASSERT_EQ(0, ftruncate(fd, len));
	p = vt_map(len, PAGE, MAP_SHARED, fd);
	close(fd);
	ASSERT_NE(NULL, p);
	memset(p, 1, len);
	ASSERT_EQ(0, vt_region_reg(&self->r, pd, p, len, (uintptr_t)p,
				   VT_ACCESS_ODP));
	each_way_fails(_metadata, &self->pair, &self->r, PAGE + 8, 100);
	EXPECT_EQ(EFAULT, prefetch_present(self, 0, len));
	each_way_fails(_metadata, &self->pair, &self->r, PAGE + 8, 100);
	EXPECT_EQ(NULL, ibv_reg_mr(pd, p, len, VT_ACCESS_ALL));
	EXPECT_EQ(EFAULT, errno);
}

/* A prefetch of a range without pages takes no memory, mapped or not. */
TEST_F(odp, prefetch_of_nothing)
{
	struct ibv_context *ctx = self->pair.b.dev.ctx;
	int64_t before = vt_counter_now(ctx, "odp_chunks");
	size_t half = 512 * CHUNK;
	uint8_t *p = vt_map(2 * half, CHUNK, MAP_PRIVATE | MAP_NORESERVE, -1);

	if (before < 0)
		SKIP(return, "the device does not count its chunks");
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, munmap(p + half, half));
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, 2 * half,
				   (uintptr_t)p, VT_ACCESS_ODP));
	EXPECT_EQ(0, prefetch_present(self, 0, half));
	EXPECT_EQ(0, prefetch_present(self, half, half));
	EXPECT_EQ(before, vt_counter_now(ctx, "odp_chunks"));
	/* A present page is found, wherever it is in the range. */
	p[half - 1] = 1;
	EXPECT_EQ(0, prefetch_present(self, 0, half));
	EXPECT_EQ(before + 1, vt_counter_now(ctx, "odp_chunks"));
}

/* The first use of on-demand memory walks all mappings: make many */
#define MAPPINGS	20000

static void ignore_signal(int sig)
{
}

/* Prefetch, and get a signal with a handler after @us. Exits with an errno. */
static int prefetch_child(int sock, const void *us)
{
	struct itimerval once = { .it_value.tv_usec = *(const int *)us };
	struct vt_region r;
	struct ibv_sge sge;
	struct vt_ep ep;
	uint8_t *p;
	int i;

	if (vt_ep_open(&ep, &vt_defaults, 1))
		return 255;
	p = vt_map(MAPPINGS * PAGE, PAGE, MAP_PRIVATE, -1);
	for (i = 0; p && i < MAPPINGS; i += 2)
		mprotect(p + i * PAGE, PAGE, PROT_READ);
	if (!p || vt_region_reg(&r, ep.pd, p, PAGE, (uintptr_t)p,
				IBV_ACCESS_ON_DEMAND))
		return 255;
	signal(SIGALRM, ignore_signal);
	sge = (struct ibv_sge){ r.iova, 1, r.mr->lkey };
	setitimer(ITIMER_REAL, &once, NULL);
	return ibv_advise_mr(ep.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
			     IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

/*
 * A signal at any time is handled, and does not end a prefetch. Each child
 * makes many mappings, which is slow on a kernel with checks.
 */
TEST_F_TIMEOUT(odp, prefetch_goes_on_after_a_signal, 120)
{
	int us, sock, status;
	pid_t pid;

	for (us = 100; us < 100000; us += us / 3) {
		pid = vt_child(&sock, prefetch_child, &us);
		ASSERT_LT(0, pid);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) TH_LOG("after %d us: errno %d", us,
					    WEXITSTATUS(status));
		close(sock);
	}
}

/*
 * ibv_advise_mr() without FLUSH returns before a large range has been
 * prefetched.
 */
TEST_F(odp, prefetch_gives_way)
{
	size_t len = 128ul << 30;
	uint8_t *p = vt_map(len, CHUNK, MAP_PRIVATE | MAP_NORESERVE, -1);
	uint64_t start, took;
	struct ibv_sge sge;
	int i;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, len,
				   (uintptr_t)p, VT_ACCESS_ODP));
	/*
	 * the maximum length of an entry; a work item handles one after the
	 * other
	 */
	sge = (struct ibv_sge){ self->r.iova, 1u << 31, self->r.mr->lkey };
	for (i = 0; i < 64; i++, sge.addr += sge.length)
		ASSERT_EQ(0, ibv_advise_mr(self->pair.b.pd,
					   IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
					   0, &sge, 1));
	start = vt_now_ms();
	ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
	took = vt_now_ms() - start;
	self->r.mr = NULL;
	EXPECT_GT(500, took) TH_LOG("%d ms", (int)took);
}

static bool writes_region(enum vt_way way)
{
	return way == VT_WRITE || way == VT_RECV || way == VT_FETCH;
}

/* The mapping forbids it, whatever the region's rights are. */
TEST_F(odp, read_only_mapping)
{
	size_t len = 5 * PAGE;
	int way, round;

	FRESH(CHUNK);
	vt_fill(self->r.p, len, 5, 0);
	/* with and without pages that the device could write to earlier */
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, mprotect(self->r.p, CHUNK, PROT_READ));
		for (way = 0; way < VT_WAYS; way++) {
			EXPECT_EQ(writes_region(way) ? expected(way) : 0,
				  vt_region_copy(&self->pair, &self->r, way, 0,
						 len))
				TH_LOG("way %d, round %d", way, round);
			ASSERT_EQ(0, vt_pair_recover(&self->pair));
			EXPECT_TRUE(vt_check("region", self->r.p, len, 5, 0));
		}
		ASSERT_EQ(0, mprotect(self->r.p, CHUNK,
				      PROT_READ | PROT_WRITE));
		EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, len));
		vt_fill(self->r.p, len, 5, 0);
	}
	ASSERT_EQ(0, mprotect(self->r.p, CHUNK, PROT_NONE));
	each_way_fails(_metadata, &self->pair, &self->r, 0, len);
}

/* The region forbids it, whatever the mapping allows. */
TEST_F(odp, read_only_region)
{
	size_t len = 5 * PAGE;
	int way;

	ASSERT_EQ(0, fresh(self, CHUNK, IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_ON_DEMAND));
	vt_fill(self->r.p, len, 5, 0);
	for (way = 0; way < VT_WAYS; way++) {
		EXPECT_EQ(writes_region(way) ? expected(way) : 0,
			  vt_region_copy(&self->pair, &self->r, way, 0, len))
			TH_LOG("way %d", way);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		EXPECT_TRUE(vt_check("region", self->r.p, len, 5, 0));
	}
}

/* A read of untouched memory finds zeros, and allocates no page. */
TEST_F(odp, read_before_write)
{
	static const uint8_t zeros[8 * PAGE];

	FRESH(CHUNK);
	ASSERT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_READ, 0,
				    sizeof(zeros)));
	EXPECT_EQ(0, memcmp(zeros, self->pair.a.buf.p + VT_GUARD,
			    sizeof(zeros)));
	/* the zero page must not be written to */
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, sizeof(zeros)));
	ASSERT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_READ, 64 * PAGE,
				    sizeof(zeros)));
	EXPECT_EQ(0, memcmp(zeros, self->pair.a.buf.p + VT_GUARD,
			    sizeof(zeros)));
}

/* -- counters */

struct counts {
	int64_t hits, misses, faults, prefetches, invalidations;
};

static struct counts counts_now(const struct vt_ep *ep)
{
	struct ibv_context *ctx = ep->dev.ctx;
	struct counts c = { .hits = vt_counter_now(ctx, "odp_hits") };

	c.misses = vt_counter(ctx, "odp_misses");
	c.faults = vt_counter(ctx, "odp_faulted_pages");
	c.prefetches = vt_counter(ctx, "odp_prefetched_pages");
	c.invalidations = vt_counter(ctx, "odp_invalidated_pages");
	return c;
}

TEST_F(odp, counters)
{
	struct vt_ep *b = &self->pair.b;
	struct counts before = counts_now(b), now;
	struct ibv_sge sge;

	if (before.hits < 0)
		SKIP(return, "no counters of on-demand paging");
	FRESH(CHUNK);
	ASSERT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0,
				    10 * PAGE));
	now = counts_now(b);
	EXPECT_LT(before.hits, now.hits);
	EXPECT_LT(before.misses, now.misses);
	EXPECT_EQ(before.faults + 10, now.faults);
	EXPECT_EQ(before.prefetches, now.prefetches);

	before = now;
	ASSERT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0,
				    10 * PAGE));
	now = counts_now(b);
	EXPECT_LT(before.hits, now.hits);
	EXPECT_EQ(before.misses, now.misses);
	EXPECT_EQ(before.faults, now.faults);
	EXPECT_EQ(before.invalidations, now.invalidations);

	before = now;
	ASSERT_EQ(0, madvise(self->r.p, 4 * PAGE, MADV_DONTNEED));
	now = counts_now(b);
	EXPECT_EQ(before.invalidations + 4, now.invalidations);

	before = now;
	sge = (struct ibv_sge){
		.addr = self->r.iova, .length = 7 * PAGE,
		.lkey = self->r.mr->lkey,
	};
	ASSERT_EQ(0, ibv_advise_mr(b->pd,
				   IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	now = counts_now(b);
	EXPECT_EQ(before.prefetches + 4, now.prefetches);
	EXPECT_EQ(before.faults, now.faults);
	ASSERT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0,
				    10 * PAGE));
	EXPECT_EQ(now.misses, counts_now(b).misses);
}

VT_HARNESS_MAIN
