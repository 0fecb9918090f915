// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of memory of which some pages are present when it is registered. Present pages are pinned in one way, the
 * others in another. The process and the device see the same pages, each exactly once.
 *
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "region.h"

/* Several times the number of pages above which a registration uses another thread */
#define PAGES	1024
#define LEN	(PAGES * (size_t)PAGE)

FIXTURE(present)
{
	struct vt_pair pair;
	struct vt_region r;
};

/* Of each @of pages the first @there are present: written to, or only read. */
FIXTURE_VARIANT(present)
{
	int there;
	int of;
	bool read;
};

FIXTURE_VARIANT_ADD(present, none) { .there = 0, .of = 1 };
FIXTURE_VARIANT_ADD(present, all) { .there = 1, .of = 1 };
FIXTURE_VARIANT_ADD(present, all_of_zeros) { .there = 1, .of = 1, .read = true };
FIXTURE_VARIANT_ADD(present, each_other) { .there = 1, .of = 2 };
FIXTURE_VARIANT_ADD(present, all_but_the_last) { .there = 1023, .of = 1024 };
FIXTURE_VARIANT_ADD(present, runs) { .there = 99, .of = 100 };
FIXTURE_VARIANT_ADD(present, runs_of_zeros) { .there = 99, .of = 100, .read = true };
FIXTURE_VARIANT_ADD(present, few) { .there = 10, .of = 300 };

FIXTURE_SETUP(present)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.buf_len = LEN + 4 * VT_GUARD)));
}

FIXTURE_TEARDOWN(present)
{
	vt_region_close(&self->r);
	vt_pair_close(&self->pair);
}

/* Memory of single pages: a huge page would bring in the neighbouring pages, too */
static uint8_t *map(const FIXTURE_VARIANT(present) *variant)
{
	uint8_t *p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);
	volatile uint8_t *page;
	int i;

	if (!p)
		return NULL;
	/* A kernel without huge pages refuses this. */
	madvise(p, LEN, MADV_NOHUGEPAGE);
	for (i = 0; i < PAGES; i++) {
		page = p + i * (size_t)PAGE;
		if (i % variant->of >= variant->there)
			continue;
		if (variant->read)
			(void)page[0];
		else
			page[0] = 1;
	}
	return p;
}

static void same_pages(struct __test_metadata *_metadata,
		       FIXTURE_DATA(present) *self,
		       const FIXTURE_VARIANT(present) *variant, int access)
{
	uint8_t *p = map(variant), *copy = self->pair.a.buf.p + VT_GUARD;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, LEN,
				   (uintptr_t)p, access));
	vt_fill(p, LEN, 1, 0);
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_READ, 0, LEN));
	EXPECT_TRUE(vt_check("what the device reads", copy, LEN, 1, 0));
	if (!(access & IBV_ACCESS_REMOTE_WRITE))
		return;
	vt_fill(copy, LEN, 2, 0);
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0, LEN));
	EXPECT_TRUE(vt_check("what the device wrote", p, LEN, 2, 0));
}

TEST_F(present, read_only) { same_pages(_metadata, self, variant, IBV_ACCESS_REMOTE_READ); }
TEST_F(present, read_and_written) { same_pages(_metadata, self, variant, VT_ACCESS_ALL); }

VT_HARNESS_MAIN
