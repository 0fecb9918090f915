// SPDX-License-Identifier: GPL-2.0
/*
 * Flow steering: the tag of a rule in the completions of its frames
 *
 * beds: qemu-newest uml-checked qemu-stable qemu-oldest qemu-rt qemu-race uml
 * timeout: 120
 * paths: veth
 */
#include "steer.h"

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

VT_HARNESS_MAIN
