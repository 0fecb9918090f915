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

#include <netinet/in.h>

/* -- errors at the requester */

TEST_F(errors, local_key_unknown)
{
	self->local.lkey ^= 0x5a00;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(qp_in_error(self->a));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

TEST_F(errors, local_range_beyond_end)
{
	self->local.addr = (uintptr_t)self->a->buf.p + self->a->buf.len - LEN + 1;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(recovers(&self->pair));
}

TEST_F(errors, local_range_before_start)
{
	self->local.addr = (uintptr_t)self->a->buf.p - 1;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(untouched(&self->b->buf));
}

TEST_F(errors, local_range_wraps)
{
	self->local.addr = UINT64_MAX - LEN / 2;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(untouched(&self->b->buf));
}

/* The second part is wrong. At most the first part may have been sent. */
TEST_F(errors, local_key_of_second_part)
{
	struct ibv_sge two[2] = { self->local, self->local };

	two[1].lkey ^= 0x100;
	self->wr.sg_list = two;
	self->wr.num_sge = 2;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(qp_in_error(self->a));
}

TEST_F(errors, local_key_of_other_pd)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->a->dev.ctx);
	struct vt_buf buf;

	ASSERT_NE(NULL, pd);
	ASSERT_EQ(0, vt_buf_open(&buf, pd, 8192, VT_ACCESS_ALL));
	self->local = vt_sge(&buf, 0, LEN);
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(untouched(&self->b->buf));
	vt_buf_close(&buf);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* READ writes locally, so a region without LOCAL_WRITE is refused. */
TEST_F(errors, read_into_readonly)
{
	struct vt_buf buf;

	ASSERT_EQ(0, vt_buf_open(&buf, self->a->pd, 8192, 0));
	self->local = vt_sge(&buf, 0, LEN);
	self->wr.opcode = IBV_WR_RDMA_READ;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(vt_check("local", buf.p, buf.len, buf.seed, 0));
	vt_buf_close(&buf);
}

TEST_F(errors, local_key_dead)
{
	struct vt_buf buf;
	uint32_t lkey;

	ASSERT_EQ(0, vt_buf_open(&buf, self->a->pd, 8192, VT_ACCESS_ALL));
	self->local = vt_sge(&buf, 0, LEN);
	lkey = buf.mr->lkey;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	ASSERT_EQ(0, ibv_dereg_mr(buf.mr));
	buf.mr = NULL;
	self->local.lkey = lkey;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	vt_buf_close(&buf);
}

/* -- a wrong remote key, range or right */

/*
 * The requester gets REM_ACCESS_ERR, both QPs go to the error state, the responder gets an event,
 * and its memory is unchanged.
 */
static void expect_remote_access_error(struct __test_metadata *_metadata,
				       FIXTURE_DATA(errors) *self)
{
	ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(qp_in_error(self->a));
	EXPECT_TRUE(qp_in_error(self->b));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx, IBV_EVENT_QP_ACCESS_ERR,
				    VT_TIMEOUT_MS));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

TEST_F(errors, remote_key_unknown)
{
	self->wr.wr.rdma.rkey ^= 0x5a00;
	expect_remote_access_error(_metadata, self);
}

TEST_F(errors, remote_key_tag_wrong)
{
	self->wr.wr.rdma.rkey ^= 1;
	expect_remote_access_error(_metadata, self);
}

/*
 * The receive that the immediate data would have used is completed, too. Only the last packet shows
 * that there is immediate data.
 */
TEST_F(errors, remote_key_of_write_with_immediate)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, 0);
	int status;

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	self->wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	self->wr.wr.rdma.rkey ^= 0x5a00;
	ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, vt_outcome(self->a, &self->wr));
	status = vt_status(self->b->rcq, 2);
	EXPECT_TRUE(status == IBV_WC_LOC_ACCESS_ERR ||
		    (variant->mtu != IBV_MTU_4096 &&
		     status == IBV_WC_WR_FLUSH_ERR))
		TH_LOG("status %d", status);
	EXPECT_TRUE(qp_in_error(self->b));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

TEST_F(errors, remote_range_beyond_end)
{
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p +
				       self->b->buf.len - LEN + 1;
	expect_remote_access_error(_metadata, self);
}

TEST_F(errors, remote_range_before_start)
{
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p - 1;
	expect_remote_access_error(_metadata, self);
}

TEST_F(errors, remote_range_wraps)
{
	self->wr.wr.rdma.remote_addr = UINT64_MAX - 1;
	expect_remote_access_error(_metadata, self);
}

TEST_F(errors, read_beyond_end)
{
	self->wr.opcode = IBV_WR_RDMA_READ;
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p +
				       self->b->buf.len - LEN + 1;
	expect_remote_access_error(_metadata, self);
}

TEST_F(errors, atomic_beyond_end)
{
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->local.length = 8;
	self->wr.wr.atomic.compare_add = 1;
	self->wr.wr.atomic.remote_addr = (uintptr_t)self->b->buf.p +
					 self->b->buf.len;
	self->wr.wr.atomic.rkey = self->b->buf.mr->rkey;
	expect_remote_access_error(_metadata, self);
}

/* The region lacks the right that the operation needs. */
static void without_right(struct __test_metadata *_metadata,
			  FIXTURE_DATA(errors) *self, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(self->b->pd, self->b->buf.p,
				       self->b->buf.len, access);

	ASSERT_NE(NULL, mr);
	if (self->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		self->wr.wr.atomic.rkey = mr->rkey;
	else
		self->wr.wr.rdma.rkey = mr->rkey;
	expect_remote_access_error(_metadata, self);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(errors, write_without_right)
{
	without_right(_metadata, self, IBV_ACCESS_LOCAL_WRITE |
		      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

TEST_F(errors, read_without_right)
{
	self->wr.opcode = IBV_WR_RDMA_READ;
	without_right(_metadata, self, IBV_ACCESS_LOCAL_WRITE |
		      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

TEST_F(errors, atomic_without_right)
{
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->local.length = 8;
	self->wr.wr.atomic.compare_add = 1;
	self->wr.wr.atomic.remote_addr = (uintptr_t)self->b->buf.p + VT_GUARD;
	without_right(_metadata, self, IBV_ACCESS_LOCAL_WRITE |
		      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

TEST_F(errors, remote_key_of_other_pd)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->b->dev.ctx);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, self->b->buf.p, self->b->buf.len, VT_ACCESS_ALL);
	ASSERT_NE(NULL, mr);
	self->wr.wr.rdma.rkey = mr->rkey;
	expect_remote_access_error(_metadata, self);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(errors, remote_key_dead)
{
	struct ibv_mr *mr = ibv_reg_mr(self->b->pd, self->b->buf.p,
				       self->b->buf.len, VT_ACCESS_ALL);
	struct vt_buf *buf = &self->b->buf;

	ASSERT_NE(NULL, mr);
	self->wr.wr.rdma.rkey = mr->rkey;
	ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	vt_fill(buf->p, buf->len, buf->seed, 0);
	ASSERT_EQ(0, ibv_dereg_mr(mr));
	expect_remote_access_error(_metadata, self);
}

/*
 * A message of 0 bytes accesses no memory, so its key and address are not
 * checked.
 */
TEST_F(errors, zero_length_needs_no_key)
{
	self->wr.num_sge = 0;
	self->wr.wr.rdma.rkey = 0xdeadbeef;
	self->wr.wr.rdma.remote_addr = 12345;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	self->wr.opcode = IBV_WR_RDMA_READ;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->b->qp));
}

/*
 * The QP's access flags forbid the operation. By the standard that is an
 * invalid request; some devices report an access error.
 */
static void not_permitted(struct __test_metadata *_metadata,
			  FIXTURE_DATA(errors) *self, int qp_access)
{
	int status;

	self->b->conf.qp_access = qp_access;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	status = vt_outcome(self->a, &self->wr);
	EXPECT_TRUE(status == IBV_WC_REM_INV_REQ_ERR ||
		    status == IBV_WC_REM_ACCESS_ERR)
		TH_LOG("status %d", status);
	EXPECT_TRUE(qp_in_error(self->b));
	EXPECT_TRUE(untouched(&self->b->buf));
}

TEST_F(errors, qp_permits_no_write)
{
	not_permitted(_metadata, self, IBV_ACCESS_LOCAL_WRITE |
		      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

TEST_F(errors, qp_permits_no_read)
{
	self->wr.opcode = IBV_WR_RDMA_READ;
	not_permitted(_metadata, self, IBV_ACCESS_LOCAL_WRITE |
		      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

TEST_F(errors, qp_permits_no_atomic)
{
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->local.length = 8;
	self->wr.wr.atomic.compare_add = 1;
	self->wr.wr.atomic.remote_addr = (uintptr_t)self->b->buf.p + VT_GUARD;
	self->wr.wr.atomic.rkey = self->b->buf.mr->rkey;
	not_permitted(_metadata, self, IBV_ACCESS_LOCAL_WRITE |
		      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

TEST_F(errors, atomic_misaligned)
{
	int status;

	self->wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	self->local.length = 8;
	self->wr.wr.atomic.compare_add = 0;
	self->wr.wr.atomic.remote_addr = (uintptr_t)self->b->buf.p +
					 VT_GUARD + 4;
	self->wr.wr.atomic.rkey = self->b->buf.mr->rkey;
	status = vt_outcome(self->a, &self->wr);
	if (status == -EINVAL)
		SKIP(return, "cannot be posted on this device");
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, status);
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx, IBV_EVENT_QP_REQ_ERR,
				    VT_TIMEOUT_MS));
	EXPECT_TRUE(untouched(&self->b->buf));
	EXPECT_TRUE(recovers(&self->pair));
}

/* -- errors in the receive */

TEST_F(errors, receive_too_small)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN - 1);

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_outcome(self->a, as_send(self)));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(self->b->rcq, 2));
	EXPECT_TRUE(qp_in_error(self->b));
	EXPECT_TRUE(vt_check("behind", (void *)(uintptr_t)(to.addr + LEN - 1),
			     VT_GUARD, self->b->buf.seed,
			     VT_GUARD + LEN - 1));
}

TEST_F(errors, receive_of_nothing)
{
	ASSERT_EQ(0, vt_post_recv(self->b, 2, NULL, 0));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_outcome(self->a, as_send(self)));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(self->b->rcq, 2));
	EXPECT_TRUE(untouched(&self->b->buf));
}

static void receive_fails_protection(struct __test_metadata *_metadata,
				     FIXTURE_DATA(errors) *self,
				     struct ibv_sge *to)
{
	ASSERT_EQ(0, vt_post_recv(self->b, 2, to, 1));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, vt_outcome(self->a, as_send(self)));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_status(self->b->rcq, 2));
	EXPECT_TRUE(qp_in_error(self->b));
}

TEST_F(errors, receive_key_unknown)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);

	to.lkey ^= 0x5a00;
	receive_fails_protection(_metadata, self, &to);
	EXPECT_TRUE(untouched(&self->b->buf));
}

TEST_F(errors, receive_range_beyond_end)
{
	struct ibv_sge to = vt_sge(&self->b->buf, self->b->buf.len - LEN + 1,
				   LEN);

	receive_fails_protection(_metadata, self, &to);
}

TEST_F(errors, receive_into_readonly)
{
	struct vt_buf buf;
	struct ibv_sge to;

	ASSERT_EQ(0, vt_buf_open(&buf, self->b->pd, 8192, 0));
	to = vt_sge(&buf, 0, LEN);
	receive_fails_protection(_metadata, self, &to);
	EXPECT_TRUE(vt_check("readonly", buf.p, buf.len, buf.seed, 0));
	vt_buf_close(&buf);
}

VT_HARNESS_MAIN
