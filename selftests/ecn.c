// SPDX-License-Identifier: GPL-2.0
/*
 * ECN, RoCEv2 annex A17.9: which packets ask the network for marks, and the reaction to a marked
 * packet and to a congestion notification packet (CNP). The test itself is the peer, and builds its
 * packets.
 *
 * timeout: 90
 * paths: wire
 */
#include "harness.h"
#include "line.h"

#define PSN	VT_LINE_PSN
#define MTU	256
#define UC	0x20
#define UD_SEND	0x64

/* ECN bits */
#define ECT_1	1
#define ECT_0	2
#define CE	3
#define ECN	3

/* In packets: the initial window, how much it grows after a mark, and its minimum */
#define START	128
#define STEP	16
#define LEAST	16

#define MESSAGE	(8000 * MTU)

/* The initial window: more than the stack takes of one QP */
#define BULK	(128 * 4096)
#define QUEUE	"tc qdisc add dev veth0 "

FIXTURE(ecn)
{
	struct vt_conf conf;
	struct vt_line l;
	struct ibv_context *ctx;
	struct vt_bth bth;
	struct vt_heard heard;
	struct ibv_sge sge;
	uint32_t last;
};

/* A QP of the type in self->conf, in place of another one */
static int open_ep(FIXTURE_DATA(ecn) *self)
{
	uint8_t tos = self->l.roce.tos;
	int ret;

	if (self->l.ep.qp)
		vt_line_close(&self->l);
	memset(&self->l, 0, sizeof(self->l));
	ret = vt_line_open(&self->l, &self->conf);
	if (ret)
		return ret;
	self->l.roce.tos = tos;
	self->ctx = self->l.ep.dev.ctx;
	self->bth = vt_line_bth(&self->l, 0, PSN);
	self->bth.ack_req = false;
	return 0;
}

FIXTURE_SETUP(ecn)
{
	self->conf = vt_defaults;
	self->conf.timeout = 0;
	self->conf.mtu = IBV_MTU_256;
	self->conf.buf_len = MESSAGE + 2 * VT_GUARD;
	self->conf.traffic_class |= ECT_0;
	VT_SETUP(open_ep(self));
}

FIXTURE_TEARDOWN(ecn)
{
	EXPECT_EQ(0, system("tc qdisc del dev veth0 root 2>/dev/null || true"));
	vt_line_close(&self->l);
}

static int post(FIXTURE_DATA(ecn) *self, uint32_t len)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, &self->sge);

	self->sge = vt_sge(&self->l.ep.buf, VT_GUARD, len);
	if (vt_is_ud(&self->l.ep))
		vt_wr_to_peer(&self->l.ep, &wr);
	return vt_post(&self->l.ep, &wr);
}

/* Count packets until no more arrive. self->last becomes the PSN of the last one. */
static int flight(FIXTURE_DATA(ecn) *self)
{
	int n;

	for (n = 0; vt_roce_hear(&self->l.roce, &self->heard, 100); n++)
		self->last = self->heard.bth.psn;
	return n;
}

/* -- which packets ask for marks */

static void expect_tos(struct __test_metadata *_metadata, FIXTURE_DATA(ecn) *self,
		       enum ibv_qp_type type, uint8_t asked, uint8_t expected)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	self->conf.qp_type = type;
	self->conf.traffic_class = asked;
	ASSERT_EQ(0, open_ep(self));
	ASSERT_EQ(0, post(self, MTU));
	ASSERT_TRUE(vt_roce_hear(&self->l.roce, &self->heard, 5000));
	EXPECT_EQ(expected, self->heard.tos)
		TH_LOG("type %d asked for %#x", type, asked);
	if (type != IBV_QPT_UD) {
		ASSERT_EQ(0, ibv_query_qp(self->l.ep.qp, &attr, IBV_QP_AV, &init));
		EXPECT_EQ(asked, attr.ah_attr.grh.traffic_class);
	}
	flight(self);
}

TEST_F(ecn, who_asks_for_marks)
{
	static const uint8_t dscps[] = { 0, 0x28, 0xfc };
	uint8_t dscp;
	int i, bits;

	for (i = 0; i < ARRAY_SIZE(dscps); i++)
		for (bits = 0; bits <= ECN; bits++) {
			dscp = dscps[i];
			expect_tos(_metadata, self, IBV_QPT_RC, dscp | bits,
				   bits ? dscp | ECT_0 : dscp);
			/* These have no window that marks could narrow. */
			expect_tos(_metadata, self, IBV_QPT_UC, dscp | bits, dscp);
			expect_tos(_metadata, self, IBV_QPT_UD, dscp | bits, dscp);
		}
}

/* -- the reaction to a mark */

/*
 * A WRITE of length 0, which needs no receive and no key. A WRITE may carry payload, so it counts
 * as data.
 */
static int send_data(FIXTURE_DATA(ecn) *self, uint8_t service)
{
	uint8_t reth[16] = {};

	self->bth.opcode = service | VT_OP_WRITE_ONLY;
	self->bth.psn++;
	return vt_roce_send(&self->l.roce, &self->bth, reth, sizeof(reth));
}

static bool hear_cnp(FIXTURE_DATA(ecn) *self, int timeout_ms)
{
	while (vt_roce_hear(&self->l.roce, &self->heard, timeout_ms))
		if (self->heard.bth.opcode == VT_OP_CNP)
			return true;
	return false;
}

static void expect_cnp(struct __test_metadata *_metadata, FIXTURE_DATA(ecn) *self, uint8_t tos)
{
	static const uint8_t zeros[16];

	ASSERT_TRUE(hear_cnp(self, 5000));
	EXPECT_EQ(tos, self->heard.tos);
	EXPECT_EQ(VT_LINE_QPN, self->heard.bth.qpn);
	EXPECT_EQ(VT_LINE_PKEY, self->heard.bth.pkey);
	EXPECT_EQ(0, self->heard.bth.flags);
	EXPECT_EQ(0, self->heard.bth.psn);
	EXPECT_FALSE(self->heard.bth.ack_req);
	EXPECT_TRUE(self->heard.becn);
	ASSERT_EQ(sizeof(zeros) + VT_ICRC_LEN, self->heard.len);
	EXPECT_EQ(0, memcmp(zeros, self->heard.data, sizeof(zeros)));
}

/* A17.9.3. The class is that of network control, as adapters have it by default. */
TEST_F(ecn, a_mark_is_told_of)
{
	int64_t sent, marked;

	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	sent = vt_counter_now(self->ctx, "np_cnp_sent");
	marked = vt_counter_now(self->ctx, "np_ecn_marked_roce_packets");
	self->l.roce.tos = 0x28 | CE;
	ASSERT_EQ(0, send_data(self, 0));
	expect_cnp(_metadata, self, 0xc0 | ECT_0);
	EXPECT_FALSE(hear_cnp(self, 50));
	EXPECT_EQ(sent + 1, vt_counter_now(self->ctx, "np_cnp_sent"));
	EXPECT_EQ(marked + 1, vt_counter_now(self->ctx, "np_ecn_marked_roce_packets"));
}

/* The CNP has the ECN bits of its QP's packets. */
TEST_F(ecn, a_cnp_asks_for_marks_if_its_qp_does)
{
	self->conf.traffic_class = 0x28;
	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	self->l.roce.tos = CE;
	ASSERT_EQ(0, send_data(self, 0));
	expect_cnp(_metadata, self, 0xc0);
}

TEST_F(ecn, no_mark_no_cnp)
{
	int64_t marked;
	int bits;

	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	marked = vt_counter_now(self->ctx, "np_ecn_marked_roce_packets");
	for (bits = 0; bits < CE; bits++) {
		self->l.roce.tos = 0xfc | bits;
		ASSERT_EQ(0, send_data(self, 0));
	}
	EXPECT_FALSE(hear_cnp(self, 50));
	EXPECT_EQ(marked, vt_counter_now(self->ctx, "np_ecn_marked_roce_packets"));
}

/* A forged packet, with a wrong ICRC or from another source, causes no CNP. */
TEST_F(ecn, what_is_dropped_draws_no_cnp)
{
	uint32_t good = self->l.roce.saddr;
	int64_t marked;

	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	marked = vt_counter_now(self->ctx, "np_ecn_marked_roce_packets");
	self->l.roce.tos = CE;
	self->l.roce.spoil_icrc = true;
	ASSERT_EQ(0, send_data(self, 0));
	self->l.roce.spoil_icrc = false;
	self->l.roce.saddr ^= htonl(0x40);
	ASSERT_EQ(0, send_data(self, 0));
	self->l.roce.saddr = good;
	EXPECT_FALSE(hear_cnp(self, 50));
	EXPECT_EQ(marked, vt_counter_now(self->ctx, "np_ecn_marked_roce_packets"));
}

/* A QP sends at most one CNP in 50 us, but not much less often */
TEST_F(ecn, marks_in_a_row)
{
	int64_t sent, marked;
	uint64_t us;
	int i, heard;

	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	sent = vt_counter_now(self->ctx, "np_cnp_sent");
	marked = vt_counter_now(self->ctx, "np_ecn_marked_roce_packets");
	self->l.roce.tos = CE;
	us = vt_now_us();
	for (i = 0; i < 3000; i++)
		ASSERT_EQ(0, send_data(self, 0));
	/* all were delivered when a later one has been */
	EXPECT_TRUE(vt_counter_wait(self->ctx, "np_ecn_marked_roce_packets", marked + 3000));
	us = vt_now_us() - us;
	for (heard = 0; hear_cnp(self, 20); heard++)
		;
	printf("# %d CNPs in %d us\n", heard, (int)us);
	EXPECT_EQ(sent + heard, vt_counter_now(self->ctx, "np_cnp_sent"));
	EXPECT_GE(us / 50 + 1, heard);
	EXPECT_LE(2, heard);
}

/* Bulk of the same QP in a queue that hardly drains does not delay a CNP: its class has another queue. */
TEST_F(ecn, a_cnp_passes_bulk)
{
	int64_t before;

	self->conf.mtu = IBV_MTU_4096;
	self->conf.buf_len = BULK + 2 * VT_GUARD;
	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	before = vt_counter_now(self->ctx, "tx_backpressure");
	ASSERT_EQ(0, system(QUEUE "root handle 1: prio && "
			    QUEUE "parent 1:2 tbf rate 8kbit burst 10kb limit 64mb && "
			    QUEUE "parent 1:3 tbf rate 8kbit burst 10kb limit 64mb"));
	ASSERT_EQ(0, post(self, BULK));
	/* The stack takes no more packets of this QP. */
	EXPECT_LT(before, vt_counter_now(self->ctx, "tx_backpressure"));
	self->l.roce.tos = CE;
	EXPECT_EQ(0, send_data(self, 0));
	EXPECT_TRUE(hear_cnp(self, 2000));
}

/* A marked ACK carries no data. It is only counted. */
TEST_F(ecn, marked_acknowledgements)
{
	static const uint8_t ack[4] = { 0x1f };
	int64_t marked;

	ASSERT_EQ(0, open_ep(self));
	marked = vt_counter_now(self->ctx, "np_ecn_marked_roce_packets");
	ASSERT_EQ(0, post(self, MTU));
	self->l.roce.tos = CE;
	self->bth.opcode = VT_OP_ACK;
	self->bth.psn = self->conf.sq_psn;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, ack, sizeof(ack)));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.scq, 1));
	EXPECT_FALSE(hear_cnp(self, 50));
	EXPECT_EQ(marked + 1, vt_counter_now(self->ctx, "np_ecn_marked_roce_packets"));
}

/* A UC QP has a peer, which may be an adapter that reacts to CNPs. A datagram only has a sender. */
TEST_F(ecn, unreliable_qps)
{
	uint32_t data[2] = { htonl(self->conf.qkey), htonl(VT_LINE_QPN) };
	int64_t marked;

	self->conf.qp_type = IBV_QPT_UC;
	ASSERT_EQ(0, open_ep(self));
	self->bth.psn = PSN - 1;
	self->l.roce.tos = CE;
	ASSERT_EQ(0, send_data(self, UC));
	expect_cnp(_metadata, self, 0xc0);

	self->conf.qp_type = IBV_QPT_UD;
	ASSERT_EQ(0, open_ep(self));
	marked = vt_counter_now(self->ctx, "np_ecn_marked_roce_packets");
	self->bth.opcode = UD_SEND;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data, sizeof(data)));
	EXPECT_FALSE(hear_cnp(self, 50));
	EXPECT_EQ(marked + 1, vt_counter_now(self->ctx, "np_ecn_marked_roce_packets"));
}

/* -- the reaction to a CNP */

static int send_cnp(FIXTURE_DATA(ecn) *self)
{
	return vt_roce_cnp(&self->l.roce, &self->bth);
}

/* Acknowledge all packets so far. Return: how many packets follow */
static int next_flight(FIXTURE_DATA(ecn) *self)
{
	if (vt_roce_ack(&self->l.roce, &self->bth, self->last))
		return -1;
	return flight(self);
}

/* A QP that has twice START packets in flight */
static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(ecn) *self)
{
	ASSERT_EQ(0, post(self, MESSAGE));
	ASSERT_EQ(START, flight(self));
	ASSERT_EQ(2 * START, next_flight(self));
}

/* The window is halved, and grows by a first step: all packets in flight have been acknowledged. */
TEST_F(ecn, a_cnp_is_obeyed)
{
	int64_t handled;
	int i, n;

	ASSERT_EQ(0, open_ep(self));
	begin(_metadata, self);
	handled = vt_counter_now(self->ctx, "rp_cnp_handled");
	ASSERT_EQ(0, send_cnp(self));
	EXPECT_EQ(handled + 1, vt_counter_now(self->ctx, "rp_cnp_handled"));
	n = next_flight(self);
	EXPECT_EQ(START + STEP, n);
	/* The window recovers. */
	for (i = 0; i < 5; i++)
		EXPECT_EQ(n + (i + 1) * STEP, next_flight(self));
}

/* CNPs for packets that were in flight at the first one: only the first has an effect. */
TEST_F(ecn, many_cnps_for_one_flight)
{
	int i;

	ASSERT_EQ(0, open_ep(self));
	begin(_metadata, self);
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, send_cnp(self));
	EXPECT_EQ(START + STEP, next_flight(self));
}

/* A peer that floods a QP with CNPs does not stop it: security.rst. */
TEST_F(ecn, cnps_without_end)
{
	int i, n = 0;

	ASSERT_EQ(0, open_ep(self));
	begin(_metadata, self);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, send_cnp(self));
		ASSERT_EQ(0, send_cnp(self));
		n = next_flight(self);
		ASSERT_LE(LEAST, n);
	}
	/* halved, and one step up; a little more while not all sent packets were marked */
	EXPECT_GT(LEAST + STEP + STEP / 2, n);
	/* The window recovers even so. */
	EXPECT_LT(n, next_flight(self));
}

static int send_odd_cnp(FIXTURE_DATA(ecn) *self, size_t len, uint8_t flags)
{
	static const uint8_t reserved[64];
	struct vt_bth bth = self->bth;

	bth.opcode = VT_OP_CNP;
	bth.flags = flags;
	bth.psn = 0;
	return vt_roce_send(&self->l.roce, &bth, reserved, len);
}

/* Each is counted, and none has an effect: the window keeps doubling. */
TEST_F(ecn, cnps_that_are_none)
{
	static const char * const counters[] = {
		"rx_bad_header", "rx_bad_icrc", "rx_wrong_source", "rx_unknown_qpn",
		"rx_bad_pkey",
	};
	uint32_t good = self->l.roce.saddr;
	struct vt_bth bth;
	int64_t before;
	int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		ASSERT_EQ(0, open_ep(self));
		begin(_metadata, self);
		before = vt_counter_now(self->ctx, counters[i]);
		bth = self->bth;
		self->l.roce.spoil_icrc = i == 1;
		if (i == 2)
			self->l.roce.saddr ^= htonl(0x40);
		if (i == 3)
			self->bth.qpn ^= 0x400000;
		if (i == 4)
			self->bth.pkey = 0x1234;
		ASSERT_EQ(0, send_odd_cnp(self, i == 0 ? 20 : 16, 0));
		self->bth = bth;
		self->l.roce.spoil_icrc = false;
		self->l.roce.saddr = good;
		EXPECT_TRUE(vt_counter_wait(self->ctx, counters[i], before + 1))
			TH_LOG("case %d", i);
		EXPECT_EQ(4 * START, next_flight(self))
			TH_LOG("case %d", i);
	}
}

/* Too short for the reserved octets: counted for no QP, like every truncated packet */
TEST_F(ecn, truncated_cnps)
{
	size_t len;

	ASSERT_EQ(0, open_ep(self));
	begin(_metadata, self);
	for (len = 0; len < 16; len += 4)
		ASSERT_EQ(0, send_odd_cnp(self, len, 0));
	/* a pad, and no payload that needs it */
	ASSERT_EQ(0, send_odd_cnp(self, 16, 3 << 4));
	EXPECT_EQ(4 * START, next_flight(self));
}

/* These have no window. */
TEST_F(ecn, cnps_for_unreliable_qps)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	int64_t ignored;
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		self->conf.qp_type = types[i];
		ASSERT_EQ(0, open_ep(self));
		ignored = vt_counter_now(self->ctx, "rp_cnp_ignored");
		ASSERT_EQ(0, send_cnp(self));
		EXPECT_TRUE(vt_counter_wait(self->ctx, "rp_cnp_ignored", ignored + 1));
		EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->l.ep.qp));
	}
}

/*
 * The requester sets the pace of a READ's data. So a mark on that data makes the requester ask for
 * less, and it also sends a CNP to its peer.
 */
TEST_F(ecn, marks_on_what_was_read)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_READ, 1, &self->sge);
	uint8_t data[4 + MTU] = { 0x1f };
	uint32_t i, n, asked;

	ASSERT_EQ(0, open_ep(self));
	self->sge = vt_sge(&self->l.ep.buf, VT_GUARD, MESSAGE);
	ASSERT_EQ(0, vt_post(&self->l.ep, &wr));
	ASSERT_TRUE(vt_roce_hear(&self->l.roce, &self->heard, 5000));
	ASSERT_EQ(VT_OP_READ_REQUEST, self->heard.bth.opcode);
	memcpy(&asked, self->heard.data + 12, 4);
	n = ntohl(asked) / MTU;
	ASSERT_EQ(START, n);
	for (i = 0; i < n; i++) {
		self->bth.opcode = !i ? VT_OP_READ_RESPONSE_FIRST : i + 1 < n ?
			VT_OP_READ_RESPONSE_MIDDLE : VT_OP_READ_RESPONSE_LAST;
		self->bth.psn = self->conf.sq_psn + i;
		self->l.roce.tos = i == n / 2 ? CE : ECT_0;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth,
					  self->bth.opcode == VT_OP_READ_RESPONSE_MIDDLE ?
					  data + 4 : data,
					  self->bth.opcode == VT_OP_READ_RESPONSE_MIDDLE ?
					  MTU : 4 + MTU));
	}
	expect_cnp(_metadata, self, 0xc0 | ECT_0);
	ASSERT_TRUE(vt_roce_hear(&self->l.roce, &self->heard, 5000));
	ASSERT_EQ(VT_OP_READ_REQUEST, self->heard.bth.opcode);
	memcpy(&asked, self->heard.data + 12, 4);
	EXPECT_EQ(START / 2, ntohl(asked) / MTU);
}

VT_HARNESS_MAIN
