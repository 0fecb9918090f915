/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two connected endpoints and a correct WRITE between them. A test makes one part of it wrong.
 */
#ifndef SMR_TEST_ERRORS_H
#define SMR_TEST_ERRORS_H

#include "harness.h"

#define DEPTH	16
#define LEN	4000
#define LONG	50000

FIXTURE(errors)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct ibv_sge local;
	struct ibv_send_wr wr;
	struct ibv_pd *pd;	/* see another_buf() */
	struct vt_buf buf;
};

FIXTURE_VARIANT(errors)
{
	enum ibv_mtu mtu;
};

/* one packet, several packets */
FIXTURE_VARIANT_ADD(errors, only) { IBV_MTU_4096 };
FIXTURE_VARIANT_ADD(errors, many) { IBV_MTU_256 };

FIXTURE_SETUP(errors)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.mtu = variant->mtu, .depth = DEPTH,
			.timeout = 14)));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	self->local = vt_sge(&self->a->buf, VT_GUARD, LEN);
	self->wr = (struct ibv_send_wr){
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &self->local, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p + VT_GUARD,
		.wr.rdma.rkey = self->b->buf.mr->rkey,
	};
	vt_fill_sges(&self->local, 1, LEN, 99);
}

FIXTURE_TEARDOWN(errors)
{
	vt_buf_close(&self->buf);
	if (self->pd)
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	vt_pair_close(&self->pair);
}

enum whose { SAME_PD, OTHER_PD };

/* A second buffer, of this end's protection domain or of another one: self->buf. Return: its keys */
static inline uint32_t another_buf(FIXTURE_DATA(errors) *self, const struct vt_ep *ep,
				   enum whose pd, int access)
{
	if (pd == OTHER_PD && !self->pd)
		self->pd = ibv_alloc_pd(ep->dev.ctx);
	if (vt_buf_open(&self->buf, pd == OTHER_PD ? self->pd : ep->pd, 8192, access))
		return 0;
	return self->buf.mr->rkey;
}

/* Its registration ends, and nothing else changes. */
static inline int dereg_buf(FIXTURE_DATA(errors) *self)
{
	int ret = ibv_dereg_mr(self->buf.mr);

	self->buf.mr = NULL;
	return ret;
}

static inline void as_atomic(FIXTURE_DATA(errors) *self, enum ibv_wr_opcode opcode, size_t off)
{
	self->wr.opcode = opcode;
	self->local.length = 8;
	self->wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->wr.wr.atomic.remote_addr = (uintptr_t)self->b->buf.p + off;
	self->wr.wr.atomic.rkey = self->b->buf.mr->rkey;
}

static inline bool untouched(struct vt_buf *buf)
{
	return vt_check("buffer", buf->p, buf->len, buf->seed, 0);
}

/* After an error: the QPs work again when they have been reset. */
static inline bool recovers(struct vt_pair *pair)
{
	struct ibv_wc wc;

	while (vt_poll(pair->a.scq, &wc, 1, 0) == 1 ||
	       vt_poll(pair->b.rcq, &wc, 1, 0) == 1)
		;
	if (vt_pair_reset(pair))
		return false;
	vt_fill(pair->a.buf.p, pair->a.buf.len, pair->a.buf.seed, 0);
	vt_fill(pair->b.buf.p, pair->b.buf.len, pair->b.buf.seed, 0);
	return vt_pair_works(pair);
}

static inline struct ibv_send_wr *as_send(FIXTURE_DATA(errors) *self)
{
	self->wr.opcode = IBV_WR_SEND;
	return &self->wr;
}

#endif /* SMR_TEST_ERRORS_H */
