// SPDX-License-Identifier: GPL-2.0
/*
 * SEND with invalidate: the message arrives complete, its receive reports the
 * invalidated key, and the key is invalid. And keys that a peer cannot
 * invalidate.
 *
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "window.h"

#define MSG_MAX	200000

FIXTURE(inval)
{
	struct vt_pair pair;
	struct vt_window w;
};

FIXTURE_VARIANT(inval)
{
	enum ibv_mtu mtu;
};

FIXTURE_VARIANT_ADD(inval, small_packets) { IBV_MTU_256 };
FIXTURE_VARIANT_ADD(inval, large_packets) { IBV_MTU_4096 };

FIXTURE_SETUP(inval)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.mtu = variant->mtu,
			.buf_len = MSG_MAX + 4 * VT_GUARD)));
	VT_SETUP(vt_window_open(&self->w, &self->pair.b, IBV_MW_TYPE_2));
}

FIXTURE_TEARDOWN(inval)
{
	EXPECT_EQ(0, vt_window_close(&self->w));
	vt_pair_close(&self->pair);
}

/* Post a SEND with invalidate of @len bytes and the receive for it. */
static int send_inval(FIXTURE_DATA(inval) *self, uint32_t rkey, size_t len)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_sge from = vt_sge(&a->buf, VT_GUARD, len);
	struct ibv_sge to = vt_sge(&b->buf, VT_GUARD, len);
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = IBV_WR_SEND_WITH_INV, .sg_list = &from,
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};
	int ret = vt_post_recv(b, 8, &to, 1);

	return ret ? ret : vt_outcome(a, &wr);
}

TEST_F(inval, data_and_key)
{
	static const size_t lens[] = {
		0, 1, 255, 256, 257, PAGE, PAGE + 1, 65536, MSG_MAX,
	};
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_wc wc;
	uint32_t rkey;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct ibv_sge sge = vt_sge(&b->buf, VT_GUARD, lens[i]);

		ASSERT_EQ(0, vt_bind_page(b, self->w.mw, self->w.mr));
		rkey = self->w.mw->rkey;
		ASSERT_EQ(0, vt_write_through(&self->pair, rkey));
		vt_fill(b->buf.p, b->buf.len, b->buf.seed, 0);
		vt_fill(a->buf.p + VT_GUARD, lens[i], i, 0);
		ASSERT_EQ(0, send_inval(self, rkey, lens[i]));
		ASSERT_EQ(0, vt_wait(b->rcq, &wc));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(8, wc.wr_id);
		EXPECT_EQ(IBV_WC_RECV, wc.opcode);
		EXPECT_EQ(lens[i], wc.byte_len);
		EXPECT_EQ(IBV_WC_WITH_INV, wc.wc_flags & (IBV_WC_WITH_INV |
							  IBV_WC_WITH_IMM));
		EXPECT_EQ(rkey, wc.invalidated_rkey);
		EXPECT_TRUE(vt_check_sges(&sge, 1, lens[i], i));
		EXPECT_TRUE(vt_buf_restore(&b->buf, &sge, 1, lens[i]));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_write_through(&self->pair, rkey));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
	/* the region is free again */
	EXPECT_EQ(0, ibv_dereg_mr(self->w.mr));
	self->w.mr = NULL;
}

/* The peer is refused, and the key that it named stays valid. */
static void refused(struct __test_metadata *_metadata,
		    FIXTURE_DATA(inval) *self, uint32_t rkey)
{
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, send_inval(self, rkey, 100));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
}

TEST_F(inval, what_is_no_window_of_this_qp)
{
	struct vt_ep *b = &self->pair.b;
	struct ibv_mw *mw_1 = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
	struct vt_pair elsewhere;
	uint32_t rkey;

	/*
	 * no key; a region's key; the key of an unbound window; the key of a
	 * type 1 window
	 */
	refused(_metadata, self, 0);
	refused(_metadata, self, self->w.mr->rkey);
	EXPECT_EQ(0, vt_write_through(&self->pair, self->w.mr->rkey));
	refused(_metadata, self, self->w.mw->rkey);
	ASSERT_NE(NULL, mw_1);
	ASSERT_EQ(0, vt_bind_page(b, mw_1, self->w.mr));
	refused(_metadata, self, mw_1->rkey);
	EXPECT_EQ(0, vt_write_through(&self->pair, mw_1->rkey));
	EXPECT_EQ(0, ibv_dealloc_mw(mw_1));
	/* a bound window's key with another tag, and its former key */
	rkey = self->w.mw->rkey;
	ASSERT_EQ(0, vt_bind_page(b, self->w.mw, self->w.mr));
	refused(_metadata, self, rkey);
	refused(_metadata, self, self->w.mw->rkey ^ 0x80);
	EXPECT_EQ(0, vt_write_through(&self->pair, self->w.mw->rkey));
	/* through another connection, which the window is not tied to */
	ASSERT_EQ(0, vt_pair_open(&elsewhere, &self->pair.b.conf));
	{
		FIXTURE_DATA(inval) other = { .pair = elsewhere };

		refused(_metadata, &other, self->w.mw->rkey);
	}
	vt_pair_close(&elsewhere);
	EXPECT_EQ(0, vt_write_through(&self->pair, self->w.mw->rkey));
}

VT_HARNESS_MAIN
