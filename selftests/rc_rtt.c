// SPDX-License-Identifier: GPL-2.0
/*
 * A requester measures the round trip time. If an answer is late by that measure, it does not wait
 * for its timeout, but asks again, once. Its timeout and its retries keep their meaning. If the
 * peer is far away, more packets may be in flight.
 *
 * timeout: 60
 * paths: wire
 */
#include "harness.h"
#include "line.h"

/* 4.096 us * 2^19: a packet that comes in half of that is not caused by the timeout. */
#define TIMEOUT		19
#define TIMEOUT_MS	2147

/* After this many prompt answers the requester has an estimate. */
#define PROMPT		8

/* A WRITE larger than any window, the window on a short path, and the delay of a long path */
#define MTU		1024
#define LONG		(8192u * MTU)
#define NEAR_PACKETS	1024
#define FAR_MS		15

/**
 * struct line - a QP whose peer is the test
 * @psn: of the next request
 * @early: the earlier value of the counter of that name
 * @timeouts: likewise
 */
struct line {
	struct vt_line by;
	uint32_t psn;
	int64_t early;
	int64_t timeouts;
};

static int line_open(struct line *l, uint8_t timeout, size_t len)
{
	struct vt_conf conf = vt_defaults;
	int ret;

	conf.timeout = timeout;
	conf.retry_cnt = 0;
	conf.buf_len = len;
	ret = vt_line_open(&l->by, &conf);
	if (ret)
		return ret;
	l->psn = conf.sq_psn;
	l->early = vt_counter_now(l->by.ep.dev.ctx, "early_retransmits");
	l->timeouts = vt_counter_now(l->by.ep.dev.ctx, "ack_timeouts");
	return 0;
}

static void line_close(struct line *l)
{
	vt_line_close(&l->by);
}

static int64_t counted(struct line *l, const char *name, int64_t before)
{
	return vt_counter_now(l->by.ep.dev.ctx, name) - before;
}

static int acknowledge(struct line *l, uint32_t psn)
{
	return vt_line_answer(&l->by, VT_OP_ACK, psn, 0x1f, NULL, 0);
}

/* Does the peer hear request @psn within @ms? */
static bool heard(struct line *l, uint32_t psn, int ms)
{
	uint64_t end = vt_now_ms() + ms;
	struct vt_heard packet;
	int left = ms;

	for (; left > 0 && vt_line_hear(&l->by, &packet, left); left = end - vt_now_ms())
		if (packet.bth.psn == psn)
			return true;
	return false;
}

static int request(struct line *l, uint64_t wr_id)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, wr_id, NULL);

	return vt_post(&l->by.ep, &wr);
}

/* Requests that are answered at once. Return: 0, -errno or a status */
static int prompt(struct line *l, int n)
{
	int i, ret;

	for (i = 0; i < n; i++) {
		ret = request(l, 1);
		if (ret)
			return ret;
		if (!heard(l, l->psn, VT_TIMEOUT_MS))
			return -ETIMEDOUT;
		ret = acknowledge(l, l->psn++);
		ret = ret ? ret : vt_status(l->by.ep.scq, 1);
		if (ret)
			return ret;
	}
	return 0;
}

FIXTURE(early)
{
	struct line line;
};

FIXTURE_SETUP(early)
{
	VT_SETUP(line_open(&self->line, TIMEOUT, MTU));
}

FIXTURE_TEARDOWN(early)
{
	line_close(&self->line);
}

/* It asks again once. This is not a retry, of which it has none, so the answer may still arrive. */
TEST_F(early, asks_again_once)
{
	struct line *l = &self->line;

	ASSERT_EQ(0, prompt(l, PROMPT));
	l->early = vt_counter_now(l->by.ep.dev.ctx, "early_retransmits");
	ASSERT_EQ(0, request(l, 2));
	ASSERT_TRUE(heard(l, l->psn, VT_TIMEOUT_MS));
	EXPECT_TRUE(heard(l, l->psn, TIMEOUT_MS / 2));
	EXPECT_FALSE(heard(l, l->psn, TIMEOUT_MS / 4));
	EXPECT_EQ(1, counted(l, "early_retransmits", l->early));
	EXPECT_EQ(0, counted(l, "ack_timeouts", l->timeouts));
	ASSERT_EQ(0, acknowledge(l, l->psn++));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->by.ep.scq, 2));

	/* It does so for the next one, too. */
	ASSERT_EQ(0, request(l, 3));
	ASSERT_TRUE(heard(l, l->psn, VT_TIMEOUT_MS));
	EXPECT_TRUE(heard(l, l->psn, TIMEOUT_MS / 2));
	ASSERT_EQ(0, acknowledge(l, l->psn++));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->by.ep.scq, 3));
	EXPECT_EQ(2, counted(l, "early_retransmits", l->early));
}

/* The timeout begins with the request, and is not restarted when it asks again. */
TEST_F(early, ends_when_the_timeout_says)
{
	struct line *l = &self->line;
	uint64_t start, ms;

	ASSERT_EQ(0, prompt(l, PROMPT));
	start = vt_now_ms();
	ASSERT_EQ(0, request(l, 2));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, vt_status(l->by.ep.scq, 2));
	ms = vt_now_ms() - start;
	printf("# it took %d ms\n", (int)ms);
	EXPECT_LE(TIMEOUT_MS, ms);
	EXPECT_GE(4 * TIMEOUT_MS, ms);
	EXPECT_EQ(1, counted(l, "ack_timeouts", l->timeouts));
}

/* A peer that has never answered may be slow. */
TEST_F(early, not_without_an_answer)
{
	struct line *l = &self->line;

	ASSERT_EQ(0, request(l, 2));
	ASSERT_TRUE(heard(l, l->psn, VT_TIMEOUT_MS));
	EXPECT_FALSE(heard(l, l->psn, TIMEOUT_MS / 2));
	EXPECT_EQ(0, counted(l, "early_retransmits", l->early));
	ASSERT_EQ(0, acknowledge(l, l->psn++));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->by.ep.scq, 2));
}

FIXTURE(window)
{
	struct line line;
};

/* Without a timeout nothing is sent again, however slow this machine is. */
FIXTURE_SETUP(window)
{
	VT_SETUP(line_open(&self->line, 0, LONG));
}

FIXTURE_TEARDOWN(window)
{
	line_close(&self->line);
}

static int long_write(struct line *l)
{
	struct ibv_sge sge = vt_sge(&l->by.ep.buf, 0, LONG);
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	return vt_post(&l->by.ep, &wr);
}

/*
 * Receive the long WRITE. Answer at once, or when no packet has arrived for @ms. Return: the
 * maximum number of packets in flight, or -errno
 */
static int take_long(struct line *l, int ms)
{
	uint32_t end = l->psn + LONG / MTU, last;
	struct vt_heard packet;
	int most = 0, ret;

	while (l->psn != end) {
		if (!vt_line_hear(&l->by, &packet, VT_TIMEOUT_MS))
			return -ETIMEDOUT;
		last = packet.bth.psn;
		while (ms && vt_line_hear(&l->by, &packet, ms))
			last = packet.bth.psn;
		if ((int)(last + 1 - l->psn) > most)
			most = last + 1 - l->psn;
		if (!ms && !packet.bth.ack_req)
			continue;
		ret = acknowledge(l, last);
		if (ret)
			return ret;
		l->psn = last + 1;
	}
	printf("# %d packets were under way\n", most);
	return most;
}

TEST_F(window, near_peer)
{
	struct line *l = &self->line;
	int most;

	ASSERT_EQ(0, prompt(l, PROMPT));
	ASSERT_EQ(0, long_write(l));
	most = take_long(l, 0);
	EXPECT_LT(0, most);
	EXPECT_GE(NEAR_PACKETS, most);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->by.ep.scq, 1));
}

TEST_F(window, far_peer)
{
	struct line *l = &self->line;

	ASSERT_EQ(0, long_write(l));
	EXPECT_LT(NEAR_PACKETS, take_long(l, FAR_MS));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->by.ep.scq, 1));
}

VT_HARNESS_MAIN
