// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: receives in order, the limit event, resizing under
 * traffic, the last-WQE event, invalid requests.
 *
 * race: yes
 * break: qemu-newest
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"
#include "resizer.h"
#include "system.h"

#define DEPTH	16
#define SIZE	64

FIXTURE(srq)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct ibv_sge local;
	struct ibv_send_wr wr;
};

FIXTURE_SETUP(srq)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.srq_depth = DEPTH, .depth = 64)));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	self->local = vt_sge(&self->a->buf, VT_GUARD, SIZE);
	self->wr = (struct ibv_send_wr){
		.opcode = IBV_WR_SEND, .sg_list = &self->local, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

FIXTURE_TEARDOWN(srq)
{
	vt_pair_close(&self->pair);
}

static int post_recvs(struct vt_ep *ep, uint64_t first, int n)
{
	struct ibv_sge to = vt_sge(&ep->buf, VT_GUARD, SIZE);
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = vt_post_recv(ep, first + i, &to, 1);
	return ret;
}

/* Send one message and take both completions; the receive's must be @wr_id. */
static int send_one(struct vt_pair *pair, struct ibv_send_wr *wr,
		    uint64_t wr_id)
{
	int ret = vt_outcome(&pair->a, wr);

	return ret ? ret : vt_status(pair->b.rcq, wr_id);
}

static int set_limit(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
}

static int resize(struct ibv_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

static struct ibv_srq_attr query(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr = {};

	if (ibv_query_srq(srq, &attr))
		attr.max_wr = 0;
	return attr;
}

TEST_F(srq, transfers) { EXPECT_TRUE(vt_pair_works(&self->pair)); }

/* Another pair of QPs; the QP of @b receives from the same queue. */
static struct ibv_qp *second_qp(struct vt_ep *b, struct vt_ep *a)
{
	struct ibv_qp *qp = vt_qp_create(b);
	struct vt_addr to_a, to_b;

	if (!qp)
		return NULL;
	to_a = vt_ep_addr(a);
	to_b = vt_ep_addr(b);
	to_b.qpn = qp->qp_num;
	if (vt_qp_connect(qp, &b->conf, b->dev.gid_index, &to_a) ||
	    vt_ep_connect(a, &to_b))
		return NULL;
	return qp;
}

/* Two QPs receive from one queue: each request is used once and in order. */
TEST_F(srq, two_qps)
{
	struct vt_ep other = {}, *from[] = { self->a, &other };
	struct vt_conf conf = self->a->conf;
	struct ibv_qp *qp, *at[2];
	struct ibv_wc wc;
	int i;

	ASSERT_EQ(0, vt_ep_open(&other, &conf, 0));
	qp = second_qp(self->b, &other);
	ASSERT_NE(NULL, qp);
	at[0] = self->b->qp;
	at[1] = qp;
	ASSERT_EQ(0, post_recvs(self->b, 0, DEPTH));
	self->wr.num_sge = 0;
	for (i = 0; i < DEPTH; i++) {
		ASSERT_EQ(0, vt_post(from[i % 2], &self->wr));
		ASSERT_EQ(0, vt_status(from[i % 2]->scq, 0));
		ASSERT_EQ(0, vt_wait(self->b->rcq, &wc));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(i, wc.wr_id);
		EXPECT_EQ(at[i % 2]->qp_num, wc.qp_num);
	}
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	vt_ep_close(&other);
}

TEST_F(srq, full)
{
	ASSERT_EQ(0, post_recvs(self->b, 0, DEPTH));
	EXPECT_EQ(-ENOMEM, post_recvs(self->b, DEPTH, 1));
	ASSERT_EQ(0, send_one(&self->pair, &self->wr, 0));
	EXPECT_EQ(0, post_recvs(self->b, DEPTH, 1));
}

/*
 * This queue has raised no event: the next event is that of another queue, which is raised now. An
 * event of this queue would come first: it is raised before the completion of the receive that
 * caused it.
 */
static bool no_event(FIXTURE_DATA(srq) *self)
{
	struct pollfd fd = { .fd = self->b->dev.ctx->async_fd, .events = POLLIN };
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *other = ibv_create_srq(self->b->pd, &init);
	struct ibv_async_event event;
	bool ok;

	if (!other || set_limit(other, 1) || poll(&fd, 1, VT_TIMEOUT_MS) != 1 ||
	    ibv_get_async_event(self->b->dev.ctx, &event))
		return false;
	ok = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == other;
	ibv_ack_async_event(&event);
	return !ibv_destroy_srq(other) && ok;
}

/* The event is raised once, when fewer requests are left than the limit. */
TEST_F(srq, limit)
{
	struct ibv_context *ctx = self->b->dev.ctx;
	int i;

	ASSERT_EQ(0, post_recvs(self->b, 0, 10));
	ASSERT_EQ(0, set_limit(self->b->srq, 7));
	EXPECT_EQ(7, query(self->b->srq).srq_limit);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, send_one(&self->pair, &self->wr, i));
	EXPECT_TRUE(no_event(self));
	ASSERT_EQ(0, send_one(&self->pair, &self->wr, 3));
	EXPECT_EQ(0, vt_async_event(ctx, IBV_EVENT_SRQ_LIMIT_REACHED,
				    VT_TIMEOUT_MS));
	EXPECT_EQ(0, query(self->b->srq).srq_limit);
	for (i = 4; i < 10; i++)
		ASSERT_EQ(0, send_one(&self->pair, &self->wr, i));
	EXPECT_TRUE(no_event(self));
}

/* If fewer are left when the limit is set, the event is raised at once. */
TEST_F(srq, limit_at_once)
{
	ASSERT_EQ(0, set_limit(self->b->srq, 1));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx,
				    IBV_EVENT_SRQ_LIMIT_REACHED,
				    VT_TIMEOUT_MS));
	EXPECT_EQ(0, query(self->b->srq).srq_limit);
}

TEST_F(srq, limit_disarmed)
{
	int i;

	ASSERT_EQ(0, post_recvs(self->b, 0, 4));
	ASSERT_EQ(0, set_limit(self->b->srq, 3));
	ASSERT_EQ(0, set_limit(self->b->srq, 0));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, send_one(&self->pair, &self->wr, i));
	EXPECT_TRUE(no_event(self));
}

TEST_F(srq, refused)
{
	struct ibv_srq_attr attr = { .max_wr = 4, .srq_limit = 5 };
	struct ibv_srq *srq = self->b->srq;
	uint32_t max = self->b->dev.attr.max_srq_wr;
	struct ibv_srq_init_attr init = { .attr.max_wr = max + 1 };

	EXPECT_EQ(NULL, ibv_create_srq(self->b->pd, &init));
	EXPECT_EQ(EINVAL, errno);
	init.attr.max_wr = 1;
	init.attr.max_sge = self->b->dev.attr.max_srq_sge + 1;
	EXPECT_EQ(NULL, ibv_create_srq(self->b->pd, &init));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(EINVAL, set_limit(srq, DEPTH + 1));
	EXPECT_EQ(EINVAL, resize(srq, 0));
	EXPECT_EQ(EINVAL, resize(srq, max + 1));
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, 1 << 5));

	ASSERT_EQ(0, post_recvs(self->b, 0, 6));
	EXPECT_EQ(EINVAL, resize(srq, 5));
	EXPECT_EQ(0, resize(srq, 6));
	ASSERT_EQ(0, set_limit(srq, 4));
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr,
					 IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	EXPECT_EQ(6, query(srq).max_wr);
	EXPECT_EQ(4, query(srq).srq_limit);
	EXPECT_EQ(EBUSY, ibv_destroy_srq(srq));
	ASSERT_EQ(0, send_one(&self->pair, &self->wr, 0));
}

/* ibv_create_qp(3): the sizes of a receive queue that the QP does not have */
TEST_F(srq, receive_sizes_are_ignored)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_device_attr *limit = &self->b->dev.attr;
	struct { uint32_t wr, sge; } sizes[] = {
		{ limit->max_qp_wr + 1, limit->max_sge + 1 },
		{ UINT32_MAX, 1 }, { 1, UINT32_MAX }, { UINT32_MAX, UINT32_MAX },
	};
	size_t i;

	for (i = 0; i < 3 * 4; i++) {
		struct ibv_qp_init_attr init = {
			.send_cq = self->b->scq, .recv_cq = self->b->rcq,
			.srq = self->b->srq, .qp_type = types[i / 4],
			.cap = { .max_send_wr = 1, .max_send_sge = 1,
				 .max_recv_wr = sizes[i % 4].wr,
				 .max_recv_sge = sizes[i % 4].sge },
		};
		struct ibv_qp *qp = ibv_create_qp(self->b->pd, &init);

		ASSERT_NE(NULL, qp)
			TH_LOG("type %d, %u WRs of %u SGEs: errno %d",
			       init.qp_type, sizes[i % 4].wr, sizes[i % 4].sge, errno);
		EXPECT_EQ(0, init.cap.max_recv_wr);
		EXPECT_EQ(0, init.cap.max_recv_sge);
		EXPECT_EQ(0, ibv_destroy_qp(qp));
	}
}

/*
 * The process cannot map another ring: the queue keeps the old one, and works.
 */
TEST_F(srq, resize_without_room)
{
	struct rlimit was;
	int i;

	ASSERT_EQ(0, post_recvs(self->b, 0, 4));
	ASSERT_EQ(0, vt_no_more_addresses(&was));
	EXPECT_EQ(ENOMEM, resize(self->b->srq, 4000));
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &was));
	EXPECT_EQ(DEPTH, query(self->b->srq).max_wr);
	ASSERT_EQ(0, post_recvs(self->b, 4, 4));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, send_one(&self->pair, &self->wr, i));
	EXPECT_EQ(0, resize(self->b->srq, 4000));
	ASSERT_EQ(0, post_recvs(self->b, 8, 1));
	ASSERT_EQ(0, send_one(&self->pair, &self->wr, 8));
}

/*
 * Resize up and down while the queue holds requests that wrap around its end.
 */
TEST_F(srq, resize)
{
	static const uint32_t sizes[] = { 100, 7, 1000, 16, 6, 33 };
	uint64_t next = 0, got = 0;
	unsigned int i, j;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (; next < got + 6; next++)
			ASSERT_EQ(0, post_recvs(self->b, next, 1));
		ASSERT_EQ(0, resize(self->b->srq, sizes[i]));
		EXPECT_EQ(sizes[i], query(self->b->srq).max_wr);
		for (j = 0; j < 5; j++)
			ASSERT_EQ(0, send_one(&self->pair, &self->wr, got++));
	}
	for (; next < got + 33; next++)
		ASSERT_EQ(0, post_recvs(self->b, next, 1));
	EXPECT_EQ(-ENOMEM, post_recvs(self->b, next, 1));
}

/* Size and limit together: both are set, or none. */
TEST_F(srq, resize_and_limit)
{
	struct ibv_srq_attr attr = { .max_wr = 40, .srq_limit = 30 };

	ASSERT_EQ(0, post_recvs(self->b, 0, DEPTH));
	ASSERT_EQ(0, ibv_modify_srq(self->b->srq, &attr,
				    IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx,
				    IBV_EVENT_SRQ_LIMIT_REACHED,
				    VT_TIMEOUT_MS));
	EXPECT_EQ(40, query(self->b->srq).max_wr);
}

static int resize_srq(void *srq, uint32_t size)
{
	return resize(srq, size);
}

/*
 * While messages arrive and receives are posted: each is used once, and in
 * order.
 */
TEST_F(srq, resize_in_traffic)
{
	struct vt_resizer r = {
		.resize = resize_srq, .queue = self->b->srq,
		.small = DEPTH, .large = 20 * DEPTH,
	};
	int i, ret = 0;

	ASSERT_EQ(0, post_recvs(self->b, 0, DEPTH));
	ASSERT_EQ(0, vt_resizer_start(&r));
	for (i = 0; (i < 300 || vt_resizer_rounds(&r) < 3) && !ret; i++) {
		ret = send_one(&self->pair, &self->wr, i);
		if (!ret)
			ret = post_recvs(self->b, DEPTH + i, 1);
	}
	EXPECT_EQ(0, vt_resizer_end(&r));
	EXPECT_EQ(0, ret);
}

/*
 * IBTA 10.9.2.2.5: the event tells the owner of a QP in error that the QP takes
 * no more requests, so that it can be destroyed.
 */
TEST_F(srq, last_wqe)
{
	ASSERT_EQ(0, post_recvs(self->b, 0, 4));
	ASSERT_EQ(0, send_one(&self->pair, &self->wr, 0));
	ASSERT_EQ(0, vt_qp_to(self->b->qp, IBV_QPS_ERR));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx,
				    IBV_EVENT_QP_LAST_WQE_REACHED,
				    VT_TIMEOUT_MS));
	/*
	 * Requests that it has not taken remain for other QPs: the next completion is of such a
	 * request.
	 */
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_EQ(0, send_one(&self->pair, &self->wr, 1));
}

/* A message that does not fit its receive: the QP fails, the queue does not. */
TEST_F(srq, message_too_long)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, SIZE - 1);

	ASSERT_EQ(0, vt_post_recv(self->b, 7, &to, 1));
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_status(self->a->scq, 0));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(self->b->rcq, 7));
	EXPECT_EQ(0, vt_async_event(self->b->dev.ctx,
				    IBV_EVENT_QP_LAST_WQE_REACHED,
				    VT_TIMEOUT_MS));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	ASSERT_EQ(0, post_recvs(self->b, 8, 1));
	EXPECT_EQ(0, send_one(&self->pair, &self->wr, 8));
}

VT_HARNESS_MAIN
