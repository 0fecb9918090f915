// SPDX-License-Identifier: GPL-2.0
/*
 * The test itself is the peer, and omits READ responses. The first answer after the gap shows it, and everything from
 * the missing one on is requested again at once: IBTA 9.7.5.1.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: wire
 */
#include "harness.h"

#include <endian.h>

#include "line.h"

#define MTU	1024u
#define SEED	23
#define QUIET_MS 5

#define ACK	0x1f
#define NAK_PSN	0x60

/* How many PSNs a READ has; one that takes two requests; the first of these; and a repeated request */
#define A	8
#define LONG	200
#define PART	128
#define AGAIN	64

/* Without a timeout, only answers cause repeated requests. */
FIXTURE(missing)
{
	struct vt_line line;
};

FIXTURE_SETUP(missing)
{
	struct vt_conf conf = vt_defaults;

	conf.timeout = 0;
	conf.rd_atomic = 8;
	conf.buf_len = 512 * 1024;
	/* PSNs wrap in the first READ. */
	conf.sq_psn = 0xfffffb;
	VT_SETUP(vt_line_open(&self->line, &conf));
}

FIXTURE_TEARDOWN(missing)
{
	vt_line_close(&self->line);
}

static uint32_t psn_of(const struct vt_line *l, int i)
{
	return (l->psn + i) & 0xffffff;
}

static int number(const struct vt_line *l, const struct vt_heard *packet)
{
	return (int)((packet->bth.psn - l->psn) << 8) >> 8;
}

/* Where in the buffer the data belongs that has PSN number @i, if it is a READ's */
static struct ibv_sge place(struct vt_line *l, int i, int n)
{
	return vt_sge(&l->ep.buf, VT_GUARD + i * MTU, n * MTU);
}

/* A request of @n PSNs, the first of which is number @i */
static int post(struct vt_line *l, enum ibv_wr_opcode opcode, int i, int n)
{
	struct ibv_sge sge = place(l, i, n);
	struct ibv_send_wr wr = {
		.wr_id = i, .opcode = opcode, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma.remote_addr = i * MTU,
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = i * MTU;
	}
	return vt_post(&l->ep, &wr);
}

/* Does the peer hear @opcode with PSN number @i next? */
static bool heard(struct vt_line *l, uint8_t opcode, int i)
{
	struct vt_heard packet;

	if (!vt_line_hear(l, &packet, VT_TIMEOUT_MS)) {
		printf("# nothing was heard; expected opcode %d of PSN %d\n", opcode, i);
		return false;
	}
	if (packet.bth.opcode == opcode && packet.bth.psn == psn_of(l, i))
		return true;
	printf("# heard opcode %d of PSN %d, not %d of %d\n", packet.bth.opcode,
	       number(l, &packet), opcode, i);
	return false;
}

/* Is the peer asked for the @n PSNs from number @i on next, and for where they lie? */
static bool asked(struct vt_line *l, int i, int n)
{
	struct vt_heard packet;
	uint32_t va, len;

	if (!vt_line_hear(l, &packet, VT_TIMEOUT_MS)) {
		printf("# nothing was asked for; expected %d from %d on\n", n, i);
		return false;
	}
	memcpy(&va, packet.data + 4, sizeof(va));
	memcpy(&len, packet.data + 12, sizeof(len));
	if (packet.bth.opcode == VT_OP_READ_REQUEST && packet.bth.psn == psn_of(l, i) &&
	    ntohl(va) == i * MTU && ntohl(len) == n * MTU)
		return true;
	printf("# heard opcode %d of PSN %d, %u bytes at %u, not a READ of %d from %d on\n",
	       packet.bth.opcode, number(l, &packet), ntohl(len), ntohl(va), n, i);
	return false;
}

/*
 * All packets that the answers so far have caused have been received. The QP sends them when it has processed the
 * answers.
 */
static bool quiet(struct vt_line *l)
{
	struct vt_heard packet;

	if (!vt_line_settled(l)) {
		printf("# the answers are not dealt with\n");
		return false;
	}
	if (!vt_line_hear(l, &packet, QUIET_MS))
		return true;
	printf("# heard opcode %d of PSN %d\n", packet.bth.opcode,
	       number(l, &packet));
	return false;
}

/* The answers so far complete nothing. */
static bool none_done(struct vt_line *l)
{
	return vt_line_settled(l) && vt_no_completion(l->ep.scq, 0);
}

/* The peer sends packet @j of the answer to a request for @n PSNs from number @i on. */
static int answer_one(struct vt_line *l, int i, int n, int j)
{
	uint8_t data[MTU];
	uint8_t opcode = n == 1 ? VT_OP_READ_RESPONSE_ONLY :
			 !j ? VT_OP_READ_RESPONSE_FIRST :
			 j == n - 1 ? VT_OP_READ_RESPONSE_LAST : VT_OP_READ_RESPONSE_MIDDLE;

	vt_fill(data, MTU, SEED, (i + j) * MTU);
	return vt_line_answer(l, opcode, psn_of(l, i + j), ACK, data, MTU);
}

/* The whole answer except packets @without, a bit for each of the first 64 */
static int answer(struct vt_line *l, int i, int n, uint64_t without)
{
	int j, ret = 0;

	for (j = 0; !ret && j < n; j++)
		if (j >= 64 || !(without >> j & 1))
			ret = answer_one(l, i, n, j);
	return ret;
}

/* The packets of the answer that have numbers from @from to before @to */
static int answer_part(struct vt_line *l, int i, int n, int from, int to)
{
	int ret = 0;

	for (; !ret && from < to; from++)
		ret = answer_one(l, i, n, from - i);
	return ret;
}

/* Is the READ of @n PSNs from number @i on done, and is its data right? */
static bool done(struct vt_line *l, int i, int n)
{
	struct ibv_sge sge = place(l, i, n);
	uint8_t data[MTU];
	int status, j;

	status = vt_status(l->ep.scq, i);
	if (status) {
		printf("# the request from PSN %d on: status %d\n", i, status);
		return false;
	}
	for (j = 0; j < n; j++) {
		vt_fill(data, MTU, SEED, (i + j) * MTU);
		if (memcmp(data, (void *)(uintptr_t)(sge.addr + j * MTU), MTU)) {
			printf("# PSN %d has wrong data\n", i + j);
			return false;
		}
	}
	return true;
}

/* Post a READ of @n PSNs, and receive its requests, which are as large as the window allows. */
static bool begin(struct vt_line *l, int i, int n)
{
	return !post(l, IBV_WR_RDMA_READ, i, n) && asked(l, i, n);
}

TEST_F(missing, each_one)
{
	struct vt_line *l = &self->line;
	int i, at;

	for (i = 0; i < A - 1; i++) {
		at = i * A % 32;
		l->psn = l->conf.sq_psn + i * A - at;
		ASSERT_TRUE(begin(l, at, A));
		ASSERT_EQ(0, answer(l, at, A, 1u << i));
		EXPECT_TRUE(asked(l, at + i, A - i));
		EXPECT_TRUE(none_done(l));
		ASSERT_EQ(0, answer(l, at + i, A - i, 0));
		EXPECT_TRUE(done(l, at, A));
		EXPECT_TRUE(quiet(l));
	}
}

/* A response that arrives twice, or late, changes nothing. */
TEST_F(missing, late)
{
	struct vt_line *l = &self->line;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << 3));
	EXPECT_TRUE(asked(l, 3, A - 3));
	ASSERT_EQ(0, answer_one(l, 0, A, A - 1));
	EXPECT_TRUE(quiet(l));
	ASSERT_EQ(0, answer(l, 3, A - 3, 0));
	EXPECT_TRUE(done(l, 0, A));
	ASSERT_EQ(0, answer(l, 0, A, 0));
	EXPECT_TRUE(begin(l, A, A));
	ASSERT_EQ(0, answer(l, A, A, 0));
	EXPECT_TRUE(done(l, A, A));
	EXPECT_TRUE(quiet(l));
}

/* All later requests are repeated, too. */
TEST_F(missing, of_two)
{
	struct vt_line *l = &self->line;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_TRUE(begin(l, A, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << 3 | 1 << 5));
	ASSERT_EQ(0, answer(l, A, A, 1 << 2));
	EXPECT_TRUE(asked(l, 3, A - 3));
	EXPECT_TRUE(asked(l, A, A));
	EXPECT_TRUE(quiet(l));
	ASSERT_EQ(0, answer(l, 3, A - 3, 0));
	EXPECT_TRUE(done(l, 0, A));
	EXPECT_TRUE(none_done(l));
	ASSERT_EQ(0, answer(l, A, A, 0));
	EXPECT_TRUE(done(l, A, A));
	EXPECT_TRUE(quiet(l));
}

/* The responses after several gaps arrive in one train: that is one loss. */
TEST_F(missing, in_a_train)
{
	static const int come[] = { 2, 3, 6, 8 };
	struct vt_bth bths[ARRAY_SIZE(come)];
	struct vt_line *l = &self->line;
	uint8_t data[ARRAY_SIZE(come)][MTU];
	int i;

	ASSERT_TRUE(begin(l, 0, A + 2));
	ASSERT_EQ(0, answer(l, 0, A + 2, ~1ULL));
	for (i = 0; i < ARRAY_SIZE(come); i++) {
		bths[i] = (struct vt_bth){
			.opcode = VT_OP_READ_RESPONSE_MIDDLE, .pkey = 0xffff,
			.qpn = l->ep.qp->qp_num, .psn = psn_of(l, come[i]),
		};
		vt_fill(data[i], MTU, SEED, come[i] * MTU);
	}
	ASSERT_EQ(0, vt_roce_train(&l->roce, bths, ARRAY_SIZE(come), data, MTU, MTU));
	EXPECT_TRUE(asked(l, 1, A + 1));
	EXPECT_TRUE(quiet(l));
	ASSERT_EQ(0, answer(l, 1, A + 1, 0));
	EXPECT_TRUE(done(l, 0, A + 2));
	EXPECT_TRUE(quiet(l));
}

/* Each repeated request lies within one request of the READ. The window is about half of what it was. */
TEST_F(missing, parts)
{
	struct vt_line *l = &self->line;
	int i, n;

	ASSERT_EQ(0, post(l, IBV_WR_RDMA_READ, 0, LONG));
	ASSERT_TRUE(asked(l, 0, PART));
	ASSERT_EQ(0, answer_part(l, 0, PART, 0, 90));
	EXPECT_TRUE(asked(l, PART, LONG - PART));
	ASSERT_EQ(0, answer_part(l, 0, PART, 110, 120));
	for (i = 90; i < LONG; i += n) {
		n = (i | (AGAIN - 1)) + 1 - i;
		if (n > LONG - i)
			n = LONG - i;
		ASSERT_TRUE(asked(l, i, n));
		EXPECT_TRUE(none_done(l));
		ASSERT_EQ(0, answer(l, i, n, 0));
	}
	EXPECT_TRUE(done(l, 0, LONG));
	EXPECT_TRUE(quiet(l));
}

/* The last response of a READ: only the answer to the next READ shows that it is missing. */
TEST_F(missing, before_another_read)
{
	struct vt_line *l = &self->line;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_TRUE(begin(l, A, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << (A - 1)));
	EXPECT_TRUE(quiet(l));
	ASSERT_EQ(0, answer(l, A, A, 0));
	EXPECT_TRUE(asked(l, A - 1, 1));
	EXPECT_TRUE(asked(l, A, A));
	EXPECT_TRUE(none_done(l));
	ASSERT_EQ(0, answer(l, A - 1, 1, 0));
	EXPECT_TRUE(done(l, 0, A));
	ASSERT_EQ(0, answer(l, A, A, 0));
	EXPECT_TRUE(done(l, A, A));
	EXPECT_TRUE(quiet(l));
}

/* An ACK shows it as well. */
TEST_F(missing, before_an_ack)
{
	struct vt_line *l = &self->line;
	int i;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, post(l, IBV_WR_RDMA_WRITE, A, 3));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(heard(l, VT_OP_WRITE_FIRST + i, A + i));
	ASSERT_EQ(0, answer(l, 0, A, 1 << (A - 1)));
	EXPECT_TRUE(quiet(l));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_ACK, psn_of(l, A + 2), ACK, NULL, 0));
	EXPECT_TRUE(asked(l, A - 1, 1));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(heard(l, VT_OP_WRITE_FIRST + i, A + i));
	EXPECT_TRUE(none_done(l));
	ASSERT_EQ(0, answer(l, A - 1, 1, 0));
	EXPECT_TRUE(done(l, 0, A));
	EXPECT_TRUE(none_done(l));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_ACK, psn_of(l, A + 2), ACK, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->ep.scq, A));
	EXPECT_TRUE(quiet(l));
}

/* A second report of the same loss is not another loss: no retry is used up. */
TEST_F(missing, before_many_acks)
{
	struct vt_line *l = &self->line;
	int i;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, post(l, IBV_WR_RDMA_WRITE, A, 1));
	ASSERT_TRUE(heard(l, VT_OP_WRITE_ONLY, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << (A - 1)));
	for (i = 0; i < 3 * vt_defaults.retry_cnt; i++)
		ASSERT_EQ(0, vt_line_answer(l, VT_OP_ACK, psn_of(l, A), ACK, NULL, 0));
	EXPECT_TRUE(asked(l, A - 1, 1));
	EXPECT_TRUE(heard(l, VT_OP_WRITE_ONLY, A));
	EXPECT_TRUE(quiet(l));
	ASSERT_EQ(0, answer(l, A - 1, 1, 0));
	EXPECT_TRUE(done(l, 0, A));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_ACK, psn_of(l, A), ACK, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->ep.scq, A));
}

/* The answer to an atomic shows it, and is given again. */
TEST_F(missing, before_an_atomic)
{
	struct vt_line *l = &self->line;
	uint64_t was = 0x1122334455667788;
	struct ibv_sge sge;
	int i;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, post(l, IBV_WR_ATOMIC_FETCH_AND_ADD, A, 1));
	ASSERT_TRUE(heard(l, VT_OP_FETCH_ADD, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << (A - 1)));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, vt_line_answer(l, VT_OP_ATOMIC_ACK, psn_of(l, A), ACK, &was, 8));
		if (i)
			break;
		EXPECT_TRUE(asked(l, A - 1, 1));
		EXPECT_TRUE(heard(l, VT_OP_FETCH_ADD, A));
		EXPECT_TRUE(none_done(l));
		ASSERT_EQ(0, answer(l, A - 1, 1, 0));
		EXPECT_TRUE(done(l, 0, A));
	}
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->ep.scq, A));
	sge = place(l, A, 1);
	was = be64toh(was);
	EXPECT_EQ(0, memcmp(&was, (void *)(uintptr_t)sge.addr, 8));
	EXPECT_TRUE(quiet(l));
}

/* The peer has not executed the request that a NAK names: all is sent again. */
TEST_F(missing, before_a_nak)
{
	struct vt_line *l = &self->line;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << 4));
	EXPECT_TRUE(asked(l, 4, A - 4));
	ASSERT_EQ(0, post(l, IBV_WR_RDMA_WRITE, A, 1));
	ASSERT_TRUE(heard(l, VT_OP_WRITE_ONLY, A));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_ACK, psn_of(l, A), NAK_PSN, NULL, 0));
	EXPECT_TRUE(asked(l, 4, A - 4));
	EXPECT_TRUE(heard(l, VT_OP_WRITE_ONLY, A));
	ASSERT_EQ(0, answer(l, 4, A - 4, 0));
	EXPECT_TRUE(done(l, 0, A));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_ACK, psn_of(l, A), ACK, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(l->ep.scq, A));
	EXPECT_TRUE(quiet(l));
}

/* It was requested again, and the answer to a later request has arrived. The window shrinks each time. */
TEST_F(missing, lost_again)
{
	struct vt_line *l = &self->line;
	int i, at;

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, answer(l, 0, A, 1 << 3 | 1 << 5));
	EXPECT_TRUE(asked(l, 3, A - 3));
	for (i = A; i < A + 3; i++) {
		ASSERT_TRUE(begin(l, i, 1));
		ASSERT_EQ(0, answer(l, i, 1, 0));
		EXPECT_TRUE(asked(l, 3, A - 3));
		for (at = A; at <= i; at++)
			EXPECT_TRUE(asked(l, at, 1));
		EXPECT_TRUE(quiet(l));
	}
	ASSERT_EQ(0, answer(l, 3, A - 3, 0));
	EXPECT_TRUE(done(l, 0, A));
	for (i = A; i < A + 3; i++) {
		ASSERT_EQ(0, answer(l, i, 1, 0));
		EXPECT_TRUE(done(l, i, 1));
	}
	EXPECT_TRUE(quiet(l));
}

/* A response that cannot be right shows a loss like any other, and is an error when it is the oldest. */
TEST_F(missing, wrong_one_behind)
{
	struct vt_line *l = &self->line;
	uint8_t data[MTU] = {};

	ASSERT_TRUE(begin(l, 0, A));
	ASSERT_EQ(0, answer(l, 0, A, 0xff & ~1));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_READ_RESPONSE_MIDDLE, psn_of(l, 2), ACK, data, 100));
	EXPECT_TRUE(asked(l, 1, A - 1));
	ASSERT_EQ(0, answer_one(l, 1, A - 1, 0));
	EXPECT_TRUE(none_done(l));
	ASSERT_EQ(0, vt_line_answer(l, VT_OP_READ_RESPONSE_MIDDLE, psn_of(l, 2), ACK, data, 100));
	EXPECT_EQ(IBV_WC_BAD_RESP_ERR, vt_status(l->ep.scq, 0));
}

/* Each loss that is found uses up a retry, until there is progress. */
TEST_F(missing, without_retries)
{
	struct vt_conf conf = self->line.conf;
	struct vt_line l;

	conf.retry_cnt = 1;
	ASSERT_EQ(0, vt_line_open(&l, &conf));
	ASSERT_TRUE(begin(&l, 0, A));
	ASSERT_EQ(0, answer(&l, 0, A, 1 << 3));
	EXPECT_TRUE(asked(&l, 3, A - 3));
	ASSERT_EQ(0, answer(&l, 3, A - 3, 0));
	EXPECT_TRUE(done(&l, 0, A));
	ASSERT_TRUE(begin(&l, A, A));
	ASSERT_EQ(0, answer(&l, A, A, 1 << 3));
	EXPECT_TRUE(asked(&l, A + 3, A - 3));
	ASSERT_TRUE(begin(&l, 2 * A, A));
	ASSERT_EQ(0, answer(&l, 2 * A, 1, 0));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, vt_status(l.ep.scq, A));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(l.ep.scq, 2 * A));
	vt_line_close(&l);
}

VT_HARNESS_MAIN
