// SPDX-License-Identifier: GPL-2.0
/*
 * Flow steering: how a QP sees the host's own packets; invalid rules; the maximum number of rules;
 * and the cost of many rules for the host.
 *
 * beds: qemu-newest uml-checked qemu-stable qemu-oldest qemu-rt qemu-race uml
 * timeout: 180
 * paths: veth
 */
#include "steer.h"

#include <grp.h>
#include <linux/capability.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <time.h>

#include "counter.h"
#include "softirq.h"
#include "system.h"
#include "why.h"

/* -- the host's own packets */

/* Send @len bytes from a's host to b's, in datagrams of @size. */
static int host_sends(size_t len, int size)
{
	struct sockaddr_in to = inet_addr_of("SMR_PEER_ADDR", PORT);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret = 0;
	char buf[60000];

	vt_fill(buf, len, 3, 0);
	if (size && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)))
		ret = -errno;
	if (!ret && sendto(fd, buf, len, 0, (void *)&to, sizeof(to)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static bool is_datagram(const uint8_t *at, int len)
{
	return len >= 42 && at[12] == 8 && !at[13] && at[23] == 17 &&
	       (at[36] << 8 | at[37]) == PORT;
}

/* Get one datagram of the above, with checksums. Return: its length, or -1. */
static int datagram(struct vt_raw *raw, size_t off)
{
	uint8_t *at, *ip, *udp;
	uint32_t pseudo = 17;
	int len, ulen, i;

	for (;;) {
		len = vt_raw_get(raw, &at);
		if (len < 0)
			return -1;
		if (is_datagram(at, len))
			break;
		if (vt_raw_recv(raw, 1))
			return -1;
	}
	ip = at + 14;
	udp = ip + 20;
	ulen = udp[4] << 8 | udp[5];
	for (i = 12; i < 20; i += 2)
		pseudo += ip[i] << 8 | ip[i + 1];
	if (vt_checksum(ip, 20, 0) || (ip[2] << 8 | ip[3]) != len - 14 ||
	    ulen != len - 34 || !(udp[6] | udp[7]) ||
	    vt_checksum(udp, ulen, pseudo + ulen) ||
	    vt_match(udp + 8, ulen - 8, 3, off) != (size_t)ulen - 8)
		return -1;
	return ulen - 8;
}

/* They arrive as on a wire: segmented, and with checksums. */
TEST_F(steer, offloads)
{
	int i, len, got;

	self->flows[0] = rule_udp(&self->b, PORT, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->b, 1));
	ASSERT_EQ(0, host_sends(1000, 0));
	EXPECT_EQ(1000, datagram(&self->b, 0));
	ASSERT_EQ(0, vt_raw_recv(&self->b, 11));
	ASSERT_EQ(0, host_sends(10500, 1000));
	for (i = 0, got = 0; i < 11; i++, got += len) {
		len = datagram(&self->b, got);
		ASSERT_EQ(i < 10 ? 1000 : 500, len) TH_LOG("datagram %d", i);
	}
}

/* -- invalid rules */

static int refused(struct vt_raw *raw, struct vt_rule *rule)
{
	struct ibv_flow *flow;

	errno = 0;
	flow = vt_rule_apply(raw, rule);
	if (flow)
		ibv_destroy_flow(flow);
	return errno;
}

TEST_F(steer, types_and_flags)
{
	struct ibv_flow_spec_eth *eth;
	struct vt_rule rule;
	int type;

	for (type = IBV_FLOW_ATTR_ALL_DEFAULT; type <= IBV_FLOW_ATTR_MC_DEFAULT;
	     type++) {
		vt_rule_init(&rule, type, 0);
		rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
		EXPECT_EQ(EINVAL, refused(&self->a, &rule));
		rule.attr.flags = 0;
		vt_rule_add(&rule, IBV_FLOW_SPEC_ETH, sizeof(*eth));
		EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	}
	vt_rule_init(&rule, IBV_FLOW_ATTR_SNIFFER, 0);
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_EGRESS);
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	rule.attr.flags = 1 << 3;
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	rule.attr.flags = 0;
	rule.attr.port = 2;
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
}

TEST_F(steer, specs_that_are_none)
{
	struct ibv_flow_spec_tcp_udp *udp;
	struct ibv_flow_spec_ipv4_ext *ip;
	struct ibv_flow_spec_tunnel *vxlan;
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_UDP, sizeof(*udp));
	vt_rule_add(&rule, IBV_FLOW_SPEC_TCP, sizeof(*udp));
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof(*ip));
	vt_rule_add(&rule, IBV_FLOW_SPEC_IPV6,
		    sizeof(struct ibv_flow_spec_ipv6));
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	ip = vt_rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof(*ip));
	ip->mask.flags = 1;
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH,
		    sizeof(struct ibv_flow_spec_eth));
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(*vxlan));
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP,
		    sizeof(struct ibv_flow_spec_action_drop));
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
}

/* Only RAW_PACKET QPs can have rules. */
TEST_F(steer, of_other_qps)
{
	struct ibv_qp_init_attr init = {
		.send_cq = self->a.ep.scq, .recv_cq = self->a.ep.rcq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct vt_raw other = self->a;
	struct vt_rule rule;

	other.ep.qp = ibv_create_qp(self->a.ep.pd, &init);
	ASSERT_NE(NULL, other.ep.qp);
	vt_rule_normal(&rule, 0, 0);
	EXPECT_EQ(EOPNOTSUPP, refused(&other, &rule));
	EXPECT_EQ(0, ibv_destroy_qp(other.ep.qp));
}

/*
 * The maximum number of rules, while frames arrive; the host works as before.
 */
TEST_F(steer, as_many_as_there_may_be)
{
	struct ibv_flow *flows[1025];
	struct smr_abi_why rec;
	int n, i;

	for (n = 0; n < 1025; n++) {
		flows[n] = rule_udp(&self->a, PORT + 1 + n, n, 0);
		if (!flows[n])
			break;
	}
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(1024, n);
	ASSERT_EQ(0, vt_why_last(self->a.ep.dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_FLOW_MANY, rec.id);
	EXPECT_EQ(1024, rec.num[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
	self->frame.dport += 1024;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, ibv_destroy_flow(flows[i]));
	self->frame.dport -= 1024;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
}

/* -- the limit of one user */

#define OTHER_USER	65534

/* Return: 0 if another user, who has CAP_NET_RAW only, can make a rule */
static int other_user_makes_one(void)
{
	static struct vt_raw raw;
	int cap;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(OTHER_USER, OTHER_USER, OTHER_USER) ||
	    setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
		return 1;
	for (cap = 0; cap < 32; cap++)
		if (vt_capability(cap, cap == CAP_NET_RAW))
			return 2;
	if (vt_raw_open(&raw, 0, 0))
		return 3;
	return rule_udp(&raw, PORT + 2000, 0, 0) ? 0 : 4;
}

TEST_F(steer, as_many_as_a_user_may_have)
{
	long n, max = vt_number("/sys/module/softmr/parameters/max_user_rules",
				"");
	struct ibv_flow *flows[1025];

	ASSERT_LT(0, max);
	ASSERT_GT(1024, max);
	ASSERT_EQ(0, vt_capability(CAP_SYS_RESOURCE, false));
	for (n = 0; n <= max; n++) {
		flows[n] = rule_udp(&self->a, PORT + 1 + n, n, 0);
		if (!flows[n])
			break;
	}
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(max, n);

	/* Other users can still add rules, and CAP_SYS_RESOURCE is exempt from the limit. */
	EXPECT_EQ(0, VT_IN_CHILD(other_user_makes_one()));
	ASSERT_EQ(0, vt_capability(CAP_SYS_RESOURCE, true));
	flows[n] = rule_udp(&self->a, PORT + 1 + n, n, 0);
	EXPECT_NE(NULL, flows[n]);
	for (n = 0; n <= max && flows[n]; n++)
		EXPECT_EQ(0, ibv_destroy_flow(flows[n]));
}

/* -- their cost */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* The shortest time of many in which a frame is sent and a's rules have seen it, ns */
static uint64_t frame_ns(FIXTURE_DATA(steer) *self)
{
	uint64_t begin, took, best = UINT64_MAX;
	int i;

	for (i = 0; i < 100; i++) {
		begin = now_ns();
		if (vt_raw_send(&self->b, &self->frame) != IBV_WC_SUCCESS)
			return UINT64_MAX;
		took = now_ns() - begin;
		if (took < best)
			best = took;
	}
	return best;
}

static struct ibv_flow *rule_drop(struct vt_raw *raw)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP,
		    sizeof(struct ibv_flow_spec_action_drop));
	return vt_rule_apply(raw, &rule);
}

/*
 * All rules match each frame, and no QP has a receive. Four times the rules take four times as
 * long, and not sixteen times.
 */
TEST_F(steer, time_is_linear_in_the_rules)
{
	static struct ibv_flow *flows[1024];
	uint64_t none = frame_ns(self), some, all;
	int n;

	for (n = 0; n < 256; n++)
		ASSERT_NE(NULL, flows[n] = rule_drop(&self->a));
	some = frame_ns(self);
	for (; n < 1024; n++)
		ASSERT_NE(NULL, flows[n] = rule_drop(&self->a));
	all = frame_ns(self);
	for (n = 0; n < 1024; n++)
		EXPECT_EQ(0, ibv_destroy_flow(flows[n]));
	TH_LOG("%llu ns, with 256 rules %llu, with 1024 rules %llu",
	       (unsigned long long)none, (unsigned long long)some,
	       (unsigned long long)all);
	ASSERT_LT(none, some);
	EXPECT_LT(all - none, 12 * (some - none));
}

#define RECEIVERS	1000
/* a has receives for a few more, which hosts send on their own */
#define FRAMES		10

static int receiver_open(struct vt_raw *raw, const struct vt_raw *like)
{
	struct ibv_qp_init_attr init = {
		.send_cq = like->ep.scq, .recv_cq = like->ep.rcq,
		.cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	int ret;

	*raw = *like;
	raw->ep.qp = ibv_create_qp(like->ep.pd, &init);
	if (!raw->ep.qp)
		return -errno;
	ret = vt_raw_state(raw, IBV_QPS_INIT);
	return ret ? ret : vt_raw_state(raw, IBV_QPS_RTR);
}

static struct ibv_flow *rule_copies(struct vt_raw *raw)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	return vt_rule_apply(raw, &rule);
}

/*
 * Frames arrive in a burst, and many QPs match each of them. The first QP gets all; a softirq makes
 * only a limited number of copies for the others.
 */
TEST_F(steer, copies_of_a_softirq_are_bounded)
{
	struct ibv_context *ctx = self->a.ep.dev.ctx;
	static struct vt_raw receivers[RECEIVERS];
	static struct ibv_flow *flows[RECEIVERS];
	static struct smr_abi_why recs[64];
	int64_t copies, dropped;
	long count;
	int i, n;

	self->flows[0] = rule_copies(&self->a);
	ASSERT_NE(NULL, self->flows[0]);
	for (i = 0; i < RECEIVERS; i++) {
		ASSERT_EQ(0, receiver_open(&receivers[i], &self->a));
		ASSERT_NE(NULL, flows[i] = rule_copies(&receivers[i]));
	}
	ASSERT_EQ(0, vt_raw_recv(&self->a, VT_RAW_SLOTS - 1));
	ASSERT_EQ(0, system("tc -n $SMR_PEER_NETNS qdisc add dev $SMR_NETDEV "
			    "root netem limit 1000 slot 500ms 500ms"));
	copies = vt_counter_now(ctx, "rx_packets");
	dropped = vt_counter_now(ctx, "rx_dropped");
	count = vt_softirqs("NET_RX:");
	for (i = 0; i < FRAMES; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	for (i = 0; i < FRAMES; i++)
		EXPECT_TRUE(got_ours(&self->a, &self->frame));
	usleep(200000);
	count = vt_softirqs("NET_RX:") - count;
	copies = vt_counter_now(ctx, "rx_packets") - copies;
	dropped = vt_counter_now(ctx, "rx_dropped") - dropped;
	EXPECT_EQ(0, system("tc -n $SMR_PEER_NETNS qdisc del dev $SMR_NETDEV root"));
	TH_LOG("%lld copies in %ld softirqs, and %lld not made",
	       (long long)copies, count, (long long)dropped);
	EXPECT_LE(copies, count * VT_COPIES_MAX);
	n = vt_whys(ctx, 0, recs, ARRAY_SIZE(recs));
	while (n > 0 && recs[n - 1].id != SMR_WHY_DROP_BUDGET)
		n--;
	EXPECT_EQ(dropped > 0, n > 0);
	for (i = 0; i < RECEIVERS; i++) {
		EXPECT_EQ(0, ibv_destroy_flow(flows[i]));
		EXPECT_EQ(0, ibv_destroy_qp(receivers[i].ep.qp));
	}
}

/* -- packets whose fragments the CPU cannot read */

TEST_F(steer, memory_that_cannot_be_read)
{
	struct ibv_context *ctx = self->a.ep.dev.ctx;
	int64_t dropped, strays;
	long sent;

	self->flows[0] = rule_of_type(&self->a, IBV_FLOW_ATTR_ALL_DEFAULT);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 8));
	dropped = vt_counter_now(ctx, "rx_dropped");
	strays = vt_counter_now(ctx, "rx_unknown_qpn");
	ASSERT_EQ(0, system("modprobe unreadable dev=$SMR_NETDEV addr=$SMR_ADDR"));
	sent = vt_number("/sys/module/unreadable/parameters/sent", "");
	EXPECT_EQ(0, system("modprobe -r unreadable"));
	ASSERT_LE(0, sent);
	if (!sent)
		SKIP(return, "this kernel has no such packets");
	/* dropped both for the rule and for the socket */
	EXPECT_EQ(dropped + 1, vt_counter_now(ctx, "rx_dropped"));
	EXPECT_EQ(strays, vt_counter_now(ctx, "rx_unknown_qpn"));
}

VT_HARNESS_MAIN
