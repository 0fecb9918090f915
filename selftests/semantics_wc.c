// SPDX-License-Identifier: GPL-2.0
/*
 * How work requests complete, row by row of Documentation/semantics.rst.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 90
 * paths: host veth
 */
#include "rows.h"

#define ALL	(LW | RW | RR | RA)
#define LEN	3000
#define DEPTH	8

/* -- errors in a part of the local list, in each operation that has one */

enum { KEY, RANGE_START, RANGE_END, RANGE_WRAPS, RIGHT, OTHER_PD };

static struct ibv_sge wrong_sge(const struct vt_ep *ep, int what,
				const struct vt_place *r)
{
	struct ibv_sge sge = vt_sge(&ep->buf, VT_GUARD, LEN);

	switch (what) {
	case KEY:
		sge.lkey ^= 0x5a5a00;
		break;
	case RANGE_START:
		sge.addr = (uintptr_t)ep->buf.p - 1;
		break;
	case RANGE_END:
		sge.addr = (uintptr_t)ep->buf.p + ep->buf.len - LEN + 1;
		break;
	case RANGE_WRAPS:
		sge.addr = UINT64_MAX - LEN / 2;
		break;
	default:
		sge = vt_place_sge(r, 0, LEN);
	}
	return sge;
}

static struct vt_remote whole(const struct vt_ep *ep)
{
	return (struct vt_remote){ (uintptr_t)ep->buf.p + VT_GUARD,
				   ep->buf.mr->rkey };
}

static bool untouched(const struct vt_ep *ep)
{
	return vt_check("buffer", ep->buf.p, ep->buf.len, ep->buf.seed, 0);
}

static struct ibv_pd *region_for(struct __test_metadata *_metadata,
				 row_data *self, struct vt_ep *ep, int what)
{
	struct ibv_pd *pd = NULL;

	if (what == OTHER_PD) {
		pd = ibv_alloc_pd(ep->dev.ctx);
		ASSERT_NE(NULL, pd);
	}
	ASSERT_EQ(0, vt_place_open(&self->r, pd ? pd : ep->pd,
				    pd ? ALL : RR));
	return pd;
}

/*
 * @flags is the opcode. A missing right matters only for operations that write
 * locally.
 */
CHECK(local)
{
	struct ibv_pd *pd = region_for(_metadata, self, self->a, row->kind);
	struct ibv_sge sge = wrong_sge(self->a, row->kind, &self->r);

	EXPECT_EQ(row->want, vt_op(self->a, row->flags, &sge, whole(self->b)));
	EXPECT_TRUE(untouched(self->a));
	EXPECT_TRUE(untouched(self->b));
	vt_place_close(&self->r);
	if (pd)
		EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* The same errors in a receive; its sender gets REM_OP_ERR. */
CHECK(receive)
{
	struct ibv_pd *pd = region_for(_metadata, self, self->b, row->kind);
	struct ibv_sge to = wrong_sge(self->b, row->kind, &self->r);
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, LEN);

	ASSERT_EQ(0, vt_post_recv(self->b, 7, &to, 1));
	EXPECT_EQ(IBV_WC_REM_OP_ERR,
		  vt_op(self->a, IBV_WR_SEND, &sge, (struct vt_remote){}));
	EXPECT_EQ(row->want, vt_status(self->b->rcq, 7));
	/* Packets of a message before its last one may have been accepted. */
	if (row->kind != RANGE_END)
		EXPECT_TRUE(untouched(self->b));
	vt_place_close(&self->r);
	if (pd)
		EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* -- errors at the remote end */

static struct vt_remote wrong_remote(const struct vt_ep *ep, int what,
				     const struct vt_place *r)
{
	struct vt_remote remote = whole(ep);

	switch (what) {
	case KEY:
		remote.rkey ^= 0x5a5a00;
		break;
	case RANGE_START:
		remote.addr = (uintptr_t)ep->buf.p - 8;
		break;
	case RANGE_END:
		remote.addr = (uintptr_t)ep->buf.p + ep->buf.len;
		break;
	case RANGE_WRAPS:
		remote.addr = UINT64_MAX - 7;
		break;
	default:
		remote = (struct vt_remote){ r->iova, r->mr->rkey };
	}
	return remote;
}

CHECK(remote)
{
	enum ibv_wr_opcode op = row->flags;
	bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, atomic ? 8 : LEN);
	struct ibv_pd *pd = NULL;

	if (row->kind == OTHER_PD)
		pd = ibv_alloc_pd(self->b->dev.ctx);
	ASSERT_EQ(0, vt_place_open(&self->r, pd ? pd : self->b->pd,
				    pd ? ALL : LW));
	EXPECT_EQ(row->want, vt_op(self->a, op, &sge,
				   wrong_remote(self->b, row->kind, &self->r)));
	EXPECT_TRUE(untouched(self->a));
	EXPECT_TRUE(untouched(self->b));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx, IBV_EVENT_QP_ACCESS_ERR,
				    VT_TIMEOUT_MS));
	vt_place_close(&self->r);
	if (pd)
		EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* A request that the responder's QP does not accept at all */
CHECK(not_taken)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 8);

	self->b->conf.qp_access = row->access;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_EQ(row->want, vt_op(self->a, row->flags, &sge, whole(self->b)));
	EXPECT_TRUE(untouched(self->b));
}

CHECK(misaligned)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 8);
	struct vt_remote to = whole(self->b);

	to.addr += 4;
	EXPECT_EQ(row->want, vt_op(self->a, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, to));
	EXPECT_TRUE(untouched(self->b));
}

/* The receive is a byte too short: LOC_LEN_ERR there, @want here. */
CHECK(too_long)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, LEN);
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN - 1);

	ASSERT_EQ(0, vt_post_recv(self->b, 7, &to, 1));
	EXPECT_EQ(row->want,
		  vt_op(self->a, IBV_WR_SEND, &sge, (struct vt_remote){}));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(self->b->rcq, 7));
}

/* -- no answer, or no receive */

CHECK(no_answer)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, LEN);

	self->a->conf.retry_cnt = 1;
	self->a->conf.rnr_retry = 1;
	self->a->conf.timeout = 12;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	if (row->kind) {
		ASSERT_EQ(0, ibv_destroy_qp(self->b->qp));
		self->b->qp = NULL;
	}
	EXPECT_EQ(row->want,
		  vt_op(self->a, IBV_WR_SEND, &sge, (struct vt_remote){}));
}

/* -- after an error */

/* Of @n requests, posted together, the one at @bad fails with @want. */
static void expect_flush(struct __test_metadata *_metadata, struct ibv_cq *cq,
			 int n, int bad, int want)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, vt_wait(cq, &wc));
		EXPECT_EQ(i, wc.wr_id);
		EXPECT_EQ(i < bad ? IBV_WC_SUCCESS :
			  i == bad ? want : IBV_WC_WR_FLUSH_ERR, wc.status);
	}
}

/* Each completes once, in order; those after the error with WR_FLUSH_ERR. */
CHECK(flushed)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, LEN);
	struct vt_remote to = whole(self->b);
	struct ibv_send_wr wr[DEPTH] = {}, *bad;
	int i;

	for (i = 0; i < DEPTH; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { to.addr, to.rkey },
			.next = i < DEPTH - 1 ? &wr[i + 1] : NULL,
		};
		ASSERT_EQ(0, vt_post_recv(self->a, i, NULL, 0));
	}
	wr[3].wr.rdma.rkey ^= 0x5a5a00;
	ASSERT_EQ(0, ibv_post_send(self->a->qp, wr, &bad));
	expect_flush(_metadata, self->a->scq, DEPTH, 3, row->want);
	expect_flush(_metadata, self->a->rcq, DEPTH, -1, 0);
	EXPECT_TRUE(vt_sq_quiet(self->a));
	EXPECT_TRUE(vt_rq_quiet(self->a, NULL));
	/* Requests that are posted later are flushed, too. */
	wr[0].next = NULL;
	ASSERT_EQ(0, ibv_post_send(self->a->qp, wr, &bad));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->a->scq, 0));
}

/* No request fails: each completes once, in order. */
CHECK(once)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, LEN);
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);
	struct ibv_send_wr wr[DEPTH] = {}, *bad;
	int i;

	for (i = 0; i < DEPTH; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .opcode = IBV_WR_SEND,
			.sg_list = &sge, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i < DEPTH - 1 ? &wr[i + 1] : NULL,
		};
		ASSERT_EQ(0, vt_post_recv(self->b, i, &to, 1));
	}
	ASSERT_EQ(0, ibv_post_send(self->a->qp, wr, &bad));
	expect_flush(_metadata, self->a->scq, DEPTH, DEPTH, 0);
	expect_flush(_metadata, self->b->rcq, DEPTH, DEPTH, 0);
	EXPECT_TRUE(vt_sq_quiet(self->a));
	EXPECT_TRUE(vt_rq_quiet(self->b, self->a));
}

/* -- LOC_PROT_ERR */
ROW(wc_local_key, local, .kind = KEY, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_local_key_of_other_pd, local, .kind = OTHER_PD, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_local_range_start, local, .kind = RANGE_START, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_local_range_end, local, .kind = RANGE_END, .flags = IBV_WR_RDMA_READ, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_local_range_wraps, local, .kind = RANGE_WRAPS, .flags = IBV_WR_SEND, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_local_right, local, .kind = RIGHT, .flags = IBV_WR_RDMA_READ, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_receive_key, receive, .kind = KEY, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_receive_key_of_other_pd, receive, .kind = OTHER_PD, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_receive_range, receive, .kind = RANGE_END, .want = IBV_WC_LOC_PROT_ERR);
ROW(wc_receive_right, receive, .kind = RIGHT, .want = IBV_WC_LOC_PROT_ERR);
/* -- REM_ACCESS_ERR */
ROW(wc_remote_key, remote, .kind = KEY, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_key_of_other_pd, remote, .kind = OTHER_PD, .flags = IBV_WR_RDMA_READ, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_range_start, remote, .kind = RANGE_START, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_range_end, remote, .kind = RANGE_END, .flags = IBV_WR_RDMA_READ, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_range_wraps, remote, .kind = RANGE_WRAPS, .flags = IBV_WR_ATOMIC_FETCH_AND_ADD, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_write_right, remote, .kind = RIGHT, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_read_right, remote, .kind = RIGHT, .flags = IBV_WR_RDMA_READ, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_remote_atomic_right, remote, .kind = RIGHT, .flags = IBV_WR_ATOMIC_FETCH_AND_ADD, .want = IBV_WC_REM_ACCESS_ERR);
/* -- REM_INV_REQ_ERR */
ROW(wc_write_not_taken, not_taken, .access = LW | RR | RA, .flags = IBV_WR_RDMA_WRITE, .want = IBV_WC_REM_INV_REQ_ERR);
ROW(wc_read_not_taken, not_taken, .access = LW | RW | RA, .flags = IBV_WR_RDMA_READ, .want = IBV_WC_REM_INV_REQ_ERR);
ROW(wc_atomic_not_taken, not_taken, .access = LW | RW | RR, .flags = IBV_WR_ATOMIC_FETCH_AND_ADD, .want = IBV_WC_REM_INV_REQ_ERR);
ROW(wc_atomic_misaligned, misaligned, .want = IBV_WC_REM_INV_REQ_ERR);
ROW(wc_receive_too_small, too_long, .want = IBV_WC_REM_INV_REQ_ERR);
/* -- no answer, or no receive */
ROW(wc_no_answer, no_answer, .kind = 1, .want = IBV_WC_RETRY_EXC_ERR);
ROW(wc_not_ready, no_answer, .kind = 0, .want = IBV_WC_RNR_RETRY_EXC_ERR);
/* -- order */
ROW(wc_flush, flushed, .want = IBV_WC_REM_ACCESS_ERR);
ROW(wc_once, once);

VT_HARNESS_MAIN
