// SPDX-License-Identifier: GPL-2.0
/*
 * Completion channels, the extended CQ, timestamps, asynchronous events of the
 * port.
 *
 * break: qemu-newest
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#define PORT	1

/* -- completion channels: no wake-up is lost */

#define EVENTS	2000

static void *produce(void *arg)
{
	struct vt_ep *ep = arg;
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 0, NULL);
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	int posted = 0, done = 0, n;
	struct ibv_wc wc[16];

	while (done < EVENTS && vt_now_ms() < end) {
		if (posted < EVENTS && posted - done < 16) {
			if (vt_post(ep, &wr))
				break;
			posted++;
		}
		n = ibv_poll_cq(ep->scq, 16, wc);
		done += n > 0 ? n : 0;
		/* pauses of many lengths, so that the consumer often sleeps */
		if (posted % 7 == 0)
			usleep(posted % 50);
	}
	return done == EVENTS ? NULL : (void *)1;
}

/* Arm, poll earlier completions, sleep: the usual loop. */
static int consume(struct vt_ep *ep, int *sleeps)
{
	struct ibv_wc wc;
	int got = 0, n;

	*sleeps = 0;
	if (ibv_req_notify_cq(ep->rcq, 0))
		return -EIO;
	while (got < EVENTS) {
		while ((n = ibv_poll_cq(ep->rcq, 1, &wc)) > 0) {
			if (wc.status || vt_post_recv(ep, 0, NULL, 0))
				return -EIO;
			if (++got == EVENTS)
				return got;
		}
		if (vt_cq_event(ep, ep->rcq, 5000))
			return got;
		++*sleeps;
		if (ibv_req_notify_cq(ep->rcq, 0))
			return -EIO;
	}
	return got;
}

TEST(no_lost_wakeup)
{
	struct vt_pair pair;
	pthread_t thread;
	void *failed;
	int i, sleeps;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.events = true, .depth = 32)));
	for (i = 0; i < 32; i++)
		ASSERT_EQ(0, vt_post_recv(&pair.b, 0, NULL, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, produce, &pair.a));
	EXPECT_EQ(EVENTS, consume(&pair.b, &sleeps));
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
	printf("# slept %d times\n", sleeps);
	vt_pair_close(&pair);
}

/*
 * A CQ can be destroyed while its channel holds an event that nobody fetched.
 */
TEST(channel_with_pending_event)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 0, NULL);
	struct vt_pair pair;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.events = true)));
	ASSERT_EQ(0, ibv_req_notify_cq(pair.a.scq, 0));
	ASSERT_EQ(0, vt_post(&pair.a, &wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, 0));
	EXPECT_EQ(EBUSY, ibv_destroy_comp_channel(pair.a.chan));
	vt_pair_close(&pair);
	EXPECT_EQ(NULL, pair.a.chan);
}

/* One channel, several CQs: the event says which. */
TEST(channel_of_several_cqs)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 0, NULL);
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.events = true)));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, vt_post_recv(&pair.b, 0, NULL, 0));
		ASSERT_EQ(0, ibv_req_notify_cq(pair.b.rcq, 0));
		ASSERT_EQ(0, ibv_req_notify_cq(pair.b.scq, 0));
		ASSERT_EQ(0, vt_post(&pair.a, &wr));
		ASSERT_EQ(0, vt_cq_event(&pair.b, pair.b.rcq, VT_TIMEOUT_MS));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(pair.b.rcq, 0));
		ASSERT_EQ(0, ibv_req_notify_cq(pair.b.rcq, 0));
		wr.opcode = IBV_WR_RDMA_WRITE;
		ASSERT_EQ(0, vt_post(&pair.b, &wr));
		wr.opcode = IBV_WR_SEND;
		ASSERT_EQ(0, vt_cq_event(&pair.b, pair.b.scq, VT_TIMEOUT_MS));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(pair.b.scq, 0));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, 0));
	}
	vt_pair_close(&pair);
}

/* -- ibv_create_cq_ex */

#define WC_FLAGS	(IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | \
			 IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP)

/* Make the endpoint's receive CQ an extended one, and connect again. */
static int use_cq_ex(struct vt_pair *pair, uint64_t flags,
		     struct ibv_cq_ex **cqx)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64, .wc_flags = flags };
	int ret = vt_ep_use_cq_ex(&pair->b, &pair->b.rcq, &init, cqx);

	return ret ? ret : vt_pair_reset(pair);
}

static int start_poll_within(struct ibv_cq_ex *cqx, int ms)
{
	uint64_t end = vt_now_ms() + ms;
	struct ibv_poll_cq_attr attr = {};
	int ret;

	do {
		ret = ibv_start_poll(cqx, &attr);
	} while (ret == ENOENT && vt_now_ms() < end);
	return ret;
}

static int send_imm(struct vt_pair *pair, uint32_t imm, uint32_t len)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, 0, len);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(imm),
		.send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
	};

	return vt_outcome(&pair->a, &wr);
}

TEST(extended_cq)
{
	struct ibv_cq_ex *cqx;
	struct vt_pair pair;
	struct ibv_sge to;
	int i;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	VT_SETUP(use_cq_ex(&pair, WC_FLAGS, &cqx));
	to = vt_sge(&pair.b.buf, 0, 1000);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, vt_post_recv(&pair.b, 70 + i, &to, 1));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, send_imm(&pair, 1000 + i, 10 + i));
	ASSERT_EQ(0, start_poll_within(cqx, VT_TIMEOUT_MS));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(70 + i, cqx->wr_id);
		EXPECT_EQ(IBV_WC_SUCCESS, cqx->status);
		EXPECT_EQ(IBV_WC_RECV, ibv_wc_read_opcode(cqx));
		EXPECT_EQ(10 + i, ibv_wc_read_byte_len(cqx));
		EXPECT_EQ(htonl(1000 + i), ibv_wc_read_imm_data(cqx));
		EXPECT_EQ(pair.b.qp->qp_num, ibv_wc_read_qp_num(cqx));
		EXPECT_NE(0, ibv_wc_read_wc_flags(cqx) & IBV_WC_WITH_IMM);
		ASSERT_EQ(i < 9 ? 0 : ENOENT, ibv_next_poll(cqx));
	}
	ibv_end_poll(cqx);
	EXPECT_EQ(ENOENT, start_poll_within(cqx, 0));
	vt_pair_close(&pair);
}

/* ibv_poll_cq() and ibv_start_poll() take from the same CQ. */
TEST(extended_cq_polled_plainly)
{
	struct ibv_cq_ex *cqx;
	struct vt_pair pair;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	VT_SETUP(use_cq_ex(&pair, WC_FLAGS, &cqx));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
}

TEST(extended_cq_timestamps)
{
	uint64_t stamp, last = 0, wall = 0, before;
	uint64_t flags = WC_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct timespec now;
	struct ibv_cq_ex *cqx;
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	VT_SETUP(use_cq_ex(&pair, flags, &cqx));
	for (i = 0; i < 5; i++) {
		clock_gettime(CLOCK_REALTIME, &now);
		before = now.tv_sec * 1000000000ull + now.tv_nsec;
		ASSERT_EQ(0, vt_post_recv(&pair.b, i, NULL, 0));
		ASSERT_EQ(0, send_imm(&pair, 0, 0));
		ASSERT_EQ(0, start_poll_within(cqx, VT_TIMEOUT_MS));
		stamp = ibv_wc_read_completion_ts(cqx);
		wall = ibv_wc_read_completion_wallclock_ns(cqx);
		ibv_end_poll(cqx);
		EXPECT_LT(last, stamp);
		EXPECT_LE(before, wall);
		EXPECT_GE(before + VT_TIMEOUT_MS * 1000000ull, wall);
		last = stamp;
	}
	vt_pair_close(&pair);
}

/* -- asynchronous events of the port: the wire is unplugged */

static int set_link(bool up)
{
	const char *netdev = getenv("SMR_NETDEV");
	char command[128];

	if (!netdev)
		return -EOPNOTSUPP;
	snprintf(command, sizeof(command), "ip link set dev %s %s", netdev,
		 up ? "up" : "down");
	return system(command) ? -EIO : 0;
}

static enum ibv_port_state port_state(struct vt_dev *dev)
{
	struct ibv_port_attr port = { .state = -1 };

	ibv_query_port(dev->ctx, PORT, &port);
	return port.state;
}

TEST(port_down_and_up)
{
	struct vt_dev dev;

	VT_SETUP(vt_dev_open(&dev, 0, AF_INET));
	VT_SETUP(set_link(false));
	EXPECT_EQ(0, vt_async_event(dev.ctx, IBV_EVENT_PORT_ERR,
				    VT_TIMEOUT_MS));
	EXPECT_EQ(IBV_PORT_DOWN, port_state(&dev));
	VT_SETUP(set_link(true));
	EXPECT_EQ(0, vt_async_event(dev.ctx, IBV_EVENT_PORT_ACTIVE,
				    VT_TIMEOUT_MS));
	EXPECT_EQ(IBV_PORT_ACTIVE, port_state(&dev));
	vt_dev_close(&dev);
}

VT_HARNESS_MAIN
