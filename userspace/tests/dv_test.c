// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What softmrdv.h declares.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/softmrdv.h>

#include "rig.h"

/* PROVIDER_DRIVER() makes it */
extern const struct verbs_device_ops verbs_provider_softmr;

static const struct verbs_device_ops other_ops = { .name = "other" };
static struct verbs_device ours;
static struct verbs_device other = { .ops = &other_ops };

/* The region of our device */
static struct ibv_mr *rig_region(void)
{
	static struct ibv_mr mr;

	ours.ops = &verbs_provider_softmr;
	fake_context()->device = &ours.device;
	mr = (struct ibv_mr){
		.context = fake_context(),
		.handle = FAKE_MR_HANDLE,
	};
	return &mr;
}

/* A region of our device, with so many windows bound to it. */
static struct ibv_mr *rig_mr(uint32_t windows)
{
	fake.windows = windows;
	fake.windows_end = 0;
	fake.no_pages = false;
	fake.query_err = 0;
	fake.queries = 0;
	return rig_region();
}

static void supported(void)
{
	rig_mr(0);
	want(softmrdv_is_supported(&ours.device));
	want(!softmrdv_is_supported(&other.device));
	want(!softmrdv_is_supported(NULL));
}

static void count(void)
{
	uint32_t total = 77;

	want(!softmrdv_query_mr_windows(rig_mr(0), NULL, 0, &total));
	want(!total);
	want(!softmrdv_query_mr_windows(rig_mr(5000), NULL, 0, &total));
	want(total == 5000 && fake.queries == 1);
}

static void list(void)
{
	struct softmrdv_mr_window w[3] = { [2] = { .rkey = 1 } };
	uint32_t total;

	want(!softmrdv_query_mr_windows(rig_mr(2), w, 3, &total));
	want(total == 2);
	want(w[1].handle == 101 && w[1].rkey == 201 && w[1].qp_num == 17);
	want(w[1].type == IBV_MW_TYPE_2 && w[1].addr == 0x1000);
	want(w[1].length == 1ULL << 40 && !w[1].flags);
	want(w[1].access == IBV_ACCESS_REMOTE_READ);
	want(w[2].rkey == 1);

	w[2].rkey = 1;
	want(!softmrdv_query_mr_windows(rig_mr(9), w, 2, &total));
	want(total == 9 && w[1].rkey == 201 && w[2].rkey == 1);
}

/* @n windows are listed, each once and in order, and the room behind is untouched. */
static bool are_listed(const struct softmrdv_mr_window *w, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (w[i].rkey != 200 + i)
			return false;
	return !w[n].rkey;
}

/* More than an attribute can hold: in pages */
static void list_many(void)
{
	struct softmrdv_mr_window *w = calloc(5001, sizeof(*w));
	uint32_t total;

	want(!softmrdv_query_mr_windows(rig_mr(5000), w, 5000, &total));
	want(total == 5000 && fake.queries == 5 && are_listed(w, 5000));
	memset(w, 0, 5001 * sizeof(*w));
	want(!softmrdv_query_mr_windows(rig_mr(5000), w, 2000, &total));
	want(total == 5000 && fake.queries == 2 && are_listed(w, 2000));
	want(!softmrdv_query_mr_windows(rig_mr(1), w, UINT32_MAX, &total));
	want(total == 1);

	/* Some go while they are listed. */
	memset(w, 0, 5001 * sizeof(*w));
	rig_mr(5000);
	fake.windows_end = 1500;
	want(!softmrdv_query_mr_windows(rig_region(), w, 5000, &total));
	want(total == 1500 && are_listed(w, 1500));
	free(w);
}

/* An older module gives the first page, and says how many there are. */
static void list_many_old(void)
{
	struct softmrdv_mr_window *w = calloc(5001, sizeof(*w));
	uint32_t total;

	rig_mr(5000);
	fake.no_pages = true;
	want(!softmrdv_query_mr_windows(rig_region(), w, 5000, &total));
	want(total == 5000 && fake.queries == 1);
	want(are_listed(w, SOFTMRDV_MR_WINDOWS_MAX));
	fake.windows = 3;
	want(!softmrdv_query_mr_windows(rig_region(), w, 5000, &total));
	want(total == 3 && fake.queries == 2);
	free(w);
}

static void query_errors(void)
{
	struct softmrdv_mr_window w;
	struct ibv_mr *mr = rig_mr(1);
	uint32_t total = 77;

	want(softmrdv_query_mr_windows(NULL, &w, 1, &total) == EINVAL);
	want(softmrdv_query_mr_windows(mr, NULL, 1, &total) == EINVAL);
	want(softmrdv_query_mr_windows(mr, &w, 1, NULL) == EINVAL);
	mr->context->device = &other.device;
	want(softmrdv_query_mr_windows(mr, &w, 1, &total) == EOPNOTSUPP);
	want(!fake.queries);

	mr = rig_mr(1);
	fake.query_err = ENOMEM;
	want(softmrdv_query_mr_windows(mr, &w, 1, &total) == ENOMEM);
	fake.query_err = EPROTONOSUPPORT;
	want(softmrdv_query_mr_windows(mr, &w, 1, &total) == EOPNOTSUPP);
	want(total == 77 && fake.queries == 2);
}

const struct tap_test dv_tests[] = {
	{ "devices of ours, and others", supported },
	{ "count windows", count },
	{ "list windows", list },
	{ "list more windows than one call gives", list_many },
	{ "the same of an older module", list_many_old },
	{ "questions that are refused", query_errors },
	{},
};
