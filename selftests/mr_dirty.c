// SPDX-License-Identifier: GPL-2.0
/*
 * Deregistering marks the pages of a region dirty only if the device has written to the region: clean pages need not be
 * written to swap again. /proc/kpageflags shows which pages are dirty.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "region.h"

#define KPF_DIRTY	4

FIXTURE(dirty)
{
	struct vt_pair pair;
	struct vt_region r;
};

FIXTURE_VARIANT(dirty)
{
	size_t pages;
};

FIXTURE_VARIANT_ADD(dirty, one_page) { .pages = 1 };
FIXTURE_VARIANT_ADD(dirty, many_pages) { .pages = 256 };

FIXTURE_SETUP(dirty)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(
			.buf_len = variant->pages * PAGE + 4 * VT_GUARD)));
}

FIXTURE_TEARDOWN(dirty)
{
	vt_region_close(&self->r);
	vt_pair_close(&self->pair);
}

static int read_at(const char *file, size_t index, uint64_t *value)
{
	int fd = open(file, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : pread(fd, value, 8, index * 8);

	close(fd);
	return n == 8 ? 0 : -1;
}

/* 0 or 1; negative if the kernel does not show it */
static int page_is_dirty(const uint8_t *p)
{
	uint64_t entry, flags;

	if (read_at("/proc/self/pagemap", (uintptr_t)p / PAGE, &entry) ||
	    !(entry >> 63) ||
	    read_at("/proc/kpageflags", entry & (-1ull >> 9), &flags))
		return -1;
	return flags >> KPF_DIRTY & 1;
}

static void reg(struct __test_metadata *_metadata, FIXTURE_DATA(dirty) *self,
		size_t pages)
{
	void *p = vt_map(pages * PAGE, PAGE, MAP_PRIVATE, -1);

	ASSERT_NE(NULL, p);
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	vt_fill(p, pages * PAGE, 1, 0);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, pages * PAGE,
				   (uintptr_t)p, VT_ACCESS_ALL));
}

static int dereg(FIXTURE_DATA(dirty) *self)
{
	int ret = ibv_dereg_mr(self->r.mr);

	self->r.mr = NULL;
	return ret;
}

TEST_F(dirty, read_only_by_the_device)
{
	size_t i;

	reg(_metadata, self, variant->pages);
	if (page_is_dirty(self->r.p) < 0)
		SKIP(return, "this kernel has no /proc/kpageflags");
	for (i = 0; i < variant->pages; i++)
		ASSERT_EQ(0, page_is_dirty(self->r.p + i * PAGE));
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_READ, 0,
				    variant->pages * PAGE));
	EXPECT_EQ(0, dereg(self));
	for (i = 0; i < variant->pages; i++)
		EXPECT_EQ(0, page_is_dirty(self->r.p + i * PAGE))
			TH_LOG("page %zu", i);
}

TEST_F(dirty, written)
{
	size_t last = variant->pages - 1, i;

	reg(_metadata, self, variant->pages);
	if (page_is_dirty(self->r.p) < 0)
		SKIP(return, "this kernel has no /proc/kpageflags");
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE,
				    last * PAGE, 1));
	EXPECT_EQ(0, dereg(self));
	for (i = 0; i < variant->pages; i++)
		EXPECT_EQ(1, page_is_dirty(self->r.p + i * PAGE))
			TH_LOG("page %zu of %zu", i, variant->pages);
}

VT_HARNESS_MAIN
