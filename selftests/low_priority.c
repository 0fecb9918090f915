// SPDX-License-Identifier: GPL-2.0
/*
 * A peer on the same host whose process hardly runs: its priority is the lowest, and another
 * program keeps its CPU busy; or its cgroup's cpu.max lets it run for a thousandth of the time. The
 * scheduler may preempt it at any point, except while it owns the other end's QP. Otherwise that QP
 * would get no datagrams (nor would QP1), and could not be changed, until the peer runs again.
 *
 * timeout: 120
 * paths: host
 */
#include "harness.h"

#include <sched.h>
#include <sys/stat.h>

#include "system.h"
#include "ud.h"

/* How long each test watches, how often, and the limit for each operation */
#define WATCH_MS	10000
#define PAUSE_US	20000
#define LATE_MS		200

/* It gets a 70th of the processor. With SCHED_IDLE it would be a 340th. */
#define LOWEST		19

#define DEPTH		64
#define SIZE_UD		1024
#define SIZE_RC		(32 * 1024)

#define CGROUPS		"/sys/fs/cgroup/"
#define GROUP		CGROUPS "softmr-throttled"

/* Where the peer runs, and where the test does */
#define THEIR_CPU	0
#define OUR_CPU		1

/**
 * struct target - what the peer sends to
 * @addr: the QP
 * @buf: memory that it may write to
 * @rkey: of @buf
 */
struct target {
	struct vt_addr addr;
	uint64_t buf;
	uint32_t rkey;
};

static int stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static int hog_main(int sock, const void *arg)
{
	char c;

	if (stay_on(THEIR_CPU))
		return 1;
	while (recv(sock, &c, 1, MSG_DONTWAIT) < 0)
		vt_spin(1000);
	return 0;
}

/* As many as one doorbell executes at once */
static int send_chain(struct vt_ep *ep, const struct target *to)
{
	bool ud = vt_is_ud(ep);
	struct ibv_sge sge = vt_sge(&ep->buf, VT_GUARD, ud ? SIZE_UD : SIZE_RC);
	struct ibv_send_wr wr[DEPTH];
	struct ibv_wc wc;
	int i, ret;

	for (i = 0; i < DEPTH; i++) {
		wr[i] = (struct ibv_send_wr){
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma.remote_addr = to->buf,
			.wr.rdma.rkey = to->rkey,
		};
		if (ud)
			wr[i] = vt_ud_wr(ep, &sge);
		wr[i].send_flags = i == DEPTH - 1 ? IBV_SEND_SIGNALED : 0;
		wr[i].next = i == DEPTH - 1 ? NULL : &wr[i + 1];
	}
	ret = vt_post(ep, wr);
	if (!ret && vt_poll(ep->scq, &wc, 1, 60000) != 1)
		ret = -ETIMEDOUT;
	return ret ? ret : wc.status;
}

/* Send to the target without a pause until the test ends. */
static int peer_main(int sock, const void *arg)
{
	const struct vt_conf *conf = arg;
	struct vt_addr here;
	struct target to;
	struct vt_ep ep;
	char c;

	if (vt_ep_open(&ep, conf, 0))
		return 1;
	here = vt_ep_addr(&ep);
	if (write(sock, &here, sizeof(here)) != sizeof(here) ||
	    read(sock, &to, sizeof(to)) != sizeof(to) ||
	    vt_ep_connect(&ep, &to.addr))
		return 1;
	if (write(sock, "", 1) != 1 || stay_on(THEIR_CPU) ||
	    setpriority(PRIO_PROCESS, 0, LOWEST))
		return 1;
	while (recv(sock, &c, 1, MSG_DONTWAIT) < 0)
		if (send_chain(&ep, &to))
			return 1;
	return 0;
}

FIXTURE(low_priority)
{
	struct vt_conf conf;
	struct vt_pair pair;
	pid_t peer, hog;
	int peer_sock, hog_sock;
	bool throttled;
};

FIXTURE_VARIANT(low_priority)
{
	enum ibv_qp_type type;
	bool throttled;
};

FIXTURE_VARIANT_ADD(low_priority, ud)
{
	.type = IBV_QPT_UD,
};

FIXTURE_VARIANT_ADD(low_priority, rc)
{
	.type = IBV_QPT_RC,
};

FIXTURE_VARIANT_ADD(low_priority, ud_throttled)
{
	.type = IBV_QPT_UD, .throttled = true,
};

FIXTURE_VARIANT_ADD(low_priority, rc_throttled)
{
	.type = IBV_QPT_RC, .throttled = true,
};

/* The peer connects to b of the pair. a of the pair is then not connected. */
static int peer_connect(FIXTURE_DATA(low_priority) *self)
{
	struct vt_ep *b = &self->pair.b;
	struct target target = {
		.addr = vt_ep_addr(b),
		.buf = (uintptr_t)b->buf.p,
		.rkey = b->buf.mr->rkey,
	};
	struct vt_addr theirs;
	char c;

	if (read(self->peer_sock, &theirs, sizeof(theirs)) != sizeof(theirs))
		return -ECHILD;
	if (self->conf.qp_type == IBV_QPT_RC &&
	    (vt_qp_reset(b->qp) || vt_ep_connect(b, &theirs)))
		return -EIO;
	if (write(self->peer_sock, &target, sizeof(target)) != sizeof(target) ||
	    read(self->peer_sock, &c, 1) != 1)
		return -ECHILD;
	return 0;
}

/* The peer may run for 1 ms of each second. */
static int throttle(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return vt_write_file(GROUP "/cgroup.procs", text) ?:
	       vt_write_file(GROUP "/cpu.max", "1000 1000000");
}

static bool group_make(void)
{
	vt_write_file(CGROUPS "cgroup.subtree_control", "+cpu");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		return false;
	if (!access(GROUP "/cpu.max", W_OK))
		return true;
	rmdir(GROUP);
	return false;
}

FIXTURE_SETUP(low_priority)
{
	if (variant->throttled && !group_make())
		SKIP(return, "this kernel has no cpu.max");
	self->throttled = variant->throttled;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one processor");
	self->conf = vt_defaults;
	self->conf.qp_type = variant->type;
	self->conf.depth = DEPTH;
	self->peer = vt_child(&self->peer_sock, peer_main, &self->conf);
	ASSERT_LT(0, self->peer);
	if (!self->throttled) {
		self->hog = vt_child(&self->hog_sock, hog_main, NULL);
		ASSERT_LT(0, self->hog);
	}
	ASSERT_EQ(0, stay_on(OUR_CPU));
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, peer_connect(self));
	if (self->throttled) {
		ASSERT_EQ(0, throttle(self->peer));
	}
}

static void expect_end(struct __test_metadata *_metadata, pid_t pid, int sock)
{
	int status;

	EXPECT_EQ(1, write(sock, "", 1));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
	close(sock);
}

FIXTURE_TEARDOWN(low_priority)
{
	if (self->peer <= 0)
		return;
	/* Without the hog, or the limit, the peer runs again, and exits. */
	if (self->throttled) {
		EXPECT_EQ(0, vt_write_file(GROUP "/cpu.max", "max"));
	} else {
		expect_end(_metadata, self->hog, self->hog_sock);
	}
	expect_end(_metadata, self->peer, self->peer_sock);
	vt_pair_close(&self->pair);
	if (self->throttled) {
		EXPECT_EQ(0, rmdir(GROUP));
	}
}

/* One datagram from the test to the QP that the peer floods. */
static int message(FIXTURE_DATA(low_priority) *self)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_sge sge = vt_sge(&a->buf, VT_GUARD, 8);
	struct ibv_send_wr wr = vt_ud_wr(a, &sge);
	struct ibv_wc wc;
	int ret;

	/* The peer's datagrams take receives, too. */
	do {
		ret = vt_ud_recv(b, 1, SIZE_UD);
		if (!ret)
			ret = vt_post(a, &wr);
		if (!ret)
			ret = vt_wait(a->scq, &wc);
		if (!ret)
			ret = vt_wait(b->rcq, &wc);
	} while (!ret && wc.src_qp != a->qp->qp_num);
	return ret ? ret : wc.status;
}

static int change(FIXTURE_DATA(low_priority) *self)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	attr.min_rnr_timer = self->conf.min_rnr_timer;
	return ibv_modify_qp(self->pair.b.qp, &attr,
			     IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
}

/* UD: datagrams reach the QP at once. RC: it can be changed at once. */
TEST_F(low_priority, holds_nobody_up)
{
	uint64_t begin = vt_now_ms(), before, took, worst = 0;
	int n = 0, late = 0;

	while (vt_now_ms() - begin < WATCH_MS) {
		before = vt_now_ms();
		ASSERT_EQ(0, variant->type == IBV_QPT_UD ? message(self) :
							    change(self));
		took = vt_now_ms() - before;
		worst = took > worst ? took : worst;
		late += took > LATE_MS;
		n++;
		usleep(PAUSE_US);
	}
	EXPECT_EQ(0, late)
		TH_LOG("%d of %d took longer than %d ms, at most %d", late, n,
		       LATE_MS, (int)worst);
	TH_LOG("%d times, at most %d ms", n, (int)worst);
}

VT_HARNESS_MAIN
