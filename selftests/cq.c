// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: resizing without losing a completion or an event, QPs that are destroyed, moderation of events,
 * completion vectors, the clock of timestamps.
 *
 * race: yes
 * break: qemu-newest
 * timeout: 120
 * paths: host
 */
#include "harness.h"
#include "resizer.h"
#include "system.h"

#define DEPTH	64
#define CQE	64

FIXTURE(cq)
{
	struct vt_pair pair;
	struct vt_ep *a;
	struct ibv_send_wr wr;
};

FIXTURE_SETUP(cq)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.events = true, .depth = DEPTH, .cqe = CQE)));
	self->a = &self->pair.a;
	self->wr = (struct ibv_send_wr){
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

FIXTURE_TEARDOWN(cq)
{
	vt_pair_close(&self->pair);
}

/* Empty WRITEs, numbered from *@next on. */
static int post_n(struct vt_ep *ep, struct ibv_send_wr *wr, uint64_t *next,
		  int n)
{
	int ret = 0;

	for (; n && !ret; n--) {
		wr->wr_id = (*next)++;
		ret = vt_post(ep, wr);
	}
	return ret;
}

/* Take @n completions, which are numbered from *@next on. */
static int take_n(struct ibv_cq *cq, uint64_t *next, int n)
{
	int ret = 0;

	for (; n && !ret; n--)
		ret = vt_status(cq, (*next)++);
	return ret;
}

static int moderate(struct ibv_cq *cq, uint16_t count, uint16_t usecs)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = usecs },
	};

	return ibv_modify_cq(cq, &attr);
}

/* -- size */

/*
 * Resize up and down while the ring holds completions that wrap around its end.
 */
TEST_F(cq, resize)
{
	static const int sizes[] = { 300, 33, 2000, 27, 64, 1000, 31 };
	uint64_t sent = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 26));
		ASSERT_EQ(0, ibv_resize_cq(self->a->scq, sizes[i]));
		EXPECT_LE(sizes[i], self->a->scq->cqe);
		ASSERT_EQ(0, take_n(self->a->scq, &seen, 26));
	}
	EXPECT_TRUE(vt_sq_quiet(self->a));
}

TEST_F(cq, resize_refused)
{
	struct ibv_cq *cq = self->a->scq;
	uint64_t sent = 0, seen = 0;

	/*
	 * A work request may be executed later, so ask for the event of 20 of
	 * them.
	 */
	ASSERT_EQ(0, moderate(cq, 20, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 20));
	ASSERT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
	ASSERT_EQ(0, take_n(cq, &seen, 1));
	EXPECT_EQ(EINVAL, ibv_resize_cq(cq, 16));
	EXPECT_EQ(CQE, cq->cqe);
	EXPECT_EQ(EINVAL, ibv_resize_cq(cq, 0));
	EXPECT_EQ(EINVAL, ibv_resize_cq(cq, self->a->dev.attr.max_cqe + 1));
	EXPECT_EQ(0, take_n(cq, &seen, 19));
	EXPECT_EQ(0, ibv_resize_cq(cq, 16));
}

/* The process cannot map another ring: the CQ keeps the old one, and works. */
TEST_F(cq, resize_without_room)
{
	uint64_t sent = 0, seen = 0;
	struct rlimit was;

	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 10));
	ASSERT_EQ(0, vt_no_more_addresses(&was));
	EXPECT_EQ(ENOMEM, ibv_resize_cq(self->a->scq, 20000));
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &was));
	EXPECT_EQ(CQE, self->a->scq->cqe);
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 10));
	ASSERT_EQ(0, take_n(self->a->scq, &seen, 20));
	EXPECT_EQ(0, ibv_resize_cq(self->a->scq, 20000));
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 10));
	ASSERT_EQ(0, take_n(self->a->scq, &seen, 10));
}

/* A requested event is raised even if the CQ was resized since. */
TEST_F(cq, resize_keeps_notification)
{
	uint64_t sent = 0, seen = 0;
	int round;

	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, ibv_req_notify_cq(self->a->scq, 0));
		ASSERT_EQ(0, ibv_resize_cq(self->a->scq, 10 << round % 5));
		ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 1));
		EXPECT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
		ASSERT_EQ(0, take_n(self->a->scq, &seen, 1));
	}
	EXPECT_EQ(-ETIMEDOUT, vt_cq_event(self->a, self->a->scq, 10));
}

static int resize_cq(void *cq, uint32_t size)
{
	return ibv_resize_cq(cq, size);
}

/* Completions that arrive while the CQ is resized are delivered once each, in order. */
TEST_F(cq, resize_in_traffic)
{
	struct vt_resizer r = {
		.resize = resize_cq, .queue = self->a->scq,
		.small = CQE, .large = 20000,
	};
	uint64_t sent = 0, seen = 0;
	int i, ret = 0;

	ASSERT_EQ(0, vt_resizer_start(&r));
	for (i = 0; (i < 50 || vt_resizer_rounds(&r) < 3) && !ret; i++) {
		ret = post_n(self->a, &self->wr, &sent, DEPTH / 2);
		if (!ret)
			ret = take_n(self->a->scq, &seen, DEPTH / 2);
	}
	EXPECT_EQ(0, vt_resizer_end(&r));
	EXPECT_EQ(0, ret);
	EXPECT_TRUE(vt_sq_quiet(self->a));
}

/* -- the completions of a QP that is destroyed */

/* Wait until that many WRITEs have completed; poll nothing. */
static int complete_n(struct vt_ep *ep, struct ibv_qp *qp,
		      struct ibv_send_wr *wr, uint64_t *next, int n)
{
	struct ibv_send_wr *bad;
	int i, ret = moderate(ep->scq, n, 0);

	if (!ret)
		ret = ibv_req_notify_cq(ep->scq, 0);
	for (i = 0; i < n && !ret; i++) {
		wr->wr_id = (*next)++;
		ret = ibv_post_send(qp, wr, &bad);
	}
	return ret ? ret : vt_cq_event(ep, ep->scq, VT_TIMEOUT_MS);
}

/* When a QP is destroyed, its completions in a full CQ are removed, and make room for the next QP's. */
TEST_F(cq, room_of_a_former_qp)
{
	uint64_t sent = 0, seen = 0;
	int round;

	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, complete_n(self->a, self->a->qp, &self->wr, &sent,
					CQE));
		if (round % 2) {
			ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
			self->a->qp = vt_qp_create(self->a);
			ASSERT_NE(NULL, self->a->qp);
		}
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_TRUE(vt_no_completion(self->a->scq, 0));
	seen = sent;
	ASSERT_EQ(0, complete_n(self->a, self->a->qp, &self->wr, &sent, CQE));
	EXPECT_EQ(0, take_n(self->a->scq, &seen, CQE));
	EXPECT_EQ(0, ibv_resize_cq(self->a->scq, 8));
}

/* The completions of other QPs stay, in order, also around the ring's end. */
TEST_F(cq, beside_a_former_qp)
{
	static const struct {
		int n;
		bool stays;
	} parts[] = {
		{ 20, true }, { 20, false }, { 10, true }, { 14, false },
	};
	uint64_t sent = 0, seen = 0;
	struct vt_conn other;
	unsigned int i;

	VT_SETUP(vt_conn_open(&other, self->a, &self->pair.b));
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 30));
	ASSERT_EQ(0, take_n(self->a->scq, &seen, 30));
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ASSERT_EQ(0, complete_n(self->a, parts[i].stays ? self->a->qp :
								  other.a,
					&self->wr, &sent, parts[i].n));
	vt_conn_close(&other);
	ASSERT_EQ(0, complete_n(self->a, self->a->qp, &self->wr, &sent,
				CQE - 30));
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i].stays)
			seen += parts[i].n;
		else
			EXPECT_EQ(0, take_n(self->a->scq, &seen, parts[i].n));
	}
	EXPECT_EQ(0, take_n(self->a->scq, &seen, CQE - 30));
	EXPECT_TRUE(vt_no_completion(self->a->scq, 0));
}

/*
 * Make the sender's CQ single-threaded and extended; it is polled in batches.
 */
static int use_single_threaded(struct vt_pair *pair, struct ibv_cq_ex **cqx)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = CQE, .channel = pair->a.chan,
		.wc_flags = IBV_WC_EX_WITH_QP_NUM,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	int ret = vt_ep_use_cq_ex(&pair->a, &pair->a.scq, &init, cqx);

	return ret ? ret : vt_pair_reset(pair);
}

/* A QP is destroyed in the middle of a batch: the current completion stays. */
TEST_F(cq, batch_beside_a_former_qp)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t sent = 0, seen;
	struct ibv_cq_ex *cqx;
	struct vt_conn other;

	VT_SETUP(use_single_threaded(&self->pair, &cqx));
	VT_SETUP(vt_conn_open(&other, self->a, &self->pair.b));
	ASSERT_EQ(0, complete_n(self->a, self->a->qp, &self->wr, &sent, 2));
	ASSERT_EQ(0, complete_n(self->a, other.a, &self->wr, &sent, CQE - 2));
	ASSERT_EQ(0, ibv_start_poll(cqx, &attr));
	EXPECT_EQ(0, cqx->wr_id);
	vt_conn_close(&other);
	EXPECT_EQ(self->a->qp->qp_num, ibv_wc_read_qp_num(cqx));
	EXPECT_EQ(0, ibv_next_poll(cqx));
	EXPECT_EQ(1, cqx->wr_id);
	EXPECT_EQ(ENOENT, ibv_next_poll(cqx));
	ibv_end_poll(cqx);

	seen = sent;
	ASSERT_EQ(0, complete_n(self->a, self->a->qp, &self->wr, &sent, CQE));
	EXPECT_EQ(0, take_n(self->a->scq, &seen, CQE));
}

/* -- moderation */

/*
 * Wait until the effects of the completions so far have happened: execute an unsignalled request after them, and wait
 * for its message.
 */
static int pass_by(FIXTURE_DATA(cq) *self)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	int ret = vt_post_recv(&self->pair.b, 1, NULL, 0);

	ret = ret ? ret : vt_post(self->a, &wr);
	return ret ? ret : vt_status(self->pair.b.rcq, 1);
}

TEST_F(cq, moderation_by_count)
{
	uint64_t sent = 0, seen = 0;
	int round;

	ASSERT_EQ(0, moderate(self->a->scq, 4, 0));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, ibv_req_notify_cq(self->a->scq, 0));
		ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 3));
		ASSERT_EQ(0, take_n(self->a->scq, &seen, 3));
		ASSERT_EQ(0, pass_by(self));
		EXPECT_EQ(-ETIMEDOUT, vt_cq_event(self->a, self->a->scq, 0));
		ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 1));
		EXPECT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
		ASSERT_EQ(0, take_n(self->a->scq, &seen, 1));
	}
}

/* The first completion starts the timer; later ones do not restart it. */
TEST_F(cq, moderation_by_time)
{
	uint64_t sent = 0, seen = 0, start;

	ASSERT_EQ(0, moderate(self->a->scq, 1000, 50000));
	ASSERT_EQ(0, ibv_req_notify_cq(self->a->scq, 0));
	start = vt_now_ms();
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 2));
	EXPECT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
	EXPECT_LE(49, vt_now_ms() - start);
	ASSERT_EQ(0, take_n(self->a->scq, &seen, 2));
	/* no event is raised as long as none is requested */
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 2));
	ASSERT_EQ(0, take_n(self->a->scq, &seen, 2));
	/* nor is one waiting for the timer: it would be raised now */
	ASSERT_EQ(0, moderate(self->a->scq, 0, 0));
	ASSERT_EQ(0, pass_by(self));
	EXPECT_EQ(-ETIMEDOUT, vt_cq_event(self->a, self->a->scq, 0));
}

/*
 * When moderation is turned off, a pending event is raised. An unknown mask
 * changes nothing.
 */
TEST_F(cq, moderation_ends)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = 1 << 7 };
	uint64_t sent = 0, seen = 0;

	ASSERT_EQ(0, moderate(self->a->scq, 5, 0));
	EXPECT_EQ(EINVAL, ibv_modify_cq(self->a->scq, &attr));
	ASSERT_EQ(0, ibv_req_notify_cq(self->a->scq, 0));
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 1));
	ASSERT_EQ(0, take_n(self->a->scq, &seen, 1));
	ASSERT_EQ(0, pass_by(self));
	EXPECT_EQ(-ETIMEDOUT, vt_cq_event(self->a, self->a->scq, 0));
	ASSERT_EQ(0, moderate(self->a->scq, 0, 0));
	EXPECT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
	ASSERT_EQ(0, ibv_req_notify_cq(self->a->scq, 0));
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 1));
	EXPECT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
}

TEST_F(cq, destroyed_while_an_event_waits)
{
	uint64_t sent = 0;

	ASSERT_EQ(0, moderate(self->a->scq, 5, 20000));
	ASSERT_EQ(0, ibv_req_notify_cq(self->a->scq, 0));
	ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 1));
}

TEST_F(cq, moderation_limits)
{
	struct ibv_device_attr_ex attr;

	ASSERT_EQ(0, ibv_query_device_ex(self->a->dev.ctx, NULL, &attr));
	EXPECT_EQ(UINT16_MAX, attr.cq_mod_caps.max_cq_count);
	EXPECT_EQ(UINT16_MAX, attr.cq_mod_caps.max_cq_period);
	EXPECT_EQ(0, moderate(self->a->scq, UINT16_MAX, UINT16_MAX));
}

/* -- vectors and clocks */

/* There is one vector for each CPU, and each raises events. */
TEST_F(cq, vectors)
{
	struct ibv_context *ctx = self->a->dev.ctx;
	int i, n = ctx->num_comp_vectors;
	struct ibv_cq *cq;

	EXPECT_EQ(sysconf(_SC_NPROCESSORS_CONF), n);
	EXPECT_EQ(NULL, ibv_create_cq(ctx, 1, NULL, NULL, n));
	EXPECT_EQ(EINVAL, errno);
	for (i = 0; i < n; i++) {
		uint64_t sent = 0;

		cq = ibv_create_cq(ctx, 4, NULL, self->a->chan, i);
		ASSERT_NE(NULL, cq);
		ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
		ASSERT_EQ(0, ibv_destroy_cq(self->a->scq));
		self->a->scq = cq;
		self->a->qp = vt_qp_create(self->a);
		ASSERT_NE(NULL, self->a->qp);
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
		ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
		ASSERT_EQ(0, post_n(self->a, &self->wr, &sent, 1));
		EXPECT_EQ(0, vt_cq_event(self->a, self->a->scq, VT_TIMEOUT_MS));
	}
}

/*
 * The raw clock is the timestamps' clock, and runs as fast as the device says.
 */
TEST_F(cq, raw_clock)
{
	struct ibv_values_ex one = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_values_ex two = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex attr;
	int64_t ns;

	ASSERT_EQ(0, ibv_query_device_ex(self->a->dev.ctx, NULL, &attr));
	EXPECT_EQ(1000000, attr.hca_core_clock);
	EXPECT_EQ(UINT64_MAX, attr.completion_timestamp_mask);
	ASSERT_EQ(0, ibv_query_rt_values_ex(self->a->dev.ctx, &one));
	usleep(10000);
	ASSERT_EQ(0, ibv_query_rt_values_ex(self->a->dev.ctx, &two));
	EXPECT_EQ(IBV_VALUES_MASK_RAW_CLOCK, two.comp_mask);
	ns = (two.raw_clock.tv_sec - one.raw_clock.tv_sec) * 1000000000ll +
	     two.raw_clock.tv_nsec - one.raw_clock.tv_nsec;
	EXPECT_LE(10000000, ns);
	/* As on adapters, the timestamp is a counter: programs look at tv_nsec only. */
	if (sizeof(two.raw_clock.tv_nsec) >= sizeof(uint64_t))
		EXPECT_EQ(0, two.raw_clock.tv_sec);
	two.comp_mask |= IBV_VALUES_MASK_RAW_CLOCK << 1;
	EXPECT_EQ(EINVAL, ibv_query_rt_values_ex(self->a->dev.ctx, &two));
}

VT_HARNESS_MAIN
