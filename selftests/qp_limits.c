// SPDX-License-Identifier: GPL-2.0
/*
 * The limits that query_device reports: they can be reached, but not exceeded.
 *
 * timeout: 60
 * paths: host
 */
#include "harness.h"

FIXTURE(limits)
{
	struct vt_ep ep;
};

FIXTURE_SETUP(limits)
{
	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
}

FIXTURE_TEARDOWN(limits)
{
	vt_ep_close(&self->ep);
}

static struct ibv_qp *with_cap(struct vt_ep *ep, const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ep->scq, .recv_cq = ep->rcq, .cap = *cap,
		.qp_type = IBV_QPT_RC,
	};

	errno = 0;
	return ibv_create_qp(ep->pd, &init);
}

#define TRY_CAP(field, value) do { \
	struct ibv_qp_cap cap = { 1, 1, 1, 1, 0 }; \
	cap.field = (value); \
	EXPECT_EQ(NULL, with_cap(&self->ep, &cap)) \
		TH_LOG(#field " = %u was taken", cap.field); \
	EXPECT_EQ(EINVAL, errno); \
} while (0)

TEST_F(limits, capabilities_over_the_limit)
{
	struct ibv_device_attr *limit = &self->ep.dev.attr;

	TRY_CAP(max_send_wr, limit->max_qp_wr + 1);
	TRY_CAP(max_recv_wr, limit->max_qp_wr + 1);
	TRY_CAP(max_send_sge, limit->max_sge + 1);
	TRY_CAP(max_recv_sge, limit->max_sge + 1);
	TRY_CAP(max_send_wr, UINT32_MAX);
	TRY_CAP(max_recv_wr, UINT32_MAX);
	TRY_CAP(max_send_sge, UINT32_MAX);
	TRY_CAP(max_recv_sge, UINT32_MAX);
	TRY_CAP(max_inline_data, UINT32_MAX);
}

TEST_F(limits, capabilities_at_the_limit)
{
	struct ibv_device_attr *limit = &self->ep.dev.attr;
	struct ibv_qp_cap cap = {
		.max_send_wr = limit->max_qp_wr,
		.max_recv_wr = limit->max_qp_wr,
		.max_send_sge = limit->max_sge,
		.max_recv_sge = limit->max_sge,
	};
	struct ibv_srq_init_attr init = {
		.attr.max_wr = limit->max_srq_wr,
		.attr.max_sge = limit->max_srq_sge,
	};
	struct ibv_qp *qp = with_cap(&self->ep, &cap);
	struct ibv_srq *srq;

	ASSERT_NE(NULL, qp)
		TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	srq = ibv_create_srq(self->ep.pd, &init);
	ASSERT_NE(NULL, srq)
		TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_F(limits, smallest_qp)
{
	struct ibv_qp_cap cap = { 0, 0, 0, 0, 0 };
	struct ibv_qp *qp = with_cap(&self->ep, &cap);

	ASSERT_NE(NULL, qp)
		TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(limits, cqe_limits)
{
	struct ibv_context *ctx = self->ep.dev.ctx;
	int max = self->ep.dev.attr.max_cqe;
	struct ibv_cq *cq;

	errno = 0;
	EXPECT_EQ(NULL, ibv_create_cq(ctx, max + 1, NULL, NULL, 0));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(NULL, ibv_create_cq(ctx, 0, NULL, NULL, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_create_cq(ctx, -1, NULL, NULL, 0));
	cq = ibv_create_cq(ctx, max, NULL, NULL, 0);
	ASSERT_NE(NULL, cq)
		TH_LOG("%d CQEs: errno %d", max, errno);
	EXPECT_LE(max, cq->cqe);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	cq = ibv_create_cq(ctx, 100, NULL, NULL, 0);
	ASSERT_NE(NULL, cq);
	EXPECT_LE(100, cq->cqe);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	errno = 0;
	EXPECT_EQ(NULL, ibv_create_cq(ctx, 1, NULL, NULL,
				      ctx->num_comp_vectors));
	EXPECT_EQ(EINVAL, errno);
}

VT_HARNESS_MAIN
