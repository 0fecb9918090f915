// SPDX-License-Identifier: GPL-2.0
/*
 * An implicit region (all of the address space): remote and local use, memory
 * use in proportion to the pages in use, and memory that the process maps and
 * unmaps.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "region.h"

#define GIB	(1024 * MIB)
#define CHUNK	(2 * MIB)

FIXTURE(implicit)
{
	struct vt_pair pair;
	struct ibv_mr *mr;
};

FIXTURE_SETUP(implicit)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.buf_len = MIB + 4 * VT_GUARD)));
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT_IMPLICIT));
	self->mr = ibv_reg_mr(self->pair.b.pd, NULL, SIZE_MAX, VT_ACCESS_ODP);
	ASSERT_NE(NULL, self->mr);
}

FIXTURE_TEARDOWN(implicit)
{
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	vt_pair_close(&self->pair);
}

/* Memory mapped anywhere, used through the implicit region */
static struct vt_region part(const struct ibv_mr *mr, void *p, size_t len)
{
	return (struct vt_region){
		.p = p, .len = len, .iova = (uintptr_t)p,
		.mr = (struct ibv_mr *)mr,
	};
}

static uint8_t stack_and_data[5 * PAGE];

TEST_F(implicit, any_memory)
{
	uint8_t stack[3 * PAGE] __attribute__((aligned(8)));
	uint8_t *heap = malloc(MIB / 2);
	uint8_t *far = vt_map(4 * CHUNK, CHUNK, MAP_SHARED, -1);
	struct vt_region r;

	r = part(self->mr, stack, sizeof(stack));
	EXPECT_TRUE(vt_region_works(&self->pair, &r, 8, 2 * PAGE));
	r = part(self->mr, stack_and_data, sizeof(stack_and_data));
	EXPECT_TRUE(vt_region_works(&self->pair, &r, 0, 4 * PAGE + 1));
	r = part(self->mr, heap, MIB / 2);
	EXPECT_TRUE(vt_region_works(&self->pair, &r, 0, MIB / 2));
	r = part(self->mr, far, 4 * CHUNK);
	EXPECT_TRUE(vt_region_works(&self->pair, &r, CHUNK - 8, 16));
	EXPECT_TRUE(vt_region_works(&self->pair, &r, 2 * CHUNK - MIB / 4,
				    MIB / 2));
	EXPECT_EQ(0, munmap(far, 4 * CHUNK));
	free(heap);
}

/* The status of a transfer with that address. */
static int go(FIXTURE_DATA(implicit) *self, enum vt_way way, uint64_t addr,
	      size_t len)
{
	struct vt_region r = part(self->mr, (void *)(uintptr_t)addr, len);
	int status = vt_region_copy(&self->pair, &r, way, 0, len);

	if (status && vt_pair_recover(&self->pair))
		return -EIO;
	return status;
}

/* Addresses where nothing is mapped, or can be mapped */
TEST_F(implicit, nothing_there)
{
	static const uint64_t addrs[] = {
		0, PAGE, 0xffff800000000000, UINT64_MAX - 100, 0x7ffffffff000,
		0x800000000000, 1ull << 63,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  go(self, VT_WRITE, addrs[i], 8))
			TH_LOG("0x%llx", (unsigned long long)addrs[i]);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  go(self, VT_READ, addrs[i], 8));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, go(self, VT_PUSH, addrs[i], 8));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, go(self, VT_RECV, addrs[i], 8));
	}
}

/* -- how much memory it takes */

static int64_t chunks(const struct vt_ep *ep)
{
	return vt_counter_now(ep->dev.ctx, "odp_chunks");
}

/* Chunks are freed in the background, so wait for a moment. */
static bool chunks_fall_to(const struct vt_ep *ep, int64_t n)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	int64_t now;

	do {
		now = chunks(ep);
	} while (now > n && vt_now_ms() < end);
	if (now != n)
		printf("# %lld chunks, not %lld\n", (long long)now,
		       (long long)n);
	return now == n;
}

TEST_F(implicit, takes_memory_for_what_is_touched)
{
	enum { N = 50 };
	struct vt_ep *b = &self->pair.b;
	/* 50 GiB of addresses, of which 50 pages are used */
	uint8_t *p = vt_map(N * GIB, GIB, MAP_PRIVATE | MAP_NORESERVE, -1);
	int64_t before = chunks(b);
	int i;

	if (before < 0)
		SKIP(return, "the device does not count its chunks");
	ASSERT_NE(NULL, p);
	madvise(p, N * GIB, MADV_NOHUGEPAGE);
	/* registering has allocated nothing */
	EXPECT_EQ(0, before);
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, go(self, VT_WRITE,
				(uintptr_t)p + i * GIB + i * PAGE, 1));
	EXPECT_EQ(N, chunks(b));
	/* once more, next to those pages: no new chunks */
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, go(self, VT_READ, (uintptr_t)p + i * GIB, MIB));
	EXPECT_EQ(N, chunks(b));
	/* a part is unmapped, the rest stays; then all is unmapped */
	ASSERT_EQ(0, munmap(p, N / 2 * GIB));
	EXPECT_TRUE(chunks_fall_to(b, N - N / 2));
	ASSERT_EQ(0, go(self, VT_WRITE, (uintptr_t)p + (N - 1) * GIB, MIB));
	ASSERT_EQ(0, madvise(p + N / 2 * GIB, (N - N / 2) * GIB,
			     MADV_DONTNEED));
	EXPECT_TRUE(chunks_fall_to(b, 0));
	/* and is used again */
	ASSERT_EQ(0, go(self, VT_WRITE, (uintptr_t)p + (N - 1) * GIB, MIB));
	EXPECT_EQ(1, chunks(b));
	ASSERT_EQ(0, ibv_dereg_mr(self->mr));
	self->mr = NULL;
	EXPECT_EQ(0, chunks(b));
	munmap(p, N * GIB);
}

/* A fault in a range without mappings leaves nothing behind. */
TEST_F(implicit, misses_take_nothing)
{
	struct vt_ep *b = &self->pair.b;
	uint8_t *p = vt_map(GIB, CHUNK, MAP_PRIVATE | MAP_NORESERVE, -1);
	int64_t before = chunks(b);
	int i;

	if (before < 0)
		SKIP(return, "the device does not count its chunks");
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, munmap(p, GIB));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(IBV_WC_REM_ACCESS_ERR,
			  go(self, VT_READ, (uintptr_t)p + i * 9 * CHUNK, 8));
	EXPECT_TRUE(chunks_fall_to(b, before));
}

/* Chunks are made and freed all the time while others use them. */
TEST_F(implicit, comes_and_goes)
{
	uint8_t *p = vt_map(8 * CHUNK, CHUNK, MAP_PRIVATE, -1);
	struct vt_region r = part(self->mr, p, 8 * CHUNK);
	int i;

	ASSERT_NE(NULL, p);
	for (i = 0; i < 100; i++) {
		size_t off = (i % 7) * CHUNK + (i * 5 % 512) * PAGE;

		ASSERT_TRUE(vt_region_moves(&self->pair, &r, i % VT_WAYS, off,
					    3 * PAGE));
		ASSERT_EQ(0, madvise(p, 8 * CHUNK, MADV_DONTNEED));
	}
	munmap(p, 8 * CHUNK);
}

/* The region's rights hold for the whole address space. */
TEST_F(implicit, rights)
{
	uint8_t *p = vt_map(CHUNK, CHUNK, MAP_PRIVATE, -1);
	struct ibv_mr *all = self->mr;

	ASSERT_NE(NULL, p);
	self->mr = ibv_reg_mr(self->pair.b.pd, NULL, SIZE_MAX,
			      IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ);
	ASSERT_NE(NULL, self->mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, go(self, VT_WRITE, (uintptr_t)p, 8));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, go(self, VT_RECV, (uintptr_t)p, 8));
	EXPECT_EQ(0, go(self, VT_READ, (uintptr_t)p, 8));
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	self->mr = all;
	munmap(p, CHUNK);
}

static int reg_errno(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
		     int access)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, addr, len, iova, access);

	if (!mr)
		return errno;
	ibv_dereg_mr(mr);
	return 0;
}

TEST_F(implicit, what_cannot_be)
{
	struct ibv_pd *pd = self->pair.b.pd;

	EXPECT_EQ(EINVAL, reg_errno(pd, NULL, SIZE_MAX, PAGE, VT_ACCESS_ODP));
	EXPECT_EQ(EINVAL, reg_errno(pd, NULL, SIZE_MAX, 0, VT_ACCESS_ALL));
	EXPECT_EQ(EINVAL, reg_errno(pd, (void *)PAGE, SIZE_MAX, 0,
				    VT_ACCESS_ODP));
	EXPECT_EQ(EINVAL, reg_errno(pd, NULL, SIZE_MAX, 0,
				    VT_ACCESS_ODP | IBV_ACCESS_HUGETLB));
}

VT_HARNESS_MAIN
