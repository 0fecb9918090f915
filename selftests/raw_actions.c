// SPDX-License-Identifier: GPL-2.0
/*
 * Flow steering: the actions of a rule other than DROP: the tag in a frame's completion, and
 * counters.
 *
 * timeout: 120
 * paths: veth
 */
#include "steer.h"

#include <netinet/udp.h>
#include <sys/wait.h>

/* -- tags */

/* Make the receive CQ an extended one, from which tags can be read. */
static int use_cq_ex(struct vt_raw *raw, struct ibv_cq_ex **cqx)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 128,
		.wc_flags = IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_BYTE_LEN,
	};
	int ret = vt_ep_use_cq_ex(&raw->ep, &raw->ep.rcq, &init, cqx);

	return ret ? ret : vt_raw_ready(raw);
}

/* The tag of the next frame; -1: it has another length, or there is none. */
static int64_t next_tag(struct ibv_cq_ex *cqx, size_t len)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	struct ibv_poll_cq_attr attr = {};
	int64_t tag = -1;

	while (ibv_start_poll(cqx, &attr))
		if (vt_now_ms() > end)
			return -1;
	if (cqx->status == IBV_WC_SUCCESS && ibv_wc_read_byte_len(cqx) == len)
		tag = ibv_wc_read_flow_tag(cqx);
	ibv_end_poll(cqx);
	return tag;
}

static void rule_add_tag(struct vt_rule *rule, uint32_t tag_id)
{
	struct ibv_flow_spec_action_tag *tag =
		vt_rule_add(rule, IBV_FLOW_SPEC_ACTION_TAG, sizeof(*tag));

	tag->tag_id = tag_id;
}

static struct ibv_flow *rule_tagged(struct vt_raw *raw, uint16_t port,
				    uint16_t priority, uint32_t tag)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, priority, 0);
	rule_add_tag(&rule, tag);
	rule_add_udp(&rule, port);
	return vt_rule_apply(raw, &rule);
}

/* Each frame has the tag of the rule that matched it; 0 without a tag. */
TEST_F(steer, tags)
{
	static const uint32_t tags[] = { 7, 0xfffffff0, 0 };
	size_t len = 42 + self->frame.payload;
	struct ibv_cq_ex *cqx;
	int i;

	ASSERT_EQ(0, use_cq_ex(&self->a, &cqx));
	for (i = 0; i < 2; i++)
		self->flows[i] = rule_tagged(&self->a, PORT + i, 0, tags[i]);
	self->flows[2] = rule_udp(&self->a, PORT + 2, 0, 0);
	for (i = 0; i < 3; i++)
		ASSERT_NE(NULL, self->flows[i]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 6));
	for (i = 0; i < 6; i++) {
		self->frame.dport = PORT + i % 3;
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	}
	for (i = 0; i < 6; i++)
		EXPECT_EQ(tags[i % 3], next_tag(cqx, len)) TH_LOG("%d", i);
}

/* Several rules of a QP match: the tag is that of the first one. */
TEST_F(steer, tag_of_the_first_rule)
{
	size_t len = 42 + self->frame.payload;
	struct ibv_cq_ex *cqx;

	ASSERT_EQ(0, use_cq_ex(&self->a, &cqx));
	self->flows[0] = rule_tagged(&self->a, PORT, 2, 2);
	self->flows[1] = rule_tagged(&self->a, PORT, 1, 1);
	self->flows[2] = rule_tagged(&self->a, PORT, 1, 3);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_NE(NULL, self->flows[1]);
	ASSERT_NE(NULL, self->flows[2]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 3));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_EQ(1, next_tag(cqx, len));
	ASSERT_EQ(0, ibv_destroy_flow(self->flows[1]));
	self->flows[1] = NULL;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_EQ(3, next_tag(cqx, len));
	/* Each arrived once: the next frame is another one, which takes the last receive. */
	self->frame.payload++;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_EQ(3, next_tag(cqx, len + 1));
}

/* A second QP gets the same frame with the tag of its own rule. */
TEST_F(steer, tags_of_two_qps)
{
	size_t len = 42 + self->frame.payload;
	struct ibv_cq_ex *cqx, *other_cqx;
	struct vt_raw other;

	VT_SETUP(vt_raw_open(&other, 0, 0));
	ASSERT_EQ(0, use_cq_ex(&self->a, &cqx));
	ASSERT_EQ(0, use_cq_ex(&other, &other_cqx));
	self->flows[0] = rule_tagged(&self->a, PORT, 1, 11);
	self->flows[1] = rule_tagged(&other, PORT, 1, 12);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_NE(NULL, self->flows[1]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	ASSERT_EQ(0, vt_raw_recv(&other, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_EQ(11, next_tag(cqx, len));
	EXPECT_EQ(12, next_tag(other_cqx, len));
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[1]));
	self->flows[1] = NULL;
	vt_raw_close(&other);
}

TEST_F(steer, two_tags)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	rule_add_tag(&rule, 1);
	rule_add_tag(&rule, 1);
	errno = 0;
	EXPECT_EQ(NULL, vt_rule_apply(&self->a, &rule));
	EXPECT_EQ(EINVAL, errno);
}

/* In messages of other QPs, the tag's field is not a tag. */
TEST(message_with_immediate_data)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_BYTE_LEN |
			    IBV_WC_EX_WITH_IMM,
	};
	struct vt_conf conf = vt_defaults;
	struct ibv_cq_ex *cqx;
	struct vt_pair pair;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(99),
		.send_flags = IBV_SEND_SIGNALED,
	};

	VT_SETUP(vt_pair_open(&pair, &conf));
	cqx = ibv_create_cq_ex(pair.b.dev.ctx, &init);
	ASSERT_NE(NULL, cqx);
	ASSERT_EQ(0, ibv_destroy_qp(pair.b.qp));
	ASSERT_EQ(0, ibv_destroy_cq(pair.b.rcq));
	pair.b.rcq = ibv_cq_ex_to_cq(cqx);
	pair.b.qp = vt_qp_create(&pair.b);
	ASSERT_NE(NULL, pair.b.qp);
	ASSERT_EQ(0, vt_pair_reset(&pair));
	ASSERT_EQ(0, vt_post_recv(&pair.b, 1, NULL, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(&pair.a, &wr));
	EXPECT_EQ(0, next_tag(cqx, 0));
	vt_pair_close(&pair);
}

/* -- counters */

static struct ibv_counters *counters_new(struct ibv_context *ctx)
{
	struct ibv_counters_init_attr attr = {};

	return ibv_create_counters(ctx, &attr);
}

static int point(struct ibv_counters *counters, int desc, uint32_t index)
{
	struct ibv_counter_attach_attr attr = {
		.counter_desc = desc, .index = index,
	};

	return ibv_attach_counters_point_flow(counters, &attr, NULL);
}

static void rule_add_count(struct vt_rule *rule, struct ibv_counters *counters)
{
	struct ibv_flow_spec_counter_action *count =
		vt_rule_add(rule, IBV_FLOW_SPEC_ACTION_COUNT, sizeof(*count));

	count->counters = counters;
}

enum { TRAPS, COPIES, DROPS };

static struct ibv_flow *rule_counted(struct vt_raw *raw, uint16_t port, int kind,
				     struct ibv_counters *counters)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, kind == COPIES ? IBV_FLOW_ATTR_FLAGS_DONT_TRAP : 0);
	rule_add_udp(&rule, port);
	rule_add_count(&rule, counters);
	if (kind == DROPS)
		vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP,
			    sizeof(struct ibv_flow_spec_action_drop));
	return vt_rule_apply(raw, &rule);
}

/* Packets at index 1, bytes at index 0, nothing at index 2. */
static struct ibv_counters *counters_pointed(struct ibv_context *ctx)
{
	struct ibv_counters *counters = counters_new(ctx);

	if (counters && (point(counters, IBV_COUNTER_PACKETS, 1) ||
			 point(counters, IBV_COUNTER_BYTES, 0)))
		return NULL;
	return counters;
}

/* Frames without a completion, such as dropped ones, may be counted late: so wait. */
static bool counted(struct ibv_counters *counters, uint64_t packets, uint64_t bytes)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS, now[3];

	do {
		now[2] = 1;
		if (ibv_read_counters(counters, now, 3, 0))
			return false;
	} while (now[1] < packets && vt_now_ms() < end);
	return now[0] == bytes && now[1] == packets && !now[2];
}

/* Two rules with the same counters; another with others; frames that match no rule. */
TEST_F(steer, counters)
{
	size_t len = 42 + self->frame.payload;
	struct ibv_counters *c[2];
	int i;

	for (i = 0; i < 2; i++) {
		c[i] = counters_pointed(self->a.ep.dev.ctx);
		ASSERT_NE(NULL, c[i]);
	}
	for (i = 0; i < 3; i++) {
		self->flows[i] = rule_counted(&self->a, PORT + i, i, c[i / 2]);
		ASSERT_NE(NULL, self->flows[i]);
	}
	EXPECT_TRUE(counted(c[0], 0, 0));
	ASSERT_EQ(0, vt_raw_recv(&self->a, 2));
	for (i = 0; i < 8; i++) {
		self->frame.dport = PORT + i % 4;
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
		if (i >= 2)
			continue;
		EXPECT_TRUE(qp_got(&self->a, &self->frame));
		EXPECT_TRUE(counted(c[0], i + 1, (i + 1) * len));
	}
	/* the QP has no receive for the last ones, but they match */
	EXPECT_TRUE(counted(c[0], 4, 4 * len));
	EXPECT_TRUE(counted(c[1], 2, 2 * len));
	EXPECT_EQ(EBUSY, ibv_destroy_counters(c[0]));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, ibv_destroy_flow(self->flows[i]));
		self->flows[i] = NULL;
	}
	EXPECT_EQ(0, ibv_destroy_counters(c[0]));
	EXPECT_EQ(0, ibv_destroy_counters(c[1]));
}

/* A packet of the stack counts as the frames that the wire carries. */
TEST_F(steer, counters_of_joined_packets)
{
	struct sockaddr_in to = inet_addr_of("SMR_ADDR", PORT);
	struct ibv_counters *c;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = 1000;
	char buf[4500] = {};

	c = counters_pointed(self->b.ep.dev.ctx);
	ASSERT_NE(NULL, c);
	self->flows[0] = rule_counted(&self->b, PORT, DROPS, c);
	ASSERT_NE(NULL, self->flows[0]);
	to = inet_addr_of("SMR_PEER_ADDR", PORT);
	ASSERT_EQ(0, setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)));
	ASSERT_EQ(sizeof(buf), sendto(fd, buf, sizeof(buf), 0, (void *)&to, sizeof(to)));
	EXPECT_TRUE(counted(c, 5, sizeof(buf) + 5 * 42));
	close(fd);
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
	self->flows[0] = NULL;
	EXPECT_EQ(0, ibv_destroy_counters(c));
}

/* Points of one index add up; fewer counters can be read than there are. */
TEST_F(steer, counter_points)
{
	struct ibv_counters *c = counters_new(self->a.ep.dev.ctx);
	struct ibv_counter_attach_attr attr = { .comp_mask = 1 };
	size_t len = 42 + self->frame.payload;
	uint64_t now[4] = { 9, 9, 9, 9 };

	ASSERT_NE(NULL, c);
	EXPECT_EQ(EOPNOTSUPP, ibv_attach_counters_point_flow(c, &attr, NULL));
	EXPECT_EQ(ENOTSUP, point(c, IBV_COUNTER_BYTES + 1, 0));
	EXPECT_EQ(0, point(c, IBV_COUNTER_PACKETS, 2));
	EXPECT_EQ(0, point(c, IBV_COUNTER_BYTES, 2));
	EXPECT_EQ(0, point(c, IBV_COUNTER_PACKETS, 0));
	EXPECT_EQ(0, point(c, IBV_COUNTER_BYTES, UINT32_MAX));
	/* they can be read once a rule uses them */
	EXPECT_EQ(EINVAL, ibv_read_counters(c, now, 3, 0));
	self->flows[0] = rule_counted(&self->a, PORT, TRAPS, c);
	ASSERT_NE(NULL, self->flows[0]);
	EXPECT_EQ(EBUSY, point(c, IBV_COUNTER_BYTES, 1));
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	EXPECT_EQ(EINVAL, ibv_read_counters(c, now, 3, 1 << 5));
	EXPECT_EQ(0, ibv_read_counters(c, now, 3, IBV_READ_COUNTERS_ATTR_PREFER_CACHED));
	EXPECT_EQ(1, now[0]);
	EXPECT_EQ(0, now[1]);
	EXPECT_EQ(1 + len, now[2]);
	EXPECT_EQ(9, now[3]);
	EXPECT_EQ(0, ibv_read_counters(c, now, 0, 0));
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
	self->flows[0] = NULL;
	/* a rule with two counters */
	{
		struct vt_rule rule;

		vt_rule_normal(&rule, 0, 0);
		rule_add_count(&rule, c);
		rule_add_count(&rule, c);
		EXPECT_EQ(NULL, vt_rule_apply(&self->a, &rule));
		EXPECT_EQ(EINVAL, errno);
	}
	/* the rule that was refused does not use them */
	EXPECT_EQ(0, point(c, IBV_COUNTER_BYTES, 1));
	EXPECT_EQ(0, ibv_destroy_counters(c));
}

/* A process that exits with rules and counters leaves nothing behind; new counters begin at 0. */
TEST_F(steer, counters_of_a_process_that_ends)
{
	struct ibv_counters *c;
	struct vt_raw other;
	int status, i;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid) {
			c = vt_raw_open(&other, 0, 0) ? NULL :
			    counters_pointed(other.ep.dev.ctx);
			_exit(!c || !rule_counted(&other, PORT, TRAPS, c));
		}
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	c = counters_pointed(self->a.ep.dev.ctx);
	ASSERT_NE(NULL, c);
	self->flows[0] = rule_counted(&self->a, PORT, TRAPS, c);
	ASSERT_NE(NULL, self->flows[0]);
	EXPECT_TRUE(counted(c, 0, 0));
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
	self->flows[0] = NULL;
	EXPECT_EQ(0, ibv_destroy_counters(c));
}

VT_HARNESS_MAIN
