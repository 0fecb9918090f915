// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that no peer would send: truncated, malformed, with unknown sources or destinations, and valid ones whose
 * requests must be refused.
 *
 * The victim is a QP whose peer is at the other end of the wire, where no device is: all packets that arrive are made
 * here. Its buffer and its state are checked after each group of packets, and a healthy pair on the same device must
 * still work.
 *
 * timeout: 60
 * boot: kmemleak
 * paths: wire
 */
#include "harness.h"
#include "line.h"

#define PSN	VT_LINE_PSN
#define PKEY	VT_LINE_PKEY

FIXTURE(packet)
{
	struct vt_line l;
	struct vt_pair healthy;
	/* to the victim, as its peer would send it */
	struct vt_bth bth;
};

FIXTURE_SETUP(packet)
{
	VT_SETUP(vt_line_open(&self->l, &VT_CONF(.timeout = 0)));
	VT_SETUP(vt_pair_open(&self->healthy, &vt_defaults));
	self->bth = vt_line_bth(&self->l, VT_OP_SEND_ONLY, PSN);
}

FIXTURE_TEARDOWN(packet)
{
	vt_pair_close(&self->healthy);
	vt_line_close(&self->l);
}

/*
 * Wait until the victim has seen all packets that were sent to it: send a duplicate, which arrives after them and
 * changes nothing. A victim that needs no more packets is in the error state.
 */
static void expect_delivery(struct __test_metadata *_metadata,
			    FIXTURE_DATA(packet) *self)
{
	struct ibv_context *ctx = self->l.ep.dev.ctx;
	int64_t before = vt_counter_now(ctx, "duplicate_requests");
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	struct vt_roce roce = self->l.roce;
	struct vt_bth again = vt_line_bth(&self->l, VT_OP_SEND_ONLY, PSN - 1);

	roce.spoil_icrc = false;
	ASSERT_EQ(0, vt_roce_send(&roce, &again, NULL, 0));
	while (vt_counter(ctx, "duplicate_requests") == before &&
	       vt_qp_state(self->l.ep.qp) != IBV_QPS_ERR)
		ASSERT_GT(end, vt_now_ms()) TH_LOG("nothing is delivered");
}

/* Nothing was written, and the healthy pair works. */
static void expect_no_harm(struct __test_metadata *_metadata,
			   FIXTURE_DATA(packet) *self)
{
	struct vt_buf *buf = &self->l.ep.buf;

	expect_delivery(_metadata, self);
	EXPECT_TRUE(vt_check("victim", buf->p, buf->len, buf->seed, 0));
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

/*
 * The victim's state did not change: it accepts the packet that it expects
 * next.
 */
static void expect_unnoticed(struct __test_metadata *_metadata,
			     FIXTURE_DATA(packet) *self)
{
	struct vt_bth good = vt_line_bth(&self->l, VT_OP_SEND_ONLY, PSN);

	expect_no_harm(_metadata, self);
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->l.ep.qp));
	ASSERT_EQ(0, vt_post_recv(&self->l.ep, 5, NULL, 0));
	self->l.roce.spoil_icrc = false;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &good, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.rcq, 5));
}

/* The baseline: an unspoiled packet made here is accepted. */
TEST_F(packet, good_packets_are_taken)
{
	struct vt_buf *buf = &self->l.ep.buf;
	struct ibv_sge to = vt_sge(buf, VT_GUARD, 100);
	uint8_t data[100];
	struct ibv_wc wc;

	vt_fill(data, sizeof(data), 3, 0);
	ASSERT_EQ(0, vt_post_recv(&self->l.ep, 1, &to, 1));
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data, sizeof(data)));
	ASSERT_EQ(0, vt_wait(self->l.ep.rcq, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(sizeof(data), wc.byte_len);
	EXPECT_TRUE(vt_check_sges(&to, 1, sizeof(data), 3));
	EXPECT_TRUE(vt_buf_restore(buf, &to, 1, sizeof(data)));
}

TEST_F(packet, every_short_length)
{
	uint8_t data[81];
	size_t len;
	int fill;

	for (fill = 0; fill < 3; fill++)
		for (len = 0; len <= 80; len++) {
			memset(data, fill == 1 ? 0xff : 0, sizeof(data));
			if (fill == 2)
				vt_fill(data, sizeof(data), len, 0);
			ASSERT_EQ(0, vt_inject_bytes(&self->l.roce, false, data, len));
		}
	expect_unnoticed(_metadata, self);
}

/* The BTH is right, but the rest of the packet is truncated. */
TEST_F(packet, every_opcode_truncated)
{
	uint8_t data[VT_BTH_LEN + 64];
	uint32_t word;
	int opcode;
	size_t len;

	for (opcode = 0; opcode < 256; opcode++)
		for (len = VT_BTH_LEN; len < VT_BTH_LEN + VT_ICRC_LEN + 28;
		     len += 4) {
			memset(data, 0, sizeof(data));
			word = htonl(opcode << 24 | PKEY);
			memcpy(data, &word, 4);
			word = htonl(self->bth.qpn);
			memcpy(data + 4, &word, 4);
			word = htonl(PSN);
			memcpy(data + 8, &word, 4);
			ASSERT_EQ(0, vt_inject_bytes(&self->l.roce, false, data, len));
		}
	expect_unnoticed(_metadata, self);
}

TEST_F(packet, random_bytes)
{
	uint32_t seed = vt_seed();
	uint8_t data[1500];
	int i;

	for (i = 0; i < 2000; i++) {
		vt_fill(data, sizeof(data), seed + i, 0);
		ASSERT_EQ(0, vt_inject_bytes(&self->l.roce, false, data,
					      (seed + 37 * i) % sizeof(data)));
	}
	expect_unnoticed(_metadata, self);
}

/*
 * Without a receive, a packet that is accepted would be answered by an RNR NAK, which leaves no trace in the victim. So
 * check the counters.
 */
#define EXPECT_DROPPED(name, before, rnr, n) do {				\
	struct ibv_context *_ctx = self->l.ep.dev.ctx;			\
										\
	EXPECT_TRUE(vt_counter_wait(_ctx, name, (before) + (n)));		\
	EXPECT_EQ(rnr, vt_counter_now(_ctx, "rnr_tx"));				\
} while (0)

TEST_F(packet, icrc_wrong)
{
	int64_t before = vt_counter_now(self->l.ep.dev.ctx, "rx_bad_icrc");
	int64_t rnr = vt_counter(self->l.ep.dev.ctx, "rnr_tx");
	int i;

	self->l.roce.spoil_icrc = true;
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, "abcd", 4));
	EXPECT_DROPPED("rx_bad_icrc", before, rnr, 20);
	expect_unnoticed(_metadata, self);
}

TEST_F(packet, for_nobody)
{
	static const uint32_t qpns[] = { 0, 1, 2, 0xffffff, 0xfffffe, 0x800000 };
	int i, opcode;

	for (i = 0; i < ARRAY_SIZE(qpns); i++)
		for (opcode = 0; opcode < 256; opcode++) {
			self->bth.qpn = qpns[i];
			if (qpns[i] == self->l.ep.qp->qp_num)
				continue;
			self->bth.opcode = opcode;
			ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth,
						  "12345678", 8));
		}
	expect_unnoticed(_metadata, self);
}

/* Everything is right except the source address. */
TEST_F(packet, from_another_address)
{
	uint32_t good = self->l.roce.saddr;
	int opcode;

	self->l.roce.saddr ^= htonl(0x40);
	for (opcode = 0; opcode < 32; opcode++) {
		self->bth.opcode = opcode;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth,
					  "0123456789abcdef", 16));
	}
	self->l.roce.saddr = good;
	expect_unnoticed(_metadata, self);
}

/* The healthy pair's peer is not at the other end of the wire. */
TEST_F(packet, for_a_qp_with_another_peer)
{
	int opcode;

	self->bth.qpn = self->healthy.b.qp->qp_num;
	self->bth.psn = vt_defaults.sq_psn;
	for (opcode = 0; opcode < 32; opcode++) {
		self->bth.opcode = opcode;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth,
					  "0123456789abcdef", 16));
	}
	expect_unnoticed(_metadata, self);
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->healthy.b.qp));
}

TEST_F(packet, pkey_of_another_partition)
{
	static const uint16_t pkeys[] = { 0x0001, 0x8001, 0x1234, 0xfffe };
	int64_t before = vt_counter_now(self->l.ep.dev.ctx, "rx_bad_pkey");
	int64_t rnr = vt_counter(self->l.ep.dev.ctx, "rnr_tx");
	int i;

	for (i = 0; i < ARRAY_SIZE(pkeys); i++) {
		self->bth.pkey = pkeys[i];
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	}
	EXPECT_DROPPED("rx_bad_pkey", before, rnr, ARRAY_SIZE(pkeys));
	expect_unnoticed(_metadata, self);
}

/* BTH version, reserved transports, other services than the QP's. */
TEST_F(packet, of_another_transport)
{
	int opcode;

	for (opcode = 0x20; opcode < 256; opcode++) {
		self->bth.opcode = opcode;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth,
					  "0123456789abcdef", 16));
	}
	self->bth.opcode = VT_OP_SEND_ONLY;
	self->bth.flags = 1;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	self->bth.flags = 15;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	expect_unnoticed(_metadata, self);
}

/*
 * Requests with PSNs that are not expected change nothing. One NAK answers those ahead; those behind
 * are duplicates, and one is out of reach.
 */
TEST_F(packet, psn_out_of_order)
{
	static const int32_t jumps[] = {
		1, 2, 1000, 0x7fffff, 0x800000, -1, -2, -1000,
	};
	static const struct {
		const char *name;
		int more;
	} counts[] = {
		{ "naks_tx", 1 }, { "out_of_sequence", 3 }, { "rx_wrong_psn", 1 },
		/* and that of expect_delivery() */
		{ "duplicate_requests", 4 + 1 },
	};
	struct ibv_context *ctx = self->l.ep.dev.ctx;
	int64_t before[ARRAY_SIZE(counts)];
	int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		before[i] = vt_counter_now(ctx, counts[i].name);
	ASSERT_EQ(0, vt_post_recv(&self->l.ep, 9, NULL, 0));
	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		self->bth.psn = PSN + jumps[i];
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	}
	expect_no_harm(_metadata, self);
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->l.ep.qp));
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		EXPECT_EQ(before[i] + counts[i].more, vt_counter_now(ctx, counts[i].name))
			TH_LOG("%s", counts[i].name);
	self->bth.psn = PSN;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.rcq, 9));
}

/*
 * A PSN that no peer could have reached causes no answer: most guessed PSNs are such. A PSN in reach may follow a lost
 * packet, and causes a NAK.
 */
TEST_F(packet, psn_out_of_reach)
{
	static const struct {
		uint32_t ahead;
		bool answered;
	} jumps[] = {
		{ 0x10001, false }, { 0x7fffff, false }, { 0x400000, false }, { 0x10000, true },
	};
	struct ibv_context *ctx = self->l.ep.dev.ctx;
	int64_t sent, dropped;
	int i;

	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		sent = vt_counter_now(ctx, "naks_tx");
		dropped = vt_counter_now(ctx, "rx_wrong_psn");
		self->bth.psn = PSN + jumps[i].ahead;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
		expect_delivery(_metadata, self);
		EXPECT_EQ(sent + jumps[i].answered, vt_counter_now(ctx, "naks_tx"));
		EXPECT_EQ(dropped + !jumps[i].answered, vt_counter_now(ctx, "rx_wrong_psn"));
	}
	expect_unnoticed(_metadata, self);
}

/* A duplicate READ is answered only while the QP allows READs. */
TEST_F(packet, repeated_read)
{
	struct vt_buf *buf = &self->l.ep.buf;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	uint64_t va = (uintptr_t)buf->p;
	uint32_t reth[4] = {
		htonl(va >> 32), htonl(va), htonl(buf->mr->rkey), htonl(64),
	};
	struct vt_heard heard;
	int i;

	self->bth.opcode = VT_OP_READ_REQUEST;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, reth,
					  sizeof(reth)));
		ASSERT_TRUE(vt_roce_hear(&self->l.roce, &heard, VT_TIMEOUT_MS));
		EXPECT_EQ(VT_OP_READ_RESPONSE_ONLY, heard.bth.opcode);
	}
	ASSERT_EQ(0, ibv_modify_qp(self->l.ep.qp, &attr,
				   IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, reth, sizeof(reth)));
	/* The next answer is that of a duplicate sent after it. */
	self->bth.opcode = VT_OP_SEND_ONLY;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	ASSERT_TRUE(vt_roce_hear(&self->l.roce, &heard, VT_TIMEOUT_MS));
	EXPECT_EQ(VT_OP_ACK, heard.bth.opcode);
	expect_no_harm(_metadata, self);
}

/* Answers to requests that were not sent. */
TEST_F(packet, answers_unasked)
{
	static const uint8_t opcodes[] = { 13, 14, 15, 16, 17, 18 };
	uint8_t data[256];
	int i, syndrome;

	memset(data, 0, sizeof(data));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		for (syndrome = 0; syndrome < 256; syndrome++) {
			self->bth.opcode = opcodes[i];
			self->bth.psn = self->l.conf.sq_psn + syndrome % 3 - 1;
			data[0] = syndrome;
			ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data,
						  syndrome % 2 ? 12 : 256));
		}
	expect_unnoticed(_metadata, self);
}

/* The NAK of a READ overtakes the data: it is accepted, and data that follows is not. */
TEST_F(packet, nak_overtakes_data)
{
	size_t len = 4 * vt_mtu_bytes(self->l.conf.mtu);
	struct ibv_sge sge = vt_sge(&self->l.ep.buf, VT_GUARD, len);
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_READ, 7, &sge);
	const uint8_t remote_access[4] = { 0x62 };

	ASSERT_EQ(0, vt_post(&self->l.ep, &wr));
	self->bth.opcode = VT_OP_ACK;
	self->bth.psn = self->l.conf.sq_psn + 3;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, remote_access,
				  sizeof(remote_access)));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_status(self->l.ep.scq, 7));
	expect_no_harm(_metadata, self);
}

/* -- requests that are in order, but must be refused */

struct reth {
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
} __attribute__((packed));

struct atomic_eth {
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
} __attribute__((packed));

/* Send it, check that it did no harm and that the victim is in @state, and connect the victim again. */
static void expect_state(struct __test_metadata *_metadata,
			 FIXTURE_DATA(packet) *self, const void *data,
			 size_t len, enum ibv_qp_state state)
{
	ASSERT_EQ(0, vt_post_recv(&self->l.ep, 1, NULL, 0));
	self->bth.psn = PSN;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data, len));
	expect_no_harm(_metadata, self);
	EXPECT_EQ(state, vt_qp_state(self->l.ep.qp))
		TH_LOG("opcode %d, %zu bytes", self->bth.opcode, len);
	ASSERT_EQ(0, vt_line_reset(&self->l));
	while (!vt_no_completion(self->l.ep.rcq, 1))
		;
}

static void expect_refused(struct __test_metadata *_metadata,
			   FIXTURE_DATA(packet) *self, const void *data,
			   size_t len)
{
	expect_state(_metadata, self, data, len, IBV_QPS_ERR);
}

/* A packet that is not understood, or an unsolicited answer, is not answered. */
static void expect_dropped(struct __test_metadata *_metadata,
			   FIXTURE_DATA(packet) *self, const void *data,
			   size_t len)
{
	expect_state(_metadata, self, data, len, IBV_QPS_RTS);
}

static struct reth reth_of(FIXTURE_DATA(packet) *self, uint32_t len)
{
	return (struct reth){
		.va = htobe64((uintptr_t)self->l.ep.buf.p + VT_GUARD),
		.rkey = htonl(self->l.ep.buf.mr->rkey),
		.len = htonl(len),
	};
}

TEST_F(packet, read_of_too_much)
{
	static const uint32_t lens[] = {
		0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 1 << 20,
	};
	struct reth reth;
	int i;

	self->bth.opcode = VT_OP_READ_REQUEST;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		reth = reth_of(self, lens[i]);
		expect_refused(_metadata, self, &reth, sizeof(reth));
	}
}

TEST_F(packet, reth_out_of_bounds)
{
	static const uint8_t opcodes[] = {
		VT_OP_READ_REQUEST, VT_OP_WRITE_ONLY, VT_OP_WRITE_FIRST,
	};
	uint8_t data[sizeof(struct reth) + 1024];
	struct reth reth;
	int i, how;

	memset(data, 0x77, sizeof(data));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		for (how = 0; how < 5; how++) {
			self->bth.opcode = opcodes[i];
			reth = reth_of(self, 1024);
			if (how == 0)
				reth.va = htobe64((uintptr_t)self->l.ep.buf.p +
						  self->l.ep.buf.len - 1023);
			if (how == 1)
				reth.va = htobe64((uintptr_t)self->l.ep.buf.p - 1);
			if (how == 2)
				reth.va = ~0ull;
			if (how == 3)
				reth.rkey ^= htonl(0x100);
			if (how == 4)
				reth.va = 0;
			memcpy(data, &reth, sizeof(reth));
			expect_refused(_metadata, self, data,
				       opcodes[i] == VT_OP_READ_REQUEST ?
				       sizeof(reth) : sizeof(data));
		}
}

/* The payload does not fit the RETH's length, or the packet's position. */
TEST_F(packet, write_of_another_length)
{
	static const struct { uint8_t opcode; uint32_t dma, len; } tries[] = {
		{ VT_OP_WRITE_ONLY, 0, 4 },
		{ VT_OP_WRITE_ONLY, 100, 96 },
		{ VT_OP_WRITE_ONLY, 96, 100 },
		{ VT_OP_WRITE_ONLY, 1 << 31, 4 },
		{ VT_OP_WRITE_FIRST, 2048, 1020 },
		{ VT_OP_WRITE_FIRST, 2048, 1028 },
		{ VT_OP_WRITE_FIRST, 100, 1024 },
		{ VT_OP_WRITE_FIRST, 2048, 0 },
		{ VT_OP_WRITE_MIDDLE, 0, 1024 },
		{ VT_OP_WRITE_LAST, 0, 4 },
		{ VT_OP_WRITE_ONLY, 4096, 4096 },
		{ VT_OP_WRITE_ONLY, 8000, 8000 },
	};
	uint8_t data[VT_MAX_PAYLOAD];
	struct reth reth;
	size_t i, head;

	/* a part may be written, with the bytes that are in the memory already */
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		reth = reth_of(self, tries[i].dma);
		memcpy(data, &reth, sizeof(reth));
		head = tries[i].opcode == VT_OP_WRITE_MIDDLE ||
		       tries[i].opcode == VT_OP_WRITE_LAST ? 0 : sizeof(reth);
		vt_fill(data + head, sizeof(data) - head,
			self->l.ep.buf.seed, VT_GUARD);
		self->bth.opcode = tries[i].opcode;
		expect_refused(_metadata, self, data, head + tries[i].len);
	}
}

TEST_F(packet, atomic_without_its_header)
{
	struct atomic_eth eth = {
		.va = htobe64((uintptr_t)self->l.ep.buf.p + VT_GUARD),
		.rkey = htonl(self->l.ep.buf.mr->rkey),
		.swap_add = ~0ull,
	};
	size_t len;

	for (len = 0; len < sizeof(eth); len += 4) {
		self->bth.opcode = VT_OP_CMP_SWAP;
		expect_dropped(_metadata, self, &eth, len);
		self->bth.opcode = VT_OP_FETCH_ADD;
		expect_dropped(_metadata, self, &eth, len);
	}
	/* complete, but misaligned */
	eth.va = htobe64((uintptr_t)self->l.ep.buf.p + VT_GUARD + 4);
	expect_refused(_metadata, self, &eth, sizeof(eth));
}

/*
 * More than the path MTU in one packet; a pad that is longer than the payload.
 */
TEST_F(packet, oversize_and_overpadded)
{
	static const size_t lens[] = { 1028, 4096, VT_MAX_PAYLOAD };
	uint8_t data[VT_MAX_PAYLOAD] = "";
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		expect_refused(_metadata, self, data, lens[i]);
	for (i = 1; i < 4; i++) {
		self->bth.flags = i << 4;
		expect_dropped(_metadata, self, NULL, 0);
	}
	self->bth.opcode = VT_OP_ACK;
	self->bth.flags = 3 << 4;
	expect_dropped(_metadata, self, data, 4);
}

/* IBTA 9.7.5.1.1: a gap causes one NAK, whatever packets follow. */
TEST_F(packet, one_nak_for_a_gap)
{
	struct ibv_context *ctx = self->l.ep.dev.ctx;
	int64_t naks = vt_counter_now(ctx, "naks_tx");
	int64_t behind = vt_counter(ctx, "out_of_sequence");
	int i;

	if (naks < 0)
		SKIP(return, "the device does not count its NAKs");
	for (i = 1; i <= 5; i++) {
		self->bth.psn = PSN + i;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	}
	EXPECT_TRUE(vt_counter_wait(ctx, "out_of_sequence", behind + 5));
	EXPECT_EQ(naks + 1, vt_counter(ctx, "naks_tx"));
	expect_unnoticed(_metadata, self);
}

/*
 * A message that begins twice, ends before its beginning, or changes its
 * opcode.
 */
TEST_F(packet, opcodes_out_of_sequence)
{
	static const uint8_t pairs[][2] = {
		{ VT_OP_SEND_FIRST, VT_OP_SEND_FIRST },
		{ VT_OP_SEND_FIRST, VT_OP_SEND_ONLY },
		{ VT_OP_SEND_FIRST, VT_OP_WRITE_MIDDLE },
		{ VT_OP_SEND_FIRST, VT_OP_READ_REQUEST },
		{ VT_OP_SEND_MIDDLE, VT_OP_SEND_LAST },
		{ VT_OP_SEND_LAST, VT_OP_SEND_ONLY },
		{ VT_OP_WRITE_FIRST, VT_OP_SEND_LAST },
		{ VT_OP_WRITE_FIRST, VT_OP_WRITE_ONLY },
		{ VT_OP_WRITE_FIRST, VT_OP_FETCH_ADD },
	};
	uint8_t data[sizeof(struct reth) + 1024];
	struct reth reth = reth_of(self, 2048);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		bool write = pairs[i][0] == VT_OP_WRITE_FIRST;

		memcpy(data, &reth, sizeof(reth));
		vt_fill(data + sizeof(reth), 1024, self->l.ep.buf.seed,
			VT_GUARD);
		self->bth.opcode = pairs[i][0];
		self->bth.psn = PSN;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data,
					  1024 + (write ? sizeof(reth) : 0)));
		self->bth.opcode = pairs[i][1];
		self->bth.psn = PSN + 1;
		ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data, 28));
		expect_no_harm(_metadata, self);
		ASSERT_EQ(0, vt_line_reset(&self->l));
	}
}

/* Right ICRC, QP and PSN; everything else is random. */
TEST_F(packet, random_requests_in_order)
{
	uint32_t seed = vt_seed(), x;
	uint8_t data[1100];
	int i, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 30; i++) {
			x = (seed + round * 100 + i) * 2654435761u;
			vt_fill(data, sizeof(data), x, 0);
			self->bth.opcode = x >> 27;
			self->bth.flags = x >> 8 & 0xf0;
			self->bth.ack_req = x >> 16 & 1;
			self->bth.psn = PSN + i;
			ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, data,
						  (x & 0xfff) % sizeof(data) & ~3u));
		}
		usleep(2000);
		ASSERT_EQ(0, vt_line_reset(&self->l));
	}
	expect_no_harm(_metadata, self);
}

VT_HARNESS_MAIN
