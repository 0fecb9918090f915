// SPDX-License-Identifier: GPL-2.0
/*
 * RAW_PACKET QPs: frames to and from a netdev, compared byte for byte; wrong
 * frames and requests at either end; who may create such a QP.
 *
 * beds: qemu-newest uml-checked qemu-stable qemu-oldest qemu-rt qemu-race uml
 * break: qemu-newest
 * timeout: 120
 * paths: veth
 */
#include "harness.h"

#include <linux/capability.h>

#include "netdev.h"
#include "raw.h"
#include "system.h"
#include "why.h"

#define MTU	9000
#define HEADER	14

static const uint8_t mac_a[6] = { 2, 0x11, 0x22, 0x33, 0x44, 0xaa };
static const uint8_t mac_b[6] = { 2, 0x11, 0x22, 0x33, 0x44, 0xbb };

FIXTURE(raw)
{
	struct vt_raw a, b;
	struct vt_frame frame;
	struct ibv_flow *flow_a, *flow_b;
};

FIXTURE_VARIANT(raw)
{
	unsigned int opts;
};

FIXTURE_VARIANT_ADD(raw, rq) { 0 };
FIXTURE_VARIANT_ADD(raw, srq) { VT_RAW_SRQ };
FIXTURE_VARIANT_ADD(raw, odp) { VT_RAW_ODP };
FIXTURE_VARIANT_ADD(raw, wr_api) { VT_RAW_WR_API };

FIXTURE_SETUP(raw)
{
	VT_SETUP(vt_raw_open(&self->a, 0, variant->opts));
	VT_SETUP(vt_raw_open(&self->b, 1, variant->opts));
	self->flow_a = vt_rule_mac(&self->a, mac_a, 0, 0);
	self->flow_b = vt_rule_mac(&self->b, mac_b, 0, 0);
	ASSERT_NE(NULL, self->flow_a);
	ASSERT_NE(NULL, self->flow_b);
	/* an experimental EtherType, so that no host handles it */
	self->frame = (struct vt_frame){
		.vlan = -1, .type = 0x88b5, .payload = 100, .seed = 1,
	};
	memcpy(self->frame.dst, mac_b, 6);
	memcpy(self->frame.src, mac_a, 6);
}

FIXTURE_TEARDOWN(raw)
{
	if (self->flow_a)
		ibv_destroy_flow(self->flow_a);
	if (self->flow_b)
		ibv_destroy_flow(self->flow_b);
	vt_raw_close(&self->b);
	vt_raw_close(&self->a);
}

static bool arrives(FIXTURE_DATA(raw) *self)
{
	return !vt_raw_recv(&self->b, 1) &&
	       vt_raw_send(&self->a, &self->frame) == IBV_WC_SUCCESS &&
	       vt_raw_got(&self->b, &self->frame);
}

TEST_F(raw, sizes_both_ways)
{
	static const size_t sizes[] = {
		0, 1, 45, 46, 47, 1500, 2033, 2034, 2035, 4096, 8192, MTU,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		self->frame.payload = sizes[i];
		self->frame.seed = i;
		memcpy(self->frame.dst, mac_b, 6);
		EXPECT_TRUE(arrives(self)) TH_LOG("%zu there", sizes[i]);
		memcpy(self->frame.dst, mac_a, 6);
		ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
		EXPECT_TRUE(vt_raw_got(&self->a, &self->frame))
			TH_LOG("%zu back", sizes[i]);
	}
}

/* The MTU does not include a VLAN tag; a received frame has its tag. */
TEST_F(raw, vlan_tags)
{
	static const int tags[] = { 0, 5, 0x1064, 0xffff };
	int i;

	for (i = 0; i < ARRAY_SIZE(tags); i++) {
		self->frame.vlan = tags[i];
		EXPECT_TRUE(arrives(self)) TH_LOG("tag %#x", tags[i]);
	}
	self->frame.payload = MTU;
	EXPECT_TRUE(arrives(self));
}

TEST_F(raw, lists)
{
	size_t len;
	int n;

	for (n = 1; n <= 4; n++) {
		self->frame.seed = n;
		self->frame.payload = 1000 + n;
		len = vt_frame_write(&self->frame, vt_raw_slot(&self->a, 0));
		ASSERT_EQ(0, vt_raw_recv(&self->b, 1));
		ASSERT_EQ(0, vt_raw_post(&self->a, len, n, IBV_SEND_SIGNALED));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.ep.scq, 1));
		EXPECT_TRUE(vt_raw_got(&self->b, &self->frame));
	}
}

TEST_F(raw, inline_and_unsignalled)
{
	size_t len = vt_frame_write(&self->frame, vt_raw_slot(&self->a, 0));

	ASSERT_EQ(0, vt_raw_recv(&self->b, 2));
	ASSERT_EQ(0, vt_raw_post(&self->a, len, 1, IBV_SEND_INLINE));
	EXPECT_TRUE(vt_raw_got(&self->b, &self->frame));
	EXPECT_TRUE(vt_no_completion(self->a.ep.scq, 0));
	ASSERT_EQ(0, vt_raw_post(&self->a, len, 1,
				 IBV_SEND_INLINE | IBV_SEND_SIGNALED));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.ep.scq, 1));
	EXPECT_TRUE(vt_raw_got(&self->b, &self->frame));
}

TEST_F(raw, many)
{
	int i, j;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, vt_raw_recv(&self->b, 10));
		for (j = 0; j < 10; j++) {
			self->frame.seed = i * 10 + j;
			ASSERT_EQ(IBV_WC_SUCCESS,
				  vt_raw_send(&self->a, &self->frame));
		}
		for (j = 0; j < 10; j++) {
			self->frame.seed = i * 10 + j;
			ASSERT_TRUE(vt_raw_got(&self->b, &self->frame));
		}
	}
	EXPECT_TRUE(vt_no_completion(self->b.ep.rcq, 0));
}

static void expect_send_error(struct __test_metadata *_metadata,
			      FIXTURE_DATA(raw) *self, size_t len)
{
	struct smr_abi_why why;

	ASSERT_EQ(0, vt_raw_post(&self->a, len, 1, IBV_SEND_SIGNALED));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(self->a.ep.scq, 1)) TH_LOG("%zu", len);
	ASSERT_EQ(0, vt_why_last(self->a.ep.dev.ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_WR_FRAME, why.id);
	EXPECT_EQ(len, why.num[0]);
	EXPECT_EQ(HEADER, why.num[1]);
	EXPECT_EQ(HEADER + MTU, why.num[2]);
	EXPECT_EQ(IBV_QPS_SQE, vt_qp_state(self->a.ep.qp));
	ASSERT_EQ(0, vt_raw_post(&self->a, 60, 1, 0));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->a.ep.scq, 1));
	ASSERT_EQ(0, vt_raw_state(&self->a, IBV_QPS_RTS));
	EXPECT_TRUE(arrives(self));
}

TEST_F(raw, lengths_that_are_none)
{
	size_t len = vt_frame_write(&self->frame, vt_raw_slot(&self->a, 0));

	ASSERT_LT(HEADER, len);
	expect_send_error(_metadata, self, 0);
	expect_send_error(_metadata, self, HEADER - 1);
	expect_send_error(_metadata, self, HEADER + MTU + 1);
	expect_send_error(_metadata, self, HEADER + MTU + 4);
	self->frame.vlan = 1;
	vt_frame_write(&self->frame, vt_raw_slot(&self->a, 0));
	expect_send_error(_metadata, self, HEADER + MTU + 5);
	EXPECT_TRUE(vt_no_completion(self->b.ep.rcq, 0));
}

TEST_F(raw, memory_that_is_none)
{
	struct ibv_sge sge = vt_sge(&self->a.ep.buf, 0, 100);
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, &sge), *bad;

	sge.lkey ^= 0x100;
	ASSERT_EQ(0, ibv_post_send(self->a.ep.qp, &wr, &bad));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_status(self->a.ep.scq, 1));
	ASSERT_EQ(0, vt_raw_state(&self->a, IBV_QPS_RTS));
	/* all other operations and options are refused */
	sge.lkey ^= 0x100;
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	EXPECT_EQ(EINVAL, ibv_post_send(self->a.ep.qp, &wr, &bad));
	wr.opcode = IBV_WR_RDMA_WRITE;
	EXPECT_EQ(EINVAL, ibv_post_send(self->a.ep.qp, &wr, &bad));
	wr.opcode = IBV_WR_SEND;
	wr.send_flags |= IBV_SEND_IP_CSUM;
	EXPECT_EQ(EINVAL, ibv_post_send(self->a.ep.qp, &wr, &bad));
	EXPECT_TRUE(arrives(self));
}

TEST_F(raw, no_receive)
{
	int64_t before = vt_counter_now(self->b.ep.dev.ctx, "rx_no_receive");
	int i;

	for (i = 0; i < 5; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_TRUE(vt_counter_wait(self->b.ep.dev.ctx, "rx_no_receive", before + 5));
	EXPECT_TRUE(vt_no_completion(self->b.ep.rcq, 0));
	EXPECT_TRUE(arrives(self));
}

/*
 * A frame that is longer than the receive is dropped. A QP's own queue keeps
 * the receive. A shared queue cannot take it back, so it completes with an
 * error.
 */
TEST_F(raw, receive_too_short)
{
	int64_t before = vt_counter_now(self->b.ep.dev.ctx, "rx_dropped");
	size_t len = self->frame.payload + HEADER;
	struct smr_abi_why why;
	uint8_t *at;

	ASSERT_EQ(0, vt_raw_recv_len(&self->b, len - 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_TRUE(vt_counter_wait(self->b.ep.dev.ctx, "rx_dropped", before + 1));
	if (variant->opts & VT_RAW_SRQ) {
		EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(self->b.ep.rcq, 1));
	} else {
		ASSERT_EQ(0, vt_why_last(self->b.ep.dev.ctx, &why));
		EXPECT_EQ((uint32_t)SMR_WHY_RECV_TOO_SHORT, why.id);
		EXPECT_EQ(self->b.ep.qp->qp_num, why.qpn);
		EXPECT_EQ(len - 1, why.num[0]);
	}
	EXPECT_TRUE(vt_no_completion(self->b.ep.rcq, 0));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->b.ep.qp));
	if (variant->opts & VT_RAW_SRQ)
		ASSERT_EQ(0, vt_raw_recv_len(&self->b, len - 1));
	self->frame.payload--;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_EQ(len - 1, vt_raw_get(&self->b, &at));
}

/* An error in a receive is the error of the QP that posted it. */
TEST_F(raw, memory_of_a_receive)
{
	struct ibv_sge sge = vt_sge(&self->b.ep.buf, VT_RAW_ROOM, 1000);
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	sge.lkey ^= 0x100;
	ASSERT_EQ(0, self->b.ep.srq ?
		     ibv_post_srq_recv(self->b.ep.srq, &wr, &bad) :
		     ibv_post_recv(self->b.ep.qp, &wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_status(self->b.ep.rcq, 5));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->b.ep.qp));
	ASSERT_EQ(0, vt_raw_state(&self->b, IBV_QPS_RESET));
	ASSERT_EQ(0, vt_raw_ready(&self->b));
	EXPECT_TRUE(arrives(self));
}

/*
 * In RTR a QP receives but does not send; before that, frames to it are lost.
 */
TEST_F(raw, states)
{
	int64_t before = vt_counter_now(self->b.ep.dev.ctx, "rx_dropped");

	ASSERT_EQ(0, vt_raw_state(&self->b, IBV_QPS_RESET));
	ASSERT_EQ(0, vt_raw_state(&self->b, IBV_QPS_INIT));
	ASSERT_EQ(0, vt_raw_recv(&self->b, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_TRUE(vt_counter_wait(self->b.ep.dev.ctx, "rx_dropped", before + 1));
	EXPECT_TRUE(vt_no_completion(self->b.ep.rcq, 0));
	ASSERT_EQ(0, vt_raw_state(&self->b, IBV_QPS_RTR));
	EXPECT_EQ(-EINVAL, vt_raw_post(&self->b, 60, 1, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_TRUE(vt_raw_got(&self->b, &self->frame));
	ASSERT_EQ(0, vt_raw_state(&self->b, IBV_QPS_RTS));
	EXPECT_TRUE(arrives(self));
	ASSERT_EQ(0, vt_raw_recv(&self->b, 1));
	ASSERT_EQ(0, vt_raw_state(&self->b, IBV_QPS_ERR));
	if (!(variant->opts & VT_RAW_SRQ))
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->b.ep.rcq,
					1 + (self->b.posted - 1) %
					(VT_RAW_SLOTS - 1)));
}

TEST_F(raw, attributes)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 2 };
	struct ibv_qp_init_attr init;

	ASSERT_EQ(0, ibv_query_qp(self->a.ep.qp, &attr, IBV_QP_STATE, &init));
	EXPECT_EQ(IBV_QPT_RAW_PACKET, init.qp_type);
	EXPECT_EQ(IBV_QPS_RTS, attr.qp_state);
	EXPECT_EQ(64, attr.cap.max_send_wr);
	ASSERT_EQ(0, vt_raw_state(&self->a, IBV_QPS_RESET));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 2 };
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a.ep.qp, &attr, IBV_QP_STATE));
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a.ep.qp, &attr,
					IBV_QP_STATE | IBV_QP_PORT));
	attr.port_num = 1;
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a.ep.qp, &attr, IBV_QP_STATE |
					IBV_QP_PORT | IBV_QP_QKEY));
	EXPECT_EQ(0, vt_raw_ready(&self->a));
	EXPECT_TRUE(arrives(self));
}

/* Missing pages are faulted in at both ends. */
TEST_F(raw, pages_that_went)
{
	int i;

	if (!(variant->opts & VT_RAW_ODP))
		SKIP(return, "only of memory that pages on demand");
	for (i = 0; i < 10; i++) {
		self->frame.payload = MTU;
		self->frame.seed = i;
		ASSERT_EQ(0, madvise(self->b.ep.buf.p, self->b.ep.buf.len,
				     MADV_DONTNEED));
		EXPECT_TRUE(arrives(self));
		ASSERT_EQ(0, madvise(self->a.ep.buf.p, self->a.ep.buf.len,
				     MADV_DONTNEED));
	}
}

/* -- the netdev moves to another namespace */

static long number_from(const char *command)
{
	FILE *f = popen(command, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

#define SENT	"cat /sys/class/net/" VT_OWN_NETDEV "/statistics/tx_packets"

/* Sends until it is killed, whatever state its QP has */
static int send_on(int sock, const void *frame)
{
	struct vt_raw raw;
	struct ibv_wc wc[16];
	size_t len;

	if (vt_raw_open(&raw, 0, 0))
		return 1;
	len = vt_frame_write(frame, vt_raw_slot(&raw, 0));
	for (;;) {
		vt_raw_post(&raw, len, 1, IBV_SEND_SIGNALED);
		ibv_poll_cq(raw.ep.scq, 16, wc);
	}
}

/* Stop the netdev, read its counter and move it, with nothing in between */
static long sent_when_moved(const char *netns)
{
	char command[256];

	snprintf(command, sizeof(command), "ip link set " VT_OWN_NETDEV
		 " down; " SENT "; ip link set " VT_OWN_NETDEV
		 " netns %s up", netns);
	return number_from(command);
}

/*
 * The link is removed when all its users have closed it. Before that the netdev
 * is already in another namespace, where only the few packets may be sent that
 * the host itself sends at first.
 */
TEST(netdev_is_anothers)
{
	struct vt_frame frame = {
		.dst = { 2, 1 }, .src = { 2, 2 }, .vlan = -1, .type = 0x88b5,
		.payload = 100,
	};
	const char *netns = getenv("SMR_PEER_NETNS");
	long before, last, after = -1;
	uint64_t end;
	char command[256];
	int sock;
	pid_t pid;

	ASSERT_EQ(0, system("modprobe slow_client dev=" VT_OWN_LINK " ms=3000"));
	ASSERT_EQ(0, vt_own_link_add());
	pid = vt_child(&sock, send_on, &frame);
	ASSERT_LT(0, pid);
	end = vt_now_ms() + 10 * 1000;
	while (number_from(SENT) < 100 && vt_now_ms() < end)
		usleep(1000);
	before = sent_when_moved(netns);
	EXPECT_LE(100, before);
	snprintf(command, sizeof(command), "ip netns exec %s " SENT, netns);
	do {
		last = after;
		usleep(200 * 1000);
		after = number_from(command);
	} while (after != last && vt_now_ms() < end);
	EXPECT_EQ(last, after);
	EXPECT_LE(before, after);
	EXPECT_GT(before + 30, after) TH_LOG("%ld sent", after - before);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(sock);
	snprintf(command, sizeof(command), "ip -n %s link del " VT_OWN_NETDEV,
		 netns);
	EXPECT_EQ(0, system(command));
	EXPECT_EQ(0, system("modprobe -r slow_client"));
}

/* -- permissions */

TEST_F(raw, without_the_capability)
{
	struct ibv_qp_init_attr init = {
		.send_cq = self->a.ep.scq, .recv_cq = self->a.ep.rcq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_flow *flow;
	struct ibv_qp *qp;
	int err;

	ASSERT_EQ(0, vt_capability(CAP_NET_RAW, false));
	errno = 0;
	qp = ibv_create_qp(self->a.ep.pd, &init);
	err = errno;
	errno = 0;
	flow = vt_rule_mac(&self->a, mac_b, 5, 0);
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(NULL, flow);
	EXPECT_EQ(EPERM, err);
	EXPECT_EQ(NULL, qp);
	ASSERT_EQ(0, vt_capability(CAP_NET_RAW, true));
	qp = ibv_create_qp(self->a.ep.pd, &init);
	ASSERT_NE(NULL, qp);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* A QP that a rule names cannot be destroyed. */
TEST_F(raw, destroyed_too_early)
{
	EXPECT_EQ(EBUSY, ibv_destroy_qp(self->b.ep.qp));
	EXPECT_TRUE(arrives(self));
}

VT_HARNESS_MAIN
