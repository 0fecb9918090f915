// SPDX-License-Identifier: GPL-2.0
/*
 * congestion_control=dcqcn: congestion notification packets (CNP) lower the rate at which a requester
 * sends, and without them it rises again. The test itself is the peer, and builds its packets; or
 * netem marks the packets of two QPs.
 *
 * timeout: 120
 * paths: wire
 * params: congestion_control=dcqcn
 */
#include "harness.h"
#include "line.h"

#define MTU	256
#define ECT_0	2
#define MESSAGE	(8000 * MTU)

/* The initial window, in packets */
#define START	128

/* CNPs that bring any rate down to the least */
#define CNPS	30

/* The least rate, kbit/s, and what counts as more than that, and as much more */
#define LEAST_KBPS	1000
#define MORE_KBPS	1500
#define MUCH_KBPS	6000

/* Bits that a packet counts, of MTU and headers */
#define PACKET_BITS	((MTU + 64) * 8)

FIXTURE(rate)
{
	struct vt_line l;
	struct vt_bth bth;
	struct vt_heard heard;
	uint32_t last;
	int missing;
};

FIXTURE_SETUP(rate)
{
	struct vt_conf conf = vt_defaults;

	conf.timeout = 0;
	conf.mtu = IBV_MTU_256;
	conf.buf_len = MESSAGE + 2 * VT_GUARD;
	conf.traffic_class |= ECT_0;
	VT_SETUP(vt_line_open(&self->l, &conf));
	self->bth = vt_line_bth(&self->l, 0, 0);
	self->missing = MESSAGE / MTU;
}

FIXTURE_TEARDOWN(rate)
{
	vt_line_close(&self->l);
}

static int post(FIXTURE_DATA(rate) *self)
{
	struct ibv_sge sge = vt_sge(&self->l.ep.buf, VT_GUARD, MESSAGE);
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, &sge);

	return vt_post(&self->l.ep, &wr);
}

/* The next packet, if one arrives in time */
static bool hear(FIXTURE_DATA(rate) *self, int timeout_ms)
{
	if (!vt_roce_hear(&self->l.roce, &self->heard, timeout_ms))
		return false;
	self->last = self->heard.bth.psn;
	self->missing--;
	return true;
}

/* Count packets until none arrives for 100 ms. */
static int flight(FIXTURE_DATA(rate) *self)
{
	int n;

	for (n = 0; hear(self, 100); n++)
		;
	return n;
}

/* Hear what is in flight. If that is acknowledged, the next CNP is for other packets. */
static void drain(FIXTURE_DATA(rate) *self)
{
	while (hear(self, 1))
		;
}

/* Acknowledge all packets so far. */
static int ack(FIXTURE_DATA(rate) *self)
{
	return vt_roce_ack(&self->l.roce, &self->bth, self->last);
}

static int cnp(FIXTURE_DATA(rate) *self)
{
	return vt_roce_cnp(&self->l.roce, &self->bth);
}

/*
 * The limit of the QP's rate in kbit/s; -1: there is none. The tests compare this, and not what they
 * hear in some time: a busy machine hears late.
 */
static int limit_kbps(FIXTURE_DATA(rate) *self)
{
	return vt_qp_shown(self->l.ep.qp->qp_num, "drv_rate_kbps ");
}

/*
 * A QP that has so many packets in flight, and round trips of 100 ms and a little more. No packet has
 * waited. Twice START packets are about 4 Mbit/s.
 */
static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(rate) *self, int window)
{
	int n = START;

	ASSERT_EQ(0, post(self));
	ASSERT_EQ(n, flight(self));
	while (n < window) {
		n *= 2;
		ASSERT_EQ(0, ack(self));
		ASSERT_EQ(n, flight(self));
	}
}

/*
 * Each CNP halves the rate, which rises once before the next one, by half of that. In the end it is
 * the least one, and nothing more is sent.
 */
static void slow_down(struct __test_metadata *_metadata, FIXTURE_DATA(rate) *self)
{
	int64_t handled = vt_counter_now(self->l.ep.dev.ctx, "rp_cnp_handled");
	int i;

	begin(_metadata, self, 2 * START);
	EXPECT_EQ(-1, limit_kbps(self));
	for (i = 0; i < CNPS; i++) {
		ASSERT_EQ(0, ack(self));
		ASSERT_EQ(0, cnp(self));
		ASSERT_TRUE(vt_counter_wait(self->l.ep.dev.ctx, "rp_cnp_handled", handled + 1 + i));
		printf("# after CNP %d: %d kbit/s\n", i + 1, limit_kbps(self));
		drain(self);
	}
	flight(self);
}

/* The window stays as it is while the rate is limited. */
TEST_F(rate, a_mark_ends_slow_start)
{
	begin(_metadata, self, 2 * START);
	ASSERT_EQ(0, cnp(self));
	ASSERT_EQ(0, ack(self));
	EXPECT_EQ(2 * START, flight(self));
}

/*
 * A peer that sends CNPs does not stop the QP, either: security.rst. Packets come as fast as the
 * limit says, or later.
 */
TEST_F(rate, marks_lower_the_rate)
{
	uint64_t start;
	int i, kbps;

	slow_down(_metadata, self);
	ASSERT_EQ(0, cnp(self));
	start = vt_now_us();
	ASSERT_EQ(0, ack(self));
	for (i = 0; i < START; i++)
		ASSERT_TRUE(hear(self, VT_TIMEOUT_MS));
	start = vt_now_us() - start;
	kbps = limit_kbps(self);
	printf("# %d kbit/s; %d packets took %d us\n", kbps, i, (int)start);
	EXPECT_GT(MORE_KBPS, kbps);
	EXPECT_LE(LEAST_KBPS, kbps);
	EXPECT_LT(i * PACKET_BITS * 1000ULL / MUCH_KBPS, start);
}

/* All CNPs for packets that were in flight together lower the rate once. */
TEST_F(rate, many_cnps_for_one_flight)
{
	int64_t handled = vt_counter_now(self->l.ep.dev.ctx, "rp_cnp_handled");
	int i, kbps;

	begin(_metadata, self, 2 * START);
	ASSERT_EQ(0, cnp(self));
	ASSERT_TRUE(vt_counter_wait(self->l.ep.dev.ctx, "rp_cnp_handled", handled + 1));
	kbps = limit_kbps(self);
	EXPECT_LT(0, kbps);
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, cnp(self));
	ASSERT_TRUE(vt_counter_wait(self->l.ep.dev.ctx, "rp_cnp_handled", handled + 1 + i));
	EXPECT_EQ(kbps, limit_kbps(self));
}

/* Fast recovery: with each round trip, half-way back to the rate before the CNP */
TEST_F_TIMEOUT(rate, without_marks_it_rises, 60)
{
	int64_t handled = vt_counter_now(self->l.ep.dev.ctx, "rp_cnp_handled");
	uint64_t end;
	int low, kbps;

	begin(_metadata, self, 2 * START);
	ASSERT_EQ(0, cnp(self));
	ASSERT_TRUE(vt_counter_wait(self->l.ep.dev.ctx, "rp_cnp_handled", handled + 1));
	low = limit_kbps(self);
	EXPECT_LT(0, low);
	end = vt_now_ms() + VT_TIMEOUT_MS;
	do {
		ASSERT_EQ(0, ack(self));
		ASSERT_TRUE(hear(self, VT_TIMEOUT_MS));
		drain(self);
		kbps = limit_kbps(self);
		printf("# %d kbit/s\n", kbps);
	} while (kbps >= 0 && kbps < low * 9 / 5 && self->missing && vt_now_ms() < end);
	EXPECT_TRUE(kbps == -1 || kbps >= low * 9 / 5);
	do {
		ASSERT_EQ(0, ack(self));
	} while (self->missing && hear(self, VT_TIMEOUT_MS));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.scq, 1));
}

/* -- two QPs, and a network that marks some of their packets */

FIXTURE(marked)
{
	struct vt_pair pair;
};

FIXTURE_SETUP(marked)
{
	struct vt_conf conf = vt_defaults;

	conf.traffic_class |= ECT_0;
	conf.mtu = IBV_MTU_1024;
	conf.buf_len = 2 * MIB;
	VT_SETUP(system("modprobe sch_netem 2>/dev/null || true"));
	VT_SETUP(system("tc qdisc replace dev lo root netem limit 10000 loss 5% ecn"));
	VT_SETUP(vt_pair_open(&self->pair, &conf));
}

FIXTURE_TEARDOWN(marked)
{
	vt_pair_close(&self->pair);
	EXPECT_EQ(0, system("tc qdisc del dev lo root"));
}

TEST_F(marked, data_is_right)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	static const size_t lens[] = { 1, 1024, 100 * 1024, MIB };
	struct ibv_context *ctx = self->pair.a.dev.ctx;
	int64_t handled = vt_counter_now(ctx, "rp_cnp_handled");
	struct vt_xfer x = { .src_sges = 1, .dst_sges = 1 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++) {
			x.op = ops[i];
			x.len = lens[j];
			ASSERT_TRUE(vt_transfer(&self->pair, &x))
				TH_LOG("%s of %zu bytes", vt_op_name(x.op), x.len);
		}
	EXPECT_TRUE(vt_pair_works(&self->pair));
	EXPECT_LT(handled, vt_counter_now(ctx, "rp_cnp_handled"));
}

VT_HARNESS_MAIN
