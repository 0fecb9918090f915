// SPDX-License-Identifier: GPL-2.0
/*
 * Trains of packets in which the ICRC of one packet is wrong. The device copies payloads of a train
 * while it computes the ICRCs. Whichever packet is bad, it and all packets after it must be
 * ignored, those before it must be accepted, and in the end the data is right. The test itself
 * builds the packets.
 *
 * timeout: 60
 * paths: wire
 */
#include "harness.h"
#include "line.h"

#define PSN	VT_LINE_PSN
#define MTU	1024
#define SEED	23

/* A message: a FIRST, a train of MIDDLEs, a LAST */
#define MIDDLES	VT_MAX_TRAIN
#define PACKETS	(MIDDLES + 2)
#define LEN	(PACKETS * MTU)

#define NAK_SEQUENCE	0x60

FIXTURE(train)
{
	struct vt_line l;
	struct vt_bth bth;
	struct ibv_sge mem;
	uint8_t data[LEN];
};

FIXTURE_SETUP(train)
{
	VT_SETUP(vt_line_open(&self->l, &VT_CONF(.timeout = 0)));
	self->bth = vt_line_bth(&self->l, 0, PSN);
	self->mem = vt_sge(&self->l.ep.buf, VT_GUARD, LEN);
}

FIXTURE_TEARDOWN(train)
{
	vt_line_close(&self->l);
}

static int64_t bad_icrcs(FIXTURE_DATA(train) *self)
{
	return vt_counter_now(self->l.ep.dev.ctx, "rx_bad_icrc");
}

/* Packet @i of a message, with @head_len bytes of another header in front of the data */
static int packet(FIXTURE_DATA(train) *self, int i, uint8_t opcode, const void *head,
		  size_t head_len)
{
	uint8_t data[16 + MTU];

	memcpy(data, head, head_len);
	memcpy(data + head_len, self->data + i * MTU, MTU);
	self->bth.opcode = opcode;
	self->bth.ack_req = i == PACKETS - 1;
	return vt_roce_send(&self->l.roce, &self->bth, data, head_len + MTU);
}

/* MIDDLEs from packet @i on, whose PSNs begin with @psn; packet @bad has a wrong ICRC */
static int middles(FIXTURE_DATA(train) *self, int i, uint8_t opcode, uint32_t psn, int bad)
{
	struct vt_bth bths[MIDDLES];
	int n = PACKETS - 1 - i, k, ret;

	if (n < 1)
		return 0;
	for (k = 0; k < n; k++) {
		bths[k] = self->bth;
		bths[k].opcode = opcode;
		bths[k].ack_req = false;
		bths[k].psn = psn + k;
	}
	self->l.roce.spoil_part = bad ? bad - i + 1 : 0;
	ret = vt_roce_train(&self->l.roce, bths, n, self->data + i * MTU, MTU, MTU);
	self->l.roce.spoil_part = 0;
	return ret;
}

/* The next answer to a request: its syndrome, or -1 */
static int hear(FIXTURE_DATA(train) *self, uint32_t *psn)
{
	struct vt_heard heard;

	if (!vt_roce_hear(&self->l.roce, &heard, VT_TIMEOUT_MS) || heard.bth.opcode != VT_OP_ACK)
		return -1;
	*psn = heard.bth.psn;
	return heard.data[0];
}

struct request {
	uint8_t first;
	uint8_t middle;
	uint8_t last;
	size_t head_len;
};

/*
 * A whole message, whose packet @bad, if not 0, is bad at first. The device must answer as a
 * responder that has accepted exactly the packets before it.
 */
static void message(struct __test_metadata *_metadata, FIXTURE_DATA(train) *self,
		    const struct request *r, int bad)
{
	uint64_t va = htobe64(self->mem.addr);
	uint32_t reth[4] = { 0, 0, htonl(self->l.ep.buf.mr->rkey), htonl(LEN) };
	uint32_t start = self->bth.psn, psn;
	int64_t before = bad_icrcs(self);

	memcpy(reth, &va, sizeof(va));
	vt_fill(self->data, LEN, SEED + bad, 0);
	ASSERT_EQ(0, packet(self, 0, r->first, reth, r->head_len));
	ASSERT_EQ(0, middles(self, 1, r->middle, start + 1, bad));
	self->bth.psn = start + PACKETS - 1;
	if (bad) {
		/* a gap is noticed when a packet arrives after it */
		ASSERT_EQ(0, packet(self, PACKETS - 1, r->last, NULL, 0));
		ASSERT_EQ(NAK_SEQUENCE, hear(self, &psn));
		EXPECT_EQ(start + bad, psn);
		EXPECT_EQ(before + 1, bad_icrcs(self));
		EXPECT_EQ(bad * MTU, vt_match((void *)self->mem.addr, bad * MTU, SEED + bad, 0));
		ASSERT_EQ(0, middles(self, bad, r->middle, start + bad, 0));
	}
	ASSERT_EQ(0, packet(self, PACKETS - 1, r->last, NULL, 0));
	ASSERT_EQ(0x1f, hear(self, &psn));
	EXPECT_EQ(start + PACKETS - 1, psn);
	EXPECT_EQ(before + !!bad, bad_icrcs(self));
	EXPECT_TRUE(vt_check_sges(&self->mem, 1, LEN, SEED + bad));
	EXPECT_TRUE(vt_buf_restore(&self->l.ep.buf, &self->mem, 1, LEN));
	self->bth.psn = start + PACKETS;
}

TEST_F(train, write)
{
	static const struct request write = {
		VT_OP_WRITE_FIRST, VT_OP_WRITE_MIDDLE, VT_OP_WRITE_LAST, 16,
	};
	int bad;

	for (bad = 0; bad < PACKETS - 1; bad++)
		message(_metadata, self, &write, bad);
}

TEST_F(train, send)
{
	static const struct request send = {
		VT_OP_SEND_FIRST, VT_OP_SEND_MIDDLE, VT_OP_SEND_LAST, 0,
	};
	int bad;

	for (bad = 0; bad < PACKETS - 1; bad++) {
		ASSERT_EQ(0, vt_post_recv(&self->l.ep, bad, &self->mem, 1));
		message(_metadata, self, &send, bad);
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.rcq, bad));
	}
}

/*
 * The LAST is damaged so that it looks like one more MIDDLE, which would leave no byte for the
 * LAST. That is no reason to end the connection: its ICRC is wrong.
 */
TEST_F(train, last_looks_like_a_middle)
{
	uint64_t va = htobe64(self->mem.addr);
	uint32_t reth[4] = { 0, 0, htonl(self->l.ep.buf.mr->rkey), htonl((MIDDLES + 1) * MTU) };
	uint32_t psn;
	int64_t before = bad_icrcs(self);

	memcpy(reth, &va, sizeof(va));
	vt_fill(self->data, LEN, SEED, 0);
	ASSERT_EQ(0, packet(self, 0, VT_OP_WRITE_FIRST, reth, sizeof(reth)));
	ASSERT_EQ(0, middles(self, 1, VT_OP_WRITE_MIDDLE, PSN + 1, MIDDLES));
	self->bth.psn = PSN + MIDDLES;
	self->bth.opcode = VT_OP_WRITE_LAST;
	self->bth.ack_req = true;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, self->data + MIDDLES * MTU, MTU));
	ASSERT_EQ(0x1f, hear(self, &psn));
	EXPECT_EQ(PSN + MIDDLES, psn);
	EXPECT_EQ(before + 1, bad_icrcs(self));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->l.ep.qp));
	EXPECT_TRUE(vt_check_sges(&self->mem, 1, (MIDDLES + 1) * MTU, SEED));
}

/* Is a READ of @left bytes requested next? */
static bool is_asked(FIXTURE_DATA(train) *self, uint32_t psn, uint32_t left)
{
	struct vt_heard heard;
	uint32_t len;

	if (!vt_roce_hear(&self->l.roce, &heard, VT_TIMEOUT_MS))
		return false;
	memcpy(&len, heard.data + 12, sizeof(len));
	return heard.bth.opcode == VT_OP_READ_REQUEST && heard.bth.psn == psn &&
	       ntohl(len) == left;
}

static const uint8_t ack_aeth[4] = { 0x1f, 0, 0, 1 };

/* Answer a READ request. */
static int answer(FIXTURE_DATA(train) *self, uint32_t start, int bad)
{
	int ret;

	self->bth.psn = start;
	ret = packet(self, 0, VT_OP_READ_RESPONSE_FIRST, ack_aeth, sizeof(ack_aeth));
	ret = ret ? ret : middles(self, 1, VT_OP_READ_RESPONSE_MIDDLE, start + 1, bad);
	self->bth.psn = start + PACKETS - 1;
	return ret ? ret : packet(self, PACKETS - 1, VT_OP_READ_RESPONSE_LAST, ack_aeth,
				  sizeof(ack_aeth));
}

/* Answer a request for packet @from of the READ and all after it, packet by packet. */
static int answer_rest(FIXTURE_DATA(train) *self, uint32_t start, int from)
{
	bool first, last;
	int i, ret = 0;

	for (i = from; !ret && i < PACKETS; i++) {
		first = i == from;
		last = i == PACKETS - 1;
		self->bth.psn = start + i;
		ret = packet(self, i, first && last ? VT_OP_READ_RESPONSE_ONLY :
			     first ? VT_OP_READ_RESPONSE_FIRST :
			     last ? VT_OP_READ_RESPONSE_LAST : VT_OP_READ_RESPONSE_MIDDLE,
			     ack_aeth, first || last ? sizeof(ack_aeth) : 0);
	}
	return ret;
}

TEST_F(train, read)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_READ, 1, &self->mem);
	uint32_t start = self->l.psn;
	int64_t before;
	int bad;

	for (bad = 0; bad < PACKETS - 1; bad++, start += PACKETS) {
		before = bad_icrcs(self);
		vt_fill(self->data, LEN, SEED + bad, 0);
		ASSERT_EQ(0, vt_post(&self->l.ep, &wr));
		ASSERT_TRUE(is_asked(self, start, LEN));
		ASSERT_EQ(0, answer(self, start, bad));
		if (bad) {
			ASSERT_TRUE(is_asked(self, start + bad, (PACKETS - bad) * MTU));
			EXPECT_EQ(before + 1, bad_icrcs(self));
			ASSERT_EQ(0, answer_rest(self, start, bad));
		}
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.scq, 1));
		EXPECT_TRUE(vt_check_sges(&self->mem, 1, LEN, SEED + bad));
		EXPECT_TRUE(vt_buf_restore(&self->l.ep.buf, &self->mem, 1, LEN));
	}
}

VT_HARNESS_MAIN
