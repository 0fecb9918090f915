// SPDX-License-Identifier: GPL-2.0
/*
 * RC, UC and UD: every byte and every completion field of each operation, at message sizes around
 * each boundary, with lists that split at odd places, inline, and with receives that are longer.
 * Then what only one of them has. UC drops messages that the receiver cannot accept.
 *
 * race: yes
 * daily: uml-checked
 * break: qemu-newest
 * timeout: 400
 * paths: host wire veth
 */
#include "harness.h"
#include "grh.h"

#define MAX_LEN		(8 * MIB)
#define DEPTH		128
#define INLINE_LEN	128

static const enum ibv_wr_opcode ops[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
};

/* How many of these each transport has */
static const int nr_ops[] = { [IBV_QPT_RC] = 5, [IBV_QPT_UC] = 4, [IBV_QPT_UD] = 2 };

/*
 * The largest RC message has 32768 packets at MTU 256: once, not for each opcode. With a slow peer,
 * SMR_LARGEST sets a smaller largest size.
 */
static size_t largest(const struct vt_conf *conf, enum ibv_wr_opcode op)
{
	bool all = conf->mtu == IBV_MTU_1024 || conf->mtu == IBV_MTU_4096;
	const char *enough = getenv("SMR_LARGEST");

	if (conf->qp_type == IBV_QPT_UD)
		return vt_mtu_bytes(conf->mtu);
	if (enough)
		return strtoul(enough, NULL, 0);
	return conf->qp_type == IBV_QPT_RC && (all || op == IBV_WR_RDMA_WRITE) ? MAX_LEN : MIB + 3;
}

/* The transport, the address family, the path MTU, each of the two APIs, a shared receive queue */
struct how {
	enum ibv_qp_type type;
	int family;
	enum ibv_mtu mtu;
	bool wr_api;
	bool shared;
};

static struct vt_conf conf_of(const struct how *how)
{
	struct vt_conf conf = vt_defaults;

	conf.qp_type = how->type;
	conf.family = how->family;
	conf.mtu = how->mtu;
	conf.wr_api = how->wr_api;
	conf.depth = DEPTH;
	conf.sges = 32;
	conf.inline_len = INLINE_LEN;
	conf.events = true;
	if (how->type == IBV_QPT_UC)
		conf.sq_psn = 0xfffff0;
	conf.buf_len = largest(&conf, IBV_WR_RDMA_WRITE) + MIB;
	return conf;
}

/* The QP once more, with a shared receive queue */
static int share_receives(struct vt_ep *ep)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 32 } };
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

static int open_ends(struct vt_pair *pair, const struct how *how)
{
	struct vt_conf conf = conf_of(how);
	int ret;

	if (!how->shared)
		return vt_pair_open(pair, &conf);
	ret = vt_ep_open(&pair->a, &conf, 0);
	ret = ret ? ret : vt_ep_open(&pair->b, &conf, 1);
	ret = ret ? ret : share_receives(&pair->b);
	return ret ? ret : vt_pair_connect(pair);
}

/* -- sizes: of each operation, at each path MTU */

#define DATA_FIXTURE(name)							\
FIXTURE(name) { struct vt_pair pair; struct vt_ep *a, *b; };			\
FIXTURE_VARIANT(name) { struct how how; };					\
FIXTURE_SETUP(name)								\
{										\
	VT_SETUP(open_ends(&self->pair, &variant->how));			\
	self->a = &self->pair.a;						\
	self->b = &self->pair.b;						\
}										\
FIXTURE_TEARDOWN(name) { vt_pair_close(&self->pair); }

#define HOW(fixture, name, ...) FIXTURE_VARIANT_ADD(fixture, name) { { __VA_ARGS__ } }

DATA_FIXTURE(size)
HOW(size, rc_v4_256, IBV_QPT_RC, AF_INET, IBV_MTU_256);
HOW(size, rc_v4_512, IBV_QPT_RC, AF_INET, IBV_MTU_512);
HOW(size, rc_v4_1024, IBV_QPT_RC, AF_INET, IBV_MTU_1024);
HOW(size, rc_v4_2048, IBV_QPT_RC, AF_INET, IBV_MTU_2048);
HOW(size, rc_v4_4096, IBV_QPT_RC, AF_INET, IBV_MTU_4096);
HOW(size, rc_v6_1024, IBV_QPT_RC, AF_INET6, IBV_MTU_1024);
HOW(size, rc_v6_4096, IBV_QPT_RC, AF_INET6, IBV_MTU_4096);
HOW(size, rc_wr_api, IBV_QPT_RC, AF_INET, IBV_MTU_1024, .wr_api = true);
HOW(size, uc_v4_256, IBV_QPT_UC, AF_INET, IBV_MTU_256);
HOW(size, uc_v6_4096, IBV_QPT_UC, AF_INET6, IBV_MTU_4096);
HOW(size, uc_wr_api, IBV_QPT_UC, AF_INET, IBV_MTU_1024, .wr_api = true);
HOW(size, ud_v4, IBV_QPT_UD, AF_INET, IBV_MTU_4096);
HOW(size, ud_v6, IBV_QPT_UD, AF_INET6, IBV_MTU_4096);
HOW(size, ud_wr_api, IBV_QPT_UD, AF_INET, IBV_MTU_4096, .wr_api = true);
HOW(size, ud_srq, IBV_QPT_UD, AF_INET, IBV_MTU_4096, .shared = true);

TEST_F_TIMEOUT(size, each_operation, 150)
{
	size_t mtu = vt_mtu_bytes(variant->how.mtu), i, j;
	const size_t lens[] = {
		0, 1, 2, 3, 4, 39, 40, 1023, mtu - 1, mtu, mtu + 1, 2 * mtu,
		65535, 65536, 65537, MIB + 3, MAX_LEN,
	};

	if (variant->how.type == IBV_QPT_UD)
		ASSERT_EQ(IBV_MTU_4096, self->a->dev.port.active_mtu);
	for (i = 0; i < nr_ops[variant->how.type]; i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++) {
			struct vt_xfer x = {
				.op = ops[i], .len = lens[j], .src_sges = 1, .dst_sges = 1,
				/* capture.sh: only the last packet may have the flag */
				.flags = vt_op_receives(ops[i]) ? IBV_SEND_SOLICITED : 0,
			};

			if (lens[j] <= largest(&self->a->conf, ops[i]))
				ASSERT_TRUE(vt_transfer(&self->pair, &x))
					TH_LOG("%zu bytes", lens[j]);
		}
}

/* -- shapes: lists, inline data, receives that are longer than the message */

DATA_FIXTURE(shape)
HOW(shape, rc_v4, IBV_QPT_RC, AF_INET, IBV_MTU_1024);
HOW(shape, rc_v6, IBV_QPT_RC, AF_INET6, IBV_MTU_1024);
HOW(shape, rc_wr_api, IBV_QPT_RC, AF_INET, IBV_MTU_1024, .wr_api = true);
HOW(shape, uc_v4_256, IBV_QPT_UC, AF_INET, IBV_MTU_256);
HOW(shape, uc_v6_4096, IBV_QPT_UC, AF_INET6, IBV_MTU_4096);
HOW(shape, uc_wr_api, IBV_QPT_UC, AF_INET, IBV_MTU_1024, .wr_api = true);
HOW(shape, ud_v4, IBV_QPT_UD, AF_INET, IBV_MTU_4096);
HOW(shape, ud_v6, IBV_QPT_UD, AF_INET6, IBV_MTU_4096);
HOW(shape, ud_wr_api, IBV_QPT_UD, AF_INET, IBV_MTU_4096, .wr_api = true);
HOW(shape, ud_srq, IBV_QPT_UD, AF_INET, IBV_MTU_4096, .shared = true);

/* With immediate data the lists are the same. */
TEST_F_TIMEOUT(shape, lists, 120)
{
	size_t mtu = vt_mtu_bytes(variant->how.mtu), i, j;
	const size_t lens[] = { 0, 1, 31, 41, mtu / 2 + 1, mtu - 1, mtu, mtu + 1, 3 * mtu + 7, 65537 };
	size_t most = largest(&self->a->conf, IBV_WR_SEND);

	for (i = 0; i < nr_ops[variant->how.type]; i += 2)
		for (j = 0; j < ARRAY_SIZE(lens) && lens[j] <= most; j++) {
			struct vt_xfer x = { .op = ops[i], .len = lens[j] };

			ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
			x.zeros = true;
			ASSERT_TRUE(vt_transfer_lists(&self->pair, &x));
		}
}

/* The part of a receive beyond the message is unchanged. */
TEST_F(shape, receive_longer_than_message)
{
	static const size_t lens[] = { 0, 1, 1000, 5000 };
	static const size_t rooms[] = { 1, 77, 20000 };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(lens) && lens[i] <= largest(&self->a->conf, IBV_WR_SEND); i++)
		for (j = 0; j < ARRAY_SIZE(rooms); j++)
			ASSERT_TRUE(vt_transfer_lists(&self->pair, &(struct vt_xfer){
				.op = IBV_WR_SEND_WITH_IMM, .len = lens[i], .room = rooms[j] }));
}

TEST_F(shape, inline_data)
{
	static const size_t lens[] = { 0, 1, 63, 64, INLINE_LEN - 1, INLINE_LEN };
	int i, j, n = nr_ops[variant->how.type];

	for (i = 0; i < n && ops[i] != IBV_WR_RDMA_READ; i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++)
			ASSERT_TRUE(vt_transfer_lists(&self->pair, &(struct vt_xfer){
				.op = ops[i], .len = lens[j], .flags = IBV_SEND_INLINE }));
}

/* -- RC */

DATA_FIXTURE(rc)
HOW(rc, v4, IBV_QPT_RC, AF_INET, IBV_MTU_1024);
HOW(rc, v6, IBV_QPT_RC, AF_INET6, IBV_MTU_1024);
HOW(rc, wr_api, IBV_QPT_RC, AF_INET, IBV_MTU_1024, .wr_api = true);

/*
 * Inline data is copied when it is posted: the buffer may be changed at once.
 */
TEST_F(rc, inline_data_is_taken_at_post)
{
	struct vt_ep *a = self->a, *b = self->b;
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
	struct vt_ep *a = self->a, *b = self->b;
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, NULL);
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

/* Armed for solicited completions only: others raise no event. */
TEST_F(rc, solicited_event)
{
	struct vt_ep *a = self->a, *b = self->b;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, vt_post_recv(b, i, NULL, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 1));
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, 0));
	EXPECT_EQ(-ETIMEDOUT, vt_cq_event(b, b->rcq, 50));
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, IBV_SEND_SOLICITED));
	ASSERT_EQ(0, vt_cq_event(b, b->rcq, VT_TIMEOUT_MS));

	/* not armed: none */
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, IBV_SEND_SOLICITED));
	EXPECT_EQ(-ETIMEDOUT, vt_cq_event(b, b->rcq, 50));
	/* armed for any completion: an unsolicited one raises the event */
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_with(a, 0));
	EXPECT_EQ(0, vt_cq_event(b, b->rcq, VT_TIMEOUT_MS));
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

	ASSERT_EQ(0, vt_post_recv(b, 1, NULL, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 1));
	ASSERT_EQ(0, vt_qp_to(b->qp, IBV_QPS_ERR));
	EXPECT_EQ(0, vt_cq_event(b, b->rcq, VT_TIMEOUT_MS));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(b->rcq, 1));
}

/* A fenced SEND of the data that the previous READ brings */
TEST_F(rc, fence)
{
	struct vt_ep *a = self->a, *b = self->b;
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

/* -- UC */

DATA_FIXTURE(uc)
HOW(uc, v4_256, IBV_QPT_UC, AF_INET, IBV_MTU_256);
HOW(uc, v6_4096, IBV_QPT_UC, AF_INET6, IBV_MTU_4096);
HOW(uc, wr_api, IBV_QPT_UC, AF_INET, IBV_MTU_1024, .wr_api = true);

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

/* The sender's own error stops its send queue only. */
TEST_F(uc, bad_lkey)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 5000);
	struct ibv_send_wr wr = make_wr(self, IBV_WR_SEND, &sge);
	struct ibv_send_wr back = vt_wr(IBV_WR_SEND, 2, NULL);
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
		ASSERT_EQ(0, vt_qp_to(self->a->qp, IBV_QPS_RTS));
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

/* -- UD */

DATA_FIXTURE(ud)
HOW(ud, v4, IBV_QPT_UD, AF_INET, IBV_MTU_4096);
HOW(ud, v6, IBV_QPT_UD, AF_INET6, IBV_MTU_4096);
HOW(ud, wr_api, IBV_QPT_UD, AF_INET, IBV_MTU_4096, .wr_api = true);
HOW(ud, srq, IBV_QPT_UD, AF_INET, IBV_MTU_4096, .shared = true);

static struct ibv_sge slot(struct vt_buf *buf, int i, uint32_t len)
{
	return vt_sge(buf, VT_GUARD + 256 * i, len);
}

/* A queue full of messages arrives, in order, if the receive queue has room. */
TEST_F(ud, outstanding_128)
{
	struct vt_ep *a = self->a, *b = self->b;
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
			struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 0, NULL);

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
	struct vt_ep *a = self->a, *b = self->b;
	struct ibv_sge at_a = slot(&a->buf, 0, VT_GRH_LEN + 8);
	struct ibv_sge at_b = slot(&b->buf, 0, VT_GRH_LEN);
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 0, NULL);
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
	struct vt_ep *a = self->a, *b = self->b;
	struct ibv_sge to = slot(&b->buf, 0, VT_GRH_LEN);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	int i;

	vt_wr_to_peer(a, &wr);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, vt_post_recv(b, i, &to, 1));
	ASSERT_EQ(0, ibv_req_notify_cq(b->rcq, 1));
	ASSERT_EQ(0, vt_post(a, &wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 0));
	EXPECT_EQ(-ETIMEDOUT, vt_cq_event(b, b->rcq, 20));
	wr.send_flags = IBV_SEND_SOLICITED;
	ASSERT_EQ(0, vt_post(a, &wr));
	ASSERT_EQ(0, vt_cq_event(b, b->rcq, VT_TIMEOUT_MS));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 1));
}

VT_HARNESS_MAIN
