// SPDX-License-Identifier: GPL-2.0
/*
 * A process posts one request after another. Then a thread on an idle processor polls its send
 * queue, and the process rings no doorbell. No request is forgotten, whenever that thread starts or
 * stops, and whatever happens to the QP.
 *
 * Not on PREEMPT_RT, which has no pollers.
 *
 * beds: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-race uml-checked uml
 * race: yes
 * timeout: 120
 * paths: host wire
 * params: poll_us=20000
 */
#include "harness.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter.h"
#include "random.h"
#include "rings.h"
#include "system.h"

#define DEPTH		64
#define LEN		8
#define LONG		(512 * 1024)
/* How long a thread may take to start: processors of a guest also wait for those of the host */
#define COMES_MS	10000
#define ROUNDS		500
#define SHORT_ROUNDS	100
/* How long the thread waits, and so how long it may take to stop */
#define POLL_US		20000
#define CHANGES		40
#define LATE		15
#define BINDS		400
/* A poller is measured every 64 requests, and stops after two slow measurements */
#define MANY_LONG	256
/* Longer than a poller takes to notice that the process still rings */
#define RINGS_MS	1000
#define MAX_CPUS	64

FIXTURE(sqpoll)
{
	struct vt_conf conf;
	struct vt_pair pair;
	struct vt_rings rings;
	uint64_t posted, done;
	uint64_t random;
};

/* Finding the rings has put one QP into the error state */
static int open_pair(FIXTURE_DATA(sqpoll) *self)
{
	self->posted = 0;
	self->done = 0;
	return vt_pair_open(&self->pair, &self->conf) ?:
	       vt_rings_find(&self->rings, &self->pair.a) ?:
	       vt_pair_reset(&self->pair);
}

/* Connect again. Return: 0, or a negative errno */
static int reconnect(FIXTURE_DATA(sqpoll) *self)
{
	self->posted = 0;
	self->done = 0;
	return vt_pair_reset(&self->pair);
}

FIXTURE_SETUP(sqpoll)
{
	self->conf = vt_defaults;
	self->conf.depth = DEPTH;
	self->conf.sges = 4;
	self->conf.buf_len = LONG;
	self->conf.buf_access |= IBV_ACCESS_MW_BIND;
	self->random = vt_random_begin(vt_seed(), 0);
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
		SKIP(return, "one processor is never idle");
	VT_SETUP(open_pair(self));
}

FIXTURE_TEARDOWN(sqpoll)
{
	if (self->pair.a.qp)
		vt_pair_close(&self->pair);
}

static bool is_polled(FIXTURE_DATA(sqpoll) *self)
{
	return __atomic_load_n(&self->rings.sq.hdr->flags, __ATOMIC_SEQ_CST) & SMR_RING_POLLED;
}

/* Wait until the ring is polled, or is not. Return: whether that happened within @ms */
static bool becomes_polled(FIXTURE_DATA(sqpoll) *self, bool polled, unsigned int ms)
{
	uint64_t end = vt_now_ms() + ms;

	while (is_polled(self) != polled && vt_now_ms() < end)
		;
	return is_polled(self) == polled;
}

/* Completions come in the order of the requests. Return: 0, a status, or a negative errno */
static int reap(FIXTURE_DATA(sqpoll) *self, uint64_t left)
{
	struct ibv_wc wc;

	while (self->posted - self->done > left) {
		if (vt_poll(self->pair.a.scq, &wc, 1, VT_TIMEOUT_MS) != 1)
			return -ETIMEDOUT;
		if (wc.status)
			return wc.status;
		if (wc.wr_id != self->done++)
			return -EBADMSG;
	}
	return 0;
}

static int post(FIXTURE_DATA(sqpoll) *self, enum ibv_wr_opcode op, size_t len)
{
	struct ibv_sge sge = vt_sge(&self->pair.a.buf, 0, len);
	struct ibv_send_wr wr = {
		.wr_id = self->posted, .sg_list = &sge, .num_sge = 1,
		.opcode = op, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)self->pair.b.buf.p,
		.wr.rdma.rkey = self->pair.b.buf.mr->rkey,
	};
	int ret = vt_post(&self->pair.a, &wr);

	if (!ret)
		self->posted++;
	return ret;
}

/* Post @n, one at a time, and wait only for room */
static int stream(FIXTURE_DATA(sqpoll) *self, int n)
{
	int ret = 0;

	while (n-- && !ret) {
		ret = reap(self, DEPTH - 1);
		if (!ret)
			ret = post(self, IBV_WR_RDMA_WRITE, LEN);
	}
	return ret;
}

/*
 * Post until the ring is polled, and more: a thread that was of little use is started less often.
 * Return: 0, a status, or a negative errno
 */
static int stream_until_polled(FIXTURE_DATA(sqpoll) *self)
{
	uint64_t end = vt_now_ms() + COMES_MS;
	int ret = 0;

	while (!ret && !is_polled(self))
		ret = vt_now_ms() < end ? stream(self, 1) : -ETIME;
	return ret ?: stream(self, 4 * DEPTH) ?: reap(self, 0);
}

static int64_t doorbells(FIXTURE_DATA(sqpoll) *self)
{
	return vt_counter_now(self->pair.a.dev.ctx, "doorbells");
}

TEST_F(sqpoll, needs_no_doorbells)
{
	uint64_t end = vt_now_ms() + COMES_MS;
	int64_t rung = doorbells(self);
	int64_t sqpolls = vt_counter(self->pair.a.dev.ctx, "sqpolls");

	while ((int64_t)self->posted - (doorbells(self) - rung) < 1000 && vt_now_ms() < end)
		ASSERT_EQ(0, stream(self, 500));
	ASSERT_EQ(0, reap(self, 0));
	EXPECT_LE(1000, (int64_t)self->posted - (doorbells(self) - rung));
	EXPECT_LT(sqpolls, vt_counter_now(self->pair.a.dev.ctx, "sqpolls"));
	printf("# %llu posted, %lld doorbells\n", (unsigned long long)self->posted,
	       (long long)(doorbells(self) - rung));
}

/* The thread starts and stops at random moments */
TEST_F_TIMEOUT(sqpoll, forgets_nothing, 90)
{
	int rounds = getenv("SMR_SHORT") ? SHORT_ROUNDS : ROUNDS;
	int64_t sqpolls = vt_counter(self->pair.a.dev.ctx, "sqpolls");

	while (rounds--) {
		ASSERT_EQ(0, stream(self, 1 + vt_random_below(&self->random, 2 * DEPTH)));
		ASSERT_EQ(0, reap(self, 0));
		/* about as long as the thread waits */
		vt_spin(vt_random_below(&self->random, 2 * POLL_US));
	}
	EXPECT_LE(sqpolls + 2, vt_counter_now(self->pair.a.dev.ctx, "sqpolls"));
}

/* No thread polls the ring any more, so a doorbell is needed */
TEST_F(sqpoll, ends_with_a_reset)
{
	int i;

	for (i = 0; i < CHANGES; i++) {
		ASSERT_EQ(0, stream_until_polled(self));
		ASSERT_EQ(0, vt_qp_reset(self->pair.a.qp));
		ASSERT_FALSE(is_polled(self));
		ASSERT_EQ(0, reconnect(self));
		ASSERT_EQ(0, stream(self, 2));
		ASSERT_EQ(0, reap(self, 0));
	}
}

/* A thread that was woken before a reset must not poll after it */
TEST_F(sqpoll, does_not_come_after_a_reset)
{
	int i;

	for (i = 0; i < LATE; i++) {
		ASSERT_EQ(0, stream_until_polled(self));
		ASSERT_TRUE(becomes_polled(self, false, COMES_MS));
		ASSERT_EQ(0, stream(self, 3));
		ASSERT_EQ(0, vt_qp_reset(self->pair.a.qp));
		ASSERT_FALSE(becomes_polled(self, true, POLL_US / 1000));
		ASSERT_EQ(0, reconnect(self));
	}
}

/* Requests that are posted to a QP in error are flushed, with a doorbell or without */
TEST_F(sqpoll, flushes)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;
	int i, ret;

	for (i = 0; i < CHANGES; i++) {
		ASSERT_EQ(0, stream_until_polled(self));
		ASSERT_EQ(0, ibv_modify_qp(self->pair.a.qp, &attr, IBV_QP_STATE));
		ret = 0;
		while (!ret && self->posted - self->done < DEPTH)
			ret = post(self, IBV_WR_RDMA_WRITE, LEN);
		ASSERT_EQ(0, ret);
		do {
			ret = reap(self, 0);
			self->done += ret > 0;
		} while (self->posted != self->done && (!ret || ret == IBV_WC_WR_FLUSH_ERR));
		ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, ret);
		ASSERT_EQ(0, ibv_poll_cq(self->pair.a.scq, 1, &wc));
		ASSERT_EQ(0, reconnect(self));
	}
}

/* Destroyed while it is polled */
TEST_F(sqpoll, is_left)
{
	int i;

	for (i = 0; i < CHANGES; i++) {
		ASSERT_EQ(0, stream_until_polled(self));
		vt_pair_close(&self->pair);
		ASSERT_EQ(0, open_pair(self));
	}
}

/*
 * Local work waits for the requests before it, and each check of it takes from the run's budget.
 * When the budget is used up, the poller gets a new one, or it stops, and then doorbells are needed
 * again
 */
TEST_F(sqpoll, goes_on_or_leaves)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = self->pair.a.buf.mr, .addr = (uintptr_t)self->pair.a.buf.p, .length = LEN,
			.mw_access_flags = IBV_ACCESS_REMOTE_READ,
		},
	};
	struct ibv_mw *mw = ibv_alloc_mw(self->pair.a.pd, IBV_MW_TYPE_1);
	int i;

	ASSERT_NE(NULL, mw);
	ASSERT_EQ(0, stream_until_polled(self));
	for (i = 0; i < BINDS; i++) {
		ASSERT_EQ(0, reap(self, 0));
		ASSERT_EQ(0, post(self, IBV_WR_RDMA_READ, LONG));
		bind.wr_id = self->posted++;
		ASSERT_EQ(0, ibv_bind_mw(self->pair.a.qp, mw, &bind));
	}
	ASSERT_EQ(0, reap(self, 0));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

/*
 * A poller stays only while requests follow each other faster than with doorbells. Here the
 * requests are longer than those before, for which doorbells were rung.
 */
TEST_F(sqpoll, leaves_when_it_is_slower)
{
	uint64_t end = vt_now_ms() + COMES_MS;
	int i = 0;

	while (!i && vt_now_ms() < end) {
		ASSERT_EQ(0, stream(self, 1));
		for (; i < MANY_LONG && is_polled(self); i++) {
			ASSERT_EQ(0, reap(self, DEPTH - 1));
			ASSERT_EQ(0, post(self, IBV_WR_RDMA_WRITE, LONG));
		}
	}
	EXPECT_LT(0, i);
	EXPECT_GT(MANY_LONG, i);
	EXPECT_EQ(0, reap(self, 0));
}

/* An older provider does not check the flag, so a poller is of no use to it */
TEST_F(sqpoll, does_not_come_to_who_rings)
{
	uint64_t end;
	int64_t sqpolls;

	ASSERT_EQ(0, stream_until_polled(self));
	for (end = vt_now_ms() + RINGS_MS; vt_now_ms() < end;) {
		ASSERT_EQ(0, stream(self, 1));
		ASSERT_EQ(0, vt_ring_sq(&self->pair.a));
	}
	usleep(2 * POLL_US);
	sqpolls = vt_counter_now(self->pair.a.dev.ctx, "sqpolls");
	ASSERT_EQ(0, stream(self, 3000));
	ASSERT_EQ(0, reap(self, 0));
	EXPECT_EQ(sqpolls, vt_counter_now(self->pair.a.dev.ctx, "sqpolls"));
}

static int hog(int sock, const void *arg)
{
	char c;

	(void)arg;
	while (recv(sock, &c, 1, MSG_DONTWAIT) < 0)
		vt_spin(1000);
	return 0;
}

/* If every processor is busy, doorbells run the requests */
TEST_F(sqpoll, takes_no_processor_from_others)
{
	int i, status, n = sysconf(_SC_NPROCESSORS_ONLN), sock[MAX_CPUS];
	pid_t pid[MAX_CPUS];
	int64_t rung;

	ASSERT_GE(MAX_CPUS, n);
	for (i = 0; i < n; i++) {
		pid[i] = vt_child(&sock[i], hog, NULL);
		ASSERT_LT(0, pid[i]);
	}
	/* a poller that runs has noticed it by then */
	ASSERT_EQ(0, stream(self, 2 * DEPTH));
	usleep(100 * 1000);
	rung = doorbells(self);
	ASSERT_EQ(0, stream(self, 2000));
	ASSERT_EQ(0, reap(self, 0));
	EXPECT_EQ(2000, doorbells(self) - rung);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(1, write(sock[i], "", 1));
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		close(sock[i]);
	}
}

VT_HARNESS_MAIN
