// SPDX-License-Identifier: GPL-2.0
/*
 * How many objects of each kind a device may have: what query_device says,
 * so many there can be, and not one more. The link is made with limits that can
 * be reached in no time.
 *
 * beds: uml-kasan uml-lockdep qemu-7.2
 * timeout: 60
 * paths: host
 * params: max_objects=500
 */
#include "harness.h"

#include <sys/wait.h>

/* More of a kind neither the kernel has (for QP1) nor our endpoint. */
#define IN_USE	8

FIXTURE(limits)
{
	struct vt_ep ep;
	struct ibv_ah_attr address;
	void **o;
	int max;
};

FIXTURE_VARIANT(limits)
{
	size_t limit; /* where in struct ibv_device_attr */
	void *(*make)(struct vt_ep *ep, struct ibv_ah_attr *address);
	int (*drop)(void *object);
};

static void *make_pd(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	return ibv_alloc_pd(ep->dev.ctx);
}

static int drop_pd(void *o)
{
	return ibv_dealloc_pd(o);
}

static void *make_cq(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	return ibv_create_cq(ep->dev.ctx, 1, NULL, NULL, 0);
}

static int drop_cq(void *o)
{
	return ibv_destroy_cq(o);
}

static void *make_qp(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ep->scq, .recv_cq = ep->rcq, .cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(ep->pd, &init);
}

static int drop_qp(void *o)
{
	return ibv_destroy_qp(o);
}

static void *make_srq(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };

	return ibv_create_srq(ep->pd, &init);
}

static int drop_srq(void *o)
{
	return ibv_destroy_srq(o);
}

static void *make_mr(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	return ibv_reg_mr(ep->pd, ep->buf.p, 1, 0);
}

static int drop_mr(void *o)
{
	return ibv_dereg_mr(o);
}

static void *make_mw(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	return ibv_alloc_mw(ep->pd, IBV_MW_TYPE_2);
}

static int drop_mw(void *o)
{
	return ibv_dealloc_mw(o);
}

static void *make_ah(struct vt_ep *ep, struct ibv_ah_attr *address)
{
	return ibv_create_ah(ep->pd, address);
}

static int drop_ah(void *o)
{
	return ibv_destroy_ah(o);
}

#define KIND(kind) \
	{ offsetof(struct ibv_device_attr, max_##kind), make_##kind, drop_##kind }

FIXTURE_VARIANT_ADD(limits, pd) KIND(pd);
FIXTURE_VARIANT_ADD(limits, cq) KIND(cq);
FIXTURE_VARIANT_ADD(limits, qp) KIND(qp);
FIXTURE_VARIANT_ADD(limits, srq) KIND(srq);
FIXTURE_VARIANT_ADD(limits, mr) KIND(mr);
FIXTURE_VARIANT_ADD(limits, mw) KIND(mw);
FIXTURE_VARIANT_ADD(limits, ah) KIND(ah);

FIXTURE_SETUP(limits)
{
	struct ibv_device_attr *attr = &self->ep.dev.attr;

	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
	self->address = vt_ah_attr(self->ep.dev.gid_index, &self->ep.dev.gid);
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

/* Returns how many more there could be. */
static int fill(struct vt_ep *ep, struct ibv_ah_attr *address, int max,
		void *(*make)(struct vt_ep *, struct ibv_ah_attr *), void **o)
{
	int n;

	for (n = 0; n <= max; n++) {
		errno = 0;
		o[n] = make(ep, address);
		if (!o[n])
			break;
	}
	return n;
}

TEST_F(limits, reached)
{
	int n, i;

	n = fill(&self->ep, &self->address, self->max, variant->make, self->o);
	EXPECT_EQ(ENOMEM, errno);
	ASSERT_LE(n, self->max);
	EXPECT_GE(n, self->max - IN_USE);
	/* in the place of one that goes another can come, but only one */
	EXPECT_EQ(0, variant->drop(self->o[0]));
	self->o[0] = variant->make(&self->ep, &self->address);
	ASSERT_NE(NULL, self->o[0]);
	EXPECT_EQ(NULL, variant->make(&self->ep, &self->address));
	EXPECT_EQ(ENOMEM, errno);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, variant->drop(self->o[i]));
	/* and all of it again: nothing was lost on the way */
	EXPECT_EQ(n, fill(&self->ep, &self->address, self->max, variant->make,
			  self->o));
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, variant->drop(self->o[i]));
}

/* The limit is the device's, not the process's; one that dies gives all back. */
TEST_F(limits, of_all_processes)
{
	int n, status, i;
	struct vt_ep ep;
	pid_t pid;

	pid = fork();
	if (!pid) {
		status = vt_ep_open(&ep, &vt_defaults, 0);
		if (!status)
			fill(&ep, &self->address, self->max, variant->make,
			     self->o);
		_exit(status || errno != ENOMEM ||
		      variant->make(&ep, &self->address));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	n = fill(&self->ep, &self->address, self->max, variant->make, self->o);
	EXPECT_GE(n, self->max - IN_USE);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, variant->drop(self->o[i]));
}

VT_HARNESS_MAIN
