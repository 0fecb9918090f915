// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that wait for a responder which cannot answer: how many may wait for one QP, and for many
 * together. The packets are forged, because a peer that obeys its window does not send that many.
 *
 * timeout: 120
 * paths: veth
 */
#include "harness.h"
#include "roce.h"
#include "why.h"

/* Each of b's QPs uses up its send budget: the initial window of a's is 512 KiB of payload. */
#define CONNS	12
#define LEN	MIB

/* One train: segments of the largest payload */
#define SEG	(VT_BTH_LEN + 4096 + VT_ICRC_LEN)
#define SEGS	14
#define TRAIN	(SEG * SEGS)

/*
 * What each QP is sent, which is more than may wait for it; and the limit for all. The limits are
 * in truesize. A QP takes up to a quarter of the space that the others have left free.
 */
#define FLOOD	(9 * MIB / TRAIN)
#define ONE_MIN	(6 * MIB)
#define ONE_MAX	(8 * MIB + TRAIN)
#define ALL_MIN	(40 * MIB)
#define ALL_MAX	(64 * MIB)

FIXTURE(queue)
{
	struct vt_ep a, b;
	struct vt_conn conns[CONNS];
	int fd;
};

/* Packets that b sends leave very slowly. */
static bool slow_down(bool on)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd),
		 "tc -n $SMR_PEER_NETNS qdisc %s dev $SMR_NETDEV root %s",
		 on ? "replace" : "del",
		 on ? "tbf rate 100kbit burst 64kb limit 64mb" : "");
	return !system(cmd);
}

#define FORGER	"smrforger"

/*
 * A namespace without a link, where ordinary sockets may send to RoCEv2's port. It has a's
 * address, and a wire of its own to b, which takes a's packets from any netdev.
 */
static bool forger_make(bool on)
{
	return !system(on ? "ip netns add " FORGER " && "
			    "ip -n " FORGER " link add forge0 mtu 9000 type veth "
			    "peer name forge0 mtu 9000 netns $SMR_PEER_NETNS && "
			    "ip -n $SMR_PEER_NETNS link set forge0 up && "
			    "ip -n " FORGER " addr add $SMR_ADDR/24 dev forge0 && "
			    "ip -n " FORGER " link set forge0 up" :
			    "ip netns del " FORGER);
}

static int forger_open(void)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(VT_ROCE_PORT),
	};
	int fd = vt_socket_in(FORGER, AF_INET, SOCK_DGRAM, 0), size = SEG;

	inet_pton(AF_INET, getenv("SMR_ADDR"), &from.sin_addr);
	inet_pton(AF_INET, getenv("SMR_PEER_ADDR"), &to.sin_addr);
	if (fd < 0 || bind(fd, (void *)&from, sizeof(from)) ||
	    connect(fd, (void *)&to, sizeof(to)) ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
		return -errno;
	return fd;
}

FIXTURE_SETUP(queue)
{
	struct vt_conf conf = vt_defaults;

	conf.mtu = IBV_MTU_4096;
	conf.buf_len = LEN;
	conf.cqe = CONNS;
	VT_SETUP(vt_ep_open(&self->a, &conf, 0));
	VT_SETUP(vt_ep_open(&self->b, &conf, 1));
	ASSERT_TRUE(forger_make(true));
	self->fd = forger_open();
	ASSERT_LE(0, self->fd);
}

static void conns_close(FIXTURE_DATA(queue) *self)
{
	int i;

	for (i = 0; i < CONNS; i++)
		vt_conn_close(&self->conns[i]);
}

FIXTURE_TEARDOWN(queue)
{
	slow_down(false);
	conns_close(self);
	close(self->fd);
	forger_make(false);
	vt_ep_close(&self->a);
	vt_ep_close(&self->b);
}

static int post_read(FIXTURE_DATA(queue) *self, struct vt_conn *c)
{
	struct ibv_sge sge = vt_sge(&self->a.buf, 0, LEN);
	struct ibv_send_wr *bad, wr = vt_rdma_wr(IBV_WR_RDMA_READ, 0, &sge,
						 (uintptr_t)self->b.buf.p, self->b.buf.mr->rkey);

	return -ibv_post_send(c->a, &wr, &bad);
}

static int64_t count(FIXTURE_DATA(queue) *self, const char *what)
{
	return vt_counter_now(self->b.dev.ctx, what);
}

static bool count_reaches(FIXTURE_DATA(queue) *self, const char *what,
			  int64_t value)
{
	return VT_UNTIL(count(self, what) >= value);
}

/* All QPs of a wait for b's answers, and b's for send budget. */
static int get_stuck(FIXTURE_DATA(queue) *self)
{
	int64_t before = count(self, "tx_backpressure");
	int i, ret;

	for (i = 0; i < CONNS; i++) {
		ret = vt_conn_open(&self->conns[i], &self->a, &self->b);
		if (!ret)
			ret = post_read(self, &self->conns[i]);
		if (ret)
			return ret;
	}
	return count_reaches(self, "tx_backpressure", before + CONNS) ?
		0 : -ETIMEDOUT;
}

/* Packets for one of b's QPs that are right except for the ICRC. */
static int flood(int fd, uint32_t qpn)
{
	static uint8_t train[TRAIN];
	uint32_t head[3] = {
		htonl(VT_OP_SEND_MIDDLE << 24 | 0xffff), htonl(qpn), 0,
	};
	int i;

	for (i = 0; i < SEGS; i++)
		memcpy(train + i * SEG, head, sizeof(head));
	for (i = 0; i < FLOOD; i++)
		if (send(fd, train, TRAIN, 0) != TRAIN)
			return -errno;
	return 0;
}

/* Once in a second for all QPs of the process, so it need not be the last reason. */
static bool drop_is_told(struct ibv_context *ctx)
{
	struct smr_abi_why recs[64];
	int n = vt_whys(ctx, 0, recs, 64);

	while (n-- > 0)
		if (recs[n].id == SMR_WHY_DROP_QUEUE)
			return true;
	return false;
}

/*
 * One round: all QPs get stuck, and are flooded. Then either b may send again
 * and handles the waiting packets, or its QPs are destroyed with them.
 */
static void round_of(struct __test_metadata *_metadata,
		     FIXTURE_DATA(queue) *self, bool release)
{
	int64_t dropped, bad = count(self, "rx_bad_icrc"), taken = 0, former;
	int i;

	ASSERT_TRUE(slow_down(true));
	ASSERT_EQ(0, get_stuck(self));
	dropped = count(self, "rx_dropped");
	for (i = 0; i < CONNS; i++) {
		ASSERT_EQ(0, flood(self->fd, self->conns[i].b->qp_num));
		former = taken;
		taken = (i + 1) * FLOOD -
			(count(self, "rx_dropped") - dropped);
		/* However much waits for the others, each QP can go on. */
		EXPECT_LT(former, taken);
		if (i)
			continue;
		EXPECT_LE(ONE_MIN, taken * TRAIN);
		EXPECT_GE(ONE_MAX, taken * TRAIN);
	}
	EXPECT_TRUE(drop_is_told(self->conns[0].b->context));
	TH_LOG("%d KiB wait", (int)(taken * TRAIN / 1024));
	EXPECT_LE(ALL_MIN, taken * TRAIN);
	EXPECT_GE(ALL_MAX, taken * TRAIN);
	EXPECT_LE(taken * TRAIN, count(self, "rx_waiting_bytes"));
	EXPECT_EQ(bad, count(self, "rx_bad_icrc"));
	if (!release)
		conns_close(self);
	ASSERT_TRUE(slow_down(false));
	if (release)
		EXPECT_TRUE(count_reaches(self, "rx_bad_icrc",
					  bad + taken * SEGS));
	conns_close(self);
	EXPECT_EQ(0, count(self, "rx_waiting_bytes"));
}

TEST_F_TIMEOUT(queue, is_bounded, 90)
{
	if (!slow_down(true))
		SKIP(return, "no qdisc tbf");
	round_of(_metadata, self, true);
	round_of(_metadata, self, false);
	/* packets of destroyed QPs no longer count */
	round_of(_metadata, self, true);
}

VT_HARNESS_MAIN
