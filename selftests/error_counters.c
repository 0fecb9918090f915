// SPDX-License-Identifier: GPL-2.0
/*
 * The counters that have mlx5's names: each error raises its own by exactly one, and no other.
 *
 * timeout: 60
 * paths: host wire
 */
#include "errors.h"

enum { REQ, REQ_FLUSH, REQ_ACCESS, REQ_INVALID, RESP, RESP_FLUSH, RESP_LENGTH, RESP_ACCESS, RNR, NAMES };

static const char *const names[NAMES] = {
	[REQ] = "req_cqe_error",
	[REQ_FLUSH] = "req_cqe_flush_error",
	[REQ_ACCESS] = "req_remote_access_errors",
	[REQ_INVALID] = "req_remote_invalid_request",
	[RESP] = "resp_cqe_error",
	[RESP_FLUSH] = "resp_cqe_flush_error",
	[RESP_LENGTH] = "resp_local_length_error",
	[RESP_ACCESS] = "resp_remote_access_errors",
	[RNR] = "rnr_nak_retry_err",
};

/* The counters of both ends, which may be on one link */
static bool sample(FIXTURE_DATA(errors) *self, int64_t *values)
{
	struct ibv_context *ctxs[] = { self->a->dev.ctx, self->b->dev.ctx };
	bool one = !strcmp(ctxs[0]->device->ibdev_path, ctxs[1]->device->ibdev_path);
	int i, k;

	/* the first read waits until the core reads the driver's counters again */
	for (k = 0; k < (one ? 1 : 2); k++)
		if (vt_counter_now(ctxs[k], names[0]) < 0)
			return false;
	for (i = 0; i < NAMES; i++)
		for (values[i] = 0, k = 0; k < (one ? 1 : 2); k++)
			values[i] += vt_counter(ctxs[k], names[i]);
	return true;
}

#define BEFORE									\
	int64_t before[NAMES], after[NAMES], want[NAMES] = {};			\
	int _i;									\
										\
	if (!sample(self, before))						\
		SKIP(return, "no such counters")

/* What has been added is @want. */
#define EXPECT_COUNTED() do {							\
	ASSERT_TRUE(sample(self, after));					\
	for (_i = 0; _i < NAMES; _i++)						\
		EXPECT_EQ(want[_i], after[_i] - before[_i])			\
			TH_LOG("%s", names[_i]);				\
} while (0)

TEST_F(errors, remote_access)
{
	BEFORE;

	self->wr.wr.rdma.rkey ^= 0x5a00;
	ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, vt_outcome(self->a, &self->wr));
	want[REQ] = want[REQ_ACCESS] = want[RESP_ACCESS] = 1;
	EXPECT_COUNTED();
}

TEST_F(errors, remote_access_of_a_read)
{
	BEFORE;

	self->wr.opcode = IBV_WR_RDMA_READ;
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p + self->b->buf.len;
	ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, vt_outcome(self->a, &self->wr));
	want[REQ] = want[REQ_ACCESS] = want[RESP_ACCESS] = 1;
	EXPECT_COUNTED();
}

TEST_F(errors, receive_too_small)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN - 1);
	BEFORE;

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	ASSERT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_outcome(self->a, as_send(self)));
	want[REQ] = want[REQ_INVALID] = want[RESP] = want[RESP_LENGTH] = 1;
	EXPECT_COUNTED();
}

/* Each is an error, too. */
TEST_F(errors, flushed)
{
	struct ibv_sge to = vt_sge(&self->a->buf, VT_GUARD, LEN);
	struct ibv_send_wr next = self->wr;
	struct ibv_wc wc;
	BEFORE;

	ASSERT_EQ(0, vt_post_recv(self->a, 2, &to, 1));
	next.wr_id = 2;
	self->wr.next = &next;
	self->local.lkey ^= 0x5a00;
	ASSERT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
	ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	ASSERT_EQ(0, vt_wait(self->a->rcq, &wc));
	ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	want[REQ] = 2;
	want[REQ_FLUSH] = want[RESP] = want[RESP_FLUSH] = 1;
	EXPECT_COUNTED();
}

TEST_F(errors, not_ready)
{
	self->a->conf.rnr_retry = 1;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));

	BEFORE;

	ASSERT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, vt_outcome(self->a, as_send(self)));
	want[REQ] = want[RNR] = 1;
	EXPECT_COUNTED();
}

TEST_F(errors, none)
{
	BEFORE;

	ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_COUNTED();
}

VT_HARNESS_MAIN
