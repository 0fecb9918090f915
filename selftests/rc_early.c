// SPDX-License-Identifier: GPL-2.0
/*
 * A requester that knows how long answers take does not wait for its timeout when one is
 * late: it asks again, once. What its timeout and its retries mean stays as it is.
 *
 * timeout: 60
 * paths: wire
 */
#include "harness.h"

#include <netinet/in.h>

#include "roce.h"

#define PEER_QPN	0x321

/* 4.096 us * 2^19: what comes in half of that does not come by the timeout. */
#define TIMEOUT		19
#define TIMEOUT_MS	2147

/* So many answers, each at once, tell the requester what to expect. */
#define PROMPT		8

/* A QP whose peer is at the other end of the wire, where no device is */
FIXTURE(early)
{
	struct vt_conf conf;
	struct vt_roce roce;
	struct vt_ep ep;
	uint32_t psn;	/* of the next request */
	int64_t early, timeouts;
};

FIXTURE_SETUP(early)
{
	struct vt_addr peer = { .qpn = PEER_QPN, .psn = 0x1000 };

	self->conf = vt_defaults;
	self->conf.timeout = TIMEOUT;
	self->conf.retry_cnt = 0;
	VT_SETUP(vt_roce_open(&self->roce));
	VT_SETUP(vt_roce_listen(&self->roce));
	VT_SETUP(vt_ep_open(&self->ep, &self->conf, 0));
	peer.gid.raw[10] = 0xff;
	peer.gid.raw[11] = 0xff;
	memcpy(peer.gid.raw + 12, &self->roce.saddr, 4);
	VT_SETUP(vt_ep_connect(&self->ep, &peer));
	self->psn = self->conf.sq_psn;
	self->early = vt_counter_now(self->ep.dev.ctx, "early_retransmits");
	self->timeouts = vt_counter_now(self->ep.dev.ctx, "ack_timeouts");
	if (self->early < 0)
		SKIP(return, "the device does not ask again early");
}

FIXTURE_TEARDOWN(early)
{
	vt_ep_close(&self->ep);
	vt_roce_close(&self->roce);
}

static int request(FIXTURE_DATA(early) *self, uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};

	return vt_post(&self->ep, &wr);
}

static int acknowledge(FIXTURE_DATA(early) *self, uint32_t psn)
{
	static const uint8_t ack[4] = { 0x1f };
	struct vt_bth bth = {
		.opcode = VT_OP_ACK, .pkey = 0xffff, .qpn = self->ep.qp->qp_num, .psn = psn,
	};

	return vt_roce_send(&self->roce, &bth, ack, sizeof(ack));
}

/* Does the peer hear request @psn within @ms? */
static bool heard(FIXTURE_DATA(early) *self, uint32_t psn, int ms)
{
	uint64_t end = vt_now_ms() + ms;
	struct vt_heard packet;
	int left;

	while ((left = end - vt_now_ms()) > 0 &&
	       vt_roce_hear(&self->roce, &packet, left)) {
		if (packet.bth.qpn == PEER_QPN && packet.bth.opcode == VT_OP_SEND_ONLY &&
		    packet.bth.psn == psn)
			return true;
	}
	return false;
}

/* Requests that are answered at once. Return: 0 or -errno */
static int prompt(FIXTURE_DATA(early) *self, int n)
{
	int i, ret;

	for (i = 0; i < n; i++) {
		ret = request(self, 1);
		if (ret)
			return ret;
		if (!heard(self, self->psn, VT_TIMEOUT_MS))
			return -ETIMEDOUT;
		ret = acknowledge(self, self->psn++);
		ret = ret ? ret : vt_status(self->ep.scq, 1);
		if (ret)
			return ret;
	}
	return 0;
}

static int64_t counted(FIXTURE_DATA(early) *self, const char *name, int64_t before)
{
	return vt_counter_now(self->ep.dev.ctx, name) - before;
}

/* It asks again once. That is no retry, of which it has none, so the answer may still come. */
TEST_F(early, asks_again_once)
{
	ASSERT_EQ(0, prompt(self, PROMPT));
	self->early = vt_counter_now(self->ep.dev.ctx, "early_retransmits");
	ASSERT_EQ(0, request(self, 2));
	ASSERT_TRUE(heard(self, self->psn, VT_TIMEOUT_MS));
	EXPECT_TRUE(heard(self, self->psn, TIMEOUT_MS / 2));
	EXPECT_FALSE(heard(self, self->psn, TIMEOUT_MS / 4));
	EXPECT_EQ(1, counted(self, "early_retransmits", self->early));
	EXPECT_EQ(0, counted(self, "ack_timeouts", self->timeouts));
	ASSERT_EQ(0, acknowledge(self, self->psn++));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep.scq, 2));

	/* It does so for the next one, too. */
	ASSERT_EQ(0, request(self, 3));
	ASSERT_TRUE(heard(self, self->psn, VT_TIMEOUT_MS));
	EXPECT_TRUE(heard(self, self->psn, TIMEOUT_MS / 2));
	ASSERT_EQ(0, acknowledge(self, self->psn++));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep.scq, 3));
	EXPECT_EQ(2, counted(self, "early_retransmits", self->early));
}

/* The timeout begins with the request, and not anew when it asks again. */
TEST_F(early, ends_when_the_timeout_says)
{
	uint64_t start, ms;

	ASSERT_EQ(0, prompt(self, PROMPT));
	start = vt_now_ms();
	ASSERT_EQ(0, request(self, 2));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, vt_status(self->ep.scq, 2));
	ms = vt_now_ms() - start;
	printf("# it took %d ms\n", (int)ms);
	EXPECT_LE(TIMEOUT_MS, ms);
	EXPECT_GE(4 * TIMEOUT_MS, ms);
	EXPECT_EQ(1, counted(self, "ack_timeouts", self->timeouts));
}

/* Who has never answered may be slow. */
TEST_F(early, not_without_an_answer)
{
	ASSERT_EQ(0, request(self, 2));
	ASSERT_TRUE(heard(self, self->psn, VT_TIMEOUT_MS));
	EXPECT_FALSE(heard(self, self->psn, TIMEOUT_MS / 2));
	EXPECT_EQ(0, counted(self, "early_retransmits", self->early));
	ASSERT_EQ(0, acknowledge(self, self->psn++));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep.scq, 2));
}

VT_HARNESS_MAIN
