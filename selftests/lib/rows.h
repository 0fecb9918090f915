/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of Documentation/semantics.rst: each row of that page is a line
 * ROW(id, check, ...) here, and scripts/semantics compares the two.
 *
 * A check gets a connected pair and the line's settings. The rows are tried on other devices,
 * too (scripts/contract.sh). ROWS_NEED: optional features that all rows of a file need: enum
 * row_need.
 */
#ifndef SMR_TEST_ROWS_H
#define SMR_TEST_ROWS_H

#include "harness.h"

#include <errno.h>

#include "region.h"
#include "rights.h"

/* ibv_advise_mr(), windows, ibv_rereg_mr() */
enum row_need { ADVICE = 1, WINDOWS = 2, REREG = 4 };

#ifndef ROWS_NEED
#define ROWS_NEED	0
#endif

FIXTURE(row)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct vt_place r;
};

typedef FIXTURE_DATA(row) row_data;
typedef FIXTURE_VARIANT(row) row_args;
typedef void row_check(struct __test_metadata *_metadata, row_data *self,
		       const row_args *row);

/*
 * The settings of a row. Each check documents its use of them. @odp: enum ibv_odp_general_caps
 * that the row is about, beside what ODP among the others asks for.
 * @needs: enum row_need, beside ROWS_NEED
 */
FIXTURE_VARIANT(row)
{
	row_check *check;
	enum vt_mem sort;
	int access;
	int flags;
	int kind;
	int want;
	uint64_t odp;
	int needs;
};

/*
 * Optional features of a device: on-demand memory (see ibv_query_device_ex(3)), windows
 * (ibv_query_device(3) reports their maximum), advice (see ibv_advise_mr(3)) and
 * ibv_rereg_mr(). Returns a feature that the row needs and the device lacks.
 */
static const char *row_excuse(const row_data *self, const row_args *row)
{
	struct ibv_sge sge = vt_sge(&self->b->buf, 0, 1);
	int needs = ROWS_NEED | row->needs;
	uint64_t odp = row->odp;

	if ((row->access | row->flags) & IBV_ACCESS_ON_DEMAND)
		odp |= IBV_ODP_SUPPORT;
	if (vt_need_odp(self->b, odp) == -EOPNOTSUPP)
		return "the device announces no such on-demand memory";
	if (needs & WINDOWS && !self->b->dev.attr.max_mw)
		return "the device announces no windows";
	if (needs & REREG && ibv_rereg_mr(self->b->buf.mr, 0, NULL, NULL, 0, 0) && errno == EOPNOTSUPP)
		return "the device has no ibv_rereg_mr()";
	if (needs & ADVICE &&
	    ibv_advise_mr(self->b->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1) == EOPNOTSUPP)
		return "the device takes no advice";
	return NULL;
}

FIXTURE_SETUP(row)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 14)));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
}

FIXTURE_TEARDOWN(row)
{
	vt_place_close(&self->r);
	vt_pair_close(&self->pair);
}

TEST_F(row, holds)
{
	const char *excuse = row_excuse(self, variant);

	if (excuse)
		SKIP(return, "%s", excuse);
	variant->check(_metadata, self, variant);
}

#define ROW(id, fn, ...) FIXTURE_VARIANT_ADD(row, id) { .check = fn, __VA_ARGS__ }
/* Not every check uses all settings. */
#define CHECK(fn) \
	static void fn(struct __test_metadata *_metadata, \
		       row_data __attribute__((unused)) *self, \
		       const row_args __attribute__((unused)) *row)

#define LW	IBV_ACCESS_LOCAL_WRITE
#define RW	IBV_ACCESS_REMOTE_WRITE
#define RR	IBV_ACCESS_REMOTE_READ
#define RA	IBV_ACCESS_REMOTE_ATOMIC
#define ODP	IBV_ACCESS_ON_DEMAND

#endif /* SMR_TEST_ROWS_H */
