// SPDX-License-Identifier: GPL-2.0
/*
 * RC: each work request completes exactly once, also when its QP goes to the
 * error state, is reset or destroyed, or its CQ is too short.
 *
 * timeout: 180
 * paths: host wire
 */
#include "errors.h"

static int post_sends(struct vt_ep *ep, struct ibv_send_wr *wr, int first,
		      int n)
{
	int i, ret = 0;

	for (i = first; i < first + n && !ret; i++) {
		wr->wr_id = i;
		ret = vt_post(ep, wr);
	}
	return ret;
}

static bool flushed(struct ibv_cq *cq, int first, int n)
{
	bool ok = true;
	int i;

	for (i = first; i < first + n; i++)
		ok &= vt_status(cq, i) == IBV_WC_WR_FLUSH_ERR;
	return ok;
}

/*
 * The first request fails; those after it are flushed in order; receives too.
 */
TEST_F(errors, flush_behind_a_failure)
{
	struct ibv_sge to = vt_sge(&self->a->buf, VT_GUARD, 10);
	uint32_t good = self->local.lkey;
	int i;

	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, vt_post_recv(self->a, 100 + i, &to, 1));
	self->local.lkey ^= 0x5a00;
	ASSERT_EQ(0, post_sends(self->a, &self->wr, 0, 1));
	self->local.lkey = good;
	self->wr.send_flags = 0;
	ASSERT_EQ(0, post_sends(self->a, &self->wr, 1, DEPTH - 1));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_status(self->a->scq, 0));
	EXPECT_TRUE(flushed(self->a->scq, 1, DEPTH - 1));
	EXPECT_TRUE(flushed(self->a->rcq, 100, DEPTH));
	EXPECT_TRUE(vt_sq_quiet(self->a));
	EXPECT_TRUE(vt_rq_quiet(self->a, NULL));
}

/* To error by modify_qp, with pending requests that have no receive. */
TEST_F(errors, flush_by_modify)
{
	struct ibv_sge to = vt_sge(&self->a->buf, VT_GUARD, 10);
	int i;

	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, vt_post_recv(self->a, 100 + i, &to, 1));
	ASSERT_EQ(0, post_sends(self->a, as_send(self), 0, DEPTH));
	EXPECT_TRUE(vt_no_completion(self->a->scq, 20));
	ASSERT_EQ(0, vt_qp_to(self->a->qp, IBV_QPS_ERR));
	EXPECT_TRUE(flushed(self->a->scq, 0, DEPTH));
	EXPECT_TRUE(flushed(self->a->rcq, 100, DEPTH));
	EXPECT_TRUE(vt_sq_quiet(self->a));
	EXPECT_TRUE(vt_rq_quiet(self->a, NULL));
}

/* In the error state requests are accepted, and flushed at once. */
TEST_F(errors, flush_of_what_is_posted_later)
{
	int round;

	ASSERT_EQ(0, vt_qp_to(self->a->qp, IBV_QPS_ERR));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, post_sends(self->a, &self->wr, 0, DEPTH));
		ASSERT_EQ(0, vt_post_recv(self->a, 100, NULL, 0));
		ASSERT_TRUE(flushed(self->a->scq, 0, DEPTH));
		ASSERT_TRUE(flushed(self->a->rcq, 100, 1));
	}
	EXPECT_TRUE(recovers(&self->pair));
}

struct breaker {
	struct vt_ep *ep;
	int delay_us;
	int ret;
};

static void *break_later(void *arg)
{
	struct breaker *b = arg;

	usleep(b->delay_us);
	b->ret = vt_qp_to(b->ep->qp, IBV_QPS_ERR);
	return NULL;
}

/*
 * To error in the middle of traffic: successes complete first, then flushed requests, in order,
 * none missing and none twice. If the responder goes to error first, the requester gets no answer.
 */
static int broken_in_traffic(struct vt_pair *pair, struct ibv_send_wr *wr,
			     struct vt_ep *broken, int delay_us, int *good)
{
	struct breaker breaker = { .ep = broken, .delay_us = delay_us };
	int i, ret, status, last = IBV_WC_SUCCESS;
	pthread_t thread;

	if (pthread_create(&thread, NULL, break_later, &breaker))
		return -EAGAIN;
	ret = post_sends(&pair->a, wr, 0, DEPTH);
	pthread_join(thread, NULL);
	if (ret || breaker.ret || vt_qp_to(pair->a.qp, IBV_QPS_ERR))
		return -EIO;
	for (i = 0; i < DEPTH; i++) {
		status = vt_status(pair->a.scq, i);
		if (status != last && (last == IBV_WC_WR_FLUSH_ERR ||
				       status != IBV_WC_WR_FLUSH_ERR))
			return -EBADMSG;
		last = status;
		*good += status == IBV_WC_SUCCESS;
	}
	return vt_sq_quiet(&pair->a) ? 0 : -EEXIST;
}

TEST_F(errors, flush_in_traffic)
{
	int round, good = 0;

	self->local.length = LONG;
	for (round = 0; round < 40; round++) {
		ASSERT_EQ(0, broken_in_traffic(&self->pair, &self->wr,
					       round % 2 ? self->a : self->b,
					       17 * round, &good))
			TH_LOG("round %d", round);
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	printf("# %d of %d were done before\n", good, DEPTH * round);
	EXPECT_TRUE(recovers(&self->pair));
}

/* RESET drops posted requests without completions. */
TEST_F(errors, reset_forgets)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);
	int i;

	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, vt_post_recv(self->a, 100 + i, &to, 1));
	ASSERT_EQ(0, post_sends(self->a, as_send(self), 0, DEPTH));
	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	/* Requests that are posted now would come after them. */
	EXPECT_TRUE(recovers(&self->pair));
	EXPECT_TRUE(vt_sq_quiet(self->a));
	EXPECT_TRUE(vt_rq_quiet(self->a, self->b));
}

TEST_F(errors, destroy_with_work_outstanding)
{
	int round;

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, post_sends(self->a, round % 2 ? as_send(self) :
					&self->wr, 0, DEPTH));
		if (round & 4)
			usleep(50 * round);
		ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
		self->a->qp = vt_qp_create(self->a);
		ASSERT_NE(NULL, self->a->qp);
		ASSERT_EQ(0, vt_qp_reset(self->b->qp));
		ASSERT_EQ(0, vt_pair_connect(&self->pair));
	}
	EXPECT_TRUE(recovers(&self->pair));
}

/* The peer's QP is destroyed during WRITEs to it; nothing else is harmed. */
TEST_F(errors, peer_destroyed_in_traffic)
{
	int i, status, last = IBV_WC_SUCCESS;

	ASSERT_EQ(0, post_sends(self->a, &self->wr, 0, DEPTH));
	ASSERT_EQ(0, ibv_destroy_qp(self->b->qp));
	self->b->qp = NULL;
	for (i = 0; i < DEPTH; i++) {
		status = vt_status(self->a->scq, i);
		ASSERT_TRUE(last == IBV_WC_SUCCESS ?
			    status == IBV_WC_SUCCESS ||
			    status == IBV_WC_RETRY_EXC_ERR :
			    status == IBV_WC_WR_FLUSH_ERR)
			TH_LOG("status %d after %d", status, last);
		last = status;
	}
	EXPECT_TRUE(vt_sq_quiet(self->a));
}

/* -- a CQ that is too short */

/*
 * A CQ keeps as many completions as its size, and raises an event when one more is lost. It does
 * not overwrite completions.
 */
TEST(cq_overrun)
{
	struct vt_conf conf = vt_defaults;
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 0, NULL);
	struct vt_pair pair;
	struct ibv_wc wc;
	int i, cqe;

	conf.cqe = 4;
	conf.depth = 64;
	VT_SETUP(vt_pair_open(&pair, &conf));
	cqe = pair.a.scq->cqe;
	ASSERT_GT(conf.depth, cqe);
	/* exactly as many as its size, and again after they were polled */
	for (i = 0; i < cqe; i++)
		ASSERT_EQ(0, post_sends(&pair.a, &wr, i, 1));
	for (i = 0; i < cqe; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, i));
	for (i = 0; i < cqe + 1; i++)
		ASSERT_EQ(0, post_sends(&pair.a, &wr, 100 + i, 1));
	EXPECT_EQ(0, vt_async_event(pair.a.dev.ctx, IBV_EVENT_CQ_ERR, VT_TIMEOUT_MS));
	for (i = 0; i < cqe; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, 100 + i));
	EXPECT_EQ(0, ibv_poll_cq(pair.a.scq, 1, &wc));
	vt_pair_close(&pair);

	/* the device still works */
	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
}

VT_HARNESS_MAIN
