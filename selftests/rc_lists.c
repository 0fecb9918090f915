// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of work requests. Consecutive messages of one packet are sent in one train, and one answer acknowledges them
 * all. If one of them fails, the messages before it succeed, it completes as if it had been alone, and those after it
 * have no effect.
 *
 * timeout: 60
 * paths: host wire veth
 */
#include "harness.h"
#include "never.h"
#include "region.h"

#define N	32
#define SLOT	4096
#define LEN	(N * SLOT)
#define SHORT	8
#define MTU	1024
#define QUIET	0xee
/* Long enough for a retry to a receiver that is not ready */
#define WHILE_MS	50

FIXTURE(lists)
{
	struct vt_conf conf;
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct ibv_send_wr wr[N];
	struct ibv_sge sge[N];
	int n;
};

FIXTURE_VARIANT(lists)
{
	enum ibv_qp_type type;
	bool wr_api;
};

FIXTURE_VARIANT_ADD(lists, rc)
{
	.type = IBV_QPT_RC,
};

FIXTURE_VARIANT_ADD(lists, rc_wr_api)
{
	.type = IBV_QPT_RC,
	.wr_api = true,
};

FIXTURE_VARIANT_ADD(lists, uc)
{
	.type = IBV_QPT_UC,
};

FIXTURE_SETUP(lists)
{
	self->conf = vt_defaults;
	self->conf.qp_type = variant->type;
	self->conf.wr_api = variant->wr_api;
	self->conf.mtu = IBV_MTU_1024;
	self->conf.depth = N;
	self->conf.buf_len = LEN;
	self->conf.inline_len = SHORT;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
}

FIXTURE_TEARDOWN(lists)
{
	vt_pair_close(&self->pair);
}

static uint8_t *slot(struct vt_ep *ep, int i)
{
	return ep->buf.p + i * SLOT;
}

/* The slot at the receiver of message @i */
static struct ibv_sge room_of(FIXTURE_DATA(lists) *self, int i)
{
	return vt_sge(&self->b->buf, i * SLOT, SLOT);
}

/* Add a message to the list; its bytes belong in the slot of its number */
static void add_wr(FIXTURE_DATA(lists) *self, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge room = room_of(self, self->n);
	int i = self->n++;

	vt_fill(slot(self->a, i), len, i, 0);
	memset(slot(self->b, i), QUIET, SLOT);
	self->sge[i] = vt_sge(&self->a->buf, i * SLOT, len);
	self->wr[i] = (struct ibv_send_wr){
		.wr_id = i, .sg_list = &self->sge[i], .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(i),
		.wr.rdma.remote_addr = room.addr, .wr.rdma.rkey = room.lkey,
	};
	if (i)
		self->wr[i - 1].next = &self->wr[i];
}

/* The same, and post its receive */
static int add(FIXTURE_DATA(lists) *self, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge room = room_of(self, self->n);

	add_wr(self, op, len);
	return vt_op_receives(op) ? vt_post_recv(self->b, self->n - 1, &room, 1) : 0;
}

/* Is slot @i unchanged from byte @from on? */
static bool untouched(FIXTURE_DATA(lists) *self, int i, uint32_t from)
{
	for (; from < SLOT; from++)
		if (slot(self->b, i)[from] != QUIET)
			return false;
	return true;
}

/* Has message @i arrived, and nothing else been written? */
static bool arrived(FIXTURE_DATA(lists) *self, int i)
{
	uint32_t len = self->sge[i].length;

	return untouched(self, i, len) && vt_check("message", slot(self->b, i), len, i, 0);
}

/* Post the list, and wait until each message has succeeded and, on UC, until the last one has arrived */
static void go(struct __test_metadata *_metadata, FIXTURE_DATA(lists) *self)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	struct ibv_wc wc;
	int i;

	ASSERT_EQ(0, vt_post(self->a, self->wr));
	for (i = 0; i < self->n; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, i));
	for (i = 0; i < self->n; i++) {
		if (vt_op_receives(self->wr[i].opcode)) {
			ASSERT_EQ(1, vt_poll(self->b->rcq, &wc, 1, VT_TIMEOUT_MS));
			EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
			EXPECT_EQ(i, wc.wr_id);
		}
		while (!arrived(self, i) && vt_now_ms() < end)
			;
		EXPECT_TRUE(arrived(self, i));
	}
}

static int64_t packets(struct vt_ep *ep, const char *counter)
{
	return vt_counter_now(ep->dev.ctx, counter);
}

/* As packets, many messages need one answer. If both ends are one device, its counters show the answers that it sent */
TEST_F(lists, alike)
{
	bool one = self->a->dev.ctx->device == self->b->dev.ctx->device;
	int64_t sent = packets(self->a, "tx_packets");
	int64_t answers = packets(self->a, "rx_packets");

	while (self->n < N)
		ASSERT_EQ(0, add(self, IBV_WR_RDMA_WRITE, SHORT));
	go(_metadata, self);
	sent = packets(self->a, "tx_packets") - sent;
	answers = one ? sent - N : packets(self->a, "rx_packets") - answers;
	if (sent) {
		EXPECT_LE(N, sent);
		EXPECT_GT(N / 4, answers);
	}
}

TEST_F(lists, of_all_lengths)
{
	static const uint32_t lens[] = {
		SHORT, SHORT, SHORT - 3, SHORT, 0, 0, 1, MTU, MTU, MTU - 1, MTU, MTU + 1, 3 * MTU,
		SHORT, SHORT, SHORT + 4, SLOT, SHORT,
	};
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM,
	};
	size_t op, i;

	for (op = 0; op < sizeof(ops) / sizeof(ops[0]); op++) {
		self->n = 0;
		for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
			ASSERT_EQ(0, add(self, ops[op], lens[i]));
		go(_metadata, self);
	}
}

/* A SEND with immediate data is as long as a SEND of 4 bytes more */
TEST_F(lists, of_all_kinds)
{
	while (self->n < N - 4) {
		ASSERT_EQ(0, add(self, IBV_WR_SEND, SHORT + 4));
		ASSERT_EQ(0, add(self, IBV_WR_SEND_WITH_IMM, SHORT));
		ASSERT_EQ(0, add(self, IBV_WR_RDMA_WRITE, SHORT));
		self->wr[self->n - 1].send_flags |= IBV_SEND_INLINE;
		ASSERT_EQ(0, add(self, IBV_WR_RDMA_WRITE, SHORT));
		self->wr[self->n - 1].send_flags |= IBV_SEND_SOLICITED;
	}
	go(_metadata, self);
}

/*
 * Message @bad fails with @status, and those after it are flushed. On UC it is not known yet whether those before it
 * have arrived.
 */
static void fails(struct __test_metadata *_metadata, FIXTURE_DATA(lists) *self, int bad, int status)
{
	int i;

	ASSERT_EQ(0, vt_post(self->a, self->wr));
	for (i = 0; i < N; i++)
		EXPECT_EQ(i < bad ? IBV_WC_SUCCESS : i == bad ? status : IBV_WC_WR_FLUSH_ERR,
			  vt_status(self->a->scq, i));
	for (i = 0; i < bad && self->conf.qp_type == IBV_QPT_RC; i++)
		EXPECT_TRUE(arrived(self, i));
	for (i = bad; i < N; i++)
		EXPECT_TRUE(untouched(self, i, 0));
}

TEST_F(lists, one_has_a_bad_lkey)
{
	int bad;

	for (bad = 0; bad < N; bad += 5) {
		for (self->n = 0; self->n < N;)
			ASSERT_EQ(0, add(self, IBV_WR_RDMA_WRITE, SHORT));
		self->sge[bad].lkey ^= 0x5a00;
		fails(_metadata, self, bad, IBV_WC_LOC_PROT_ERR);
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
}

TEST_F(lists, one_has_a_bad_rkey)
{
	int bad;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "a requester of UC does not hear of it");
	for (bad = 0; bad < N; bad += 5) {
		for (self->n = 0; self->n < N;)
			ASSERT_EQ(0, add(self, IBV_WR_RDMA_WRITE, SHORT));
		self->wr[bad].wr.rdma.rkey ^= 0x5a00;
		fails(_metadata, self, bad, IBV_WC_REM_ACCESS_ERR);
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
}

/* The pages of the messages are missing and present by turns */
TEST_F(lists, pages_are_missing)
{
	struct ibv_mr *mr;
	int i;

	if (vt_need_odp(self->a, IBV_ODP_SUPPORT))
		SKIP(return, "no on-demand paging");
	while (self->n < N)
		ASSERT_EQ(0, add(self, IBV_WR_RDMA_WRITE, SHORT));
	mr = ibv_reg_mr(self->a->pd, self->a->buf.p, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	for (i = 0; i < N; i++)
		if (i % 3)
			self->sge[i].lkey = mr->lkey;
	go(_metadata, self);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(lists, the_receiver_is_late)
{
	struct ibv_sge room;
	struct ibv_wc wc;
	int i;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "UC does not wait for a receiver");
	while (self->n < N)
		add_wr(self, IBV_WR_SEND, SHORT);
	for (i = 0; i < N; i++) {
		if (i == N / 3) {
			ASSERT_EQ(0, vt_post(self->a, self->wr));
			usleep(WHILE_MS * 1000);
		}
		room = room_of(self, i);
		ASSERT_EQ(0, vt_post_recv(self->b, i, &room, 1));
	}
	for (i = 0; i < N; i++) {
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, i));
		ASSERT_EQ(1, vt_poll(self->b->rcq, &wc, 1, VT_TIMEOUT_MS));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(i, wc.wr_id);
		EXPECT_TRUE(arrived(self, i));
	}
}

/*
 * One message waits at the receiver for a page that does not arrive. The messages before it complete, although the
 * packet that requests the ACK comes after it. Then the receiver can be destroyed.
 */
TEST_F(lists, the_receivers_page_does_not_come)
{
	struct vt_never never;
	struct ibv_sge room;
	struct ibv_mr *mr;
	uint8_t *p;
	int i;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "UC has no acknowledges");
	if (vt_need_odp(self->b, IBV_ODP_SUPPORT))
		SKIP(return, "no on-demand paging");
	ASSERT_EQ(0, vt_never_open(&never, SLOT));
	p = vt_never_map(&never, SLOT);
	ASSERT_NE(NULL, p);
	mr = ibv_reg_mr(self->b->pd, p, SLOT, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	for (i = 0; i < N; i++) {
		add_wr(self, IBV_WR_SEND, SHORT);
		room = room_of(self, i);
		if (i == N / 2)
			room = (struct ibv_sge){ (uintptr_t)p, SLOT, mr->lkey };
		ASSERT_EQ(0, vt_post_recv(self->b, i, &room, 1));
	}
	ASSERT_EQ(0, vt_post(self->a, self->wr));
	for (i = 0; i < N / 2; i++) {
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, i));
		EXPECT_TRUE(arrived(self, i));
	}
	EXPECT_TRUE(vt_no_completion(self->a->scq, WHILE_MS));
	EXPECT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_TRUE(vt_never_close(&never));
}

VT_HARNESS_MAIN
