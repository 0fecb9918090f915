// SPDX-License-Identifier: GPL-2.0
/*
 * A device can have exactly as many objects of each kind as query_device says. The link is made
 * with limits that can be reached quickly.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: host
 * params: max_objects=500
 */
#include "harness.h"
#include "objects.h"

/* Objects of a kind that the kernel (for QP1) and our endpoint already have */
#define IN_USE	8

FIXTURE(limits)
{
	struct vt_ep ep;
	struct vt_parts parts;
	void **o;
	int max;
};

FIXTURE_VARIANT(limits)
{
	enum vt_object kind;
	size_t limit; /* offset in struct ibv_device_attr */
};

#define LIMIT(name)	offsetof(struct ibv_device_attr, max_##name)

FIXTURE_VARIANT_ADD(limits, pd) { VT_PD, LIMIT(pd) };
FIXTURE_VARIANT_ADD(limits, cq) { VT_CQ, LIMIT(cq) };
FIXTURE_VARIANT_ADD(limits, qp) { VT_QP, LIMIT(qp) };
FIXTURE_VARIANT_ADD(limits, srq) { VT_SRQ, LIMIT(srq) };
FIXTURE_VARIANT_ADD(limits, mr) { VT_MR, LIMIT(mr) };
FIXTURE_VARIANT_ADD(limits, mw) { VT_MW, LIMIT(mw) };
FIXTURE_VARIANT_ADD(limits, ah) { VT_AH, LIMIT(ah) };

static int open_parts(struct vt_ep *ep, struct vt_parts *parts)
{
	int ret = vt_ep_open(ep, &vt_defaults, 0);

	if (ret)
		return ret;
	parts->pd = ep->pd;
	parts->cq = ep->scq;
	parts->address = vt_ah_attr(ep->dev.gid_index, &ep->dev.gid);
	return 0;
}

FIXTURE_SETUP(limits)
{
	struct ibv_device_attr *attr = &self->ep.dev.attr;

	VT_SETUP(open_parts(&self->ep, &self->parts));
	self->max = *(int *)((char *)attr + variant->limit);
	if (self->max > 10000)
		SKIP(return, "too many to try: %d", self->max);
	self->o = calloc(self->max + 1, sizeof(*self->o));
	ASSERT_NE(NULL, self->o);
}

FIXTURE_TEARDOWN(limits)
{
	free(self->o);
	vt_ep_close(&self->ep);
}

/* Return: how many more could be made. */
static int fill(enum vt_object kind, struct vt_parts *parts, int max, void **o)
{
	int n;

	for (n = 0; n <= max; n++) {
		o[n] = vt_object_create(kind, parts);
		if (!o[n])
			break;
	}
	return n;
}

TEST_F(limits, reached)
{
	int n, i;

	n = fill(variant->kind, &self->parts, self->max, self->o);
	EXPECT_EQ(ENOMEM, errno);
	ASSERT_LE(n, self->max);
	EXPECT_GE(n, self->max - IN_USE);
	/* after one is destroyed, exactly one can be made */
	EXPECT_EQ(0, vt_object_destroy(variant->kind, self->o[0]));
	self->o[0] = vt_object_create(variant->kind, &self->parts);
	ASSERT_NE(NULL, self->o[0]);
	EXPECT_EQ(NULL, vt_object_create(variant->kind, &self->parts));
	EXPECT_EQ(ENOMEM, errno);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, vt_object_destroy(variant->kind, self->o[i]));
	/* and all of them again: none was leaked */
	EXPECT_EQ(n, fill(variant->kind, &self->parts, self->max, self->o));
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, vt_object_destroy(variant->kind, self->o[i]));
}

/*
 * The limit is the device's, not the process's. A process that dies frees all
 * its objects.
 */
TEST_F(limits, of_all_processes)
{
	struct vt_parts parts;
	int n, status, i;
	struct vt_ep ep;
	pid_t pid;

	pid = fork();
	if (!pid) {
		status = open_parts(&ep, &parts);
		if (!status)
			fill(variant->kind, &parts, self->max, self->o);
		_exit(status || errno != ENOMEM ||
		      vt_object_create(variant->kind, &parts));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	n = fill(variant->kind, &self->parts, self->max, self->o);
	EXPECT_GE(n, self->max - IN_USE);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, vt_object_destroy(variant->kind, self->o[i]));
}

VT_HARNESS_MAIN
