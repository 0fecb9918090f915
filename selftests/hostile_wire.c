// SPDX-License-Identifier: GPL-2.0
/*
 * The attacks of ReDMArk (USENIX Security 2021) and NeVerMore (CCS 2022), by an attacker on the
 * network, and by one client of a server with several clients. Each test expects the outcome that
 * Documentation/security.rst states: stopped, counted, or allowed by the protocol.
 *
 * break: qemu-newest
 * timeout: 90
 * paths: wire
 */
#include "harness.h"
#include "line.h"
#include "region.h"
#include "system.h"
#include "window.h"

#define PSN	VT_LINE_PSN
#define UC	0x20
#define GUESSES	2000

/*
 * A QP whose peer is an address at the other end of the wire, which no QP has. The attacker is
 * there, and sends all packets that the QP receives.
 */
FIXTURE(wire)
{
	struct vt_line l;
	struct ibv_context *ctx;
	struct vt_bth bth;
};

FIXTURE_SETUP(wire)
{
	VT_SETUP(vt_line_open(&self->l, &VT_CONF(.timeout = 0)));
	self->ctx = self->l.ep.dev.ctx;
	self->bth = vt_line_bth(&self->l, VT_OP_SEND_ONLY, PSN);
}

FIXTURE_TEARDOWN(wire)
{
	vt_line_close(&self->l);
}

/*
 * Send GUESSES packets with @len bytes of an AETH after the header. @next changes each of them.
 * Return: 0 or a negative errno
 */
static int flood(FIXTURE_DATA(wire) *self, size_t len,
		 void (*next)(FIXTURE_DATA(wire) *self, struct vt_bth *bth))
{
	static const uint8_t remote_access[4] = { 0x62 };
	struct vt_bth bths[VT_MAX_TRAIN];
	int i, n, ret;

	for (n = 0; n < GUESSES; n += VT_MAX_TRAIN) {
		for (i = 0; i < VT_MAX_TRAIN; i++) {
			bths[i] = self->bth;
			next(self, &bths[i]);
		}
		ret = vt_roce_train(&self->l.roce, bths, VT_MAX_TRAIN,
				    remote_access, len, 0);
		if (ret)
			return ret;
	}
	return 0;
}

static uint32_t random24(void)
{
	return (uint32_t)random() & 0xffffff;
}

/* Never the right one: the lucky guess, 1 in 16 million, is not tested here */
static void guess_psn(FIXTURE_DATA(wire) *self, struct vt_bth *bth)
{
	do {
		bth->psn = random24();
	} while (bth->psn == PSN);
}

static void guess_qpn(FIXTURE_DATA(wire) *self, struct vt_bth *bth)
{
	do {
		bth->qpn = random24();
	} while (bth->qpn == self->l.ep.qp->qp_num || bth->qpn < 2 || bth->qpn == 0xffffff);
}

static void guess_answer(FIXTURE_DATA(wire) *self, struct vt_bth *bth)
{
	bth->opcode = VT_OP_ACK;
	bth->psn = random24();
}

/* The next message of the true peer is accepted as usual. */
static void expect_unharmed(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self)
{
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->l.ep.qp));
	ASSERT_EQ(0, vt_post_recv(&self->l.ep, 1, NULL, 0));
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.rcq, 1));
}

/*
 * ReDMArk: injection, and denial of service by a QP in error, without the PSN. Each guess is
 * counted: out of reach, behind, or ahead; the last cause at most one NAK.
 */
TEST_F(wire, guessed_psns_are_counted)
{
	static const char * const names[] = {
		"rx_wrong_psn", "duplicate_requests", "out_of_sequence",
	};
	int64_t before = 0, naks = vt_counter_now(self->ctx, "naks_tx");
	uint64_t end = vt_now_ms() + 10000;
	int64_t now;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		before += vt_counter_now(self->ctx, names[i]);
	/* The first of these that is accepted would put the QP into the error state. */
	self->bth.opcode = VT_OP_SEND_MIDDLE;
	ASSERT_EQ(0, flood(self, 0, guess_psn));
	do {
		now = 0;
		for (i = 0; i < ARRAY_SIZE(names); i++)
			now += vt_counter_now(self->ctx, names[i]);
	} while (now < before + GUESSES && vt_now_ms() < end);
	EXPECT_EQ(before + GUESSES, now);
	EXPECT_GE(naks + 1, vt_counter_now(self->ctx, "naks_tx"));
	/* Nearly half of all PSNs are out of reach: 900 of 2000 is 4 deviations below. */
	EXPECT_LT(900, vt_counter_now(self->ctx, "rx_wrong_psn"));
	self->bth.opcode = VT_OP_SEND_ONLY;
	expect_unharmed(_metadata, self);
}

/* NeVerMore: finding out which QPs exist. The guesses are counted for the namespace. */
TEST_F(wire, guessed_qp_numbers_are_counted)
{
	int64_t before = vt_counter_now(self->ctx, "rx_unknown_qpn");

	ASSERT_LE(0, before);
	ASSERT_EQ(0, flood(self, 0, guess_qpn));
	EXPECT_TRUE(vt_counter_wait(self->ctx, "rx_unknown_qpn", before + GUESSES));
	expect_unharmed(_metadata, self);
}

/* A forged answer has an effect only if it is for an outstanding request. There is none. */
TEST_F(wire, guessed_answers_are_ignored)
{
	int64_t before = vt_counter_now(self->ctx, "acks_rx");

	ASSERT_EQ(0, flood(self, 4, guess_answer));
	/* the QP has looked at each */
	EXPECT_TRUE(vt_counter_wait(self->ctx, "acks_rx", before + GUESSES));
	EXPECT_TRUE(vt_no_completion(self->l.ep.scq, 0));
	expect_unharmed(_metadata, self);
}

/* Packets from another address are counted, even if all their numbers are right. */
TEST_F(wire, another_source_is_counted)
{
	int64_t before = vt_counter_now(self->ctx, "rx_wrong_source");
	uint32_t true_source = self->l.roce.saddr;

	self->l.roce.saddr ^= htonl(0x40);
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	self->l.roce.saddr = true_source;
	EXPECT_TRUE(vt_counter_wait(self->ctx, "rx_wrong_source", before + 1));
	expect_unharmed(_metadata, self);
}

/* -- what the network's tools see */

#define TRACING		"/sys/kernel/tracing/"

static int trace_drops(bool on)
{
	int ret, fd;

	if (access(TRACING "trace", F_OK) && system("mount -t tracefs none " TRACING))
		return -ENOENT;
	/* discard older entries */
	fd = open(TRACING "trace", O_WRONLY | O_TRUNC);
	if (fd < 0)
		return -errno;
	close(fd);
	ret = vt_write_file(TRACING "events/skb/kfree_skb/enable", on ? "1" : "0");
	return ret ? ret : vt_write_file(TRACING "tracing_on", on ? "1" : "0");
}

/* How many packets have been dropped for @reason */
static int drops(const char *reason)
{
	FILE *f = fopen(TRACING "trace", "r");
	char line[1024], want[64];
	int n = 0;

	snprintf(want, sizeof(want), "reason: %s\n", reason);
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "kfree_skb:") && strstr(line, want);
	if (f)
		fclose(f);
	return n;
}

static bool drops_become(const char *reason, int n)
{
	return VT_UNTIL(drops(reason) >= n);
}

/**
 * struct dropped - a packet that is dropped
 * @reason: as dropwatch and perf show it
 * @bth: fields of its header that differ from the right one: those that are not 0
 * @spoil: its ICRC is wrong
 * @saddr: it comes from another address
 */
static const struct dropped {
	const char *reason;
	struct vt_bth bth;
	bool spoil;
	bool saddr;
} dropped[] = {
	{ "INVALID_PROTO", .bth.opcode = 0x1f },
	{ "NO_SOCKET", .bth.qpn = 0x123456 },
	{ "OTHERHOST", .bth.pkey = 0x1234 },
	{ "IP_INADDRERRORS", .saddr = true },
	{ "SKB_CSUM", .spoil = true },
	{ "TCP_INVALID_SEQUENCE", .bth.psn = PSN + 5 },
	/* there is no receive */
	{ "SOCKET_RCVBUFF", },
};

static int send_dropped(FIXTURE_DATA(wire) *self, const struct dropped *d)
{
	struct vt_roce roce = self->l.roce;
	struct vt_bth bth = self->bth;

	bth.opcode = d->bth.opcode ? : bth.opcode;
	bth.qpn = d->bth.qpn ? : bth.qpn;
	bth.pkey = d->bth.pkey ? : bth.pkey;
	bth.psn = d->bth.psn ? : bth.psn;
	roce.spoil_icrc = d->spoil;
	if (d->saddr)
		roce.saddr ^= htonl(0x40);
	return vt_roce_send(&roce, &bth, NULL, 0);
}

/* For each of these reasons except NO_SOCKET, which any packet of the host may have */
static int all_drops(void)
{
	int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(dropped); i++)
		if (strcmp(dropped[i].reason, "NO_SOCKET"))
			n += drops(dropped[i].reason);
	return n;
}

/* dropwatch and perf see each packet that is dropped, with a reason, and no other packet. */
TEST_F(wire, drops_have_a_reason)
{
	int i, before;

	if (trace_drops(true))
		SKIP(return, "this kernel cannot trace");
	for (i = 0; i < ARRAY_SIZE(dropped); i++) {
		before = drops(dropped[i].reason);
		ASSERT_EQ(0, send_dropped(self, &dropped[i]));
		EXPECT_TRUE(drops_become(dropped[i].reason, before + 1))
			TH_LOG("%s", dropped[i].reason);
	}
	before = all_drops();
	expect_unharmed(_metadata, self);
	EXPECT_EQ(before, all_drops());
	EXPECT_EQ(0, trace_drops(false));
}

/*
 * ReDMArk: injection by an attacker that knows all the numbers. The protocol allows it: the packet
 * cannot be told from the peer's. The true peer's next packet looks like a duplicate, and is
 * counted as such.
 */
TEST_F(wire, a_packet_with_all_numbers_is_taken)
{
	int64_t before = vt_counter_now(self->ctx, "duplicate_requests");

	ASSERT_EQ(0, vt_post_recv(&self->l.ep, 1, NULL, 0));
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.rcq, 1));

	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	EXPECT_TRUE(vt_counter_wait(self->ctx, "duplicate_requests", before + 1));
}

/*
 * ReDMArk, NeVerMore: one packet ends a connection. The protocol allows it, and an event reports
 * it.
 */
TEST_F(wire, a_bad_packet_with_all_numbers_kills)
{
	self->bth.opcode = VT_OP_SEND_MIDDLE;
	ASSERT_EQ(0, vt_roce_send(&self->l.roce, &self->bth, NULL, 0));
	ASSERT_EQ(0, vt_async_event(self->ctx, IBV_EVENT_QP_REQ_ERR, 5000));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->l.ep.qp));
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * ReDMArk: QP numbers that count up reveal the numbers of others. Of 200 random ones, two
 * neighbours less than 100 apart are rare: 0.24 are expected, and 8 occur less than once in 10^9
 * runs.
 */
TEST_F(wire, qp_numbers_are_in_no_order)
{
	uint32_t qpns[200];
	int i, near = 0, up = 0;

	for (i = 0; i < ARRAY_SIZE(qpns); i++) {
		struct ibv_qp *qp = vt_qp_create(&self->l.ep);

		ASSERT_NE(NULL, qp);
		qpns[i] = qp->qp_num;
		up += i && qpns[i] > qpns[i - 1];
		ASSERT_EQ(0, ibv_destroy_qp(qp));
	}
	/* 99.5 expected, deviation 4.1 */
	EXPECT_LT(70, up);
	EXPECT_GT(130, up);
	qsort(qpns, ARRAY_SIZE(qpns), sizeof(*qpns), by_number);
	for (i = 1; i < ARRAY_SIZE(qpns); i++)
		near += qpns[i] - qpns[i - 1] < 100;
	EXPECT_GT(8, near);
}

/* -- a server, b, with two clients; one of them attacks the other */

FIXTURE(client)
{
	struct vt_pair pair;
	struct vt_conn other;
};

FIXTURE_SETUP(client)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.srq_depth = 8)));
	VT_SETUP(vt_conn_open(&self->other, &self->pair.a, &self->pair.b));
}

FIXTURE_TEARDOWN(client)
{
	vt_conn_close(&self->other);
	vt_pair_close(&self->pair);
}

static struct ibv_send_wr write_to(struct vt_ep *from, struct ibv_sge *sge, uint64_t addr,
				   uint32_t rkey)
{
	*sge = vt_sge(&from->buf, VT_GUARD, 8);
	return (struct ibv_send_wr){
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge, .num_sge = 1,
		.wr.rdma.remote_addr = addr, .wr.rdma.rkey = rkey,
	};
}

/* Post on the first connection, and connect it again if that ended it. Return: the status */
static int try_write(struct vt_pair *pair, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = write_to(&pair->a, &sge, addr, rkey);
	int status = vt_outcome(&pair->a, &wr);

	return status != IBV_WC_SUCCESS && vt_pair_reset(pair) ? -EIO : status;
}

/*
 * ReDMArk: keys near one's own. Each guess ends the connection, and is counted. All bits of a key
 * are random (mr_keys.c).
 */
TEST_F(client, guessed_keys_cost_the_connection)
{
	static const int32_t deltas[] = { 1, -1, 0x100, -0x100, 0x200, -0x200, 0x10000 };
	struct vt_pair *pair = &self->pair;
	uint64_t addr = (uintptr_t)pair->b.buf.p + VT_GUARD;
	uint32_t key = pair->b.buf.mr->rkey;
	struct ibv_context *ctx = pair->b.dev.ctx;
	int64_t before, after;
	int i;

	before = vt_counter_now(ctx, "key_unknown") + vt_counter_now(ctx, "key_stale");
	ASSERT_EQ(IBV_WC_SUCCESS, try_write(pair, addr, key));
	for (i = 0; i < ARRAY_SIZE(deltas); i++)
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, try_write(pair, addr, key + deltas[i]));
	after = vt_counter_now(ctx, "key_unknown") + vt_counter_now(ctx, "key_stale");
	EXPECT_EQ(before + ARRAY_SIZE(deltas), after);
}

/*
 * ReDMArk: a server with one protection domain for all its clients lets each client use the keys of
 * the others. The protocol allows that. A type 2 window can be used by one QP only.
 */
TEST_F(client, a_window_is_for_one_client)
{
	struct vt_pair *pair = &self->pair;
	struct vt_ep *b = &pair->b;
	struct vt_bind to = {
		.mr = vt_window_reg(b, 64), .len = 64, .access = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *first = b->qp;
	struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	int64_t before = vt_counter_now(b->dev.ctx, "key_wrong_pd");

	ASSERT_NE(NULL, mw);
	ASSERT_NE(NULL, to.mr);
	to.addr = (uintptr_t)to.mr->addr;
	/* Both can use the region's own key. */
	EXPECT_EQ(IBV_WC_SUCCESS, try_write(pair, to.addr, to.mr->rkey));

	/* The window belongs to the other client. */
	b->qp = self->other.b;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_bind_any(b, mw, &to));
	b->qp = first;
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, try_write(pair, to.addr, mw->rkey));
	EXPECT_EQ(before + 1, vt_counter_now(b->dev.ctx, "key_wrong_pd"));
	wr = write_to(&pair->a, &sge, to.addr, mw->rkey);
	ASSERT_EQ(0, ibv_post_send(self->other.a, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair->a.scq, 1));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dereg_mr(to.mr));
}

/*
 * ReDMArk: one client takes all receives of a shared queue. The protocol allows that: the
 * others wait (RNR) as long as they are willing to, and lose nothing.
 */
TEST_F(client, who_takes_all_receives_delays_the_others)
{
	struct vt_pair *pair = &self->pair;
	struct ibv_context *ctx = pair->b.dev.ctx;
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 2, NULL), *bad;
	int64_t before = vt_counter_now(ctx, "rnr_tx");
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, vt_post_recv(&pair->b, i, NULL, 0));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, ibv_post_send(self->other.a, &wr, &bad));
		ASSERT_EQ(0, vt_wait(pair->a.scq, &wc));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(i, vt_wait(pair->b.rcq, &wc) ? -1 : (int)wc.wr_id);
	}
	ASSERT_EQ(0, vt_post(&pair->a, &wr));
	while (vt_counter(ctx, "rnr_tx") <= before)
		ASSERT_GT(end, vt_now_ms());
	EXPECT_TRUE(vt_no_completion(pair->a.scq, 0));
	ASSERT_EQ(0, vt_post_recv(&pair->b, 9, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair->a.scq, 2));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair->b.rcq, 9));
}

VT_HARNESS_MAIN
