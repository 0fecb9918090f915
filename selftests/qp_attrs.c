// SPDX-License-Identifier: GPL-2.0
/*
 * The state table of an RC QP, its attributes, and the limits of the device.
 *
 * timeout: 60
 * boot: kmemleak
 * paths: host
 */
#include "harness.h"
#include "qp_steps.h"

#define PORT	1
#define NR_STATES	(IBV_QPS_ERR + 1)

FIXTURE(attrs)
{
	struct vt_ep ep;
	/* each gets a legal value */
	struct ibv_qp_attr good;
};

FIXTURE_SETUP(attrs)
{
	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
	self->good = (struct ibv_qp_attr){
		.port_num = PORT,
		.qp_access_flags = VT_ACCESS_ALL,
		.path_mtu = IBV_MTU_512,
		.dest_qp_num = self->ep.qp->qp_num,
		.rq_psn = 0x123,
		.sq_psn = 0x456,
		.max_rd_atomic = 3,
		.max_dest_rd_atomic = 2,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 5,
		.rnr_retry = 6,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = {
				.dgid = self->ep.dev.gid,
				.sgid_index = self->ep.dev.gid_index,
				.hop_limit = 33,
				.traffic_class = 0x20,
				.flow_label = 0x12345,
			},
		},
	};
}

FIXTURE_TEARDOWN(attrs)
{
	vt_ep_close(&self->ep);
}

/* Modify with legal values, except those that @attr has. */
static int modify(struct vt_ep *ep, struct ibv_qp_attr attr,
		  enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	attr.qp_state = to;
	attr.cur_qp_state = from;
	return ibv_modify_qp(ep->qp, &attr, mask | IBV_QP_STATE);
}

/* A send queue that has drained accepts more attributes. */
static int wait_drained(struct vt_ep *ep)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;
	int ret;

	do {
		ret = ibv_query_qp(ep->qp, &q, IBV_QP_STATE, &init);
	} while (!ret && q.sq_draining && vt_now_ms() < end);
	return ret ? ret : q.sq_draining;
}

/* From any state to @state, by the shortest way. */
static int reach(struct vt_ep *ep, const struct ibv_qp_attr *good,
		 enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_SQD,
	};
	int i, ret = vt_qp_reset(ep->qp);

	if (!ret && state == IBV_QPS_ERR) {
		ret = reach(ep, good, IBV_QPS_INIT);
		return ret ? ret : modify(ep, *good, IBV_QPS_INIT, state, 0);
	}
	for (i = 1; !ret && way[i - 1] != state; i++)
		ret = modify(ep, *good, way[i - 1], way[i],
			     vt_step_find(way[i - 1], way[i])->required);
	if (!ret && state == IBV_QPS_SQD)
		ret = wait_drained(ep);
	return ret;
}

static const char *state_name(int state)
{
	static const char * const names[] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
	};

	return state >= 0 && state < ARRAY_SIZE(names) ? names[state] : "?";
}

/* The states that a connected QP can be brought to; not SQE. */
static bool reachable(enum ibv_qp_state state)
{
	return state != IBV_QPS_SQE;
}

static void expect_refused(struct __test_metadata *_metadata,
			   FIXTURE_DATA(attrs) *self, enum ibv_qp_state from,
			   enum ibv_qp_state to, int mask)
{
	ASSERT_EQ(0, reach(&self->ep, &self->good, from));
	EXPECT_EQ(EINVAL, modify(&self->ep, self->good, from, to, mask))
		TH_LOG("%s to %s, mask 0x%x", state_name(from),
		       state_name(to), mask);
	EXPECT_EQ(from, vt_qp_state(self->ep.qp));
}

static void expect_accepted(struct __test_metadata *_metadata,
			    FIXTURE_DATA(attrs) *self, const struct vt_step *step,
			    int mask)
{
	ASSERT_EQ(0, reach(&self->ep, &self->good, step->from));
	EXPECT_EQ(0, modify(&self->ep, self->good, step->from, step->to, mask))
		TH_LOG("%s to %s, mask 0x%x", state_name(step->from),
		       state_name(step->to), mask);
	EXPECT_EQ(step->to, vt_qp_state(self->ep.qp));
}

TEST_F(attrs, legal_transitions)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(vt_steps); i++)
		expect_accepted(_metadata, self, &vt_steps[i], vt_steps[i].required);
}

TEST_F(attrs, optional_attributes)
{
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(vt_steps); i++)
		for (bit = 0; bit < 21; bit++)
			if (vt_steps[i].optional & (1 << bit))
				expect_accepted(_metadata, self, &vt_steps[i],
						vt_steps[i].required | 1 << bit);
}

TEST_F(attrs, illegal_transitions)
{
	int from, to, into;

	for (from = 0; from < NR_STATES; from++)
		for (to = 0; to < NR_STATES; to++) {
			if (!reachable(from) || vt_step_find(from, to))
				continue;
			/*
			 * with the attributes that the legal transitions to
			 * that state need
			 */
			expect_refused(_metadata, self, from, to, 0);
			for (into = 0; into < NR_STATES; into++)
				if (vt_step_find(into, to))
					expect_refused(_metadata, self, from, to,
						       vt_step_find(into, to)->required);
		}
}

TEST_F(attrs, states_that_do_not_exist)
{
	int from;

	for (from = 0; from < NR_STATES; from++) {
		if (!reachable(from))
			continue;
		expect_refused(_metadata, self, from, IBV_QPS_ERR + 1, 0);
		expect_refused(_metadata, self, from, 0xff, 0);
	}
}

TEST_F(attrs, mandatory_attribute_missing)
{
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(vt_steps); i++)
		for (bit = 0; bit < 21; bit++)
			if (vt_steps[i].required & (1 << bit))
				expect_refused(_metadata, self, vt_steps[i].from,
					       vt_steps[i].to,
					       vt_steps[i].required & ~(1 << bit));
}

TEST_F(attrs, forbidden_attribute)
{
	int i, j, allowed;

	for (i = 0; i < ARRAY_SIZE(vt_steps); i++) {
		allowed = vt_steps[i].required | vt_steps[i].optional;
		for (j = 0; j < ARRAY_SIZE(vt_attributes); j++)
			if (!(allowed & vt_attributes[j]) &&
			    vt_attributes[j] != IBV_QP_PORT)
				expect_refused(_metadata, self, vt_steps[i].from,
					       vt_steps[i].to,
					       vt_steps[i].required |
					       vt_attributes[j]);
	}
}

TEST_F(attrs, current_state_must_be_true)
{
	struct vt_ep *ep = &self->ep;

	ASSERT_EQ(0, reach(ep, &self->good, IBV_QPS_RTS));
	EXPECT_EQ(EINVAL, modify(ep, self->good, IBV_QPS_SQD, IBV_QPS_RTS,
				 IBV_QP_CUR_STATE));
	EXPECT_EQ(0, modify(ep, self->good, IBV_QPS_RTS, IBV_QPS_RTS,
			    IBV_QP_CUR_STATE));
}

/* -- values that are out of range */

#define TRY(_to, field, value) do { \
	struct ibv_qp_attr bad = self->good; \
	bad.field = (value); \
	refuse_value(_metadata, self, _to, &bad, #field " = " #value); \
} while (0)

static void refuse_value(struct __test_metadata *_metadata,
			 FIXTURE_DATA(attrs) *self, enum ibv_qp_state to,
			 const struct ibv_qp_attr *bad, const char *what)
{
	enum ibv_qp_state from = to - 1;

	ASSERT_EQ(0, reach(&self->ep, &self->good, from));
	EXPECT_EQ(EINVAL, modify(&self->ep, *bad, from, to,
				 vt_step_find(from, to)->required))
		TH_LOG("%s", what);
	EXPECT_EQ(from, vt_qp_state(self->ep.qp));
}

TEST_F(attrs, out_of_range_at_init)
{
	TRY(IBV_QPS_INIT, port_num, 0);
	TRY(IBV_QPS_INIT, port_num, 2);
	TRY(IBV_QPS_INIT, port_num, 255);
	TRY(IBV_QPS_INIT, pkey_index, self->ep.dev.port.pkey_tbl_len);
	TRY(IBV_QPS_INIT, pkey_index, 0xffff);
}

TEST_F(attrs, out_of_range_at_rtr)
{
	TRY(IBV_QPS_RTR, path_mtu, 0);
	TRY(IBV_QPS_RTR, path_mtu, IBV_MTU_4096 + 1);
	TRY(IBV_QPS_RTR, path_mtu, 255);
	TRY(IBV_QPS_RTR, min_rnr_timer, 32);
	TRY(IBV_QPS_RTR, ah_attr.port_num, 0);
	TRY(IBV_QPS_RTR, ah_attr.port_num, 2);
	TRY(IBV_QPS_RTR, ah_attr.is_global, 0);
}

/* The core returns EINVAL beyond the table, and ENODATA for an empty entry. */
TEST_F(attrs, no_such_address)
{
	struct ibv_qp_attr bad = self->good;

	bad.ah_attr.grh.sgid_index = 255;
	ASSERT_EQ(0, reach(&self->ep, &bad, IBV_QPS_INIT));
	EXPECT_NE(0, modify(&self->ep, bad, IBV_QPS_INIT, IBV_QPS_RTR,
			    vt_step_find(IBV_QPS_INIT, IBV_QPS_RTR)->required));
	EXPECT_EQ(IBV_QPS_INIT, vt_qp_state(self->ep.qp));
}

TEST_F(attrs, rd_atomic_over_the_limit)
{
	struct ibv_device_attr *limit = &self->ep.dev.attr;

	if (limit->max_qp_rd_atom >= 255 || limit->max_qp_init_rd_atom >= 255)
		SKIP(return, "the limit is as high as the field");
	TRY(IBV_QPS_RTR, max_dest_rd_atomic, limit->max_qp_rd_atom + 1);
	TRY(IBV_QPS_RTS, max_rd_atomic, limit->max_qp_init_rd_atom + 1);
}

TEST_F(attrs, out_of_range_at_rts)
{
	TRY(IBV_QPS_RTS, timeout, 32);
	TRY(IBV_QPS_RTS, timeout, 255);
	TRY(IBV_QPS_RTS, retry_cnt, 8);
	TRY(IBV_QPS_RTS, rnr_retry, 8);
}

TEST_F(attrs, mtu_over_the_ports)
{
	if (self->ep.dev.port.active_mtu == IBV_MTU_4096)
		SKIP(return, "the port has the highest MTU");
	TRY(IBV_QPS_RTR, path_mtu, self->ep.dev.port.active_mtu + 1);
}

/* The largest values are accepted. */
TEST_F(attrs, largest_values)
{
	struct ibv_device_attr *limit = &self->ep.dev.attr;
	struct ibv_qp_attr max = self->good;

	max.path_mtu = self->ep.dev.port.active_mtu;
	max.min_rnr_timer = 31;
	max.max_dest_rd_atomic = limit->max_qp_rd_atom > 255 ?
				 255 : limit->max_qp_rd_atom;
	max.max_rd_atomic = limit->max_qp_init_rd_atom > 255 ?
			    255 : limit->max_qp_init_rd_atom;
	max.timeout = 31;
	max.retry_cnt = 7;
	max.rnr_retry = 7;
	max.rq_psn = 0xffffff;
	max.sq_psn = 0xffffff;
	max.dest_qp_num = 0xffffff;
	EXPECT_EQ(0, reach(&self->ep, &max, IBV_QPS_RTS));
}

/* No READs and no atomics, in either direction. */
TEST_F(attrs, smallest_values)
{
	struct ibv_qp_attr min = self->good;

	min.path_mtu = IBV_MTU_256;
	min.min_rnr_timer = 0;
	min.max_dest_rd_atomic = 0;
	min.max_rd_atomic = 0;
	min.timeout = 0;
	min.retry_cnt = 0;
	min.rnr_retry = 0;
	min.rq_psn = 0;
	min.sq_psn = 0;
	EXPECT_EQ(0, reach(&self->ep, &min, IBV_QPS_RTS));
}

/* -- query_qp */

TEST_F(attrs, query_returns_what_was_set)
{
	struct ibv_qp_attr *good = &self->good, q;
	struct ibv_qp_init_attr init;

	ASSERT_EQ(0, reach(&self->ep, good, IBV_QPS_RTS));
	memset(&q, 0xa5, sizeof(q));
	ASSERT_EQ(0, ibv_query_qp(self->ep.qp, &q, 0x1fffff, &init));
	EXPECT_EQ(IBV_QPS_RTS, q.qp_state);
	EXPECT_EQ(IBV_QPS_RTS, q.cur_qp_state);
	EXPECT_EQ(good->path_mtu, q.path_mtu);
	EXPECT_EQ(good->rq_psn, q.rq_psn);
	EXPECT_EQ(good->sq_psn, q.sq_psn);
	EXPECT_EQ(good->dest_qp_num, q.dest_qp_num);
	EXPECT_EQ(good->qp_access_flags & ~IBV_ACCESS_LOCAL_WRITE,
		  q.qp_access_flags & ~IBV_ACCESS_LOCAL_WRITE);
	EXPECT_EQ(good->port_num, q.port_num);
	EXPECT_EQ(good->pkey_index, q.pkey_index);
	EXPECT_EQ(good->max_rd_atomic, q.max_rd_atomic);
	EXPECT_EQ(good->max_dest_rd_atomic, q.max_dest_rd_atomic);
	EXPECT_EQ(good->min_rnr_timer, q.min_rnr_timer);
	EXPECT_EQ(good->timeout, q.timeout);
	EXPECT_EQ(good->retry_cnt, q.retry_cnt);
	EXPECT_EQ(good->rnr_retry, q.rnr_retry);
	EXPECT_EQ(0, q.sq_draining);
}

TEST_F(attrs, query_returns_the_address)
{
	struct ibv_ah_attr *good = &self->good.ah_attr;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;

	ASSERT_EQ(0, reach(&self->ep, &self->good, IBV_QPS_RTR));
	ASSERT_EQ(0, ibv_query_qp(self->ep.qp, &q, IBV_QP_AV, &init));
	EXPECT_EQ(1, q.ah_attr.is_global);
	EXPECT_EQ(good->port_num, q.ah_attr.port_num);
	EXPECT_EQ(0, memcmp(&good->grh.dgid, &q.ah_attr.grh.dgid, 16));
	EXPECT_EQ(good->grh.sgid_index, q.ah_attr.grh.sgid_index);
	/* the core uses the route's value instead of this one */
	EXPECT_NE(0, q.ah_attr.grh.hop_limit);
	EXPECT_EQ(good->grh.traffic_class, q.ah_attr.grh.traffic_class);
	EXPECT_EQ(good->grh.flow_label, q.ah_attr.grh.flow_label);
}

/* Only 20 bits of a flow label are used. */
TEST_F(attrs, flow_label_is_cut)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;

	self->good.ah_attr.grh.flow_label = ~0u;
	ASSERT_EQ(0, reach(&self->ep, &self->good, IBV_QPS_RTR));
	ASSERT_EQ(0, ibv_query_qp(self->ep.qp, &q, IBV_QP_AV, &init));
	EXPECT_EQ(0xfffff, q.ah_attr.grh.flow_label);
}

TEST_F(attrs, query_returns_how_it_was_made)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;

	ASSERT_EQ(0, ibv_query_qp(self->ep.qp, &q, IBV_QP_CAP, &init));
	EXPECT_EQ(self->ep.scq, init.send_cq);
	EXPECT_EQ(self->ep.rcq, init.recv_cq);
	EXPECT_EQ(IBV_QPT_RC, init.qp_type);
	EXPECT_EQ(0, init.sq_sig_all);
	EXPECT_LE(self->ep.conf.depth, init.cap.max_send_wr);
	EXPECT_LE(self->ep.conf.depth, init.cap.max_recv_wr);
	EXPECT_LE(self->ep.conf.sges, init.cap.max_send_sge);
	EXPECT_LE(self->ep.conf.sges, init.cap.max_recv_sge);
	EXPECT_EQ(0, memcmp(&q.cap, &init.cap, sizeof(q.cap)));
}

/* A refused value changes nothing, nor do the values that come with it. */
TEST_F(attrs, refusal_changes_nothing)
{
	struct ibv_qp_attr bad = self->good, q;
	struct ibv_qp_init_attr init;

	ASSERT_EQ(0, reach(&self->ep, &self->good, IBV_QPS_SQD));
	bad.timeout = 20;
	bad.rnr_retry = 1;
	bad.retry_cnt = 8;
	EXPECT_EQ(EINVAL, modify(&self->ep, bad, IBV_QPS_SQD, IBV_QPS_SQD,
				 IBV_QP_TIMEOUT | IBV_QP_RNR_RETRY |
				 IBV_QP_RETRY_CNT));
	ASSERT_EQ(0, ibv_query_qp(self->ep.qp, &q, 0x1fffff, &init));
	EXPECT_EQ(self->good.timeout, q.timeout);
	EXPECT_EQ(self->good.rnr_retry, q.rnr_retry);
	EXPECT_EQ(self->good.retry_cnt, q.retry_cnt);
}

/* -- SQD: posted requests wait, and are executed afterwards */

TEST(sqd_holds_requests)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, NULL);
	struct vt_pair pair;
	struct vt_conn conn;
	struct vt_ep other;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	VT_SETUP(vt_conn_open(&conn, &pair.a, &pair.b));
	ASSERT_EQ(0, vt_post_recv(&pair.b, 2, NULL, 0));
	ASSERT_EQ(0, ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE));
	ASSERT_EQ(0, vt_post(&pair.a, &wr));
	/* the request that another QP of this CQ gets meanwhile completes before it */
	other = pair.a;
	other.qp = conn.a;
	EXPECT_TRUE(vt_sq_quiet(&other));
	attr.qp_state = IBV_QPS_RTS;
	ASSERT_EQ(0, ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.b.rcq, 2));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_conn_close(&conn);
	vt_pair_close(&pair);
}

/* The end of draining raises an event, if it was requested. */
TEST(sqd_event)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	struct vt_pair pair;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	ASSERT_EQ(0, ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE |
				   IBV_QP_EN_SQD_ASYNC_NOTIFY));
	EXPECT_EQ(0, vt_async_event(pair.a.dev.ctx, IBV_EVENT_SQ_DRAINED,
				    VT_TIMEOUT_MS));
	vt_pair_close(&pair);
}

/* -- posting is refused in states that do not allow it */

TEST_F(attrs, no_posts_too_early)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	static const enum ibv_qp_state early[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(early); i++) {
		ASSERT_EQ(0, reach(&self->ep, &self->good, early[i]));
		EXPECT_NE(0, ibv_post_send(self->ep.qp, &wr, &bad))
			TH_LOG("%s", state_name(early[i]));
		EXPECT_EQ(&wr, bad);
	}
	ASSERT_EQ(0, reach(&self->ep, &self->good, IBV_QPS_RESET));
	EXPECT_NE(0, vt_post_recv(&self->ep, 1, NULL, 0));
	ASSERT_EQ(0, reach(&self->ep, &self->good, IBV_QPS_INIT));
	EXPECT_EQ(0, vt_post_recv(&self->ep, 1, NULL, 0));
}

VT_HARNESS_MAIN
