// SPDX-License-Identifier: GPL-2.0
/*
 * UD: every byte, every field of the GRH and of the completions, at all sizes
 * around a boundary, with lists that split at odd places, from a QP's own and
 * from a shared receive queue.
 *
 * break: qemu-newest
 * timeout: 120
 * paths: host wire veth
 */
#include "harness.h"

#include <netinet/in.h>

#include "grh.h"

#define DEPTH		128
#define INLINE_LEN	128
#define MTU		4096

FIXTURE(ud)
{
	struct vt_pair pair;
};

FIXTURE_VARIANT(ud)
{
	int family;
	bool wr_api;
	bool shared;
};

FIXTURE_VARIANT_ADD(ud, v4) { AF_INET, false, false };
FIXTURE_VARIANT_ADD(ud, v6) { AF_INET6, false, false };
FIXTURE_VARIANT_ADD(ud, wr_api) { AF_INET, true, false };
FIXTURE_VARIANT_ADD(ud, srq) { AF_INET, false, true };

/* The QP once more, with a shared receive queue. */
static int share_receives(struct vt_ep *ep)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = DEPTH, .max_sge = 32 },
	};
	uint32_t most = ep->dev.attr.max_srq_sge;

	if (most < init.attr.max_sge)
		init.attr.max_sge = most;
	ep->conf.sges = init.attr.max_sge;
	if (ibv_destroy_qp(ep->qp))
		return -EBUSY;
	ep->qp = NULL;
	ep->srq = ibv_create_srq(ep->pd, &init);
	if (!ep->srq)
		return -errno;
	ep->qp = vt_qp_create(ep);
	return ep->qp ? 0 : -errno;
}

FIXTURE_SETUP(ud)
{
	struct vt_conf conf = vt_defaults;
	struct vt_pair *pair = &self->pair;

	conf.qp_type = IBV_QPT_UD;
	conf.family = variant->family;
	conf.wr_api = variant->wr_api;
	conf.depth = DEPTH;
	conf.sges = 32;
	conf.inline_len = INLINE_LEN;
	conf.events = true;
	conf.buf_len = 1024 * 1024;
	VT_SETUP(vt_ep_open(&pair->a, &conf, 0));
	VT_SETUP(vt_ep_open(&pair->b, &conf, 1));
	if (variant->shared)
		VT_SETUP(share_receives(&pair->b));
	VT_SETUP(vt_pair_connect(pair));
	ASSERT_EQ(IBV_MTU_4096, pair->a.dev.port.active_mtu);
}

FIXTURE_TEARDOWN(ud)
{
	vt_pair_close(&self->pair);
}

static const size_t lens[] = { 0, 1, 2, 3, 4, 39, 40, 1023, MTU - 1, MTU };
static const size_t list_lens[] = { 0, 1, 41, 2049, MTU };

TEST_F(ud, send)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(list_lens); i++) {
		struct vt_xfer x = { .op = IBV_WR_SEND, .len = list_lens[i] };

		ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
		x.zeros = true;
		ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
	}
}

TEST_F(ud, send_imm)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct vt_xfer x = {
			IBV_WR_SEND_WITH_IMM, lens[i], .src_sges = 2,
			.dst_sges = 3,
		};

		ASSERT_TRUE(vt_transfer(&self->pair, &x));
	}
}

TEST_F(ud, inline_data)
{
	static const size_t inlines[] = { 0, 63, INLINE_LEN };
	int i;

	for (i = 0; i < ARRAY_SIZE(inlines); i++) {
		struct vt_xfer x = {
			.op = IBV_WR_SEND, .len = inlines[i],
			.flags = IBV_SEND_INLINE,
		};

		ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
	}
}

/* The part of a receive beyond the message is unchanged. */
TEST_F(ud, receive_longer_than_message)
{
	static const size_t rooms[] = { 1, 77, 20000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		struct vt_xfer x = {
			.op = IBV_WR_SEND_WITH_IMM, .len = 1000,
			.room = rooms[i],
		};

		ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
	}
}

static struct ibv_sge slot(struct vt_buf *buf, int i, uint32_t len)
{
	return vt_sge(buf, VT_GUARD + 256 * i, len);
}

/* A queue full of messages arrives, in order, if the receive queue has room. */
TEST_F(ud, outstanding_128)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct ibv_sge from, to;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < DEPTH; i++) {
		to = slot(&b->buf, i, VT_GRH_LEN + 100);
		ASSERT_EQ(0, vt_post_recv(b, i, &to, 1));
	}
	vt_wr_to_peer(a, &wr);
	wr.sg_list = &from;
	for (i = 0; i < DEPTH; i++) {
		from = slot(&a->buf, i, i % 100 + 1);
		vt_fill_sges(&from, 1, from.length, i);
		wr.wr_id = i;
		wr.send_flags = i == DEPTH - 1 ? IBV_SEND_SIGNALED : 0;
		ASSERT_EQ(0, vt_post(a, &wr));
	}
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, DEPTH - 1));
	for (i = 0; i < DEPTH; i++) {
		ASSERT_EQ(0, vt_wait(b->rcq, &wc));
		ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
		ASSERT_EQ(i, wc.wr_id);
		ASSERT_EQ(i % 100 + 1 + VT_GRH_LEN, wc.byte_len);
		to = slot(&b->buf, i, VT_GRH_LEN + 100);
		vt_sges_skip(&to, &to, 1, VT_GRH_LEN);
		ASSERT_TRUE(vt_check_sges(&to, 1, i % 100 + 1, i));
	}
	EXPECT_TRUE(vt_sq_quiet(a));
}

/* One QP sends to several, also to itself; each receiver learns the sender. */
TEST_F(ud, one_to_many)
{
	struct vt_pair *p = &self->pair;
	struct vt_addr to[] = { vt_ep_addr(&p->a), vt_ep_addr(&p->b) };
	struct vt_ep *eps[] = { &p->a, &p->b };
	struct ibv_sge sge;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	int i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < 2; j++) {
			struct ibv_send_wr wr = {
				.opcode = IBV_WR_SEND,
				.send_flags = IBV_SEND_SIGNALED,
			};

			attr = vt_ah_attr(eps[i]->dev.gid_index, &to[j].gid);
			ah = ibv_create_ah(eps[i]->pd, &attr);
			ASSERT_NE(NULL, ah);
			sge = slot(&eps[j]->buf, 0, VT_GRH_LEN);
			ASSERT_EQ(0, vt_post_recv(eps[j], 7, &sge, 1));
			wr.wr.ud.ah = ah;
			wr.wr.ud.remote_qpn = to[j].qpn;
			wr.wr.ud.remote_qkey = eps[i]->conf.qkey;
			ASSERT_EQ(0, vt_post(eps[i], &wr));
			ASSERT_EQ(IBV_WC_SUCCESS, vt_status(eps[i]->scq, 0));
			ASSERT_EQ(0, vt_wait(eps[j]->rcq, &wc));
			EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
			EXPECT_EQ(VT_GRH_LEN, wc.byte_len);
			EXPECT_EQ(to[i].qpn, wc.src_qp);
			ASSERT_EQ(0, ibv_destroy_ah(ah));
		}
}

/* A receiver can answer with only the contents of its completion and GRH. */
TEST_F(ud, address_from_completion)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_sge at_a = slot(&a->buf, 0, VT_GRH_LEN + 8);
	struct ibv_sge at_b = slot(&b->buf, 0, VT_GRH_LEN);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_ah_attr attr = {};
	struct ibv_ah *ah;
	struct ibv_wc wc;

	ASSERT_EQ(0, vt_post_recv(b, 1, &at_b, 1));
	vt_wr_to_peer(a, &wr);
	ASSERT_EQ(0, vt_post(a, &wr));
	ASSERT_EQ(0, vt_wait(b->rcq, &wc));
	ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
	ASSERT_EQ(0, ibv_init_ah_from_wc(b->dev.ctx, 1, &wc,
					 (void *)(uintptr_t)at_b.addr, &attr));
	EXPECT_EQ(0, memcmp(&attr.grh.dgid, &a->dev.gid, 16));
	EXPECT_EQ(b->dev.gid_index, attr.grh.sgid_index);
	ah = ibv_create_ah_from_wc(b->pd, &wc, (void *)(uintptr_t)at_b.addr, 1);
	ASSERT_NE(NULL, ah);
	ASSERT_EQ(0, vt_post_recv(a, 2, &at_a, 1));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = wc.src_qp;
	ASSERT_EQ(0, vt_post(b, &wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->scq, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(a->rcq, 2));
	EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(ud, solicited_event)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_sge to = slot(&b->buf, 0, VT_GRH_LEN);
	struct pollfd fd = { .fd = b->chan->fd, .events = POLLIN };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_cq *cq;
	void *context;
	int i;

	vt_wr_to_peer(a, &wr);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, vt_post_recv(b, i, &to, 1));
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 1));
	ASSERT_EQ(0, vt_post(a, &wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 0));
	EXPECT_EQ(0, poll(&fd, 1, 20));
	wr.send_flags = IBV_SEND_SOLICITED;
	ASSERT_EQ(0, vt_post(a, &wr));
	ASSERT_EQ(1, poll(&fd, 1, VT_TIMEOUT_MS));
	ASSERT_EQ(0, ibv_get_cq_event(b->chan, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 1));
}

VT_HARNESS_MAIN
