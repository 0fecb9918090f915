// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that are repeated after they were answered: the answer may have been lost, or the
 * repetition is late. The test itself is the peer.
 *
 * timeout: 60
 * paths: wire
 */
#include "harness.h"

#include <endian.h>

#include "line.h"

#define LEN	64
#define SEED	5
#define ADD	7
#define VALUE	1000

FIXTURE(repeat)
{
	struct vt_line line;
	struct ibv_mr *mr;
	uint8_t *p;
	uint32_t rkey;
	int64_t duplicates;
};

static int64_t count(FIXTURE_DATA(repeat) *self)
{
	return vt_counter_now(self->line.ep.dev.ctx, "duplicate_requests");
}

FIXTURE_SETUP(repeat)
{
	uint64_t value = VALUE;

	VT_SETUP(vt_line_open(&self->line, &vt_defaults));
	self->p = self->line.ep.buf.p + VT_GUARD;
	self->mr = ibv_reg_mr(self->line.ep.pd, self->p, LEN, VT_ACCESS_ALL);
	ASSERT_NE(NULL, self->mr);
	self->rkey = self->mr->rkey;
	vt_fill(self->p, LEN, SEED, 0);
	memcpy(self->p, &value, sizeof(value));
	self->duplicates = count(self);
}

FIXTURE_TEARDOWN(repeat)
{
	if (self->mr)
		ibv_dereg_mr(self->mr);
	vt_line_close(&self->line);
}

static int request_of(FIXTURE_DATA(repeat) *self, uint8_t opcode, uint32_t n, uint32_t len)
{
	struct vt_bth bth = vt_line_bth(&self->line, opcode, VT_LINE_PSN + n);
	uint8_t eth[28], *p = vt_put64(eth, (uintptr_t)self->p);

	p = vt_put32(p, self->rkey);
	if (opcode == VT_OP_READ_REQUEST)
		p = vt_put32(p, len);
	else
		p = vt_put64(vt_put64(p, ADD), 0);
	return vt_roce_send(&self->line.roce, &bth, eth, p - eth);
}

static int request(FIXTURE_DATA(repeat) *self, uint8_t opcode, uint32_t n)
{
	return request_of(self, opcode, n, LEN);
}

/* Is the answer to request @n the next one? Its AETH and data are in @heard. */
static bool answered(FIXTURE_DATA(repeat) *self, struct vt_heard *heard, uint8_t opcode,
		     uint32_t n)
{
	if (!vt_line_hear(&self->line, heard, VT_TIMEOUT_MS))
		return false;
	if (heard->bth.opcode == opcode && heard->bth.psn == VT_LINE_PSN + n)
		return true;
	printf("# heard opcode %d, PSN %#x\n", heard->bth.opcode, heard->bth.psn);
	return false;
}

/* The original value in an atomic's answer */
static uint64_t original(const struct vt_heard *heard)
{
	uint64_t be;

	memcpy(&be, heard->data + 4, sizeof(be));
	return be64toh(be);
}

/* A READ is executed again, and returns the current contents. */
TEST_F(repeat, read)
{
	struct vt_heard heard;

	ASSERT_EQ(0, request(self, VT_OP_READ_REQUEST, 0));
	ASSERT_TRUE(answered(self, &heard, VT_OP_READ_RESPONSE_ONLY, 0));
	EXPECT_EQ(0, memcmp(heard.data + 4, self->p, LEN));
	self->p[3] ^= 1;
	ASSERT_EQ(0, request(self, VT_OP_READ_REQUEST, 0));
	ASSERT_TRUE(answered(self, &heard, VT_OP_READ_RESPONSE_ONLY, 0));
	EXPECT_EQ(0, memcmp(heard.data + 4, self->p, LEN));
	EXPECT_EQ(self->duplicates + 1, count(self));
}

/*
 * A repetition that requests more than the first time is invalid, and is not answered: the next
 * answer is that of the request after it.
 */
TEST_F(repeat, read_of_more)
{
	struct vt_heard heard;

	ASSERT_EQ(0, request_of(self, VT_OP_READ_REQUEST, 0, LEN / 2));
	ASSERT_TRUE(answered(self, &heard, VT_OP_READ_RESPONSE_ONLY, 0));
	ASSERT_EQ(0, request_of(self, VT_OP_READ_REQUEST, 0, LEN));
	ASSERT_EQ(0, request_of(self, VT_OP_READ_REQUEST, 1, LEN));
	EXPECT_TRUE(answered(self, &heard, VT_OP_READ_RESPONSE_ONLY, 1));
	EXPECT_EQ(self->duplicates + 1, count(self));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->line.ep.qp));
}

/*
 * The requester got the first answer, and its application had the memory deregistered, while the
 * repetition was in flight.
 */
TEST_F(repeat, read_of_a_key_that_is_gone)
{
	struct vt_heard heard;

	ASSERT_EQ(0, request(self, VT_OP_READ_REQUEST, 0));
	ASSERT_TRUE(answered(self, &heard, VT_OP_READ_RESPONSE_ONLY, 0));
	ASSERT_EQ(0, ibv_dereg_mr(self->mr));
	self->mr = NULL;
	ASSERT_EQ(0, request(self, VT_OP_READ_REQUEST, 0));
	EXPECT_EQ(self->duplicates + 1, count(self));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->line.ep.qp));
	/* A new READ is refused, and that is the next answer. */
	ASSERT_EQ(0, request(self, VT_OP_READ_REQUEST, 1));
	EXPECT_TRUE(answered(self, &heard, VT_OP_ACK, 1));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->line.ep.qp));
}

static int modify_in_sqd(struct ibv_qp *qp, uint8_t max_dest_rd_atomic)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .max_dest_rd_atomic = max_dest_rd_atomic,
	};
	int ret = vt_qp_drain(qp);

	ret = ret ? ret : ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC);
	attr.qp_state = IBV_QPS_RTS;
	return ret ? ret : ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* How many of the newest atomics can be repeated when there are @max resources? */
static void modify_to(struct __test_metadata *_metadata, FIXTURE_DATA(repeat) *self, uint8_t max,
		      uint32_t known)
{
	const uint32_t n = 4;
	struct vt_heard heard;
	uint32_t i;

	ASSERT_EQ(n, self->line.conf.rd_atomic);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, request(self, VT_OP_FETCH_ADD, i));
		ASSERT_TRUE(answered(self, &heard, VT_OP_ATOMIC_ACK, i));
		EXPECT_EQ(VALUE + i * ADD, original(&heard));
	}
	ASSERT_EQ(0, modify_in_sqd(self->line.ep.qp, max));
	for (i = n - known; i < n; i++) {
		ASSERT_EQ(0, request(self, VT_OP_FETCH_ADD, i));
		ASSERT_TRUE(answered(self, &heard, VT_OP_ATOMIC_ACK, i));
		EXPECT_EQ(VALUE + i * ADD, original(&heard));
	}
	for (i = 0; i < n - known; i++)
		ASSERT_EQ(0, request(self, VT_OP_FETCH_ADD, i));
	/*
	 * The next ones replace the oldest. No answers come before theirs, and no value was added
	 * twice.
	 */
	for (i = n; i < n + max; i++) {
		ASSERT_EQ(0, request(self, VT_OP_FETCH_ADD, i));
		ASSERT_TRUE(answered(self, &heard, VT_OP_ATOMIC_ACK, i));
		EXPECT_EQ(VALUE + i * ADD, original(&heard));
	}
	for (i = n; i < n + max; i++) {
		ASSERT_EQ(0, request(self, VT_OP_FETCH_ADD, i));
		ASSERT_TRUE(answered(self, &heard, VT_OP_ATOMIC_ACK, i));
		EXPECT_EQ(VALUE + i * ADD, original(&heard));
	}
}

TEST_F(repeat, atomics_of_as_many_resources) { modify_to(_metadata, self, 4, 4); }
TEST_F(repeat, atomics_of_fewer_resources) { modify_to(_metadata, self, 2, 2); }
TEST_F(repeat, atomics_of_more_resources) { modify_to(_metadata, self, 7, 4); }

VT_HARNESS_MAIN
