// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layouts of libibverbs: the one that this test runs with, and the operations of each.
 */
#include "rig.h"

#define OP(release, result, name, arguments)	{ #name, release, true },
#define UNUSED(release, name)			{ #name, release, false },
static const struct {
	const char *name;
	unsigned int release;
	bool used;
} all_ops[] = {
#include <infiniband/operations.def>
};
#undef UNUSED
#undef OP

enum {
	OPS = sizeof(all_ops) / sizeof(*all_ops),
};

/* The layout of this test's libibverbs is known, and the findings are right. */
static void this_libibverbs(void)
{
	struct smr_libibverbs found;
	struct verbs_qp vqp = {};

	want(smr_layout_find(&found));
	want(found.layout == smr_libibverbs.layout && found.comp_mask == smr_libibverbs.comp_mask);
	want(!ibv_qp_to_qp_ex(&vqp.qp));
	smr_layout_add_comp_mask(&vqp, VERBS_QP_EX);
	want(ibv_qp_to_qp_ex(&vqp.qp) == &vqp.qp_ex);
}

static void rows(void)
{
	want(smr_layout_of(39)->number == 34);
	want(smr_layout_of(56) == smr_layout_of(39));
	want(smr_layout_of(58)->number == 57);
	want(smr_layout_of(61)->number == 59 && smr_layout_of(61)->front == 3);
	want(smr_layout_of(63)->number == 59 && smr_layout_of(63)->front == 4);
	want(smr_layout_of(64)->number == 64);
	want(smr_layout_of(99)->number == 65);
}

/* Each release has exactly its operations, in alphabetical order. */
static void operations(void)
{
	static const struct {
		unsigned int release;
		size_t ops;
	} releases[] = {
		{ 39, 76 }, { 56, 76 }, { 58, 76 }, { 59, 79 },
		{ 63, 81 }, { 64, 83 }, { 65, 93 },
	};
	struct verbs_context_ops ops;
	void *table[2 * OPS], **all = (void **)(void *)&ops;
	size_t r, i, n;

	want(sizeof(ops) == OPS * sizeof(*all));
	for (i = 0; i < OPS; i++) {
		all[i] = (void *)&all_ops[i];
		want(!i || strcmp(all_ops[i - 1].name, all_ops[i].name) < 0);
	}
	for (r = 0; r < sizeof(releases) / sizeof(*releases); r++) {
		want(smr_layout_ops(smr_layout_of(releases[r].release), &ops,
				    table) == releases[r].ops);
		for (i = n = 0; i < OPS; i++)
			if (all_ops[i].release <= releases[r].release)
				want(table[n++] == &all_ops[i]);
	}
}

/* The operations that libibverbs got for the last context, as far as this libibverbs has them */
static void provider_has_all(void)
{
	size_t i, n = 0;

	for (i = 0; i < OPS; i++) {
		if (all_ops[i].release > smr_libibverbs.layout->release)
			continue;
		if (!fake.ops[n++] == all_ops[i].used)
			tap_want(false, __FILE__, __LINE__, all_ops[i].name);
	}
}

const struct tap_test layout_tests[] = {
	{ "the libibverbs of this test", this_libibverbs },
	{ "the layouts of releases", rows },
	{ "the operations of releases", operations },
	{ "the provider has all operations", provider_has_all },
	{},
};
