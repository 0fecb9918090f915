// SPDX-License-Identifier: GPL-2.0
/*
 * RC: receivers that are late, answers that never arrive, peers that are killed: how often and how
 * long a requester retries, and the final status.
 *
 * daily: uml-checked
 * timeout: 180
 * paths: host wire
 */
#include "harness.h"
#include "system.h"

#define DEPTH	16

FIXTURE(retry)
{
	struct vt_conf conf;
	struct vt_pair pair;
};

FIXTURE_SETUP(retry)
{
	self->conf = vt_defaults;
}

FIXTURE_TEARDOWN(retry)
{
	vt_pair_close(&self->pair);
}

static int post_empty_send(struct vt_ep *ep)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, NULL);

	return vt_post(ep, &wr);
}

/* The status of a SEND, and how long it took. */
static int timed_send(struct vt_ep *ep, uint64_t *ms)
{
	uint64_t start = vt_now_ms();
	int ret = post_empty_send(ep);

	ret = ret ? ret : vt_status(ep->scq, 1);
	*ms = vt_now_ms() - start;
	printf("# it took %d ms\n", (int)*ms);
	return ret;
}

/*
 * The first request of a's waits for a receive: it has not completed after two more tries, each
 * of which was refused.
 */
static bool waits_for_receive(struct vt_pair *pair)
{
	struct ibv_context *ctx = pair->a.dev.ctx;
	int64_t before = vt_counter_now(ctx, "rnr_rx");
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	struct ibv_wc wc;

	if (before < 0)
		return vt_no_completion(pair->a.scq, 100);
	while (vt_counter_now(ctx, "rnr_rx") < before + 2)
		if (vt_now_ms() > end)
			return false;
	return !ibv_poll_cq(pair->a.scq, 1, &wc);
}

TEST_F(retry, receiver_late)
{
	struct vt_ep *b = &self->pair.b;

	self->conf.rnr_retry = 7;
	self->conf.min_rnr_timer = 14;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, post_empty_send(&self->pair.a));
	EXPECT_TRUE(waits_for_receive(&self->pair));
	ASSERT_EQ(0, vt_post_recv(b, 2, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 2));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->pair.a.scq, 1));
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

/* A send queue has not drained as long as a request waits for a receive. */
TEST_F(retry, drains_when_received)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_qp_init_attr init;

	self->conf.rnr_retry = 7;
	self->conf.min_rnr_timer = 14;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, post_empty_send(a));
	EXPECT_TRUE(waits_for_receive(&self->pair));
	ASSERT_EQ(0, ibv_modify_qp(a->qp, &attr, IBV_QP_STATE |
				   IBV_QP_EN_SQD_ASYNC_NOTIFY));
	EXPECT_TRUE(waits_for_receive(&self->pair));
	EXPECT_EQ(-ETIMEDOUT, vt_async_event(a->dev.ctx, IBV_EVENT_SQ_DRAINED,
					     0));
	ASSERT_EQ(0, ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init));
	EXPECT_EQ(1, attr.sq_draining);
	ASSERT_EQ(0, vt_post_recv(b, 2, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 2));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
	EXPECT_EQ(0, vt_async_event(a->dev.ctx, IBV_EVENT_SQ_DRAINED,
				    VT_TIMEOUT_MS));
	attr.qp_state = IBV_QPS_RTS;
	ASSERT_EQ(0, ibv_modify_qp(a->qp, &attr, IBV_QP_STATE));
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

/*
 * 10 us is the shortest RNR timer. It does not starve other QPs, and the requester does not retry
 * 30 times a millisecond for ever.
 */
TEST_F(retry, rnr_shortest_wait)
{
	struct vt_ep *b = &self->pair.b;
	int64_t naks;
	uint64_t start, ms;

	self->conf.rnr_retry = 7;
	self->conf.min_rnr_timer = 1;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	naks = vt_counter(self->pair.a.dev.ctx, "rnr_rx");
	ASSERT_EQ(0, post_empty_send(&self->pair.a));
	EXPECT_TRUE(vt_no_completion(self->pair.a.scq, 300));
	if (naks >= 0) {
		naks = vt_counter(self->pair.a.dev.ctx, "rnr_rx") - naks;
		printf("# RNR NAKs: %d\n", (int)naks);
		EXPECT_LE(10, naks);
		EXPECT_GE(1000, naks);
	}
	start = vt_now_ms();
	ASSERT_EQ(0, vt_post_recv(b, 2, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->pair.a.scq, 1));
	ms = vt_now_ms() - start;
	EXPECT_GE(1000, ms);
}

/* As above for a second, with many requests waiting: all arrive, in order. */
TEST_F(retry, rnr_for_ever)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	int i;

	self->conf.rnr_retry = 7;
	self->conf.min_rnr_timer = 16;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, post_empty_send(a));
	EXPECT_TRUE(vt_no_completion(a->scq, 1000));
	for (i = 0; i < DEPTH; i++) {
		ASSERT_EQ(0, vt_post_recv(b, i, NULL, 0));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, i));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
	}
}

/* 3 retries, each after the 41 ms of the receiver's RNR timer. */
TEST_F(retry, rnr_exhausted)
{
	uint64_t ms;

	self->conf.rnr_retry = 3;
	self->conf.min_rnr_timer = 24;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, timed_send(&self->pair.a, &ms));
	EXPECT_LE(3 * 40, ms);
	EXPECT_GE(5000, ms);
	/* the receiver made no error */
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->pair.b.qp));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->pair.a.qp));
}

TEST_F(retry, rnr_none)
{
	uint64_t ms;

	self->conf.rnr_retry = 0;
	self->conf.min_rnr_timer = 24;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, timed_send(&self->pair.a, &ms));
	EXPECT_GE(1000, ms);
}

/* RNR retries count per request: after progress the count starts again. */
TEST_F(retry, rnr_count_starts_anew)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	int i;

	self->conf.rnr_retry = 6;
	self->conf.min_rnr_timer = 24;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, post_empty_send(a));
		usleep(90000);
		ASSERT_EQ(0, vt_post_recv(b, i, NULL, 0));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, i));
	}
}

/* 4.096 us * 2^14 is 67 ms: the first try and 2 retries. */
static void expect_no_answer(struct __test_metadata *_metadata,
			     struct vt_pair *pair)
{
	uint64_t ms;

	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, timed_send(&pair->a, &ms));
	EXPECT_LE(3 * 67 - 5, ms);
	EXPECT_GE(3 * 67 * 4 + 2000, ms);
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(pair->a.qp));
}

TEST_F(retry, peer_destroyed)
{
	self->conf.timeout = 14;
	self->conf.retry_cnt = 2;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, ibv_destroy_qp(self->pair.b.qp));
	self->pair.b.qp = NULL;
	expect_no_answer(_metadata, &self->pair);
}

/* A QP in INIT receives nothing. */
TEST_F(retry, peer_not_ready)
{
	self->conf.timeout = 14;
	self->conf.retry_cnt = 2;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, vt_qp_reset(self->pair.b.qp));
	ASSERT_EQ(0, vt_qp_init(self->pair.b.qp, &self->conf));
	ASSERT_EQ(0, vt_post_recv(&self->pair.b, 1, NULL, 0));
	expect_no_answer(_metadata, &self->pair);
	EXPECT_TRUE(vt_no_completion(self->pair.b.rcq, 0));
}

/*
 * A QP that expects its peer at another address drops our packets: b is
 * connected to an IPv6 address, a sends over IPv4.
 */
TEST_F(retry, peer_of_another)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct vt_addr to_a, to_b;
	struct vt_dev v4;

	self->conf.timeout = 14;
	self->conf.retry_cnt = 2;
	VT_SETUP(vt_dev_open(&v4, 1, AF_INET));
	VT_SETUP(vt_ep_open(a, &self->conf, 0));
	self->conf.family = AF_INET6;
	VT_SETUP(vt_ep_open(b, &self->conf, 1));
	to_a = vt_ep_addr(a);
	to_a.gid = b->dev.gid;
	to_b = vt_ep_addr(b);
	to_b.gid = v4.gid;
	VT_SETUP(vt_ep_connect(a, &to_b));
	VT_SETUP(vt_ep_connect(b, &to_a));
	ASSERT_EQ(0, vt_post_recv(b, 1, NULL, 0));
	expect_no_answer(_metadata, &self->pair);
	EXPECT_TRUE(vt_no_completion(b->rcq, 0));
	vt_dev_close(&v4);
}

/* Timeout 0 means no timeout. */
TEST_F(retry, no_timeout)
{
	self->conf.timeout = 0;
	self->conf.retry_cnt = 0;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, vt_qp_reset(self->pair.b.qp));
	ASSERT_EQ(0, post_empty_send(&self->pair.a));
	EXPECT_TRUE(vt_no_completion(self->pair.a.scq, 500));
}

/* -- a peer that is killed */

/* The peer sends and receives until it is killed. */
static int victim(int sock, const void *arg)
{
	struct vt_conf conf = vt_defaults;
	struct vt_addr own, peer;
	struct vt_ep ep;
	uint32_t i;

	(void)arg;
	conf.timeout = 14;
	if (vt_ep_open(&ep, &conf, 1))
		return 1;
	own = vt_ep_addr(&ep);
	if (read(sock, &peer, sizeof(peer)) != sizeof(peer) ||
	    vt_ep_connect(&ep, &peer))
		return 1;
	for (i = 0; i < conf.depth; i++)
		vt_post_recv(&ep, i, NULL, 0);
	if (write(sock, &own, sizeof(own)) != sizeof(own))
		return 1;
	for (;;) {
		struct ibv_sge sge = vt_sge(&ep.buf, 0, 4096);
		struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 0, &sge);
		struct ibv_wc wc;

		vt_post(&ep, &wr);
		if (vt_poll(ep.rcq, &wc, 1, 0) == 1)
			vt_post_recv(&ep, wc.wr_id, NULL, 0);
		vt_poll(ep.scq, &wc, 1, 0);
	}
}

static pid_t start_victim(struct vt_ep *ep)
{
	struct vt_addr own = vt_ep_addr(ep), peer;
	int sock;
	pid_t pid = vt_child(&sock, victim, NULL);

	if (pid < 0 || write(sock, &own, sizeof(own)) != sizeof(own) ||
	    read(sock, &peer, sizeof(peer)) != sizeof(peer) ||
	    vt_ep_connect(ep, &peer))
		return -1;
	close(sock);
	return pid;
}

/* Send until a request fails; every posted request completes. */
static int send_until_failure(struct vt_ep *ep, pid_t pid, int kill_after)
{
	uint64_t posted = 0, done = 0;
	int status = IBV_WC_SUCCESS;
	struct ibv_wc wc;

	while (status == IBV_WC_SUCCESS || done < posted) {
		if (status == IBV_WC_SUCCESS &&
		    posted - done < ep->conf.depth / 2) {
			struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, posted, NULL);

			if (vt_post(ep, &wr))
				return -EIO;
			if (++posted == (uint64_t)kill_after)
				kill(pid, SIGKILL);
			continue;
		}
		if (vt_wait(ep->scq, &wc))
			return -ETIMEDOUT;
		if (wc.wr_id != done++)
			return -EBADMSG;
		if (status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR)
			return -EPROTO;
		if (status == IBV_WC_SUCCESS)
			status = wc.status;
	}
	return status;
}

TEST(peer_killed)
{
	struct vt_conf conf = vt_defaults;
	struct ibv_sge to;
	struct vt_ep ep;
	struct vt_pair pair;
	int round, status;
	pid_t pid;
	uint32_t i;

	conf.timeout = 14;
	conf.retry_cnt = 2;
	for (round = 0; round < 3; round++) {
		VT_SETUP(vt_ep_open(&ep, &conf, 0));
		to = vt_sge(&ep.buf, 0, 4096);
		pid = start_victim(&ep);
		ASSERT_LT(0, pid);
		for (i = 0; i < conf.depth; i++)
			ASSERT_EQ(0, vt_post_recv(&ep, i, &to, 1));
		status = send_until_failure(&ep, pid, 50 * round + 1);
		EXPECT_TRUE(status == IBV_WC_RETRY_EXC_ERR ||
			    status == IBV_WC_WR_FLUSH_ERR)
			TH_LOG("status %d", status);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		vt_ep_close(&ep);
	}
	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
}

VT_HARNESS_MAIN
