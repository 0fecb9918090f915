// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that end a window's binding wait for a writer that still uses the
 * window. If their QP goes to the error state during that time, they are
 * flushed: they were not executed, and the window is bound as before. In SQD
 * the window also stays open, and the requests are executed afterwards.
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#include <pthread.h>
#include <sys/mman.h>

#include "region.h"
#include "system.h"
#include "window.h"

#define SPAN	MIB

/* At least ENOUGH requests must have waited, in at most ROUNDS rounds. */
#define ENOUGH	1
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
	struct vt_conf conf = vt_defaults;
	struct vt_ep *b = &self->pair.b;

	conf.timeout = 14;
	conf.mtu = IBV_MTU_4096;
	conf.buf_len = SPAN + VT_GUARD;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
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
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge,
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)self->mr->addr,
		.wr.rdma.rkey = self->mw->rkey,
	};

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

static int qp_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return -ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/*
 * A writer writes through the window; a request ends the window's binding, and
 * the QP of that request changes its state at once.
 */
static int meet(FIXTURE_DATA(flush) *self, enum how how,
		enum ibv_qp_state state, long delay)
{
	pthread_t thread;
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
	if (!ret)
		ret = qp_to(self->pair.b.qp, state);
	pthread_join(thread, NULL);
	return ret;
}

/* Return: the status of the request that ends the binding. */
static int meet_and_fail(FIXTURE_DATA(flush) *self, enum how how, long delay)
{
	uint32_t rkey = self->mw->rkey;
	int ret = meet(self, how, IBV_QPS_ERR, delay);

	if (!ret)
		ret = vt_status(self->pair.b.scq, 2);
	if (ret)
		self->mw->rkey = rkey;
	/*
	 * The writer's peer is in error: end the writer, too, so that it does
	 * not retry.
	 */
	qp_to(self->pair.a.qp, IBV_QPS_ERR);
	return ret;
}

TEST_F(flush, nothing_has_ended)
{
	int i, ret, flushed = 0;

	for (i = 0; i < ROUNDS && flushed < ENOUGH; i++) {
		if (!self->bound)
			ASSERT_EQ(0, bind_all(self));
		ret = meet_and_fail(self, variant->how, i % 40 * 10);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		if (ret == IBV_WC_SUCCESS) {
			self->bound = false;
			continue;
		}
		ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, ret);
		flushed++;
		ASSERT_EQ(IBV_WC_SUCCESS,
			  vt_write_through(&self->pair, self->mw->rkey)) {
			TH_LOG("the window is shut, in round %d", i);
		}
		ASSERT_EQ(EBUSY, ibv_dereg_mr(self->mr));
	}
	TH_LOG("flushed %d of %d times", flushed, i);
	ASSERT_EQ(ENOUGH, flushed);
	/* and it can still be unbound */
	ASSERT_EQ(0, ibv_dealloc_mw(self->mw));
	self->mw = NULL;
	ASSERT_EQ(0, ibv_dereg_mr(self->mr));
	self->mr = NULL;
}

TEST_F(flush, nothing_ends_while_it_drains)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	int i, waited = 0;
	struct ibv_wc wc;
	uint32_t rkey;

	if (variant->how == INVALIDATE)
		SKIP(return, "only one QP may use a window of type 2");
	for (i = 0; i < ROUNDS && waited < ENOUGH; i++) {
		ASSERT_EQ(0, bind_all(self));
		rkey = self->mw->rkey;
		ASSERT_EQ(0, vt_conn_open(&self->side, a, b));
		ASSERT_EQ(0, meet(self, variant->how, IBV_QPS_SQD,
				  i % 40 * 10));
		if (vt_no_completion(b->scq, 5)) {
			waited++;
			/* the writer, which may have found the window closed */
			ASSERT_EQ(0, vt_wait(a->scq, &wc));
			ASSERT_EQ(IBV_WC_SUCCESS,
				  vt_write_through(&self->pair, rkey)) {
				TH_LOG("the window is shut, in round %d", i);
			}
			ASSERT_EQ(0, qp_to(b->qp, IBV_QPS_RTS));
			ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->scq, 2));
			EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
				  vt_write_through(&self->pair, rkey));
		}
		vt_conn_close(&self->side);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
	TH_LOG("waited %d of %d times", waited, i);
	ASSERT_EQ(ENOUGH, waited);
}

VT_HARNESS_MAIN
