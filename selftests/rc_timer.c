// SPDX-License-Identifier: GPL-2.0
/*
 * The timer of a requester expires on one CPU, while another CPU processes the answer that it waits
 * for. kmod/slow_timer.c makes this race window long. Requests that are still outstanding have
 * their own timeout, which begins at the answer.
 *
 * timeout: 120
 * paths: wire
 */
#include "harness.h"

#include <sched.h>

#include "line.h"
#include "system.h"

/* 4.096 us * 2^19 is 2147 ms. The function of the expired timer is delayed by less. */
#define TIMEOUT		19
#define TIMEOUT_MS	2147
#define LATE_MS		"500"
/* A slow machine may need several. */
#define TRIES		8
#define PARAM		"/sys/module/slow_timer/parameters/"

FIXTURE(timer)
{
	struct vt_line l;
	pid_t spinner;
};

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* A timer stays on its CPU as long as that is busy. */
static int spin(int sock, const void *arg)
{
	(void)sock;
	(void)arg;
	pin(0);
	while (getppid() != 1)
		;
	return 0;
}

FIXTURE_SETUP(timer)
{
	struct vt_conf conf = vt_defaults;
	int sock;

	conf.timeout = TIMEOUT;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU only");
	VT_SETUP(vt_line_open(&self->l, &conf));
	ASSERT_EQ(0, system("modprobe slow_timer function=rto_timer_fn ms=" LATE_MS));
	self->spinner = vt_child(&sock, spin, NULL);
	ASSERT_LT(0, self->spinner);
}

FIXTURE_TEARDOWN(timer)
{
	if (self->spinner > 0) {
		kill(self->spinner, SIGKILL);
		waitpid(self->spinner, NULL, 0);
	}
	vt_line_close(&self->l);
	EXPECT_EQ(0, system("modprobe -r slow_timer"));
}

/* False: the machine was too slow, or the timer was on another CPU, so the try proves nothing */
static bool answer_beside_the_timer(struct __test_metadata *_metadata,
				    FIXTURE_DATA(timer) *self, int nth)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, NULL);
	int64_t before = vt_counter_now(self->l.ep.dev.ctx, "ack_timeouts"), now;
	uint64_t end;
	bool early, quiet;

	ASSERT_EQ(0, vt_write_file(PARAM "left", "1"));
	/* The timer is started on the CPU that posts. */
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, vt_post(&self->l.ep, &wr));
	wr.wr_id = 2;
	ASSERT_EQ(0, vt_post(&self->l.ep, &wr));
	ASSERT_EQ(0, pin(1));
	ASSERT_TRUE(vt_number_wait(PARAM "begun", nth));

	/* The first is answered. So the second is not late as long as its own timeout lasts. */
	end = vt_now_ms() + TIMEOUT_MS;
	ASSERT_EQ(0, vt_line_answer(&self->l, VT_OP_ACK, self->l.psn, 0x1f, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.scq, 1));
	early = vt_number(PARAM "ended", "") < nth;
	ASSERT_TRUE(vt_number_wait(PARAM "ended", nth));
	if (!early || vt_number(PARAM "cpu", ""))
		return false;
	quiet = vt_no_completion(self->l.ep.scq, 200);
	now = vt_counter_now(self->l.ep.dev.ctx, "ack_timeouts");
	if (vt_now_ms() > end)
		return false;
	EXPECT_TRUE(quiet);
	EXPECT_EQ(before, now);

	/* After that it is late: its timer was started. */
	EXPECT_TRUE(vt_counter_wait(self->l.ep.dev.ctx, "ack_timeouts", before + 1));
	ASSERT_EQ(0, vt_line_answer(&self->l, VT_OP_ACK, self->l.psn + 1, 0x1f, NULL, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->l.ep.scq, 2));
	return true;
}

TEST_F_TIMEOUT(timer, answer_beside_an_expired_timer, 90)
{
	int nth = 1;

	while (!answer_beside_the_timer(_metadata, self, nth)) {
		ASSERT_GT(TRIES, nth++);
		ASSERT_EQ(0, vt_line_reset(&self->l));
	}
}

VT_HARNESS_MAIN
