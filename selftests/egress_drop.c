// SPDX-License-Identifier: GPL-2.0
/*
 * A policy drops packets on their way out, and the stack reports it as it reports a full queue.
 * Such packets count as lost in the network. A queue that is full of one's own packets is not a
 * loss.
 *
 * daily: uml-checked
 * timeout: 240
 * paths: veth
 */
#include "harness.h"
#include "ud.h"

#define LEN	(16u * 1024)
#define DEPTH	32

/* The timeout is 4.096 us * 2^14; the first try and 2 retries take 1 to 4 timeouts each */
#define TIMEOUT		14
#define TIMEOUT_MS	67
#define TRIES		3
#define LEAST_MS	(TRIES * TIMEOUT_MS - 5)
#define MOST_MS		(TRIES * 4 * TIMEOUT_MS + 2000)

/* The time limit for datagrams of 33 bytes, each of which may be delayed by a jiffy of 10 ms */
#define UD_MS		3000

/* An address that no host has */
#define NOBODY		"fd97::2"
#define NOBODY_QPN	0x321

FIXTURE(drop)
{
	struct vt_conf conf;
	struct vt_pair pair;
	struct vt_addr to;
	bool on;
};

/*
 * Commands for the shell.
 * @make: prepares the others; if it fails, the kernel lacks the feature
 * @drop: drop everything for RoCEv2's port from now on
 * @pass: stop dropping; NULL: there is no receiver
 * @unmake: undo @make
 */
FIXTURE_VARIANT(drop)
{
	const char *make, *drop, *pass, *unmake;
};

#define TC_DROP(dev, what) \
	"tc filter add dev " dev " egress protocol ip pref 1 u32 " what " action drop"

FIXTURE_VARIANT_ADD(drop, tc)
{
	"tc qdisc add dev $SMR_NETDEV clsact",
	TC_DROP("$SMR_NETDEV", "match ip dport 4791 0xffff"),
	"tc filter del dev $SMR_NETDEV egress",
	"tc qdisc del dev $SMR_NETDEV clsact",
};

FIXTURE_VARIANT_ADD(drop, nft)
{
	"nft add table netdev smrdrop && nft add chain netdev smrdrop leaving "
	"\"{ type filter hook egress device $SMR_NETDEV priority 0; }\"",
	"nft add rule netdev smrdrop leaving udp dport 4791 drop",
	"nft flush chain netdev smrdrop leaving",
	"nft delete table netdev smrdrop",
};

FIXTURE_VARIANT_ADD(drop, peer_down)
{
	"mac=$(ip netns exec $SMR_PEER_NETNS cat /sys/class/net/$SMR_NETDEV/address) && "
	"ip neigh replace $SMR_PEER_ADDR lladdr $mac dev $SMR_NETDEV nud permanent",
	"ip -n $SMR_PEER_NETNS link set $SMR_NETDEV down",
	"ip -n $SMR_PEER_NETNS link set $SMR_NETDEV up",
	"ip neigh del $SMR_PEER_ADDR dev $SMR_NETDEV",
};

/* A VRF's netdev takes packets only if it has a queue of its own. */
FIXTURE_VARIANT_ADD(drop, vrf)
{
	"modprobe -q vrf; ip link add dropvrf type vrf table 77 && ip link set dropvrf up && "
	"echo 1 >/proc/sys/net/ipv4/udp_l3mdev_accept && "
	"ip link set $SMR_NETDEV master dropvrf && "
	"tc qdisc add dev dropvrf root pfifo && tc qdisc add dev dropvrf clsact",
	TC_DROP("dropvrf", "match ip dport 4791 0xffff"),
	"tc filter del dev dropvrf egress",
	"ip link set $SMR_NETDEV nomaster; ip link del dropvrf; "
	"echo 0 >/proc/sys/net/ipv4/udp_l3mdev_accept",
};

/* The master's routes are looked up, and it has none. */
FIXTURE_VARIANT_ADD(drop, ipvlan)
{
	"modprobe -q ipvlan; ip link add droplow type dummy && "
	"ip link set droplow addrgenmode none up && "
	"ip link add link droplow name dropnet type ipvlan mode l3 && "
	"ip link set dropnet addrgenmode none up && "
	"ip addr add fd97::1/64 dev dropnet nodad && "
	"rdma link add drop0 type softmr netdev dropnet",
	"true",
	NULL,
	"rdma link del drop0; ip link del dropnet; ip link del droplow",
};

static bool shell(const char *command)
{
	return !system(command);
}

static void to_nobody(FIXTURE_DATA(drop) *self)
{
	setenv("SMR_DEV", "drop0", 1);
	self->conf.family = AF_INET6;
	self->to = (struct vt_addr){ .qpn = NOBODY_QPN };
	inet_pton(AF_INET6, NOBODY, &self->to.gid);
}

/*
 * The QPs of both ends, which are connected if there are two. The netdev may be new to the
 * link, or have been down: the core adds its GIDs later. Return: 0 or -errno
 */
static int ends_open(FIXTURE_DATA(drop) *self, bool two)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	int ret;

	if (!two)
		to_nobody(self);
	for (;;) {
		ret = two ? vt_pair_open(&self->pair, &self->conf) :
			    vt_ep_open(&self->pair.a, &self->conf, 0);
		if (ret != -EAFNOSUPPORT || vt_now_ms() > end)
			break;
		vt_pair_close(&self->pair);
		usleep(10000);
	}
	return ret || two ? ret : vt_ep_connect(&self->pair.a, &self->to);
}

static void clean_up(const FIXTURE_VARIANT(drop) *v, bool on)
{
	if (on && v->pass)
		shell(v->pass);
	shell(v->unmake);
}

FIXTURE_SETUP(drop)
{
	char command[1024];

	self->conf = vt_defaults;
	self->conf.timeout = TIMEOUT;
	self->conf.retry_cnt = TRIES - 1;
	self->conf.depth = DEPTH;
	snprintf(command, sizeof(command), "( %s ) 2>/dev/null", variant->make);
	if (!shell(command)) {
		snprintf(command, sizeof(command), "( %s ) 2>/dev/null", variant->unmake);
		shell(command);
		SKIP(return, "this kernel does not have it");
	}
}

FIXTURE_TEARDOWN(drop)
{
	clean_up(variant, self->on);
	vt_pair_close(&self->pair);
}

static bool drop(FIXTURE_DATA(drop) *self, const FIXTURE_VARIANT(drop) *v)
{
	self->on = true;
	return shell(v->drop);
}

static bool pass(FIXTURE_DATA(drop) *self, const FIXTURE_VARIANT(drop) *v)
{
	self->on = false;
	return shell(v->pass);
}

static int post_write(struct vt_pair *pair, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, 0, len);
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, id, &sge);

	if (pair->b.qp) {
		wr.wr.rdma.remote_addr = (uintptr_t)pair->b.buf.p;
		wr.wr.rdma.rkey = pair->b.buf.mr->rkey;
	}
	return vt_post(&pair->a, &wr);
}

static int64_t backpressure(FIXTURE_DATA(drop) *self)
{
	return vt_counter_now(self->pair.a.dev.ctx, "tx_backpressure");
}

/* Wait for the end of the oldest request, which has no answer. */
static void expect_no_answer(struct __test_metadata *_metadata, struct vt_pair *pair,
			     uint64_t id, uint64_t start)
{
	uint64_t ms;

	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, vt_status(pair->a.scq, id));
	ms = vt_now_ms() - start;
	printf("# it took %d ms\n", (int)ms);
	EXPECT_LE(LEAST_MS, ms);
	EXPECT_GE(MOST_MS, ms);
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(pair->a.qp));
}

/* No packet was ever sent. */
TEST_F(drop, first_request)
{
	uint64_t start;
	int64_t waits;

	VT_SETUP(ends_open(self, variant->pass));
	ASSERT_TRUE(drop(self, variant));
	waits = backpressure(self);
	start = vt_now_ms();
	ASSERT_EQ(0, post_write(&self->pair, 1, LEN));
	expect_no_answer(_metadata, &self->pair, 1, start);
	/* It does not retry continuously. */
	EXPECT_GE(10, backpressure(self) - waits);
}

/* The stack begins to drop when much is in flight. */
TEST_F(drop, in_the_middle)
{
	struct ibv_wc wc = {};
	uint64_t start = 0;
	int i, n = 0;

	if (!variant->pass)
		SKIP(return, "nobody is there");
	VT_SETUP(ends_open(self, true));
	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, post_write(&self->pair, i, LEN));
	while (wc.status == IBV_WC_SUCCESS) {
		ASSERT_EQ(0, vt_wait(self->pair.a.scq, &wc));
		ASSERT_EQ(n++, wc.wr_id);
		if (n == 200) {
			ASSERT_TRUE(drop(self, variant));
			start = vt_now_ms();
		}
		if (wc.status == IBV_WC_SUCCESS)
			ASSERT_EQ(0, post_write(&self->pair, i++, LEN));
	}
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, wc.status);
	EXPECT_GE(MOST_MS, vt_now_ms() - start);
	for (; n < i; n++) {
		ASSERT_EQ(0, vt_wait(self->pair.a.scq, &wc));
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	}
}

/* Lost packets are retransmitted, and a send queue that drains waits for that. */
TEST_F(drop, passes_again)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct vt_ep *a = &self->pair.a;

	if (!variant->pass)
		SKIP(return, "nobody is there");
	self->conf.timeout = 17;
	self->conf.retry_cnt = 7;
	VT_SETUP(ends_open(self, true));
	ASSERT_TRUE(drop(self, variant));
	ASSERT_EQ(0, post_write(&self->pair, 1, LEN));
	EXPECT_TRUE(vt_no_completion(a->scq, 100));
	ASSERT_EQ(0, ibv_modify_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	ASSERT_TRUE(pass(self, variant));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
	EXPECT_EQ(0, vt_async_event(a->dev.ctx, IBV_EVENT_SQ_DRAINED, VT_TIMEOUT_MS));
}

/* A responder without a timeout gives up its answer, too: its peer repeats the request, or has ended. */
TEST_F(drop, answer_without_a_timeout)
{
	struct vt_pair other;
	int64_t tries;

	if (!variant->pass || strstr(variant->drop, " down"))
		SKIP(return, "nobody is there");
	VT_SETUP(ends_open(self, true));
	self->pair.a.conf.timeout = 0;
	VT_SETUP(vt_pair_reset(&self->pair));
	other = (struct vt_pair){ .a = self->pair.b, .b = self->pair.a };
	ASSERT_TRUE(drop(self, variant));
	ASSERT_EQ(0, post_write(&other, 1, LEN));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, vt_status(other.a.scq, 1));
	/* a second of tries after the last request, and another one to see that there is none */
	usleep(1500000);
	tries = backpressure(self);
	usleep(1000000);
	EXPECT_EQ(tries, backpressure(self));
}

/* Datagrams complete: their sender does not know that they were dropped. */
TEST_F(drop, datagrams)
{
	struct ibv_sge sge;
	uint64_t start;
	int i;

	self->conf.qp_type = IBV_QPT_UD;
	VT_SETUP(ends_open(self, variant->pass));
	sge = vt_sge(&self->pair.a.buf, VT_GUARD, 33);
	ASSERT_TRUE(drop(self, variant));
	start = vt_now_ms();
	for (i = 0; i < DEPTH; i++) {
		struct ibv_send_wr wr = vt_ud_wr(&self->pair.a, &sge);

		wr.wr_id = i;
		ASSERT_EQ(0, vt_post(&self->pair.a, &wr));
	}
	for (i = 0; i < DEPTH; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->pair.a.scq, i));
	EXPECT_GE(UD_MS, vt_now_ms() - start);
}

/* -- next to packets of others, which wait in the netdev's queue */

#define SLOW	"tc qdisc add dev $SMR_NETDEV root handle 1: prio bands 2 " \
		"priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 && " \
		"tc qdisc add dev $SMR_NETDEV parent 1:2 handle 20: tbf rate 8kbit burst 10kb " \
		"limit 64mb && " \
		"tc filter add dev $SMR_NETDEV parent 1: protocol ip u32 " \
		"match ip dst $SMR_PEER_ADDR flowid 1:2"
#define FAST	"(tc qdisc del dev $SMR_NETDEV root; tc qdisc del dev $SMR_NETDEV clsact) 2>/dev/null"

/* Another address of the peer's netdev: packets for it are dropped. */
#define OTHER	"10.1.0.77"
#define BLOCK	"ip -n $SMR_PEER_NETNS addr add " OTHER "/24 dev $SMR_NETDEV && " \
		"tc qdisc add dev $SMR_NETDEV clsact && " \
		TC_DROP("$SMR_NETDEV", "match ip dst " OTHER)
#define UNBLOCK	"ip -n $SMR_PEER_NETNS addr del " OTHER "/24 dev $SMR_NETDEV"

FIXTURE(beside)
{
	struct vt_conf conf;
	struct vt_pair pair;
	union ibv_gid other;
};

FIXTURE_SETUP(beside)
{
	self->conf = vt_defaults;
	self->conf.timeout = TIMEOUT;
	self->conf.retry_cnt = TRIES - 1;
	inet_pton(AF_INET6, "::ffff:" OTHER, &self->other);
	ASSERT_TRUE(shell(BLOCK));
}

FIXTURE_TEARDOWN(beside)
{
	shell(FAST);
	shell(UNBLOCK);
	vt_pair_close(&self->pair);
}

static struct ibv_ah *ah_to(FIXTURE_DATA(beside) *self, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = vt_ah_attr(self->pair.a.dev.gid_index, gid);

	return ibv_create_ah(self->pair.a.pd, &attr);
}

/* Datagrams to one address, and to another one by the same QP, in turn */
TEST_F(beside, other_destinations)
{
	struct vt_ep *a = &self->pair.a;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	int i;

	self->conf.qp_type = IBV_QPT_UD;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ah = ah_to(self, &self->other);
	ASSERT_NE(NULL, ah);
	sge = vt_sge(&a->buf, VT_GUARD, 33);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, vt_ud_recv(&self->pair.b, i, 33));
		wr = vt_ud_wr(a, &sge);
		wr.wr.ud.ah = ah;
		ASSERT_EQ(0, vt_post(a, &wr));
		wr.wr.ud.ah = a->ah;
		ASSERT_EQ(0, vt_post(a, &wr));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(a->scq, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->pair.b.rcq, i));
	}
	ASSERT_EQ(0, ibv_destroy_ah(ah));
}

/* The stack refuses packets while others of the same QP wait in a queue for seconds. */
TEST_F(beside, packets_that_wait)
{
	int64_t waits;

	/* The QP must not have failed before a slow machine has set the filter. */
	self->conf.timeout = TIMEOUT + 3;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_TRUE(shell(SLOW));
	ASSERT_EQ(0, post_write(&self->pair, 1, 32 * 1024));
	ASSERT_TRUE(shell(TC_DROP("$SMR_NETDEV", "match ip dst $SMR_PEER_ADDR")));
	waits = vt_counter_now(self->pair.a.dev.ctx, "tx_backpressure");
	ASSERT_EQ(0, post_write(&self->pair, 2, LEN));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, vt_status(self->pair.a.scq, 1));
	EXPECT_LT(waits, vt_counter_now(self->pair.a.dev.ctx, "tx_backpressure"));
}

/*
 * The sender waits for a queue that is full of its own packets. (Not with netem, which orphans
 * packets.) The queue must be slower than the slowest guest, or it never fills: 1.2 MB/s.
 */
TEST_F(beside, full_queue)
{
	int64_t waits, timeouts;
	int i;

	self->conf.timeout = 17;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_TRUE(shell("tc qdisc add dev $SMR_NETDEV root tbf rate 10mbit burst 100kb limit 150kb"));
	waits = vt_counter_now(self->pair.a.dev.ctx, "tx_backpressure");
	timeouts = vt_counter_now(self->pair.a.dev.ctx, "ack_timeouts");
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, post_write(&self->pair, i, 64 * 1024));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->pair.a.scq, i));
	EXPECT_LT(waits, vt_counter_now(self->pair.a.dev.ctx, "tx_backpressure"));
	EXPECT_EQ(timeouts, vt_counter_now(self->pair.a.dev.ctx, "ack_timeouts"));
}

VT_HARNESS_MAIN
