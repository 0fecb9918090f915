// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What softmrdv.h declares.
 */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/softmrdv.h>

#include "rig.h"

/* PROVIDER_DRIVER() makes it */
extern const struct verbs_device_ops verbs_provider_softmr;

static const struct verbs_device_ops other_ops = { .name = "other" };
static struct verbs_device ours;
static struct verbs_device other = { .ops = &other_ops };

/* A region of our device, with so many windows bound to it. */
static struct ibv_mr *rig_mr(uint32_t windows)
{
	static struct ibv_mr mr;

	ours.ops = &verbs_provider_softmr;
	fake_context()->device = &ours.device;
	mr = (struct ibv_mr){
		.context = fake_context(),
		.handle = FAKE_MR_HANDLE,
	};
	fake.windows = windows;
	fake.query_err = 0;
	fake.queries = 0;
	return &mr;
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
	want(w[1].length == 1ULL << 40 && !w[1].reserved);
	want(w[1].access == IBV_ACCESS_REMOTE_READ);
	want(w[2].rkey == 1);

	w[2].rkey = 1;
	want(!softmrdv_query_mr_windows(rig_mr(9), w, 2, &total));
	want(total == 9 && w[1].rkey == 201 && w[2].rkey == 1);
}

/* More than an attribute can hold. */
static void list_many(void)
{
	struct softmrdv_mr_window *w = calloc(5000, sizeof(*w));
	uint32_t total;

	want(!softmrdv_query_mr_windows(rig_mr(5000), w, 5000, &total));
	want(total == 5000);
	want(w[SOFTMRDV_MR_WINDOWS_MAX - 1].rkey == 200 +
	     SOFTMRDV_MR_WINDOWS_MAX - 1);
	want(!w[SOFTMRDV_MR_WINDOWS_MAX].rkey);
	want(!softmrdv_query_mr_windows(rig_mr(1), w, UINT32_MAX, &total));
	want(total == 1);
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
	{ "questions that are refused", query_errors },
	{},
};
