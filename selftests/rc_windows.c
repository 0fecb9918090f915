// SPDX-License-Identifier: GPL-2.0
/*
 * Windows at one end, used from the other: every byte and every completion
 * field of each opcode, and how windows end. One driver may bind the window and
 * another one use it: see interop_rxe.sh.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: host veth
 */
#include "harness.h"
#include "region.h"
#include "window.h"

#define BUF_LEN	(128 * 1024)
#define RIGHTS	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)

FIXTURE(windows)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct ibv_mw *mw;
	struct vt_bind to;
};

FIXTURE_VARIANT(windows)
{
	enum ibv_mw_type type;
	int family;
	enum ibv_mtu mtu;
	bool wr_api;
};

FIXTURE_VARIANT_ADD(windows, type_1) {
	IBV_MW_TYPE_1, AF_INET, IBV_MTU_1024,
};

FIXTURE_VARIANT_ADD(windows, type_2) {
	IBV_MW_TYPE_2, AF_INET, IBV_MTU_1024,
};

FIXTURE_VARIANT_ADD(windows, type_2_v6) {
	IBV_MW_TYPE_2, AF_INET6, IBV_MTU_4096,
};

FIXTURE_VARIANT_ADD(windows, type_2_wr_api) {
	IBV_MW_TYPE_2, AF_INET, IBV_MTU_256, true,
};

static int open_window(FIXTURE_DATA(windows) *self)
{
	return vt_bind_any(self->b, self->mw, &self->to);
}

FIXTURE_SETUP(windows)
{
	struct vt_conf conf = vt_defaults;

	conf.family = variant->family;
	conf.mtu = variant->mtu;
	conf.wr_api = variant->wr_api;
	conf.send_ops = IBV_QP_EX_WITH_SEND_WITH_INV |
			IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	conf.buf_len = BUF_LEN;
	conf.buf_access |= IBV_ACCESS_MW_BIND;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	self->mw = ibv_alloc_mw(self->b->pd, variant->type);
	ASSERT_NE(NULL, self->mw);
	self->to = (struct vt_bind){
		.mr = self->b->buf.mr, .addr = (uintptr_t)self->b->buf.p,
		.len = BUF_LEN, .access = RIGHTS,
	};
	ASSERT_EQ(IBV_WC_SUCCESS, open_window(self));
}

FIXTURE_TEARDOWN(windows)
{
	if (self->mw)
		EXPECT_EQ(0, ibv_dealloc_mw(self->mw));
	vt_pair_close(&self->pair);
}

static bool moves(FIXTURE_DATA(windows) *self, enum ibv_wr_opcode op,
		  size_t len)
{
	struct vt_xfer x = {
		.op = op, .len = len, .src_sges = 2, .dst_sges = 3,
		.rkey = self->mw->rkey,
	};

	return vt_transfer(&self->pair, &x);
}

TEST_F(windows, reached)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	};
	size_t mtu = vt_mtu_bytes(variant->mtu), i, j;
	const size_t lens[] = { 0, 1, mtu - 1, mtu, mtu + 1, 65537 };

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++)
			ASSERT_TRUE(moves(self, ops[i], lens[j]));
}

static int use(FIXTURE_DATA(windows) *self, enum ibv_wr_opcode op,
	       uint64_t addr)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 8);

	return vt_op(self->a, op, &sge,
		     (struct vt_remote){ addr, self->mw->rkey });
}

TEST_F(windows, atomics)
{
	uint8_t *word = self->b->buf.p + VT_GUARD;
	uint64_t before, after, found;

	memcpy(&before, word, 8);
	ASSERT_EQ(IBV_WC_SUCCESS, use(self, IBV_WR_ATOMIC_FETCH_AND_ADD,
				      (uintptr_t)word));
	memcpy(&found, self->a->buf.p + VT_GUARD, 8);
	memcpy(&after, word, 8);
	EXPECT_EQ(before, found);
	EXPECT_NE(before, after);
	EXPECT_TRUE(vt_check("before", self->b->buf.p, VT_GUARD,
			     self->b->buf.seed, 0));
	EXPECT_TRUE(vt_check("behind", word + 8, BUF_LEN - VT_GUARD - 8,
			     self->b->buf.seed, VT_GUARD + 8));
}

/*
 * A window over a part of a region gives the peer access to that part only, to
 * the byte.
 */
TEST_F(windows, bounds)
{
	uint64_t start = (uintptr_t)self->b->buf.p + 2 * VT_GUARD;
	uint64_t outside[] = { start - 1, start + VT_GUARD - 7 };
	int i;

	if (vt_on_path("to_rxe"))
		SKIP(return, "rdma_rxe looks at the region's bounds instead");
	self->to.addr = start;
	self->to.len = VT_GUARD;
	if (variant->type == IBV_MW_TYPE_2)
		ASSERT_EQ(IBV_WC_SUCCESS,
			  vt_invalidate(self->b, self->mw->rkey));
	ASSERT_EQ(IBV_WC_SUCCESS, open_window(self));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  use(self, IBV_WR_RDMA_WRITE, outside[i]));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  use(self, IBV_WR_RDMA_READ, outside[i]));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
	EXPECT_TRUE(vt_check("buffer", self->b->buf.p, BUF_LEN,
			     self->b->buf.seed, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, use(self, IBV_WR_RDMA_WRITE, start));
	EXPECT_EQ(IBV_WC_SUCCESS,
		  use(self, IBV_WR_RDMA_READ, start + VT_GUARD - 8));
}

static void expect_closed(struct __test_metadata *_metadata,
			  FIXTURE_DATA(windows) *self)
{
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  use(self, IBV_WR_RDMA_WRITE, self->to.addr));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_TRUE(vt_check("buffer", self->b->buf.p, BUF_LEN,
			     self->b->buf.seed, 0));
}

TEST_F(windows, invalidated_by_its_owner)
{
	if (variant->type == IBV_MW_TYPE_1)
		SKIP(return, "only windows of type 2 can be invalidated");
	ASSERT_TRUE(moves(self, IBV_WR_RDMA_WRITE, 5000));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_invalidate(self->b, self->mw->rkey));
	expect_closed(_metadata, self);
}

/*
 * By SEND_WITH_INV of any length; then the window is bound again, with another
 * key.
 */
TEST_F(windows, invalidated_by_the_peer)
{
	size_t mtu = vt_mtu_bytes(variant->mtu), i;
	const size_t lens[] = { 0, 1, mtu, mtu + 1, 65537 };

	if (variant->type == IBV_MW_TYPE_1)
		SKIP(return, "only windows of type 2 can be invalidated");
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		ASSERT_TRUE(moves(self, IBV_WR_RDMA_WRITE, 5000));
		ASSERT_TRUE(moves(self, IBV_WR_SEND_WITH_INV, lens[i]));
		expect_closed(_metadata, self);
		ASSERT_EQ(IBV_WC_SUCCESS, open_window(self));
	}
}

VT_HARNESS_MAIN
