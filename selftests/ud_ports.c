// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP source ports of datagrams: each pair of QPs has its own, so networks and receivers can
 * spread them. A flow label, if there is one, selects the port instead.
 *
 * timeout: 60
 * paths: wire
 */
#include "harness.h"
#include "roce.h"
#include "ud.h"

#define QPS	8
#define PEERS	4
#define PAIRS	(QPS * PEERS)
#define PEER_QPN	0x321

/* IANA's dynamic ports, A17.4.2 */
#define PORT_MIN	0xc000

FIXTURE(port)
{
	struct vt_conf conf;
	struct vt_roce roce;
	struct vt_ep eps[QPS];
	union ibv_gid gid;
	struct ibv_ah *ahs[QPS];
};

FIXTURE_SETUP(port)
{
	struct vt_addr nobody = {};
	int i;

	self->conf = vt_defaults;
	self->conf.qp_type = IBV_QPT_UD;
	VT_SETUP(vt_roce_open(&self->roce));
	VT_SETUP(vt_roce_listen(&self->roce));
	self->gid = vt_roce_gid(&self->roce);
	nobody.gid = self->gid;
	for (i = 0; i < QPS; i++) {
		VT_SETUP(vt_ep_open(&self->eps[i], &self->conf, 0));
		VT_SETUP(vt_ep_connect(&self->eps[i], &nobody));
	}
}

FIXTURE_TEARDOWN(port)
{
	int i;

	for (i = 0; i < QPS; i++) {
		if (self->ahs[i])
			ibv_destroy_ah(self->ahs[i]);
		vt_ep_close(&self->eps[i]);
	}
	vt_roce_close(&self->roce);
}

static bool make_ahs(FIXTURE_DATA(port) *self, uint32_t flow_label)
{
	struct ibv_ah_attr attr;
	int i;

	for (i = 0; i < QPS; i++) {
		attr = vt_ah_attr(self->eps[i].dev.gid_index, &self->gid);
		attr.grh.flow_label = flow_label;
		self->ahs[i] = ibv_create_ah(self->eps[i].pd, &attr);
		if (!self->ahs[i])
			return false;
	}
	return true;
}

/* The port of a datagram of pair @i; -1 on errors */
static int port_of(FIXTURE_DATA(port) *self, int i)
{
	struct vt_ep *ep = &self->eps[i / PEERS];
	uint32_t qpn = PEER_QPN + i % PEERS;
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = self->ahs[i / PEERS], .remote_qpn = qpn },
	};
	struct vt_heard heard;

	if (vt_outcome(ep, &wr))
		return -1;
	while (vt_roce_hear(&self->roce, &heard, VT_TIMEOUT_MS))
		if (heard.bth.qpn == qpn)
			return heard.sport;
	return -1;
}

TEST_F(port, of_each_pair)
{
	int ports[PAIRS], i, j, different = 0;

	ASSERT_TRUE(make_ahs(self, 0));
	for (i = 0; i < PAIRS; i++) {
		ports[i] = port_of(self, i);
		ASSERT_LE(PORT_MIN, ports[i]);
		for (j = 0; j < i && ports[j] != ports[i]; j++)
			;
		different += j == i;
	}
	printf("# %d pairs, %d ports\n", PAIRS, different);
	EXPECT_LE(PAIRS * 3 / 4, different);
	for (i = 0; i < PAIRS; i++)
		EXPECT_EQ(ports[i], port_of(self, i));
}

TEST_F(port, of_a_flow_label)
{
	int i, port;

	ASSERT_TRUE(make_ahs(self, VT_FLOW_LABEL));
	port = port_of(self, 0);
	ASSERT_LE(PORT_MIN, port);
	for (i = 1; i < PAIRS; i++)
		EXPECT_EQ(port, port_of(self, i));
}

VT_HARNESS_MAIN
