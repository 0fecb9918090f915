// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that end a window's binding wait for a writer that still uses the
 * window. Such a request has begun, and is finished whatever happens to its QP:
 * in the error state it completes, and only the requests behind it are flushed;
 * a send queue that drains waits for it; and so does the reset of the QP. A
 * request that has not begun is flushed, and has no effect.
 *
 * timeout: 180
 * paths: host wire
 */
#include "harness.h"
#include "region.h"
#include "system.h"
#include "window.h"

#define SPAN	MIB

/* One request must have waited, in at most so many rounds. */
#define ROUNDS	1000

enum how { INVALIDATE, UNBIND, REBIND };

/* @mr: pages on demand, so that a writer uses the window for some time */
FIXTURE(flush)
{
	struct vt_pair pair;
	struct vt_conn side;
	struct ibv_mr *mr;
	struct ibv_mr *other;
	struct ibv_mw *mw;
	volatile bool going;
	bool bound;
	bool waited;
	int status;
};

FIXTURE_VARIANT(flush)
{
	enum how how;
};

FIXTURE_VARIANT_ADD(flush, invalidate) { INVALIDATE };
FIXTURE_VARIANT_ADD(flush, unbind) { UNBIND };
FIXTURE_VARIANT_ADD(flush, rebind) { REBIND };

FIXTURE_SETUP(flush)
{
	struct vt_ep *b = &self->pair.b;

	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 14, .mtu = IBV_MTU_4096,
			.buf_len = SPAN + VT_GUARD)));
	self->mr = ibv_reg_mr(b->pd, b->buf.p, SPAN, VT_ACCESS_ODP |
						     IBV_ACCESS_MW_BIND);
	if (!self->mr)
		SKIP(return, "no on-demand paging");
	self->other = ibv_reg_mr(b->pd, b->buf.p, PAGE,
				 VT_ACCESS_ALL | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, self->other);
	self->mw = ibv_alloc_mw(b->pd, variant->how == INVALIDATE ?
				       IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	if (!self->mw)
		SKIP(return, "no memory windows");
}

FIXTURE_TEARDOWN(flush)
{
	vt_conn_close(&self->side);
	if (self->mw)
		ibv_dealloc_mw(self->mw);
	if (self->other)
		ibv_dereg_mr(self->other);
	if (self->mr)
		ibv_dereg_mr(self->mr);
	vt_pair_close(&self->pair);
}

static int bind_all(FIXTURE_DATA(flush) *self)
{
	struct vt_bind to = {
		.mr = self->mr, .addr = (uintptr_t)self->mr->addr, .len = SPAN,
		.access = IBV_ACCESS_REMOTE_WRITE,
	};
	int ret = vt_bind_any(&self->pair.b, self->mw, &to);

	self->bound = !ret;
	return ret;
}

/*
 * One long message through the window, by the second connection if there is
 * one. Its status does not matter.
 */
static void *writer_main(void *arg)
{
	FIXTURE_DATA(flush) *self = arg;
	struct ibv_qp *qp = self->side.a ? self->side.a : self->pair.a.qp;
	struct ibv_sge sge = vt_sge(&self->pair.a.buf, 0, SPAN);
	struct ibv_send_wr *bad, wr = vt_rdma_wr(IBV_WR_RDMA_WRITE, 1, &sge,
						 (uintptr_t)self->mr->addr, self->mw->rkey);

	self->going = true;
	ibv_post_send(qp, &wr, &bad);
	return NULL;
}

static int end(FIXTURE_DATA(flush) *self, enum how how)
{
	struct vt_ep *b = &self->pair.b;
	struct ibv_send_wr wr = {
		.wr_id = 2, .opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = self->mw->rkey,
	};
	struct ibv_mw_bind bind = {
		.wr_id = 2, .send_flags = IBV_SEND_SIGNALED,
	};

	if (how == REBIND)
		bind.bind_info = (struct ibv_mw_bind_info){
			.mr = self->other, .length = PAGE,
			.addr = (uintptr_t)self->other->addr,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		};
	return how == INVALIDATE ? vt_post(b, &wr) :
				   -ibv_bind_mw(b->qp, self->mw, &bind);
}

/*
 * A writer writes through the window; a request ends the window's binding, and
 * the QP of that request changes its state at once. The doorbell has executed
 * the request, unless it waits for the writer.
 */
static int meet(FIXTURE_DATA(flush) *self, enum how how,
		enum ibv_qp_state state, long delay)
{
	struct vt_ep *b = &self->pair.b;
	pthread_t thread;
	struct ibv_wc wc;
	int ret;

	if (madvise(self->mr->addr, SPAN, MADV_DONTNEED))
		return -errno;
	self->going = false;
	if (pthread_create(&thread, NULL, writer_main, self))
		return -EAGAIN;
	while (!self->going)
		;
	vt_spin(delay);
	ret = end(self, how);
	self->waited = !ret && !ibv_poll_cq(b->scq, 1, &wc);
	self->status = wc.status;
	if (!ret)
		ret = -vt_qp_to(b->qp, state);
	pthread_join(thread, NULL);
	return ret;
}

/* The status of the request that has waited, if its QP is in error. */
static int status_in_error(FIXTURE_DATA(flush) *self)
{
	int ret = self->waited ? vt_status(self->pair.b.scq, 2) : self->status;

	/*
	 * The writer's peer is in error: end the writer, too, so that it does
	 * not retry.
	 */
	vt_qp_to(self->pair.a.qp, IBV_QPS_ERR);
	return ret;
}

/* The same, if its QP is in SQD; -EAGAIN: it had not begun, and RTS executes it. */
static int status_in_sqd(FIXTURE_DATA(flush) *self)
{
	struct vt_ep *b = &self->pair.b;
	struct ibv_wc wc;
	int ret;

	if (!self->waited)
		return self->status;
	if (vt_poll(b->scq, &wc, 1, 1000) == 1)
		return wc.status;
	ret = -vt_qp_to(b->qp, IBV_QPS_RTS);
	if (!ret)
		ret = vt_status(b->scq, 2);
	return ret == IBV_WC_SUCCESS ? -EAGAIN : ret;
}

static int status_in(FIXTURE_DATA(flush) *self, enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_ERR:
		return status_in_error(self);
	case IBV_QPS_SQD:
		return status_in_sqd(self);
	default:
		return IBV_WC_SUCCESS;
	}
}

/*
 * Repeat it until the request has waited for the writer, and was finished: the
 * window does not keep its region any more.
 */
static void finished(struct __test_metadata *_metadata,
		     FIXTURE_DATA(flush) *self, enum how how,
		     enum ibv_qp_state state)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	bool done = false;
	uint32_t rkey = 0;
	int i, ret;

	for (i = 0; i < ROUNDS && !done; i++) {
		if (!self->bound)
			ASSERT_EQ(0, bind_all(self));
		rkey = self->mw->rkey;
		if (state == IBV_QPS_SQD)
			ASSERT_EQ(0, vt_conn_open(&self->side, a, b));
		ASSERT_EQ(0, meet(self, how, state, i % 40 * 10));
		ret = status_in(self, state);
		vt_conn_close(&self->side);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		self->bound = ret == IBV_WC_WR_FLUSH_ERR;
		if (self->bound) {
			/* It had not begun */
			self->mw->rkey = rkey;
			ASSERT_EQ(IBV_WC_SUCCESS,
				  vt_write_through(&self->pair, rkey));
			ASSERT_EQ(EBUSY, ibv_dereg_mr(self->mr));
			continue;
		}
		if (ret != -EAGAIN)
			ASSERT_EQ(IBV_WC_SUCCESS, ret);
		if (!self->waited || ret == -EAGAIN)
			continue;
		ret = ibv_dereg_mr(self->mr);
		done = !ret;
		if (ret) {
			/* It had not begun: in RESET no completion says so. */
			ASSERT_EQ(IBV_QPS_RESET, state);
			ASSERT_EQ(IBV_WC_SUCCESS,
				  vt_write_through(&self->pair, rkey));
			self->bound = true;
			self->mw->rkey = rkey;
		}
	}
	TH_LOG("it has waited in round %d", i);
	ASSERT_TRUE(done);
	self->mr = NULL;
	if (how == REBIND)
		EXPECT_EQ(IBV_WC_SUCCESS,
			  vt_write_through(&self->pair, self->mw->rkey));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_write_through(&self->pair, rkey));
}

TEST_F(flush, what_has_begun_is_finished_in_error)
{
	finished(_metadata, self, variant->how, IBV_QPS_ERR);
}

TEST_F(flush, what_has_begun_is_finished_while_it_drains)
{
	if (variant->how == INVALIDATE)
		SKIP(return, "only one QP may use a window of type 2");
	finished(_metadata, self, variant->how, IBV_QPS_SQD);
}

TEST_F(flush, what_has_begun_is_finished_by_a_reset)
{
	finished(_metadata, self, variant->how, IBV_QPS_RESET);
}

/* The request is behind a SEND that nobody receives. */
TEST_F(flush, what_has_not_begun_has_no_effect)
{
	struct vt_ep *b = &self->pair.b;
	struct ibv_send_wr send = vt_wr(IBV_WR_SEND, 1, NULL);
	uint32_t rkey;

	ASSERT_EQ(0, bind_all(self));
	rkey = self->mw->rkey;
	ASSERT_EQ(0, vt_post(b, &send));
	ASSERT_EQ(0, end(self, variant->how));
	ASSERT_EQ(0, -vt_qp_to(b->qp, IBV_QPS_ERR));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(b->scq, 1));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(b->scq, 2));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	self->mw->rkey = rkey;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_write_through(&self->pair, rkey));
	EXPECT_EQ(EBUSY, ibv_dereg_mr(self->mr));
}

VT_HARNESS_MAIN
