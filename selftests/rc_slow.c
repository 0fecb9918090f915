// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections share a slow network: each gets its share, and none fails
 * because it has to wait for the others.
 *
 * timeout: 120
 * paths: veth
 */
#include "harness.h"

#define CONNS	12
#define LEN	(128u * 1024)
#define DEEP	4
/* Average number of work requests of each connection */
#define EACH	8

/* Bits per second, and how many bytes may wait in the queue */
#define RATE	"100mbit"
#define QUEUE	"32mb"

FIXTURE(slow)
{
	struct vt_conf conf;
	struct vt_ep a, b;
	struct vt_conn conns[CONNS];
	int done[CONNS];
};

/* @timeout: 17 is 0.5 s; 14 is 67 ms, less than the packets in flight take */
FIXTURE_VARIANT(slow)
{
	enum ibv_wr_opcode op;
	uint8_t timeout;
};

FIXTURE_VARIANT_ADD(slow, write) { IBV_WR_RDMA_WRITE, 14 };
FIXTURE_VARIANT_ADD(slow, write_patiently) { IBV_WR_RDMA_WRITE, 17 };
FIXTURE_VARIANT_ADD(slow, read) { IBV_WR_RDMA_READ, 14 };
FIXTURE_VARIANT_ADD(slow, read_patiently) { IBV_WR_RDMA_READ, 17 };

/* Both directions are equally slow. */
static bool slow_down(bool on)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd),
		 "for ns in \"\" \"-n $SMR_PEER_NETNS\"; do"
		 " tc $ns qdisc %s dev $SMR_NETDEV root tbf rate " RATE
		 " burst 64kb limit " QUEUE " || exit; done",
		 on ? "replace" : "del");
	return !system(cmd);
}

FIXTURE_SETUP(slow)
{
	int i;

	self->conf = vt_defaults;
	self->conf.buf_len = LEN;
	self->conf.depth = DEEP;
	self->conf.cqe = CONNS * DEEP;
	self->conf.timeout = variant->timeout;
	VT_SETUP(vt_ep_open(&self->a, &self->conf, 0));
	VT_SETUP(vt_ep_open(&self->b, &self->conf, 1));
	for (i = 0; i < CONNS; i++)
		ASSERT_EQ(0, vt_conn_open(&self->conns[i], &self->a,
					  &self->b));
	if (!slow_down(true))
		SKIP(return, "no qdisc tbf");
}

FIXTURE_TEARDOWN(slow)
{
	int i;

	slow_down(false);
	for (i = 0; i < CONNS; i++)
		vt_conn_close(&self->conns[i]);
	vt_ep_close(&self->a);
	vt_ep_close(&self->b);
}

static int post(FIXTURE_DATA(slow) *self, int i, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = vt_sge(&self->a.buf, 0, LEN);
	struct ibv_send_wr *bad, wr = vt_rdma_wr(op, i, &sge,
						 (uintptr_t)self->b.buf.p, self->b.buf.mr->rkey);

	return -ibv_post_send(self->conns[i].a, &wr, &bad);
}

/* All connections send as much as they can. */
TEST_F(slow, all_get_something)
{
	int64_t retries = vt_counter(self->a.dev.ctx, "retransmits");
	int i, n, least;
	struct ibv_wc wc;

	for (i = 0; i < CONNS * DEEP; i++)
		ASSERT_EQ(0, post(self, i / DEEP, variant->op));
	for (n = 0; n < CONNS * (EACH + DEEP); n++) {
		ASSERT_EQ(0, vt_wait(self->a.scq, &wc));
		ASSERT_EQ(IBV_WC_SUCCESS, wc.status)
			TH_LOG("connection %d", (int)wc.wr_id);
		if (n >= CONNS * EACH)
			continue;
		self->done[wc.wr_id]++;
		ASSERT_EQ(0, post(self, wc.wr_id, variant->op));
	}
	printf("# retransmits: %d\n",
	       (int)(vt_counter(self->a.dev.ctx, "retransmits") - retries));
	least = EACH;
	for (i = 0; i < CONNS; i++) {
		n = self->done[i];
		least = n < least ? n : least;
		printf("# connection %d: %d\n", i, n);
	}
	EXPECT_LT(0, least);
}

VT_HARNESS_MAIN
