// SPDX-License-Identifier: GPL-2.0
/*
 * Answers to READs and atomics, built by the test. A valid answer to an outstanding request is
 * accepted. Any other answer fails the work request, or is dropped.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: wire
 */
#include "harness.h"
#include "line.h"
#include "why.h"

#define MTU	1024
#define SEED	11

/* AETH syndromes: an ACK without credits, and one with; a NAK; a RNR NAK */
#define ACK	0x1f
#define CREDITS	0x05
#define NAK	0x62
#define RNR	0x2c

#define F	VT_OP_READ_RESPONSE_FIRST
#define M	VT_OP_READ_RESPONSE_MIDDLE
#define L	VT_OP_READ_RESPONSE_LAST
#define O	VT_OP_READ_RESPONSE_ONLY

FIXTURE(response)
{
	struct vt_line line;
	struct ibv_sge to;
};

FIXTURE_SETUP(response)
{
	VT_SETUP(vt_line_open(&self->line, &VT_CONF(.timeout = 0)));
}

FIXTURE_TEARDOWN(response)
{
	vt_line_close(&self->line);
}

static int ask(FIXTURE_DATA(response) *self, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_send_wr wr = vt_wr(opcode, 1, &self->to);
	int ret = vt_line_reset(&self->line);

	self->to = vt_sge(&self->line.ep.buf, VT_GUARD, len);
	return ret ? ret : vt_post(&self->line.ep, &wr);
}

/* The answer with PSN number @i of a request for @len bytes */
static int answer(FIXTURE_DATA(response) *self, int i, uint8_t opcode, uint8_t syndrome,
		  uint32_t len)
{
	uint32_t at = i * MTU, n = len - at < MTU ? len - at : MTU;
	uint8_t data[MTU];

	vt_fill(data, n, SEED, at);
	return vt_line_answer(&self->line, opcode, self->line.psn + i, syndrome, data, n);
}

/* The answers so far complete nothing. */
static bool waits(FIXTURE_DATA(response) *self)
{
	return vt_line_settled(&self->line) && vt_no_completion(self->line.ep.scq, 0);
}

struct sequence {
	uint32_t len;
	int status;	/* of the READ; -1: it still waits */
	uint8_t opcodes[4];
	uint8_t syndrome;
};

/* Return: the READ's status, -1 if it has none, another negative number on errors */
static int outcome(FIXTURE_DATA(response) *self, const struct sequence *s)
{
	int i, ret = ask(self, IBV_WR_RDMA_READ, s->len);

	for (i = 0; !ret && i < ARRAY_SIZE(s->opcodes) && s->opcodes[i]; i++)
		ret = answer(self, i, s->opcodes[i], s->syndrome, s->len);
	if (ret)
		return -1000 + ret;
	if (s->status < 0)
		return waits(self) ? -1 : -2;
	return vt_status(self->line.ep.scq, 1);
}

static void expect_outcomes(struct __test_metadata *_metadata, FIXTURE_DATA(response) *self,
			    const struct sequence *s, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(s[i].status, outcome(self, &s[i]))
			TH_LOG("sequence %d: %d bytes, opcodes %d %d %d", i, s[i].len,
			       s[i].opcodes[0], s[i].opcodes[1], s[i].opcodes[2]);
		if (s[i].status == IBV_WC_SUCCESS)
			EXPECT_TRUE(vt_check_sges(&self->to, 1, s[i].len, SEED));
		if (s[i].status == IBV_WC_BAD_RESP_ERR)
			EXPECT_TRUE(vt_why_is(self->line.ep.dev.ctx, PEER_NONSENSE,
					      IBV_WR_RDMA_READ));
		EXPECT_TRUE(vt_buf_restore(&self->line.ep.buf, &self->to, 1, s[i].len));
	}
}

#define GOOD	IBV_WC_SUCCESS
#define BAD	IBV_WC_BAD_RESP_ERR

/* IBTA 9.4.4: FIRST, MIDDLEs and LAST, or ONLY */
TEST_F(response, order_of_opcodes)
{
	static const struct sequence s[] = {
		{ 3 * MTU, GOOD, { F, M, L }, ACK },
		{ 2 * MTU + 5, GOOD, { F, M, L }, ACK },
		{ 2 * MTU, GOOD, { F, L }, ACK },
		{ MTU, GOOD, { O }, ACK },
		{ 1, GOOD, { O }, ACK },
		{ 3 * MTU, -1, { F, M }, ACK },
		/* no beginning */
		{ 3 * MTU, BAD, { M }, ACK },
		{ 3 * MTU, BAD, { L }, ACK },
		{ 3 * MTU, BAD, { O }, ACK },
		{ MTU, BAD, { F }, ACK },
		{ MTU, BAD, { L }, ACK },
		{ MTU, BAD, { M }, ACK },
		{ 1, BAD, { L }, ACK },
		/* two beginnings */
		{ 3 * MTU, BAD, { F, F }, ACK },
		{ 3 * MTU, BAD, { F, O }, ACK },
		{ 3 * MTU, BAD, { F, M, O }, ACK },
		{ 3 * MTU, BAD, { F, M, F }, ACK },
		/* the end too early, or missing */
		{ 3 * MTU, BAD, { F, L }, ACK },
		{ 3 * MTU, BAD, { F, M, M }, ACK },
		{ 2 * MTU, BAD, { F, M }, ACK },
	};

	expect_outcomes(_metadata, self, s, ARRAY_SIZE(s));
}

/* Only an acknowledge packet can refuse a request. Credits are ignored. */
TEST_F(response, syndromes)
{
	static const struct sequence s[] = {
		{ 3 * MTU, GOOD, { F, M, L }, CREDITS },
		{ 100, GOOD, { O }, CREDITS },
		{ 3 * MTU, BAD, { F }, NAK },
		{ 3 * MTU, BAD, { F }, RNR },
		{ 3 * MTU, BAD, { F }, 0x40 },
		{ 3 * MTU, BAD, { F }, 0x80 },
		{ 100, BAD, { O }, NAK },
		{ 100, BAD, { O }, RNR },
	};

	expect_outcomes(_metadata, self, s, ARRAY_SIZE(s));
}

TEST_F(response, syndrome_of_the_last)
{
	ASSERT_EQ(0, ask(self, IBV_WR_RDMA_READ, 2 * MTU));
	ASSERT_EQ(0, answer(self, 0, F, ACK, 2 * MTU));
	EXPECT_TRUE(waits(self));
	ASSERT_EQ(0, answer(self, 1, L, NAK, 2 * MTU));
	EXPECT_EQ(BAD, vt_status(self->line.ep.scq, 1));
}

/* An answer to a request that was not sent, or was answered already, is dropped: IBTA 9.7.6.1 */
TEST_F(response, not_asked_for)
{
	static const uint8_t opcodes[] = { F, M, L, O };
	int i;

	ASSERT_EQ(0, ask(self, IBV_WR_RDMA_READ, 3 * MTU));
	ASSERT_EQ(0, answer(self, 0, F, ACK, 3 * MTU));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		ASSERT_EQ(0, answer(self, 0, opcodes[i], ACK, 3 * MTU));
		ASSERT_EQ(0, answer(self, 3, opcodes[i], NAK, 4 * MTU));
	}
	EXPECT_TRUE(waits(self));
	ASSERT_EQ(0, answer(self, 1, M, ACK, 3 * MTU));
	ASSERT_EQ(0, answer(self, 2, L, ACK, 3 * MTU));
	EXPECT_EQ(GOOD, vt_status(self->line.ep.scq, 1));
	EXPECT_TRUE(vt_check_sges(&self->to, 1, 3 * MTU, SEED));
}

/* An atomic's answer whose AETH refuses the request */
TEST_F(response, atomics)
{
	static const struct {
		uint8_t syndrome;
		int status;
	} tries[] = {
		{ ACK, GOOD }, { CREDITS, GOOD }, { NAK, BAD }, { RNR, BAD }, { 0x60, BAD },
	};
	static const uint8_t data[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		ASSERT_EQ(0, ask(self, IBV_WR_ATOMIC_FETCH_AND_ADD, 8));
		ASSERT_EQ(0, vt_line_answer(&self->line, VT_OP_ATOMIC_ACK, self->line.psn,
					    tries[i].syndrome, data, sizeof(data)));
		EXPECT_EQ(tries[i].status, vt_status(self->line.ep.scq, 1));
	}
}

/* IBTA 9.7.5.2.8: RNR timer 26 is 81.92 ms */
#define RNR_LONG	0x3a
#define RNR_MS		80

static int post_send(FIXTURE_DATA(response) *self)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 2, NULL);

	return vt_post(&self->line.ep, &wr);
}

static bool hears(FIXTURE_DATA(response) *self, uint8_t opcode, uint32_t n)
{
	struct vt_heard heard;

	return vt_line_hear(&self->line, &heard, VT_TIMEOUT_MS) &&
	       heard.bth.opcode == opcode && heard.bth.psn == self->line.psn + n;
}

/*
 * The answer to a READ is lost, and the receiver is not ready for the SEND after it: both are sent
 * again when the RNR timer has expired, and no retry is used up.
 */
TEST_F(response, not_ready_behind_a_lost_one)
{
	struct vt_heard heard;
	uint64_t start;

	self->line.ep.conf.retry_cnt = 0;
	self->line.ep.conf.rnr_retry = 1;
	ASSERT_EQ(0, ask(self, IBV_WR_RDMA_READ, 2 * MTU));
	ASSERT_EQ(0, post_send(self));
	ASSERT_TRUE(hears(self, VT_OP_READ_REQUEST, 0));
	ASSERT_TRUE(hears(self, VT_OP_SEND_ONLY, 2));
	start = vt_now_ms();
	ASSERT_EQ(0, vt_line_answer(&self->line, VT_OP_ACK, self->line.psn + 2, RNR_LONG, NULL,
				    0));
	ASSERT_TRUE(hears(self, VT_OP_READ_REQUEST, 0));
	EXPECT_LE(RNR_MS, vt_now_ms() - start);
	ASSERT_TRUE(hears(self, VT_OP_SEND_ONLY, 2));
	ASSERT_EQ(0, answer(self, 0, F, ACK, 2 * MTU));
	ASSERT_EQ(0, answer(self, 1, L, ACK, 2 * MTU));
	EXPECT_EQ(GOOD, vt_status(self->line.ep.scq, 1));
	ASSERT_EQ(0, vt_line_answer(&self->line, VT_OP_ACK, self->line.psn + 2, ACK, NULL, 0));
	EXPECT_EQ(GOOD, vt_status(self->line.ep.scq, 2));
	EXPECT_TRUE(vt_line_settled(&self->line));
	EXPECT_FALSE(vt_line_hear(&self->line, &heard, 5));
}

/* No RNR retry is left for the SEND. The READ gets its answer before the SEND fails. */
TEST_F(response, never_ready_behind_a_lost_one)
{
	self->line.ep.conf.retry_cnt = 1;
	self->line.ep.conf.rnr_retry = 0;
	ASSERT_EQ(0, ask(self, IBV_WR_RDMA_READ, 2 * MTU));
	ASSERT_EQ(0, post_send(self));
	ASSERT_TRUE(hears(self, VT_OP_READ_REQUEST, 0));
	ASSERT_TRUE(hears(self, VT_OP_SEND_ONLY, 2));
	ASSERT_EQ(0, vt_line_answer(&self->line, VT_OP_ACK, self->line.psn + 2, RNR_LONG, NULL,
				    0));
	ASSERT_TRUE(hears(self, VT_OP_READ_REQUEST, 0));
	ASSERT_TRUE(hears(self, VT_OP_SEND_ONLY, 2));
	ASSERT_EQ(0, answer(self, 0, F, ACK, 2 * MTU));
	ASSERT_EQ(0, answer(self, 1, L, ACK, 2 * MTU));
	EXPECT_EQ(GOOD, vt_status(self->line.ep.scq, 1));
	ASSERT_EQ(0, vt_line_answer(&self->line, VT_OP_ACK, self->line.psn + 2, RNR_LONG, NULL,
				    0));
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, vt_status(self->line.ep.scq, 2));
}

VT_HARNESS_MAIN
