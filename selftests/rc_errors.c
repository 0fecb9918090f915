// SPDX-License-Identifier: GPL-2.0
/*
 * RC: each error completes with its own status, and affects nothing else.
 *
 * daily: uml-checked
 * break: qemu-newest
 * timeout: 180
 * boot: kmemleak
 * paths: host wire
 */
#include "errors.h"

#define LW	IBV_ACCESS_LOCAL_WRITE
#define RW	IBV_ACCESS_REMOTE_WRITE
#define RR	IBV_ACCESS_REMOTE_READ
#define RA	IBV_ACCESS_REMOTE_ATOMIC

#define LOCAL		self->local
#define REMOTE		self->wr.wr.rdma
#define OP(opcode_)	(self->wr.opcode = IBV_WR_##opcode_)
#define FETCH_ADD(off)	as_atomic(self, IBV_WR_ATOMIC_FETCH_AND_ADD, off)
/* One byte of the request is beyond the end. */
#define BEYOND(ep)	((uintptr_t)(ep)->buf.p + (ep)->buf.len - LEN + 1)

/* After these changes the request fails as @check says, with the arguments in @args. */
#define FAILS(name, check, args, ...)						\
TEST_F(errors, name)								\
{										\
	__VA_ARGS__;								\
	check(_metadata, self, UNPACK args);					\
}
#define UNPACK(...)	__VA_ARGS__

/* -- errors at the requester */

/* Packets of the first part may have been sent, unless nothing was: @sent */
static void at_requester(struct __test_metadata *_metadata, FIXTURE_DATA(errors) *self, bool sent)
{
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(vt_qp_reaches(self->a->qp, IBV_QPS_ERR));
	if (!sent)
		EXPECT_TRUE(untouched(&self->b->buf));
	if (self->buf.mr)
		EXPECT_TRUE(untouched(&self->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

/* A request for a buffer of its own; READ writes locally, so a region without LOCAL_WRITE is refused. */
#define OTHER_BUF(whose, access) \
	another_buf(self, self->a, whose, access), LOCAL = vt_sge(&self->buf, 0, LEN)

FAILS(local_key_unknown, at_requester, (false), LOCAL.lkey ^= 0x5a00)
FAILS(local_range_beyond_end, at_requester, (true), LOCAL.addr = BEYOND(self->a))
FAILS(local_range_before_start, at_requester, (false), LOCAL.addr = (uintptr_t)self->a->buf.p - 1)
FAILS(local_range_wraps, at_requester, (false), LOCAL.addr = UINT64_MAX - LEN / 2)
FAILS(local_key_of_other_pd, at_requester, (false), OTHER_BUF(OTHER_PD, VT_ACCESS_ALL))
FAILS(read_into_readonly, at_requester, (false), OTHER_BUF(SAME_PD, 0), OP(RDMA_READ))

/* The second part is wrong. At most the first part may have been sent. */
TEST_F(errors, local_key_of_second_part)
{
	struct ibv_sge two[2] = { LOCAL, LOCAL };

	two[1].lkey ^= 0x100;
	self->wr.sg_list = two;
	self->wr.num_sge = 2;
	at_requester(_metadata, self, true);
}

TEST_F(errors, local_key_dead)
{
	OTHER_BUF(SAME_PD, VT_ACCESS_ALL);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	ASSERT_EQ(0, dereg_buf(self));
	at_requester(_metadata, self, true);
}

/* -- a wrong remote key, range or right */

/*
 * The requester gets REM_ACCESS_ERR, both QPs go to the error state, the responder gets an event,
 * and its memory is unchanged.
 */
static void expect_remote_access_error(struct __test_metadata *_metadata,
				       FIXTURE_DATA(errors) *self, int status)
{
	ASSERT_EQ(status, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(vt_qp_reaches(self->a->qp, IBV_QPS_ERR));
	EXPECT_TRUE(vt_qp_reaches(self->b->qp, IBV_QPS_ERR));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx, IBV_EVENT_QP_ACCESS_ERR, VT_TIMEOUT_MS));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

#define REMOTELY(name, ...) \
	FAILS(name, expect_remote_access_error, (IBV_WC_REM_ACCESS_ERR), __VA_ARGS__)

REMOTELY(remote_key_unknown, REMOTE.rkey ^= 0x5a00)
REMOTELY(remote_key_tag_wrong, REMOTE.rkey ^= 1)
REMOTELY(remote_range_beyond_end, REMOTE.remote_addr = BEYOND(self->b))
REMOTELY(remote_range_before_start, REMOTE.remote_addr = (uintptr_t)self->b->buf.p - 1)
REMOTELY(remote_range_wraps, REMOTE.remote_addr = UINT64_MAX - 1)
REMOTELY(read_beyond_end, OP(RDMA_READ), REMOTE.remote_addr = BEYOND(self->b))
REMOTELY(atomic_beyond_end, FETCH_ADD(self->b->buf.len))

/*
 * The receive that the immediate data would have used is completed, too. Only the last packet shows
 * that there is immediate data.
 */
TEST_F(errors, remote_key_of_write_with_immediate)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, 0);
	int status;

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	OP(RDMA_WRITE_WITH_IMM);
	REMOTE.rkey ^= 0x5a00;
	ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, vt_outcome(self->a, &self->wr));
	status = vt_status(self->b->rcq, 2);
	EXPECT_TRUE(status == IBV_WC_LOC_ACCESS_ERR ||
		    (variant->mtu != IBV_MTU_4096 && status == IBV_WC_WR_FLUSH_ERR))
		TH_LOG("status %d", status);
	EXPECT_TRUE(vt_qp_reaches(self->b->qp, IBV_QPS_ERR));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

/* Another registration of the same bytes, which does not open to the request */
static struct ibv_mr *reg_same(FIXTURE_DATA(errors) *self, struct ibv_pd *pd, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, self->b->buf.p, self->b->buf.len, access);

	if (mr && self->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		self->wr.wr.atomic.rkey = mr->rkey;
	else if (mr)
		REMOTE.rkey = mr->rkey;
	return mr;
}

static void without_right(struct __test_metadata *_metadata, FIXTURE_DATA(errors) *self,
			  struct ibv_pd *pd, int access)
{
	struct ibv_mr *mr = reg_same(self, pd, access);

	ASSERT_NE(NULL, mr);
	expect_remote_access_error(_metadata, self, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

FAILS(write_without_right, without_right, (self->b->pd, LW | RR | RA), OP(RDMA_WRITE))
FAILS(read_without_right, without_right, (self->b->pd, LW | RW | RA), OP(RDMA_READ))
FAILS(atomic_without_right, without_right, (self->b->pd, LW | RW | RR), FETCH_ADD(VT_GUARD))
FAILS(remote_key_of_other_pd, without_right, (self->pd, VT_ACCESS_ALL),
      self->pd = ibv_alloc_pd(self->b->dev.ctx))

TEST_F(errors, remote_key_dead)
{
	struct ibv_mr *mr = reg_same(self, self->b->pd, VT_ACCESS_ALL);
	struct vt_buf *buf = &self->b->buf;

	ASSERT_NE(NULL, mr);
	ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	vt_fill(buf->p, buf->len, buf->seed, 0);
	ASSERT_EQ(0, ibv_dereg_mr(mr));
	expect_remote_access_error(_metadata, self, IBV_WC_REM_ACCESS_ERR);
}

/* A message of 0 bytes accesses no memory, so its key and address are not checked. */
TEST_F(errors, zero_length_needs_no_key)
{
	self->wr.num_sge = 0;
	REMOTE.rkey = 0xdeadbeef;
	REMOTE.remote_addr = 12345;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	OP(RDMA_READ);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->b->qp));
}

/*
 * The QP's access flags forbid the operation. By the standard that is an invalid request; some
 * devices report an access error.
 */
static void not_permitted(struct __test_metadata *_metadata, FIXTURE_DATA(errors) *self,
			  int qp_access)
{
	int status;

	self->b->conf.qp_access = qp_access;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	status = vt_outcome(self->a, &self->wr);
	EXPECT_TRUE(status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR)
		TH_LOG("status %d", status);
	EXPECT_TRUE(vt_qp_reaches(self->b->qp, IBV_QPS_ERR));
	EXPECT_TRUE(untouched(&self->b->buf));
}

FAILS(qp_permits_no_write, not_permitted, (LW | RR | RA), OP(RDMA_WRITE))
FAILS(qp_permits_no_read, not_permitted, (LW | RW | RA), OP(RDMA_READ))
FAILS(qp_permits_no_atomic, not_permitted, (LW | RW | RR), FETCH_ADD(VT_GUARD))

TEST_F(errors, atomic_misaligned)
{
	int status;

	as_atomic(self, IBV_WR_ATOMIC_CMP_AND_SWP, VT_GUARD + 4);
	status = vt_outcome(self->a, &self->wr);
	if (status == -EINVAL)
		SKIP(return, "cannot be posted on this device");
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, status);
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx, IBV_EVENT_QP_REQ_ERR, VT_TIMEOUT_MS));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

/* -- errors in the receive */

static void in_receive(struct __test_metadata *_metadata, FIXTURE_DATA(errors) *self,
		       struct ibv_sge to, int status, int peers)
{
	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, to.length ? 1 : 0));
	EXPECT_EQ(peers, vt_outcome(self->a, as_send(self)));
	EXPECT_EQ(status, vt_status(self->b->rcq, 2));
	EXPECT_TRUE(vt_qp_reaches(self->b->qp, IBV_QPS_ERR));
}

#define TOO_SHORT	IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR
#define UNPROTECTED	IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR

TEST_F(errors, receive_too_small)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN - 1);

	in_receive(_metadata, self, to, TOO_SHORT);
	EXPECT_TRUE(vt_check("behind", (void *)(uintptr_t)(to.addr + LEN - 1), VT_GUARD,
			     self->b->buf.seed, VT_GUARD + LEN - 1));
}

TEST_F(errors, receive_of_nothing)
{
	in_receive(_metadata, self, (struct ibv_sge){}, TOO_SHORT);
	EXPECT_TRUE(untouched(&self->b->buf));
}

TEST_F(errors, receive_key_unknown)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);

	to.lkey ^= 0x5a00;
	in_receive(_metadata, self, to, UNPROTECTED);
	EXPECT_TRUE(untouched(&self->b->buf));
}

TEST_F(errors, receive_range_beyond_end)
{
	in_receive(_metadata, self, vt_sge(&self->b->buf, self->b->buf.len - LEN + 1, LEN),
		   UNPROTECTED);
}

TEST_F(errors, receive_into_readonly)
{
	another_buf(self, self->b, SAME_PD, 0);
	in_receive(_metadata, self, vt_sge(&self->buf, 0, LEN), UNPROTECTED);
	EXPECT_TRUE(untouched(&self->buf));
}

VT_HARNESS_MAIN
