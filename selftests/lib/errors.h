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
	struct vt_conf conf = vt_defaults;

	conf.mtu = variant->mtu;
	conf.depth = DEPTH;
	conf.timeout = 14;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
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
	vt_pair_close(&self->pair);
}

static inline bool qp_in_error(const struct vt_ep *ep)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;

	while (vt_qp_state(ep->qp) != IBV_QPS_ERR)
		if (vt_now_ms() > end)
			return false;
	return true;
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
