// SPDX-License-Identifier: GPL-2.0
/*
 * UC: every byte and every completion field of SEND and WRITE. Messages that
 * the receiver cannot accept are dropped.
 *
 * break: qemu-newest
 * timeout: 120
 * paths: host wire veth
 */
#include "harness.h"

#include <netinet/in.h>

#define INLINE_LEN	128

FIXTURE(uc)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
};

FIXTURE_VARIANT(uc)
{
	int family;
	enum ibv_mtu mtu;
	bool wr_api;
};

FIXTURE_VARIANT_ADD(uc, v4_256) { AF_INET, IBV_MTU_256, false };
FIXTURE_VARIANT_ADD(uc, v6_4096) { AF_INET6, IBV_MTU_4096, false };
FIXTURE_VARIANT_ADD(uc, wr_api) { AF_INET, IBV_MTU_1024, true };

FIXTURE_SETUP(uc)
{
	struct vt_conf conf = vt_defaults;

	conf.qp_type = IBV_QPT_UC;
	conf.family = variant->family;
	conf.mtu = variant->mtu;
	conf.wr_api = variant->wr_api;
	conf.inline_len = INLINE_LEN;
	conf.sges = 32;
	conf.sq_psn = 0xfffff0;
	conf.buf_len = 2 * MIB;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
}

FIXTURE_TEARDOWN(uc)
{
	vt_pair_close(&self->pair);
}

static const enum ibv_wr_opcode ops[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
};

TEST_F(uc, sizes)
{
	size_t mtu = vt_mtu_bytes(variant->mtu), i, j;
	const size_t lens[] = {
		0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 65537, MIB + 3,
	};

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++) {
			struct vt_xfer x = { ops[i], lens[j], 1, 1 };

			ASSERT_TRUE(vt_transfer(&self->pair, &x))
				TH_LOG("%zu bytes", lens[j]);
		}
}

TEST_F(uc, lists_and_inline)
{
	static const int parts[] = { 1, 3, 32 };
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(parts); j++)
			for (k = 0; k < ARRAY_SIZE(parts); k++) {
				struct vt_xfer x = {
					ops[i], 9001, parts[j], parts[k],
					.zeros = k == 1, .room = 10,
				};

				ASSERT_TRUE(vt_transfer(&self->pair, &x));
				x.flags = IBV_SEND_INLINE;
				x.len = INLINE_LEN - k;
				ASSERT_TRUE(vt_transfer(&self->pair, &x));
			}
}

static struct ibv_send_wr make_wr(FIXTURE_DATA(uc) *self,
				  enum ibv_wr_opcode op, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.wr_id = 1, .opcode = op, .sg_list = sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p + VT_GUARD,
		.wr.rdma.rkey = self->b->buf.mr->rkey,
	};
}

static bool works(FIXTURE_DATA(uc) *self)
{
	vt_fill(self->a->buf.p, self->a->buf.len, self->a->buf.seed, 0);
	vt_fill(self->b->buf.p, self->b->buf.len, self->b->buf.seed, 0);
	return vt_pair_works(&self->pair);
}

/* The send succeeds, the receiver got nothing, and both still work. */
static void expect_lost(struct __test_metadata *_metadata,
			FIXTURE_DATA(uc) *self, struct ibv_send_wr *wr)
{
	struct vt_buf *buf = &self->b->buf;

	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, wr));
	EXPECT_TRUE(vt_rq_quiet(self->b, self->a));
	EXPECT_TRUE(vt_check("target", buf->p, buf->len, buf->seed, 0));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->a->qp));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->b->qp));
	EXPECT_TRUE(works(self));
}

TEST_F(uc, no_receive)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 5000);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_SEND, &sge);

	expect_lost(_metadata, self, &wr);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	sge.length = 100;
	expect_lost(_metadata, self, &wr);
}

TEST_F(uc, bad_rkey)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 5000);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.rkey ^= 0x100;
	expect_lost(_metadata, self, &wr);
	wr = make_wr(self, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p +
				 self->b->buf.len - 4999;
	expect_lost(_metadata, self, &wr);
}

/* The QP does not allow its peer to write. */
TEST_F(uc, not_permitted)
{
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 5000);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_RDMA_WRITE, &sge);
	struct vt_buf *buf = &self->b->buf;

	ASSERT_EQ(0, ibv_modify_qp(self->b->qp, &attr, IBV_QP_ACCESS_FLAGS));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &wr));
	EXPECT_TRUE(vt_rq_quiet(self->b, self->a));
	EXPECT_TRUE(vt_check("target", buf->p, buf->len, buf->seed, 0));
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	ASSERT_EQ(0, ibv_modify_qp(self->b->qp, &attr, IBV_QP_ACCESS_FLAGS));
	EXPECT_TRUE(works(self));
}

/* Class D error: the receive that was too short takes the next message. */
TEST_F(uc, receive_too_short)
{
	struct ibv_sge from = vt_sge(&self->a->buf, VT_GUARD, 5000);
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, 4999);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_SEND, &from);
	struct ibv_wc wc;

	ASSERT_EQ(0, vt_post_recv(self->b, 5, &to, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &wr));
	from.length = 77;
	vt_fill_sges(&from, 1, 77, 3);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &wr));
	ASSERT_EQ(0, vt_wait(self->b->rcq, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(5, wc.wr_id);
	EXPECT_EQ(77, wc.byte_len);
	EXPECT_TRUE(vt_check_sges(&to, 1, 77, 3));
	EXPECT_TRUE(works(self));
}

static int resume(struct vt_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return -ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE);
}

/* The sender's own error stops its send queue only. */
TEST_F(uc, bad_lkey)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 5000);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_SEND, &sge);
	struct ibv_send_wr back = {
		.wr_id = 2, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int i;

	for (i = 0; i < 3; i++) {
		sge.lkey = self->a->buf.mr->lkey ^ 0x100;
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &wr));
		EXPECT_EQ(IBV_QPS_SQE, vt_qp_state(self->a->qp));
		sge.lkey = self->a->buf.mr->lkey;
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_outcome(self->a, &wr));
		ASSERT_EQ(0, vt_post_recv(self->a, 3, NULL, 0));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->b, &back));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->rcq, 3));
		ASSERT_EQ(0, resume(self->a));
		EXPECT_TRUE(works(self));
	}
}

/* Opcodes that need an answer are refused. */
TEST_F(uc, reliable_opcodes)
{
	static const enum ibv_wr_opcode reliable[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
	};
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 8);
	struct ibv_send_wr wr, *bad;
	int i;

	for (i = 0; i < ARRAY_SIZE(reliable); i++) {
		wr = make_wr(self, reliable[i], &sge);
		EXPECT_EQ(EINVAL, ibv_post_send(self->a->qp, &wr, &bad));
	}
	EXPECT_TRUE(works(self));
}

/* Writes through a type 1 window that are allowed, and that are not */
TEST_F(uc, window)
{
	struct ibv_mw *mw = ibv_alloc_mw(self->b->pd, IBV_MW_TYPE_1);
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 100);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_RDMA_WRITE, &sge);
	struct ibv_mw_bind bind = {
		.wr_id = 9, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_mr *mr;

	ASSERT_NE(NULL, mw);
	mr = ibv_reg_mr(self->b->pd, self->b->buf.p, self->b->buf.len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	ASSERT_NE(NULL, mr);
	bind.bind_info.mr = mr;
	bind.bind_info.addr = (uintptr_t)self->b->buf.p + VT_GUARD;
	bind.bind_info.length = 100;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	ASSERT_EQ(0, ibv_bind_mw(self->b->qp, mw, &bind));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->b->scq, 9));
	wr.wr.rdma.rkey = mw->rkey;
	wr.wr.rdma.remote_addr++;
	expect_lost(_metadata, self, &wr);
	wr.wr.rdma.remote_addr--;
	vt_fill_sges(&sge, 1, 100, 8);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &wr));
	ASSERT_EQ(0, vt_post_recv(self->b, 4, NULL, 0));
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = 0;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 4));
	EXPECT_TRUE(vt_check("window", self->b->buf.p + VT_GUARD, 100, 8, 0));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

VT_HARNESS_MAIN
