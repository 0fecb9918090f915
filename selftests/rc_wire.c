// SPDX-License-Identifier: GPL-2.0
/*
 * RC on the wire, field by field, as a peer that is not softmr sees it: the contents of headers, how long a requester
 * waits for an answer and for each RNR timer, and the effect of an answer to a request that was not sent. The test
 * itself is the peer.
 *
 * daily: uml-checked
 * timeout: 60
 * paths: wire
 */
#include "harness.h"

#include "line.h"

#define PKEY		0xffff
#define LEN		64
#define MTU		256

/* Flags of the BTH, IBTA 9.2 */
#define MIGREQ		0x40

/* AETH syndromes, IBTA table 44 */
#define ACK		0x1f	/* without credits */
#define RNR		0x20
#define NAK_PSN		0x60
#define NAK_INV_REQ	0x61

FIXTURE(wire)
{
	struct vt_conf conf;
	struct vt_line line;
	struct vt_ep *ep;
	struct vt_heard heard;
	struct ibv_sge sge;
	/* of the peer's next request */
	uint32_t psn;
	/* how many of its messages were executed */
	uint32_t msn;
};

FIXTURE_SETUP(wire)
{
	self->conf = vt_defaults;
	self->conf.mtu = IBV_MTU_256;
	self->conf.timeout = 0;
	self->psn = VT_LINE_PSN;
	self->ep = &self->line.ep;
}

FIXTURE_TEARDOWN(wire)
{
	vt_line_close(&self->line);
}

static int open_line(FIXTURE_DATA(wire) *self)
{
	int ret = vt_line_open(&self->line, &self->conf);

	if (!ret)
		self->sge = vt_sge(&self->ep->buf, VT_GUARD, LEN);
	return ret;
}

static bool hear(FIXTURE_DATA(wire) *self)
{
	return vt_line_hear(&self->line, &self->heard, VT_TIMEOUT_MS);
}

/* The AETH of the packet that was received */
static uint32_t syndrome(const FIXTURE_DATA(wire) *self)
{
	return self->heard.data[0];
}

static uint32_t msn(const FIXTURE_DATA(wire) *self)
{
	const uint8_t *p = self->heard.data;

	return p[1] << 16 | p[2] << 8 | p[3];
}

/*
 * The peer's request. RDMA requests are for @dma_len bytes, or a word, of the device's buffer. All have @len bytes of
 * payload, which are 0.
 */
static int request(FIXTURE_DATA(wire) *self, uint8_t opcode, uint32_t dma_len, uint32_t len)
{
	struct vt_bth bth = vt_line_bth(&self->line, opcode, self->psn);
	uint8_t packet[64 + MTU] = {}, *p = packet;

	switch (opcode) {
	case VT_OP_WRITE_FIRST:
	case VT_OP_WRITE_ONLY:
	case VT_OP_READ_REQUEST:
		p = vt_put32(vt_put64(p, self->sge.addr), self->ep->buf.mr->rkey);
		p = vt_put32(p, dma_len);
		break;
	case VT_OP_FETCH_ADD:
		p = vt_put32(vt_put64(p, self->sge.addr), self->ep->buf.mr->rkey);
		p = vt_put64(vt_put64(p, 0), 0);
		break;
	}
	return vt_roce_send(&self->line.roce, &bth, packet, p - packet + len);
}

static int answer(FIXTURE_DATA(wire) *self, uint8_t aeth, uint32_t psn)
{
	return vt_line_answer(&self->line, VT_OP_ACK, psn, aeth, NULL, 0);
}

static int post(FIXTURE_DATA(wire) *self, uint64_t wr_id)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, wr_id, &self->sge);

	return vt_post(self->ep, &wr);
}

/* -- what the responder sends */

/* The peer's request is executed, and answered by this opcode. */
static void expect_executed(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
			    uint8_t opcode, uint32_t dma_len, uint32_t len, uint8_t answer)
{
	ASSERT_EQ(0, request(self, opcode, dma_len, len));
	ASSERT_TRUE(hear(self));
	EXPECT_EQ(answer, self->heard.bth.opcode);
	EXPECT_EQ(self->psn, self->heard.bth.psn);
	EXPECT_EQ(ACK, syndrome(self));
	EXPECT_EQ(self->msn, msn(self)) TH_LOG("opcode %d", opcode);
	EXPECT_EQ(MIGREQ, self->heard.bth.flags & MIGREQ);
	EXPECT_EQ(PKEY, self->heard.bth.pkey);
	self->psn++;
}

#define EXPECT_EXECUTED(...) expect_executed(_metadata, self, __VA_ARGS__)

/*
 * IBTA 9.7.7.1: the MSN counts executed messages of all kinds, from 0, and a message of many packets once. A responder
 * without credits reports that (9.7.7.2.1).
 */
TEST_F(wire, msn_and_credits)
{
	VT_SETUP(open_line(self));
	ASSERT_EQ(0, vt_post_recv(self->ep, 1, &self->sge, 1));
	self->msn = 1;
	EXPECT_EXECUTED(VT_OP_SEND_ONLY, 0, 4, VT_OP_ACK);
	self->msn = 2;
	EXPECT_EXECUTED(VT_OP_WRITE_ONLY, 4, 4, VT_OP_ACK);
	self->msn = 3;
	EXPECT_EXECUTED(VT_OP_READ_REQUEST, 4, 0, VT_OP_READ_RESPONSE_ONLY);
	self->msn = 4;
	EXPECT_EXECUTED(VT_OP_FETCH_ADD, 0, 0, VT_OP_ATOMIC_ACK);
	/* A message counts when its last packet has arrived. */
	EXPECT_EXECUTED(VT_OP_WRITE_FIRST, MTU + 4, MTU, VT_OP_ACK);
	self->msn = 5;
	EXPECT_EXECUTED(VT_OP_WRITE_LAST, 0, 4, VT_OP_ACK);
}

/* IBTA 9.7.4.1.1: a duplicate is acknowledged again, and does not count. */
TEST_F(wire, duplicate)
{
	VT_SETUP(open_line(self));
	ASSERT_EQ(0, vt_post_recv(self->ep, 1, &self->sge, 1));
	self->msn = 1;
	EXPECT_EXECUTED(VT_OP_SEND_ONLY, 0, 4, VT_OP_ACK);
	self->psn--;
	EXPECT_EXECUTED(VT_OP_SEND_ONLY, 0, 4, VT_OP_ACK);
	self->msn = 2;
	EXPECT_EXECUTED(VT_OP_WRITE_ONLY, 4, 4, VT_OP_ACK);
	self->psn--;
	EXPECT_EXECUTED(VT_OP_WRITE_ONLY, 4, 4, VT_OP_ACK);
}

/* The requester's packets, as those of the responder */
TEST_F(wire, migreq)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_send_wr wr;
	int i;

	VT_SETUP(open_line(self));
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		wr = (struct ibv_send_wr){ .wr_id = i, .opcode = ops[i], .sg_list = &self->sge,
					   .num_sge = 1 };
		if (ops[i] == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			self->sge.length = 8;
			wr.wr.atomic.remote_addr = 0x1000;
		}
		ASSERT_EQ(0, vt_post(self->ep, &wr));
		ASSERT_TRUE(hear(self));
		EXPECT_EQ(MIGREQ, self->heard.bth.flags & MIGREQ)
			TH_LOG("opcode %d", self->heard.bth.opcode);
		EXPECT_EQ(PKEY, self->heard.bth.pkey);
		EXPECT_EQ(((self->conf.sq_psn + i) & 0xffffff), self->heard.bth.psn);
	}
}

/*
 * IBTA 9.7.4.1.4: a responder that has no resources for READs and atomics refuses them.
 * The device is not harmed.
 */
static void expect_refused(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
			   uint8_t opcode)
{
	self->conf.rd_atomic = 0;
	VT_SETUP(open_line(self));
	ASSERT_EQ(0, request(self, opcode, LEN, 0));
	ASSERT_TRUE(hear(self));
	EXPECT_EQ(VT_OP_ACK, self->heard.bth.opcode);
	EXPECT_EQ(NAK_INV_REQ, syndrome(self));
	EXPECT_EQ(0, msn(self));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->ep->qp));
}

TEST_F(wire, no_resources_for_reads) { expect_refused(_metadata, self, VT_OP_READ_REQUEST); }
TEST_F(wire, no_resources_for_atomics) { expect_refused(_metadata, self, VT_OP_FETCH_ADD); }

/* -- what the requester accepts */

/*
 * IBTA 9.7.6.1: an ACK of a PSN that was not sent is dropped. A NAK that follows it asks for the request again, and is
 * accepted: so the requester still waits.
 */
TEST_F(wire, ack_of_what_was_not_sent)
{
	uint32_t psn = self->conf.sq_psn;
	struct ibv_wc wc;

	VT_SETUP(open_line(self));
	ASSERT_EQ(0, post(self, 1));
	ASSERT_TRUE(hear(self));
	ASSERT_EQ(psn, self->heard.bth.psn);
	ASSERT_EQ(0, answer(self, ACK, psn + 1));
	ASSERT_EQ(0, answer(self, NAK_PSN, psn));
	EXPECT_TRUE(hear(self));
	EXPECT_EQ(psn, self->heard.bth.psn);
	EXPECT_EQ(0, ibv_poll_cq(self->ep->scq, 1, &wc));
	ASSERT_EQ(0, answer(self, ACK, psn));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep->scq, 1));
}

/* A NAK of a PSN that was not sent is dropped, too. */
TEST_F(wire, nak_of_what_was_not_sent)
{
	uint32_t psn = self->conf.sq_psn;

	VT_SETUP(open_line(self));
	ASSERT_EQ(0, post(self, 1));
	ASSERT_TRUE(hear(self));
	ASSERT_EQ(0, answer(self, NAK_INV_REQ, psn + 1));
	ASSERT_EQ(0, answer(self, ACK, psn));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep->scq, 1));
}

/* IBTA table 45, in microseconds */
static const uint32_t rnr_us[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
	2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
	163840, 245760, 327680, 491520,
};

/* 4.096 us * 2 ^ 15 */
#define TIMEOUT		15
#define TIMEOUT_US	134217

/*
 * IBTA 9.7.6.1.3: without an answer a request is sent again after its timeout, and not before. The timer may take up to
 * four times as long; a busy machine makes a try longer.
 */
TEST_F(wire, timeout)
{
	uint64_t begin, took = UINT64_MAX;
	int try;

	self->conf.timeout = TIMEOUT;
	VT_SETUP(open_line(self));
	for (try = 0; try < 5 && took > 4 * TIMEOUT_US; try++) {
		ASSERT_EQ(0, vt_qp_reset(self->ep->qp));
		ASSERT_EQ(0, vt_line_connect(&self->line));
		while (vt_line_hear(&self->line, &self->heard, 5))
			;
		begin = vt_now_us();
		ASSERT_EQ(0, post(self, 1));
		ASSERT_TRUE(hear(self));
		ASSERT_TRUE(hear(self));
		took = vt_now_us() - begin;
		EXPECT_EQ(self->conf.sq_psn, self->heard.bth.psn);
		EXPECT_LE(TIMEOUT_US, took);
	}
	EXPECT_GE(4 * TIMEOUT_US, took);
}

/* The time until the request is repeated after an RNR NAK with this code. It is acknowledged. */
static uint64_t rnr_wait(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
			 uint32_t psn, int code)
{
	uint64_t begin, took;

	ASSERT_EQ(0, post(self, 1));
	ASSERT_TRUE(hear(self));
	ASSERT_EQ(psn, self->heard.bth.psn);
	begin = vt_now_us();
	ASSERT_EQ(0, answer(self, RNR | code, psn));
	ASSERT_TRUE(hear(self));
	took = vt_now_us() - begin;
	ASSERT_EQ(psn, self->heard.bth.psn);
	ASSERT_EQ(0, answer(self, ACK, psn));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->ep->scq, 1));
	return took;
}

/* The shortest of at least 5 waits, at most @most if the machine is not too busy */
static uint64_t rnr_least(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
			  uint32_t *psn, int code, uint64_t most)
{
	uint64_t took, least = UINT64_MAX;
	int try;

	for (try = 0; try < 5 || (try < 20 && least > most); try++) {
		took = rnr_wait(_metadata, self, (*psn)++, code);
		least = took < least ? took : least;
	}
	return least;
}

/*
 * Each of the 32 codes. What is measured is the wait and a round trip, whose shortest is measured with code 1. So the
 * shortest of some tries has at least the wait and half a round trip. It has at most a quarter more than the wait, and
 * two round trips.
 */
TEST_F(wire, rnr_codes)
{
	uint64_t way, after, slow, least[32];
	uint32_t psn = self->conf.sq_psn;
	int code;

	VT_SETUP(open_line(self));
	way = rnr_least(_metadata, self, &psn, 1, 0);
	for (code = 0; code < 32; code++)
		least[code] = rnr_least(_metadata, self, &psn, code,
					rnr_us[code] * 5ull / 4 + 2 * way);
	after = rnr_least(_metadata, self, &psn, 1, 0);
	slow = after > way ? after : way;
	way = after < way ? after : way;
	for (code = 0; code < 32; code++) {
		/* for the longest, the table has 10 us less */
		EXPECT_LE(rnr_us[code] - 10 + (way - 10) / 2, least[code]) TH_LOG("code %d", code);
		EXPECT_GE(rnr_us[code] * 5ull / 4 + 2 * slow, least[code]) TH_LOG("code %d", code);
	}
	TH_LOG("the way is %d us", (int)way);
}

VT_HARNESS_MAIN
