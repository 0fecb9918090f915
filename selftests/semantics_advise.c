// SPDX-License-Identifier: GPL-2.0
/*
 * What ibv_advise_mr() promises, row by row of Documentation/semantics.rst.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 90
 * paths: host veth
 */
#include "fail.h"
/* see rows.h */
#define ROWS_NEED	ADVICE
#include "rows.h"
#include "system.h"

#define READ	IBV_ADVISE_MR_ADVICE_PREFETCH
#define WRITE	IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define PRESENT	IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define FLUSH	IBV_ADVISE_MR_FLAG_FLUSH

#define ALL	(LW | RW | RR | RA)
#define BAD_HANDLE	0x7ffffff0
#define PAGES	3

static int advise(row_data *self, int advice, int flags)
{
	struct ibv_sge sge = vt_place_sge(&self->r, 0, self->r.len);

	return ibv_advise_mr(self->b->pd, advice, flags, &sge, 1);
}

/* Untouched memory, registered with @access */
static int fresh_region(row_data *self, int access)
{
	struct vt_place *r = &self->r;
	int ret = vt_place_map(r, VT_MEM_PLAIN);

	return ret ? ret : vt_place_reg(r, self->b->pd, access);
}

/* -- invalid arguments */

/* An unknown advice or flag */
CHECK(unknown)
{
	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	EXPECT_EQ(row->want, advise(self, row->kind, row->flags));
	EXPECT_EQ(0, advise(self, READ, FLUSH));
}

CHECK(no_sge)
{
	EXPECT_EQ(row->want, ibv_advise_mr(self->b->pd, READ, FLUSH, NULL, 0));
}

CHECK(sge_not_readable)
{
	struct ibv_sge *sge = mmap(NULL, 4096, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)sge);
	EXPECT_EQ(row->want, ibv_advise_mr(self->b->pd, READ, FLUSH, sge, 1));
	munmap(sge, 4096);
}

CHECK(pd_handle)
{
	struct ibv_pd pd;
	struct ibv_sge sge;

	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	sge = vt_place_sge(&self->r, 0, 64);
	pd = *self->b->pd;
	pd.handle = row->kind ? BAD_HANDLE : self->r.mr->handle;
	EXPECT_EQ(row->want, ibv_advise_mr(&pd, READ, FLUSH, &sge, 1));
}

enum { OF_NOTHING, OF_WINDOW, OF_PINNED, OF_DEAD, OF_OTHER_PD };

/* The key is not that of an on-demand region of this PD. */
CHECK(key)
{
	struct vt_place *r = &self->r;
	struct ibv_pd *pd = self->b->pd, *other;
	struct ibv_sge sge;
	struct ibv_mw *mw;

	ASSERT_EQ(0, fresh_region(self, row->kind == OF_PINNED ? ALL :
							ALL | ODP));
	other = ibv_alloc_pd(self->b->dev.ctx);
	ASSERT_NE(NULL, other);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	ASSERT_NE(NULL, mw);
	sge = vt_place_sge(r, 0, r->len);
	switch (row->kind) {
	case OF_NOTHING:
		sge.lkey ^= 0x5a5a00;
		break;
	case OF_WINDOW:
		sge.lkey = mw->rkey;
		break;
	case OF_OTHER_PD:
		pd = other;
		break;
	case OF_DEAD:
		ASSERT_EQ(0, ibv_dereg_mr(r->mr));
		r->mr = NULL;
		break;
	}
	EXPECT_EQ(row->want, ibv_advise_mr(pd, READ, row->flags, &sge, 1));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dealloc_pd(other));
}

/* An error in the second of two parts is noticed, too. */
CHECK(second_part)
{
	struct ibv_sge sge[2];

	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	sge[0] = vt_place_sge(&self->r, 0, 64);
	sge[1] = sge[0];
	EXPECT_EQ(0, ibv_advise_mr(self->b->pd, READ, FLUSH, sge, 2));
	sge[1].lkey ^= 0x5a5a00;
	EXPECT_EQ(row->want, ibv_advise_mr(self->b->pd, READ, FLUSH, sge, 2));
}

CHECK(no_write_right)
{
	ASSERT_EQ(0, fresh_region(self, RR | ODP));
	EXPECT_EQ(row->want, advise(self, WRITE, row->flags));
	EXPECT_EQ(0, advise(self, READ, FLUSH));
}

enum { BEYOND_END, BEFORE_START, WRAPS };

CHECK(range)
{
	struct vt_place *r = &self->r;
	struct ibv_sge sge;

	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	sge = vt_place_sge(r, 0, r->len);
	switch (row->kind) {
	case BEYOND_END:
		sge.length++;
		break;
	case BEFORE_START:
		sge.addr--;
		break;
	case WRAPS:
		sge.addr = UINT64_MAX - 10;
		break;
	}
	EXPECT_EQ(row->want, ibv_advise_mr(self->b->pd, READ, row->flags, &sge, 1));
}

/* Memory that is not mapped, or that is read-only */
CHECK(memory)
{
	ASSERT_EQ(0, vt_place_map(&self->r, row->sort));
	ASSERT_EQ(0, vt_place_reg(&self->r, self->b->pd, ALL | ODP));
	EXPECT_EQ(row->want, advise(self, row->kind, row->flags));
	if (row->sort == VT_MEM_READ_ONLY)
		EXPECT_EQ(0, advise(self, READ, FLUSH));
}

/* -- no memory for the deferred work: each allocation of the call fails once */

CHECK(no_memory)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR), n, ret, seen = 0;
	int failed = 1;

	if (fd < 0 || vt_write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N"))
		SKIP(return, "this kernel cannot fail allocations");
	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	for (n = 1; failed && n < 100; n++) {
		ASSERT_EQ(0, vt_fail_nth(fd, n));
		ret = advise(self, READ, row->flags);
		failed = vt_fail_happened(fd);
		ASSERT_LE(0, failed);
		seen += ret == row->want;
		EXPECT_TRUE(!ret || ret == row->want)
			TH_LOG("allocation %d: %d", n, ret);
	}
	EXPECT_EQ(0, failed);
	EXPECT_LT(0, seen);
	EXPECT_EQ(0, advise(self, READ, FLUSH));
	vt_write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "Y");
	close(fd);
}

/* -- what it does */

/*
 * The process's page frames in the region, 0 where there is none. Return: how
 * many different ones
 */
static int frames(const struct vt_place *r, uint64_t *pfn)
{
	int fd = open("/proc/self/pagemap", O_RDONLY), i, k, n = 0;
	off_t at = (uintptr_t)r->base / 4096 * 8;

	memset(pfn, 0, PAGES * sizeof(*pfn));
	if (pread(fd, pfn, PAGES * sizeof(*pfn), at) != PAGES * sizeof(*pfn))
		n = -errno;
	close(fd);
	for (i = 0; i < PAGES; i++) {
		pfn[i] = pfn[i] >> 63 ? pfn[i] & (-1ull >> 9) : 0;
		for (k = 0; k < i && pfn[k] != pfn[i]; k++)
			;
		n += pfn[i] && k == i;
	}
	return n;
}

/* @advice on untouched memory brings in @want different pages. */
CHECK(brings_in)
{
	struct vt_place *r = &self->r;
	uint64_t pfn[PAGES];

	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	ASSERT_EQ(0, frames(r, pfn));
	EXPECT_EQ(0, advise(self, row->kind, FLUSH));
	EXPECT_EQ(row->want, frames(r, pfn));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
	EXPECT_EQ(0, advise(self, row->kind, FLUSH));
	EXPECT_EQ(PAGES, frames(r, pfn));
}

/* Without FLUSH the pages come later. */
CHECK(brings_in_later)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS, pfn[PAGES];

	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	EXPECT_EQ(0, advise(self, row->kind, 0));
	while (frames(&self->r, pfn) != row->want && vt_now_ms() < end)
		usleep(1000);
	EXPECT_EQ(row->want, frames(&self->r, pfn));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
}

CHECK(implicit)
{
	struct vt_place *r = &self->r;
	uint64_t pfn[PAGES];

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	r->mr = ibv_reg_mr(self->b->pd, NULL, SIZE_MAX, ALL | ODP);
	ASSERT_NE(NULL, r->mr);
	EXPECT_EQ(0, advise(self, WRITE, FLUSH));
	EXPECT_EQ(PAGES, frames(r, pfn));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

static int64_t count_misses(row_data *self)
{
	return vt_counter_now(self->b->dev.ctx, "odp_misses");
}

/* When the call returns, the device has the pages: no access faults. */
CHECK(in_place)
{
	int64_t misses = count_misses(self);
	struct vt_place *r = &self->r;
	struct vt_remote remote;
	struct ibv_sge sge;

	if (misses < 0)
		SKIP(return, "this device does not count misses");
	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	if (row->kind == PRESENT)
		vt_fill(r->p, r->len, 3, 0);
	EXPECT_EQ(0, advise(self, row->kind, FLUSH));
	sge = vt_sge(&self->a->buf, 0, r->len);
	remote = (struct vt_remote){ r->iova, r->mr->rkey };
	EXPECT_EQ(IBV_WC_SUCCESS,
		  vt_op(self->a, IBV_WR_RDMA_READ, &sge, remote));
	if (row->kind == WRITE)
		EXPECT_EQ(IBV_WC_SUCCESS,
			  vt_op(self->a, IBV_WR_RDMA_WRITE, &sge, remote));
	EXPECT_EQ(misses, count_misses(self));
}

/* Best effort: a prefetched page may be reclaimed, and is faulted in again. */
CHECK(then_gone)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, fresh_region(self, ALL | ODP));
	EXPECT_EQ(0, advise(self, WRITE, FLUSH));
	ASSERT_EQ(0, madvise(r->base, r->room, MADV_DONTNEED));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

/* -- EOPNOTSUPP, EINVAL */
ROW(advise_unknown_advice, unknown, .kind = 17, .flags = FLUSH, .want = EOPNOTSUPP);
ROW(advise_unknown_flag, unknown, .kind = READ, .flags = 2, .want = EINVAL);
ROW(advise_no_sge, no_sge, .want = EINVAL);
ROW(advise_pd_of_wrong_type, pd_handle, .kind = 0, .want = EINVAL);
ROW(advise_window, key, .kind = OF_WINDOW, .flags = FLUSH, .want = EINVAL);
/* -- ENOENT */
ROW(advise_unknown_pd, pd_handle, .kind = 1, .want = ENOENT);
ROW(advise_unknown_lkey, key, .kind = OF_NOTHING, .flags = FLUSH, .want = ENOENT);
ROW(advise_dead_lkey, key, .kind = OF_DEAD, .flags = FLUSH, .want = ENOENT);
ROW(advise_pinned, key, .kind = OF_PINNED, .flags = FLUSH, .want = ENOENT);
ROW(advise_second_sge, second_part, .want = ENOENT);
/* -- EPERM */
ROW(advise_other_pd, key, .kind = OF_OTHER_PD, .flags = FLUSH, .want = EPERM);
ROW(advise_no_write_right, no_write_right, .flags = FLUSH, .want = EPERM);
/* -- EFAULT */
ROW(advise_range_end, range, .kind = BEYOND_END, .flags = FLUSH, .want = EFAULT);
ROW(advise_range_start, range, .kind = BEFORE_START, .flags = FLUSH, .want = EFAULT);
ROW(advise_range_wraps, range, .kind = WRAPS, .flags = FLUSH, .want = EFAULT);
ROW(advise_not_mapped, memory, .sort = VT_MEM_NONE, .kind = READ, .flags = FLUSH, .want = EFAULT);
ROW(advise_hole, memory, .sort = VT_MEM_HOLE, .kind = READ, .flags = FLUSH, .want = EFAULT);
ROW(advise_read_only, memory, .sort = VT_MEM_READ_ONLY, .kind = WRITE, .flags = FLUSH, .want = EFAULT);
ROW(advise_sge_not_readable, sge_not_readable, .want = EFAULT);
/* -- ENOMEM */
ROW(advise_no_memory, no_memory, .flags = 0, .want = ENOMEM);
ROW(advise_no_memory_flush, no_memory, .flags = FLUSH, .want = ENOMEM);
/* -- without FLUSH: keys at once, ranges and faults never */
ROW(advise_later_unknown_lkey, key, .kind = OF_NOTHING, .want = ENOENT);
ROW(advise_later_pinned, key, .kind = OF_PINNED, .want = ENOENT);
ROW(advise_later_window, key, .kind = OF_WINDOW, .want = EINVAL);
ROW(advise_later_other_pd, key, .kind = OF_OTHER_PD, .want = EPERM);
ROW(advise_later_no_write_right, no_write_right, .want = EPERM);
ROW(advise_later_range, range, .kind = BEYOND_END, .want = 0);
ROW(advise_later_not_mapped, memory, .sort = VT_MEM_NONE, .kind = READ, .want = 0);
ROW(advise_later_read_only, memory, .sort = VT_MEM_READ_ONLY, .kind = WRITE, .want = 0);
/* -- what it does */
ROW(advise_prefetch, brings_in, .kind = READ, .want = 1);
ROW(advise_prefetch_write, brings_in, .kind = WRITE, .want = PAGES);
ROW(advise_prefetch_no_fault, brings_in, .kind = PRESENT, .want = 0);
ROW(advise_flush, in_place, .kind = READ);
ROW(advise_flush_write, in_place, .kind = WRITE);
ROW(advise_no_fault_present, in_place, .kind = PRESENT);
ROW(advise_no_fault_not_mapped, memory, .sort = VT_MEM_NONE, .kind = PRESENT, .flags = FLUSH, .want = 0);
ROW(advise_later, brings_in_later, .kind = WRITE, .want = PAGES);
ROW(advise_implicit, implicit, .odp = IBV_ODP_SUPPORT_IMPLICIT);
ROW(advise_best_effort, then_gone);

VT_HARNESS_MAIN
