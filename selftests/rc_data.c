// SPDX-License-Identifier: GPL-2.0
/*
 * RC: every byte and every completion field of each opcode, at message sizes
 * around each boundary and with lists that split at odd places.
 *
 * race: yes
 * daily: uml-checked
 * timeout: 240
 * paths: host veth
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define MAX_LEN		(8 * MIB)

/* Every size at every path MTU, through each of the two APIs. */

/*
 * The largest message has 32768 packets at MTU 256: once, not for each opcode.
 * With a slow peer, SMR_LARGEST sets a smaller largest size.
 */
static size_t largest(enum ibv_mtu mtu, enum ibv_wr_opcode op)
{
	bool all = mtu == IBV_MTU_1024 || mtu == IBV_MTU_4096;
	const char *enough = getenv("SMR_LARGEST");

	if (enough)
		return strtoul(enough, NULL, 0);
	return all || op == IBV_WR_RDMA_WRITE ? MAX_LEN : MIB + 3;
}

FIXTURE(size)
{
	struct vt_pair pair;
};

FIXTURE_VARIANT(size)
{
	int family;
	enum ibv_mtu mtu;
	bool wr_api;
};

FIXTURE_VARIANT_ADD(size, v4_256) { AF_INET, IBV_MTU_256 };
FIXTURE_VARIANT_ADD(size, v4_512) { AF_INET, IBV_MTU_512 };
FIXTURE_VARIANT_ADD(size, v4_1024) { AF_INET, IBV_MTU_1024 };
FIXTURE_VARIANT_ADD(size, v4_2048) { AF_INET, IBV_MTU_2048 };
FIXTURE_VARIANT_ADD(size, v4_4096) { AF_INET, IBV_MTU_4096 };
FIXTURE_VARIANT_ADD(size, v6_1024) { AF_INET6, IBV_MTU_1024 };
FIXTURE_VARIANT_ADD(size, v6_4096) { AF_INET6, IBV_MTU_4096 };
FIXTURE_VARIANT_ADD(size, wr_api) { AF_INET, IBV_MTU_1024, true };

FIXTURE_SETUP(size)
{
	struct vt_conf conf = vt_defaults;

	conf.family = variant->family;
	conf.mtu = variant->mtu;
	conf.wr_api = variant->wr_api;
	conf.buf_len = largest(variant->mtu, IBV_WR_RDMA_WRITE) + 4 * VT_GUARD;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
}

FIXTURE_TEARDOWN(size)
{
	vt_pair_close(&self->pair);
}

static void each_size(struct __test_metadata *_metadata, struct vt_pair *pair,
		      enum ibv_mtu path_mtu, enum ibv_wr_opcode op)
{
	size_t mtu = vt_mtu_bytes(path_mtu), i;
	const size_t lens[] = {
		0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu,
		65535, 65536, 65537, MIB + 3, MAX_LEN,
	};

	for (i = 0; i < ARRAY_SIZE(lens) && lens[i] <= largest(path_mtu, op);
	     i++) {
		struct vt_xfer x = {
			.op = op, .len = lens[i], .src_sges = 1, .dst_sges = 1,
			/* capture.sh: only the last packet may have the flag */
			.flags = vt_op_receives(op) ? IBV_SEND_SOLICITED : 0,
		};

		ASSERT_TRUE(vt_transfer(pair, &x))
			TH_LOG("%zu bytes", lens[i]);
	}
}

TEST_F(size, send)
{
	each_size(_metadata, &self->pair, variant->mtu, IBV_WR_SEND);
}

TEST_F(size, send_imm)
{
	each_size(_metadata, &self->pair, variant->mtu, IBV_WR_SEND_WITH_IMM);
}

TEST_F(size, write)
{
	each_size(_metadata, &self->pair, variant->mtu, IBV_WR_RDMA_WRITE);
}

TEST_F(size, write_imm)
{
	each_size(_metadata, &self->pair, variant->mtu,
		  IBV_WR_RDMA_WRITE_WITH_IMM);
}

TEST_F(size, read)
{
	each_size(_metadata, &self->pair, variant->mtu, IBV_WR_RDMA_READ);
}

/* Everything else, through each of the two APIs and over each family. */

#define DEPTH		128
#define INLINE_LEN	128

FIXTURE(rc)
{
	struct vt_pair pair;
};

FIXTURE_VARIANT(rc)
{
	int family;
	bool wr_api;
};

FIXTURE_VARIANT_ADD(rc, v4) { AF_INET, false };
FIXTURE_VARIANT_ADD(rc, v6) { AF_INET6, false };
FIXTURE_VARIANT_ADD(rc, wr_api) { AF_INET, true };

FIXTURE_SETUP(rc)
{
	struct vt_conf conf = vt_defaults;

	conf.family = variant->family;
	conf.wr_api = variant->wr_api;
	conf.depth = DEPTH;
	conf.sges = 32;
	conf.inline_len = INLINE_LEN;
	conf.events = true;
	conf.buf_len = MIB;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
}

FIXTURE_TEARDOWN(rc)
{
	vt_pair_close(&self->pair);
}

static void each_list_and_size(struct __test_metadata *_metadata,
			       struct vt_pair *pair, enum ibv_wr_opcode op)
{
	size_t mtu = vt_mtu_bytes(pair->a.conf.mtu), i;
	const size_t lens[] = {
		0, 1, 31, mtu - 1, mtu, mtu + 1, 3 * mtu + 7, 65537,
	};

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct vt_xfer x = { .op = op, .len = lens[i] };

		ASSERT_TRUE(vt_transfer_lists(pair, &x));
		x.zeros = true;
		ASSERT_TRUE(vt_transfer_lists(pair, &x));
	}
}

TEST_F(rc, lists_of_send)
{
	each_list_and_size(_metadata, &self->pair, IBV_WR_SEND);
}

TEST_F(rc, lists_of_write)
{
	each_list_and_size(_metadata, &self->pair, IBV_WR_RDMA_WRITE);
}

TEST_F(rc, lists_of_read)
{
	each_list_and_size(_metadata, &self->pair, IBV_WR_RDMA_READ);
}

/* The part of a receive beyond the message is unchanged. */
TEST_F(rc, receive_longer_than_message)
{
	static const size_t lens[] = { 0, 1, 1000, 5000 };
	static const size_t rooms[] = { 1, 77, 20000 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (j = 0; j < ARRAY_SIZE(rooms); j++) {
			struct vt_xfer x = {
				.op = IBV_WR_SEND_WITH_IMM, .len = lens[i],
				.room = rooms[j],
			};

			ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
		}
}

TEST_F(rc, inline_data)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	static const size_t lens[] = { 0, 1, 63, 64, INLINE_LEN };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++) {
			struct vt_xfer x = {
				.op = ops[i], .len = lens[j],
				.flags = IBV_SEND_INLINE,
			};

			ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
		}
}

/*
 * Inline data is copied when it is posted: the buffer may be changed at once.
 */
TEST_F(rc, inline_data_is_taken_at_post)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_sge from = vt_sge(&a->buf, VT_GUARD, 100);
	struct ibv_sge to = vt_sge(&b->buf, VT_GUARD, 100);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = &from,
		.num_sge = 1, .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
	};

	from.lkey = 0xdeadbeef;
	vt_fill_sges(&from, 1, 100, 7);
	ASSERT_EQ(0, vt_post(a, &wr));
	vt_fill_sges(&from, 1, 100, 8);
	ASSERT_EQ(0, vt_post_recv(b, 2, &to, 1));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 2));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
	EXPECT_TRUE(vt_check_sges(&to, 1, 100, 7));
}

/*
 * Fields that the standard does not define for RC, with the values of most
 * devices.
 */
TEST_F(rc, source_qp_is_reported)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	ASSERT_EQ(0, vt_post_recv(b, 2, NULL, 0));
	ASSERT_EQ(0, vt_post(a, &wr));
	ASSERT_EQ(0, vt_wait(b->rcq, &wc));
	EXPECT_EQ(a->qp->qp_num, wc.src_qp);
	EXPECT_EQ(0, wc.wc_flags);
	EXPECT_EQ(0, wc.pkey_index);
}

/* One atomic; *found is the peer's former value. */
static int atomic_op(struct vt_pair *pair, struct ibv_send_wr *wr,
		     uint64_t *found)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, VT_GUARD, 8);
	struct ibv_wc wc;
	int ret;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->wr_id++;
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->wr.atomic.remote_addr = vt_sge(&pair->b.buf, VT_GUARD, 8).addr;
	wr->wr.atomic.rkey = pair->b.buf.mr->rkey;
	ret = vt_post(&pair->a, wr);
	if (!ret)
		ret = vt_wait(pair->a.scq, &wc);
	if (!ret && !vt_wc_send_ok(&pair->a, &wc, wr))
		ret = -EBADMSG;
	memcpy(found, pair->a.buf.p + VT_GUARD, 8);
	return ret;
}

static uint64_t *word_at(struct vt_buf *buf, size_t off)
{
	return (uint64_t *)(buf->p + off);
}

static bool word_alone_changed(struct vt_buf *buf)
{
	struct ibv_sge sge = vt_sge(buf, VT_GUARD, 8);

	return vt_buf_restore(buf, &sge, 1, 8);
}

TEST_F(rc, fetch_add)
{
	static const uint64_t adds[] = { 0, 1, 0x100000000, UINT64_MAX, 12345 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint64_t want = 0xffffffff12345678, found;
	int i;

	*word_at(&self->pair.b.buf, VT_GUARD) = want;
	for (i = 0; i < ARRAY_SIZE(adds); i++) {
		wr.wr.atomic.compare_add = adds[i];
		ASSERT_EQ(0, atomic_op(&self->pair, &wr, &found));
		ASSERT_EQ(want, found);
		want += adds[i];
		ASSERT_EQ(want, *word_at(&self->pair.b.buf, VT_GUARD));
	}
	EXPECT_TRUE(word_alone_changed(&self->pair.a.buf));
	EXPECT_TRUE(word_alone_changed(&self->pair.b.buf));
}

TEST_F(rc, compare_swap)
{
	static const struct { uint64_t compare, swap; } ops[] = {
		{ 5, 77 }, { 77, 6 }, { 0x0123456789abcdef, 77 }, { 7, 9 },
		{ 77, UINT64_MAX }, { 0, 1 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_CMP_AND_SWP };
	uint64_t want = 0x0123456789abcdef, found;
	int i;

	*word_at(&self->pair.b.buf, VT_GUARD) = want;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		wr.wr.atomic.compare_add = ops[i].compare;
		wr.wr.atomic.swap = ops[i].swap;
		ASSERT_EQ(0, atomic_op(&self->pair, &wr, &found));
		ASSERT_EQ(want, found);
		if (want == ops[i].compare)
			want = ops[i].swap;
		ASSERT_EQ(want, *word_at(&self->pair.b.buf, VT_GUARD));
	}
	EXPECT_TRUE(word_alone_changed(&self->pair.a.buf));
	EXPECT_TRUE(word_alone_changed(&self->pair.b.buf));
}

/* A list of WRITEs of 8 bytes to consecutive addresses. */
static int post_writes(struct vt_pair *pair, int first, int n,
		       unsigned int flags)
{
	int i, ret = 0;

	for (i = first; i < first + n && !ret; i++) {
		struct ibv_sge sge = vt_sge(&pair->a.buf, VT_GUARD + 8 * i, 8);
		struct ibv_send_wr wr = {
			.wr_id = i, .opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge, .num_sge = 1, .send_flags = flags,
		};

		wr.wr.rdma.remote_addr =
			vt_sge(&pair->b.buf, VT_GUARD + 8 * i, 8).addr;
		wr.wr.rdma.rkey = pair->b.buf.mr->rkey;
		ret = vt_post(&pair->a, &wr);
	}
	return ret;
}

/*
 * Only the signalled request completes, and all before it have been executed.
 */
TEST_F(rc, unsignalled)
{
	struct vt_pair *pair = &self->pair;
	int round;

	for (round = 0; round < 5; round++) {
		vt_fill(pair->a.buf.p + VT_GUARD, 8 * DEPTH, round, 0);
		ASSERT_EQ(0, post_writes(pair, 0, DEPTH - 1, 0));
		ASSERT_EQ(0, post_writes(pair, DEPTH - 1, 1,
					 IBV_SEND_SIGNALED));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(pair->a.scq, DEPTH - 1));
		ASSERT_TRUE(vt_check("target", pair->b.buf.p + VT_GUARD,
				     8 * DEPTH, round, 0));
	}
	EXPECT_TRUE(vt_sq_quiet(&pair->a));
}

TEST_F(rc, outstanding_128)
{
	struct vt_pair *pair = &self->pair;
	int i, round;

	for (round = 0; round < 5; round++) {
		vt_fill(pair->a.buf.p + VT_GUARD, 8 * DEPTH, round + 50, 0);
		ASSERT_EQ(0, post_writes(pair, 0, DEPTH, IBV_SEND_SIGNALED));
		for (i = 0; i < DEPTH; i++)
			ASSERT_EQ(IBV_WC_SUCCESS, vt_status(pair->a.scq, i));
		ASSERT_TRUE(vt_check("target", pair->b.buf.p + VT_GUARD,
				     8 * DEPTH, round + 50, 0));
	}
	EXPECT_TRUE(vt_sq_quiet(&pair->a));
}

/* A queue accepts as many requests as it was made for, then returns ENOMEM. */
TEST_F(rc, queue_full)
{
	struct vt_pair *pair = &self->pair;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge = vt_sge(&pair->a.buf, VT_GUARD, 8);
	uint32_t i;
	int ret = 0;

	ASSERT_EQ(0, ibv_query_qp(pair->a.qp, &attr, IBV_QP_CAP, &init));
	ASSERT_LE(DEPTH, init.cap.max_recv_wr);
	for (i = 0; !ret && i <= init.cap.max_recv_wr; i++)
		ret = vt_post_recv(&pair->a, i, &sge, 1);
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_LT(DEPTH, i);
}

static int send_with(struct vt_ep *ep, unsigned int flags)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = flags | IBV_SEND_SIGNALED,
	};

	return vt_post(ep, &wr) ? -EIO : vt_status(ep->scq, 0);
}

static bool event_within(struct ibv_comp_channel *chan, int ms)
{
	struct pollfd fd = { .fd = chan->fd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* Armed for solicited completions only: others raise no event. */
TEST_F(rc, solicited_event)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_cq *cq;
	void *context;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, vt_post_recv(b, i, NULL, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 1));
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, 0));
	EXPECT_FALSE(event_within(b->chan, 50));
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, IBV_SEND_SOLICITED));
	ASSERT_TRUE(event_within(b->chan, VT_TIMEOUT_MS));
	ASSERT_EQ(0, ibv_get_cq_event(b->chan, &cq, &context));
	EXPECT_EQ(b->rcq, cq);
	ibv_ack_cq_events(cq, 1);

	/* not armed: none */
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, IBV_SEND_SOLICITED));
	EXPECT_FALSE(event_within(b->chan, 50));
	/* armed for any completion: an unsolicited one raises the event */
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, 0));
	EXPECT_TRUE(event_within(b->chan, VT_TIMEOUT_MS));
	ASSERT_EQ(0, ibv_get_cq_event(b->chan, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, i));
}

/*
 * Armed for solicited completions only: a receive that fails raises the event,
 * too.
 */
TEST_F(rc, failure_counts_as_solicited)
{
	struct vt_ep *b = &self->pair.b;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ASSERT_EQ(0, vt_post_recv(b, 1, NULL, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 1));
	ASSERT_EQ(0, ibv_modify_qp(b->qp, &attr, IBV_QP_STATE));
	EXPECT_TRUE(event_within(b->chan, VT_TIMEOUT_MS));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(b->rcq, 1));
}

/* A fenced SEND of the data that the previous READ brings */
TEST_F(rc, fence)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	const size_t len = 100000, sent = 300000;
	struct ibv_sge local = vt_sge(&a->buf, VT_GUARD, len);
	struct ibv_sge target = vt_sge(&b->buf, sent, len);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_READ, .sg_list = &local,
		.num_sge = 1,
	};
	uint32_t i;

	for (i = 0; i < 20; i++) {
		vt_fill(b->buf.p + VT_GUARD, len, i, 0);
		ASSERT_EQ(0, vt_post_recv(b, i, &target, 1));
		wr.opcode = IBV_WR_RDMA_READ;
		wr.send_flags = 0;
		wr.wr.rdma.remote_addr = (uintptr_t)b->buf.p + VT_GUARD;
		wr.wr.rdma.rkey = b->buf.mr->rkey;
		ASSERT_EQ(0, vt_post(a, &wr));
		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
		ASSERT_EQ(0, vt_post(a, &wr));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, i));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
		ASSERT_TRUE(vt_check_sges(&target, 1, len, i));
	}
}

/* Both ends send at once, with everything in flight together. */
TEST_F(rc, both_directions)
{
	struct vt_pair *p = &self->pair;
	struct vt_pair back = { .a = p->b, .b = p->a };
	int i;

	vt_fill(p->a.buf.p + VT_GUARD, 8 * DEPTH, 1, 0);
	vt_fill(p->b.buf.p + VT_GUARD + 8 * (DEPTH / 2), 8 * (DEPTH / 2), 2, 0);
	ASSERT_EQ(0, post_writes(p, 0, DEPTH / 2, IBV_SEND_SIGNALED));
	ASSERT_EQ(0, post_writes(&back, DEPTH / 2, DEPTH / 2,
				 IBV_SEND_SIGNALED));
	for (i = 0; i < DEPTH / 2; i++) {
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(p->a.scq, i));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(p->b.scq, DEPTH / 2 + i));
	}
	EXPECT_TRUE(vt_check("at b", p->b.buf.p + VT_GUARD, 4 * DEPTH, 1, 0));
	EXPECT_TRUE(vt_check("at a", p->a.buf.p + VT_GUARD + 4 * DEPTH,
			     4 * DEPTH, 2, 0));
}

VT_HARNESS_MAIN
