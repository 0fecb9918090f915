/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of Documentation/semantics.rst: each row of that page is a line
 * ROW(id, check, ...) here, and scripts/semantics compares the two.
 *
 * A check gets a connected pair and the line's settings.
 */
#ifndef SMR_TEST_ROWS_H
#define SMR_TEST_ROWS_H

#include "harness.h"
#include "rights.h"

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

/* The settings of a row. Each check says how it uses them. */
FIXTURE_VARIANT(row)
{
	row_check *check;
	enum vt_mem sort;
	int access;
	int flags;
	int kind;
	int want;
};

FIXTURE_SETUP(row)
{
	struct vt_conf conf = vt_defaults;

	conf.timeout = 14;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
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
