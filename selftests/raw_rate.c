// SPDX-License-Identifier: GPL-2.0
/*
 * The rate limit of RAW_PACKET QPs: how fast they send, with and without bursts; other operations
 * while frames wait; and invalid limits.
 *
 * beds: qemu-newest uml-checked qemu-stable qemu-oldest qemu-rt qemu-race uml
 * timeout: 120
 * paths: veth
 */
#include "harness.h"

#include <stddef.h>

#include "raw.h"

#define LEN	1000
#define FRAMES	40
/* These take as long as the longest frame of the netdev, or longer. */
#define MTU_FRAMES	10
/* Frames that wait for a limit of 1 kbit/s take 8 s each. */
#define SOON_US	7000000

FIXTURE(rate)
{
	struct vt_raw raw;
};

FIXTURE_SETUP(rate)
{
	VT_SETUP(vt_raw_open(&self->raw, 0, 0));
	/* to an unused address, with an EtherType for local experiments */
	memset(vt_raw_slot(&self->raw, 0), 2, 12);
	vt_raw_slot(&self->raw, 0)[12] = 0x88;
	vt_raw_slot(&self->raw, 0)[13] = 0xb5;
}

FIXTURE_TEARDOWN(rate)
{
	vt_raw_close(&self->raw);
}

static int limit(struct ibv_qp *qp, uint32_t kbps, uint32_t burst, uint16_t packet)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = kbps, .max_burst_sz = burst, .typical_pkt_sz = packet,
	};

	return ibv_modify_qp_rate_limit(qp, &attr);
}

static int post(struct vt_raw *raw, int n)
{
	int ret = 0;

	while (n-- && !ret)
		ret = vt_raw_post(raw, LEN, 1, IBV_SEND_SIGNALED);
	return ret;
}

static int take(struct vt_raw *raw, int n)
{
	int ret = IBV_WC_SUCCESS;

	while (n-- && ret == IBV_WC_SUCCESS)
		ret = vt_status(raw->ep.scq, 1);
	return ret;
}

/* How long does it take to send that many frames, in us? -1: it fails. */
static int64_t send_time(struct vt_raw *raw, int n)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (post(raw, n) || take(raw, n) != IBV_WC_SUCCESS)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000000ll + (to.tv_nsec - from.tv_nsec) / 1000;
}

static struct ibv_packet_pacing_caps caps_of(struct vt_raw *raw)
{
	struct ibv_device_attr_ex attr = {};

	ibv_query_device_ex(raw->ep.dev.ctx, NULL, &attr);
	return attr.packet_pacing_caps;
}

TEST_F(rate, capabilities)
{
	struct ibv_packet_pacing_caps caps = caps_of(&self->raw);

	EXPECT_EQ(1 << IBV_QPT_RAW_PACKET, caps.supported_qpts);
	EXPECT_EQ(1, caps.qp_rate_limit_min);
	EXPECT_EQ(UINT32_MAX, caps.qp_rate_limit_max);
	EXPECT_EQ(0, limit(self->raw.ep.qp, caps.qp_rate_limit_min, 0, 0));
	EXPECT_EQ(0, limit(self->raw.ep.qp, caps.qp_rate_limit_max, 0, 0));
	EXPECT_LE(0, send_time(&self->raw, FRAMES));
}

/*
 * 4 Mbit/s are 2 ms for each frame except those of the burst. How late timers are depends on the
 * machine, so the only upper bound is the time limit of a wait.
 */
TEST_F(rate, as_slow_as_it_is_to_be)
{
	static const struct {
		uint32_t burst;
		uint16_t packet;
		int at_once;
	} tries[] = {
		{ LEN, LEN, 1 }, { 10 * LEN, LEN, 10 }, { 1, LEN, 1 }, { 0, LEN, 1 },
		/* a packet is as long as the netdev's MTU allows, at most 9014 bytes here */
		{ 1, 0, MTU_FRAMES },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		ASSERT_EQ(0, limit(self->raw.ep.qp, 4000, tries[i].burst, tries[i].packet));
		EXPECT_LE((FRAMES - tries[i].at_once) * 2000, send_time(&self->raw, FRAMES))
			TH_LOG("%d", i);
	}
	/* a burst as long as the queue; then a second for each frame; and no limit */
	ASSERT_EQ(0, limit(self->raw.ep.qp, 8, FRAMES * LEN, LEN));
	EXPECT_GT(SOON_US, send_time(&self->raw, FRAMES));
	ASSERT_EQ(0, limit(self->raw.ep.qp, 0, 0, 0));
	EXPECT_GT(SOON_US, send_time(&self->raw, FRAMES));
}

/* A new limit also applies to frames that already wait; so does one that ibv_modify_qp() sets. */
TEST_F(rate, another_limit_meanwhile)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp *qp = self->raw.ep.qp;

	/* 8 s for each frame */
	ASSERT_EQ(0, limit(qp, 1, 1, 1));
	ASSERT_EQ(0, post(&self->raw, 3));
	EXPECT_EQ(IBV_WC_SUCCESS, take(&self->raw, 1));
	EXPECT_TRUE(vt_no_completion(self->raw.ep.scq, 20));
	attr.rate_limit = 1000000;
	EXPECT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT));
	EXPECT_EQ(IBV_WC_SUCCESS, take(&self->raw, 2));
}

static int modify(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* While frames wait, the QP changes its state and is destroyed, and its process exits. */
TEST_F(rate, nobody_waits_with_them)
{
	struct ibv_qp *qp = self->raw.ep.qp;
	int status;
	pid_t pid;

	ASSERT_EQ(0, limit(qp, 1, 1, 1));
	ASSERT_EQ(0, post(&self->raw, 3));
	EXPECT_EQ(IBV_WC_SUCCESS, take(&self->raw, 1));
	EXPECT_EQ(0, modify(qp, IBV_QPS_ERR));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, take(&self->raw, 1));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, take(&self->raw, 1));
	/* RESET lifts the limit */
	EXPECT_EQ(0, modify(qp, IBV_QPS_RESET));
	ASSERT_EQ(0, vt_raw_ready(&self->raw));
	EXPECT_GT(SOON_US, send_time(&self->raw, 3));
	ASSERT_EQ(0, limit(qp, 1, 1, 1));
	ASSERT_EQ(0, post(&self->raw, 3));
	EXPECT_EQ(0, modify(qp, IBV_QPS_RESET));
	ASSERT_EQ(0, vt_raw_ready(&self->raw));
	pid = fork();
	if (!pid) {
		struct vt_raw raw;

		_exit(vt_raw_open(&raw, 0, 0) || limit(raw.ep.qp, 1, 1, 1) ||
		      post(&raw, 3));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, limit(qp, 1, 1, 1));
	/* and they still wait when the QP is destroyed at the end of the test */
	ASSERT_EQ(0, post(&self->raw, 3));
}

/* Another QP of the device is not limited. */
TEST_F(rate, of_one_qp)
{
	struct vt_raw other;

	VT_SETUP(vt_raw_open(&other, 0, 0));
	ASSERT_EQ(0, limit(self->raw.ep.qp, 1, 1, 1));
	ASSERT_EQ(0, post(&self->raw, 3));
	memcpy(vt_raw_slot(&other, 0), vt_raw_slot(&self->raw, 0), 14);
	EXPECT_GT(SOON_US, send_time(&other, 3));
	vt_raw_close(&other);
}

TEST_F(rate, refused)
{
	struct ibv_qp_rate_limit_attr with_mask = { .rate_limit = 1, .comp_mask = 1 };
	struct ibv_qp *qp = self->raw.ep.qp;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .rate_limit = 5 };
	struct ibv_wc wc[FRAMES];
	struct vt_pair pair;

	EXPECT_EQ(EINVAL, ibv_modify_qp_rate_limit(qp, &with_mask));
	EXPECT_EQ(EINVAL, limit(qp, 0, 1, 0));
	EXPECT_EQ(EINVAL, limit(qp, 0, 0, 1));
	EXPECT_EQ(0, modify(qp, IBV_QPS_RESET));
	EXPECT_EQ(EINVAL, limit(qp, 1, 0, 0));
	EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
						   IBV_QP_RATE_LIMIT));
	EXPECT_EQ(0, vt_raw_state(&self->raw, IBV_QPS_INIT));
	EXPECT_EQ(0, vt_raw_state(&self->raw, IBV_QPS_RTR));
	EXPECT_EQ(EINVAL, limit(qp, 1, 0, 0));
	/* from RTR to RTS it begins with the first frame */
	attr.qp_state = IBV_QPS_RTS;
	attr.rate_limit = 1;
	EXPECT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT));
	EXPECT_EQ(0, post(&self->raw, FRAMES));
	EXPECT_EQ(IBV_WC_SUCCESS, take(&self->raw, 1));
	usleep(50000);
	EXPECT_GE(MTU_FRAMES, vt_poll(self->raw.ep.scq, wc, FRAMES, 0));
	EXPECT_EQ(0, modify(qp, IBV_QPS_ERR));
	EXPECT_EQ(EINVAL, limit(qp, 1, 0, 0));
	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	/* the core's answer, or softmr's */
	EXPECT_NE(0, limit(pair.a.qp, 1, 0, 0));
	vt_pair_close(&pair);
}

VT_HARNESS_MAIN
