// SPDX-License-Identifier: GPL-2.0
/*
 * UC and UD with packets that the test builds: messages with missing packets, and datagrams that
 * are slightly wrong.
 *
 * Each group of bad packets is followed by a good one, which must take the
 * receive that the bad ones must not take.
 *
 * timeout: 60
 * paths: wire
 */
#include "harness.h"
#include "grh.h"
#include "roce.h"

#define UC		0x20
#define UD_SEND_ONLY	0x64
#define UD_SEND_IMM	0x65
#define PSN		0xffffff
#define PKEY		0xffff
#define MTU		256
#define SRC_QPN		0x321

struct packet {
	struct vt_conf conf;
	struct vt_roce roce;
	struct vt_ep victim;
	struct ibv_sge to;
	uint32_t psn;
	uint8_t data[4 * MTU];
};

FIXTURE(uc)
{
	struct packet p;
};

FIXTURE(ud)
{
	struct packet p;
};

static int arm(struct packet *self)
{
	struct vt_addr peer = { .qpn = SRC_QPN, .psn = PSN };

	peer.gid = vt_roce_gid(&self->roce);
	return vt_ep_connect(&self->victim, &peer);
}

static void set_up(struct __test_metadata *_metadata, struct packet *self, enum ibv_qp_type type)
{
	self->conf = vt_defaults;
	self->conf.qp_type = type;
	self->conf.mtu = IBV_MTU_256;
	VT_SETUP(vt_roce_open(&self->roce));
	VT_SETUP(vt_ep_open(&self->victim, &self->conf, 0));
	VT_SETUP(arm(self));
	self->psn = PSN;
	self->to = vt_sge(&self->victim.buf, VT_GUARD, 8 * MTU);
	vt_fill(self->data, sizeof(self->data), 5, 0);
	ASSERT_EQ(0, vt_post_recv(&self->victim, 1, &self->to, 1));
}

static void tear_down(struct packet *self)
{
	vt_ep_close(&self->victim);
	vt_roce_close(&self->roce);
}

FIXTURE_SETUP(uc) { set_up(_metadata, &self->p, IBV_QPT_UC); }
FIXTURE_SETUP(ud) { set_up(_metadata, &self->p, IBV_QPT_UD); }
FIXTURE_TEARDOWN(uc) { tear_down(&self->p); }
FIXTURE_TEARDOWN(ud) { tear_down(&self->p); }

/* The next packet; if a WRITE begins with it, it has a RETH. */
static int send_uc(struct packet *self, int op, size_t len)
{
	struct vt_bth bth = {
		.opcode = UC + op, .flags = (-len & 3) << 4, .pkey = PKEY,
		.qpn = self->victim.qp->qp_num, .psn = self->psn++ & 0xffffff,
	};
	uint8_t packet[16 + sizeof(self->data)] = {};
	uint64_t va = htobe64(self->to.addr + 4 * MTU);
	uint32_t rest[2] = {
		htonl(self->victim.buf.mr->rkey), htonl(3 * MTU),
	};
	size_t reth = 0;

	if (op == VT_OP_WRITE_FIRST || op == VT_OP_WRITE_ONLY) {
		reth = 16;
		memcpy(packet, &va, 8);
		memcpy(packet + 8, rest, 8);
	}
	memcpy(packet + reth, self->data, len);
	return vt_roce_send(&self->roce, &bth, packet, reth + ((len + 3) & ~3));
}

/* The receive is still there, and takes a good message. */
static void expect_next(struct __test_metadata *_metadata,
			struct packet *self)
{
	struct ibv_wc wc;

	ASSERT_EQ(0, send_uc(self, VT_OP_SEND_ONLY, 100));
	ASSERT_EQ(0, vt_wait(self->victim.rcq, &wc));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(100, wc.byte_len);
	EXPECT_TRUE(vt_check_sges(&self->to, 1, 100, 5));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->victim.qp));
	ASSERT_EQ(0, vt_post_recv(&self->victim, 1, &self->to, 1));
}

/* Each list ends with a packet that must not complete anything. */
TEST_F(uc, incomplete_messages)
{
	/* -1: this packet is lost */
	static const int runs[][6] = {
		{ VT_OP_SEND_FIRST, -1, VT_OP_SEND_LAST, -2 },
		{ -1, VT_OP_SEND_MIDDLE, VT_OP_SEND_LAST, -2 },
		{ VT_OP_SEND_MIDDLE, -2 },
		{ VT_OP_SEND_LAST, -2 },
		{ VT_OP_SEND_FIRST, VT_OP_SEND_MIDDLE, -1, -2 },
		{ VT_OP_SEND_FIRST, VT_OP_SEND_FIRST, -2 },
		{ VT_OP_SEND_FIRST, VT_OP_WRITE_LAST, VT_OP_SEND_LAST, -2 },
		{ VT_OP_WRITE_FIRST, -1, VT_OP_WRITE_LAST, -2 },
		{ VT_OP_READ_REQUEST, -2 },
		{ VT_OP_ACK, -2 },
		{ VT_OP_CMP_SWAP, -2 },
	};
	int i, j;

	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		for (j = 0; runs[i][j] != -2; j++) {
			if (runs[i][j] == -1)
				self->p.psn++;
			else
				ASSERT_EQ(0, send_uc(&self->p, runs[i][j], MTU));
		}
		expect_next(_metadata, &self->p);
	}
}

/* After a gap of any size, or a step back, a whole message is accepted. */
TEST_F(uc, gaps)
{
	static const int gaps[] = { 1, 2, 1000, 0x7fffff, -1, -500 };
	int i;

	for (i = 0; i < ARRAY_SIZE(gaps); i++) {
		self->p.psn += gaps[i];
		expect_next(_metadata, &self->p);
	}
}

/* All three packets arrive: the message is received. */
TEST_F(uc, whole_messages)
{
	struct vt_buf *buf = &self->p.victim.buf;
	struct ibv_wc wc;
	int i;

	ASSERT_EQ(0, send_uc(&self->p, VT_OP_WRITE_FIRST, MTU));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_WRITE_MIDDLE, MTU));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_WRITE_LAST, MTU));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_FIRST, MTU));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_MIDDLE, MTU));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_LAST, 77));
	ASSERT_EQ(0, vt_wait(self->p.victim.rcq, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(2 * MTU + 77, wc.byte_len);
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(vt_check("written", buf->p + VT_GUARD +
				     (4 + i) * MTU, MTU, 5, 0));
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(vt_check("sent", buf->p + VT_GUARD + i * MTU,
				     i < 2 ? MTU : 77, 5, 0));
}

/* A MIDDLE shorter than the path MTU, a LAST longer than it */
TEST_F(uc, wrong_lengths)
{
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_FIRST, MTU - 4));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_LAST, 4));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_FIRST, MTU));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_LAST, MTU + 4));
	ASSERT_EQ(0, send_uc(&self->p, VT_OP_SEND_ONLY, MTU + 4));
	expect_next(_metadata, &self->p);
}

/* -- datagrams */

struct datagram {
	int opcode;
	uint16_t pkey;
	uint32_t qpn;
	uint32_t qkey;
	size_t len;	/* after the BTH */
};

static int send_ud(struct packet *self, const struct datagram *d)
{
	struct vt_bth bth = {
		.opcode = d->opcode, .pkey = d->pkey, .qpn = d->qpn,
		.psn = self->psn++ & 0xffffff,
	};
	uint8_t packet[VT_MAX_PAYLOAD] = {};
	uint32_t deth[2] = { htonl(d->qkey), htonl(SRC_QPN) };

	memcpy(packet, deth, sizeof(deth));
	memcpy(packet + sizeof(deth), self->data, sizeof(self->data));
	return vt_roce_send(&self->roce, &bth, packet, d->len);
}

static struct datagram good_one(struct packet *self)
{
	return (struct datagram){
		.opcode = UD_SEND_ONLY, .pkey = PKEY,
		.qpn = self->victim.qp->qp_num, .qkey = self->conf.qkey,
		.len = 8 + 100,
	};
}

static void expect_next_ud(struct __test_metadata *_metadata,
			   struct packet *self)
{
	struct datagram d = good_one(self);
	struct ibv_sge data;
	struct ibv_wc wc;

	ASSERT_EQ(0, send_ud(self, &d));
	ASSERT_EQ(0, vt_wait(self->victim.rcq, &wc));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(VT_GRH_LEN + 100, wc.byte_len);
	EXPECT_EQ(SRC_QPN, wc.src_qp);
	vt_sges_skip(&data, &self->to, 1, VT_GRH_LEN);
	EXPECT_TRUE(vt_check_sges(&data, 1, 100, 5));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->victim.qp));
	ASSERT_EQ(0, vt_post_recv(&self->victim, 1, &self->to, 1));
}

TEST_F(ud, not_quite_right)
{
	struct datagram d;
	int i, j;

	for (i = 0; i < 9; i++) {
		d = good_one(&self->p);
		if (i == 0)
			d.qkey++;
		if (i == 1)
			d.qkey |= 0x80000000;
		if (i == 2)
			d.pkey = 0x1234;
		if (i == 3)
			d.opcode = UC + VT_OP_SEND_ONLY;
		if (i == 4)
			d.opcode = VT_OP_SEND_ONLY;
		if (i == 5)
			d.qpn = 0xffffff;
		if (i == 6)
			d.len = 8 + 4100;
		if (i == 7)
			d.qpn = 1;
		self->p.roce.spoil_icrc = i == 8;
		for (j = 0; j < 3; j++)
			ASSERT_EQ(0, send_ud(&self->p, &d));
		self->p.roce.spoil_icrc = false;
		expect_next_ud(_metadata, &self->p);
	}
}

/*
 * Each packet of a train is checked separately: its headers may differ from those of the first one.
 * Here the others are for another type of QP.
 */
TEST_F(ud, train_of_others)
{
	static const uint8_t others[] = {
		VT_OP_READ_REQUEST, VT_OP_SEND_ONLY, VT_OP_WRITE_ONLY,
		UC + VT_OP_SEND_ONLY, UC + VT_OP_WRITE_ONLY,
	};
	/* the DETH, and 8 bytes, which another opcode interprets as a length to read */
	uint32_t data[4] = {
		htonl(self->p.conf.qkey), htonl(SRC_QPN), 1, htonl(64),
	};
	struct vt_bth bths[2] = {
		{ .opcode = UD_SEND_ONLY, .pkey = PKEY,
		  .qpn = self->p.victim.qp->qp_num },
	};
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < sizeof(others); i++) {
		bths[0].psn = self->p.psn++ & 0xffffff;
		bths[1] = bths[0];
		bths[1].opcode = others[i];
		ASSERT_EQ(0, vt_roce_train(&self->p.roce, bths, 2, data,
					   sizeof(data), 0));
		ASSERT_EQ(0, vt_wait(self->p.victim.rcq, &wc));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(VT_GRH_LEN + 8, wc.byte_len);
		ASSERT_EQ(0, vt_post_recv(&self->p.victim, 1, &self->p.to, 1));
		expect_next_ud(_metadata, &self->p);
	}
	/* but two packets for one QP are both accepted */
	ASSERT_EQ(0, vt_post_recv(&self->p.victim, 1, &self->p.to, 1));
	bths[1].opcode = UD_SEND_ONLY;
	ASSERT_EQ(0, vt_roce_train(&self->p.roce, bths, 2, data, sizeof(data),
				   0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->p.victim.rcq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->p.victim.rcq, 1));
}

/* The packet ends in the DETH, or in the immediate data after it. */
TEST_F(ud, truncated)
{
	struct datagram d = good_one(&self->p);
	size_t len;

	for (len = 0; len < 8; len++) {
		d.len = len;
		ASSERT_EQ(0, send_ud(&self->p, &d));
	}
	d.opcode = UD_SEND_IMM;
	for (len = 0; len < 12; len++) {
		d.len = len;
		ASSERT_EQ(0, send_ud(&self->p, &d));
	}
	expect_next_ud(_metadata, &self->p);
}

/* -- an address that is added and removed */

#define ADDRESS	"10.1.0.77"

/*
 * The host keeps the address after the link has lost it, so packets to it still reach the socket.
 */
static int address(const char *what, const char *netdev)
{
	char command[128];

	snprintf(command, sizeof(command), "ip addr %s " ADDRESS "/32 dev %s", what, netdev);
	return system(command);
}

static bool has_gid(struct packet *self)
{
	struct ibv_gid_entry gids[64];
	in_addr_t addr = inet_addr(ADDRESS);
	int i, n = ibv_query_gid_table(self->victim.dev.ctx, gids, ARRAY_SIZE(gids), 0);

	for (i = 0; i < n; i++)
		if (!memcmp(gids[i].gid.raw + 12, &addr, sizeof(addr)))
			return true;
	return false;
}

/* The core adds and removes GIDs after the address. */
static bool gid_becomes(struct packet *self, bool there)
{
	return VT_UNTIL(has_gid(self) == there);
}

TEST_F(ud, address_that_goes)
{
	struct ibv_context *ctx = self->p.victim.dev.ctx;
	in_addr_t own = self->p.roce.daddr;
	struct datagram d;
	int64_t wrong;
	int i;

	d = good_one(&self->p);
	ASSERT_EQ(0, address("add", "lo"));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, address("add", getenv("SMR_NETDEV")));
		ASSERT_TRUE(gid_becomes(&self->p, true));
		self->p.roce.daddr = inet_addr(ADDRESS);
		expect_next_ud(_metadata, &self->p);
		ASSERT_EQ(0, address("del", getenv("SMR_NETDEV")));
		ASSERT_TRUE(gid_becomes(&self->p, false));
		wrong = vt_counter_now(ctx, "rx_wrong_source");
		ASSERT_EQ(0, send_ud(&self->p, &d));
		EXPECT_TRUE(vt_no_completion(self->p.victim.rcq, 50));
		EXPECT_EQ(wrong + 1, vt_counter_now(ctx, "rx_wrong_source"));
		self->p.roce.daddr = own;
		expect_next_ud(_metadata, &self->p);
	}
	address("del", "lo");
}

VT_HARNESS_MAIN
