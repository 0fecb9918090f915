// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues, tables of them, and QPs that spread their frames over a table: the hash, with known
 * values; states; refused requests; and the order in which objects are destroyed.
 *
 * timeout: 120
 * paths: veth
 */
#include "steer.h"

#include <stddef.h>
#include <sys/wait.h>

#include "netdev.h"

#define LOG	3
#define QUEUES	(1 << LOG)
#define DEPTH	16
#define IPV4	(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define IPV6	(IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define TCP	(IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define UDP	(IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

/* The key of "Verifying the RSS hash calculation", with which drivers for Windows are tested */
static uint8_t known_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* The objects that spread frames over queues with one CQ, in the domain of an endpoint */
struct spread {
	struct vt_raw *raw;
	struct ibv_cq *cq;
	struct ibv_wq *wq[QUEUES];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
};

static struct ibv_wq *make_wq(struct vt_raw *raw, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = DEPTH, .max_sge = 2,
		.pd = raw->ep.pd, .cq = cq,
	};

	return ibv_create_wq(raw->ep.dev.ctx, &init);
}

static int wq_state(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state,
	};

	return ibv_modify_wq(wq, &attr);
}

static struct ibv_rwq_ind_table *make_table(struct vt_raw *raw, struct ibv_wq **wq, uint32_t log)
{
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = log, .ind_tbl = wq };

	return ibv_create_rwq_ind_table(raw->ep.dev.ctx, &init);
}

/* Attributes of a QP that only receives */
static struct ibv_qp_init_attr_ex qp_attr(struct vt_raw *raw, struct ibv_rwq_ind_table *table,
					  uint64_t fields)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = raw->ep.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(known_key),
			.rx_hash_key = known_key,
			.rx_hash_fields_mask = fields,
		},
	};
}

static struct ibv_qp *make_qp(struct vt_raw *raw, struct ibv_rwq_ind_table *table, uint64_t fields)
{
	struct ibv_qp_init_attr_ex attr = qp_attr(raw, table, fields);

	return ibv_create_qp_ex(raw->ep.dev.ctx, &attr);
}

/* Another QP over the same table, which gets the netdev's frames */
static int spread_by(struct spread *s, uint64_t fields, const uint8_t *mac)
{
	struct vt_raw qp = *s->raw;

	if (s->flow)
		ibv_destroy_flow(s->flow);
	s->flow = NULL;
	if (s->qp && ibv_destroy_qp(s->qp))
		return -EBUSY;
	s->qp = make_qp(s->raw, s->table, fields);
	if (!s->qp)
		return -errno;
	qp.ep.qp = s->qp;
	s->flow = vt_rule_mac(&qp, mac, 0, 0);
	return s->flow ? 0 : -errno;
}

static int spread_open(struct spread *s, struct vt_raw *raw)
{
	int i;

	memset(s, 0, sizeof(*s));
	s->raw = raw;
	s->cq = ibv_create_cq(raw->ep.dev.ctx, 128, NULL, NULL, 0);
	if (!s->cq)
		return -errno;
	for (i = 0; i < QUEUES; i++) {
		s->wq[i] = make_wq(raw, s->cq);
		if (!s->wq[i])
			return -errno;
		if (wq_state(s->wq[i], IBV_WQS_RDY))
			return -EIO;
	}
	s->table = make_table(raw, s->wq, LOG);
	return s->table ? 0 : -errno;
}

static int spread_close(struct spread *s)
{
	int i, ret = 0;

	if (s->flow)
		ret |= ibv_destroy_flow(s->flow);
	if (s->qp)
		ret |= ibv_destroy_qp(s->qp);
	if (s->table)
		ret |= ibv_destroy_rwq_ind_table(s->table);
	for (i = 0; i < QUEUES; i++)
		if (s->wq[i])
			ret |= ibv_destroy_wq(s->wq[i]);
	return ret | ibv_destroy_cq(s->cq);
}

/* Post a receive to a queue: into a slot of its own. */
static int recv_to(struct spread *s, int queue)
{
	struct ibv_sge sge = vt_sge(&s->raw->ep.buf, (1 + queue) * VT_RAW_ROOM, VT_RAW_ROOM);
	struct ibv_recv_wr wr = { .wr_id = queue, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_wq_recv(s->wq[queue], &wr, &bad);
}

static int recv_to_all(struct spread *s)
{
	int i, ret = 0;

	for (i = 0; i < QUEUES; i++)
		ret |= recv_to(s, i);
	return ret;
}

/* Send a frame. Return: the queue that got it, and which has a receive again; -1: wrong */
static int queue_of(struct spread *s, struct vt_raw *from, const struct vt_frame *frame)
{
	uint8_t want[VT_RAW_ROOM];
	size_t len = vt_frame_write(frame, want);
	struct ibv_wc wc;

	if (vt_raw_send(from, frame) != IBV_WC_SUCCESS || vt_wait(s->cq, &wc))
		return -1;
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV || wc.byte_len != len ||
	    wc.wr_id >= QUEUES || wc.qp_num != s->wq[wc.wr_id]->wq_num ||
	    memcmp(vt_raw_slot(s->raw, 1 + wc.wr_id), want, len) ||
	    !vt_no_completion(s->cq, 0))
		return -1;
	return recv_to(s, wc.wr_id) ? -1 : (int)wc.wr_id;
}

TEST_F(steer, capabilities)
{
	struct ibv_device_attr_ex attr = {};

	ASSERT_EQ(0, ibv_query_device_ex(self->a.ep.dev.ctx, NULL, &attr));
	EXPECT_EQ(1 << IBV_QPT_RAW_PACKET, attr.rss_caps.supported_qpts);
	EXPECT_LE(QUEUES, attr.rss_caps.max_rwq_indirection_tables);
	EXPECT_EQ(1024, attr.rss_caps.max_rwq_indirection_table_size);
	EXPECT_EQ(IPV4 | IPV6 | TCP | UDP, attr.rss_caps.rx_hash_fields_mask);
	EXPECT_EQ(IBV_RX_HASH_FUNC_TOEPLITZ, attr.rss_caps.rx_hash_function);
	EXPECT_LE(QUEUES, attr.max_wq_type_rq);
}

/* -- the hash */

#define ADDR(a, b, c, d)	((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static const struct {
	uint32_t dst, src;
	uint16_t dport, sport;
	uint32_t addresses, ports;
} ip4[] = {
	{ ADDR(161, 142, 100, 80), ADDR(66, 9, 149, 187), 1766, 2794, 0x323e8fc2, 0x51ccc178 },
	{ ADDR(65, 69, 140, 83), ADDR(199, 92, 111, 2), 4739, 14230, 0xd718262a, 0xc626b0ea },
	{ ADDR(12, 22, 207, 184), ADDR(24, 19, 198, 95), 38024, 12898, 0xd2d0a5de, 0x5c2b394a },
	{ ADDR(209, 142, 163, 6), ADDR(38, 27, 205, 30), 2217, 48228, 0x82989176, 0xafc7327f },
	{ ADDR(202, 188, 127, 2), ADDR(153, 39, 163, 191), 1303, 44251, 0x5d1809c5, 0x10e828a2 },
};

static const struct {
	const char *dst, *src;
	uint16_t dport, sport;
	uint32_t addresses, ports;
} ip6[] = {
	{ "3ffe:2501:200:3::1", "3ffe:2501:200:1fff::7", 1766, 2794, 0x2cc18cd5, 0x40207d3d },
	{ "ff02::1", "3ffe:501:8::260:97ff:fe40:efab", 4739, 14230, 0x0f0c461c, 0xdde51bbf },
	{ "fe80::200:f8ff:fe21:67cf", "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 38024, 44251,
	  0x4b61e985, 0x02d1feef },
};

static struct vt_frame known_ip4(const struct vt_frame *like, int i, uint8_t proto)
{
	struct vt_frame frame = *like;

	frame.ip4.dst = ip4[i].dst;
	frame.ip4.src = ip4[i].src;
	frame.dport = ip4[i].dport;
	frame.sport = ip4[i].sport;
	frame.proto = proto;
	return frame;
}

static struct vt_frame known_ip6(const struct vt_frame *like, int i, uint8_t proto)
{
	struct vt_frame frame = *like;

	frame.type = 0x86dd;
	inet_pton(AF_INET6, ip6[i].dst, frame.ip6.dst);
	inet_pton(AF_INET6, ip6[i].src, frame.ip6.src);
	frame.dport = ip6[i].dport;
	frame.sport = ip6[i].sport;
	frame.proto = proto;
	return frame;
}

TEST_F(steer, known_hashes)
{
	static const struct {
		uint64_t fields;
		uint8_t proto;
		bool ports;
	} tries[] = {
		{ 0, 17, false }, { TCP, 6, true }, { UDP, 17, true },
		/* ports of the other protocol are ignored */
		{ TCP, 17, false }, { UDP, 6, false },
	};
	const uint8_t *mac = self->frame.dst;
	struct vt_frame frame;
	struct spread s;
	int i, t;

	VT_SETUP(spread_open(&s, &self->a));
	ASSERT_EQ(0, recv_to_all(&s));
	for (t = 0; t < ARRAY_SIZE(tries); t++) {
		ASSERT_EQ(0, spread_by(&s, IPV4 | tries[t].fields, mac));
		for (i = 0; i < ARRAY_SIZE(ip4); i++) {
			frame = known_ip4(&self->frame, i, tries[t].proto);
			frame.vlan = i % 2 ? 7 : -1;
			EXPECT_EQ((tries[t].ports ? ip4[i].ports : ip4[i].addresses) % QUEUES,
				  queue_of(&s, &self->b, &frame)) TH_LOG("%d %d", t, i);
		}
		ASSERT_EQ(0, spread_by(&s, IPV6 | tries[t].fields, mac));
		for (i = 0; i < ARRAY_SIZE(ip6); i++) {
			frame = known_ip6(&self->frame, i, tries[t].proto);
			EXPECT_EQ((tries[t].ports ? ip6[i].ports : ip6[i].addresses) % QUEUES,
				  queue_of(&s, &self->b, &frame)) TH_LOG("%d %d", t, i);
		}
	}
	EXPECT_EQ(0, spread_close(&s));
}

/* Only the requested fields are hashed; a frame that has none of them goes to the first queue. */
TEST_F(steer, fields)
{
	const uint8_t *mac = self->frame.dst;
	struct vt_frame frame;
	int queue, i, others;
	struct spread s;

	VT_SETUP(spread_open(&s, &self->a));
	ASSERT_EQ(0, recv_to_all(&s));
	ASSERT_EQ(0, spread_by(&s, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_PORT_UDP, mac));
	queue = queue_of(&s, &self->b, &self->frame);
	ASSERT_LE(0, queue);
	frame = self->frame;
	frame.sport ^= 0x5555;
	frame.ip4.dst ^= 0x12345678;
	frame.ip4.ttl = 3;
	EXPECT_EQ(queue, queue_of(&s, &self->b, &frame));
	for (i = 0, others = 0; i < 16; i++) {
		frame.dport++;
		others += queue_of(&s, &self->b, &frame) != queue;
	}
	EXPECT_LE(4, others);
	/* a fragment has no ports: all fragments of a packet go to the same queue */
	frame.ip4.frag = 5;
	queue = queue_of(&s, &self->b, &frame);
	frame.dport ^= 0x7777;
	EXPECT_EQ(queue, queue_of(&s, &self->b, &frame));
	frame.type = 0x88b5;
	EXPECT_EQ(0, queue_of(&s, &self->b, &frame));
	frame.type = 0x86dd;
	frame.proto = 58;
	EXPECT_EQ(0, queue_of(&s, &self->b, &frame));
	EXPECT_EQ(0, spread_close(&s));
}

/* -- states, and which queue gets which frame */

static int flushed(struct spread *s, int queue)
{
	struct ibv_wc wc;

	return !vt_wait(s->cq, &wc) && wc.status == IBV_WC_WR_FLUSH_ERR &&
	       wc.wr_id == queue && wc.qp_num == s->wq[queue]->wq_num;
}

TEST_F(steer, states)
{
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_ERR, .curr_wq_state = IBV_WQS_RESET,
	};
	struct ibv_wq_attr flags = {
		.attr_mask = IBV_WQ_ATTR_FLAGS, .flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING,
	};
	struct spread s;
	int queue;

	VT_SETUP(spread_open(&s, &self->a));
	ASSERT_EQ(0, spread_by(&s, IPV4, self->frame.dst));
	ASSERT_EQ(0, recv_to_all(&s));
	queue = queue_of(&s, &self->b, &self->frame);
	ASSERT_LE(0, queue);
	/* it is flushed, and so are receives that are posted from now on */
	EXPECT_EQ(EINVAL, ibv_modify_wq(s.wq[queue], &attr));
	EXPECT_EQ(EOPNOTSUPP, ibv_modify_wq(s.wq[queue], &flags));
	EXPECT_EQ(0, wq_state(s.wq[queue], IBV_WQS_RDY));
	EXPECT_EQ(0, wq_state(s.wq[queue], IBV_WQS_ERR));
	EXPECT_TRUE(flushed(&s, queue));
	EXPECT_EQ(0, recv_to(&s, queue));
	EXPECT_TRUE(flushed(&s, queue));
	EXPECT_EQ(EINVAL, wq_state(s.wq[queue], IBV_WQS_RDY));
	/* its frames are dropped, those of others are not */
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	self->frame.type = 0x88b5;
	if (queue)
		EXPECT_EQ(0, queue_of(&s, &self->b, &self->frame));
	self->frame.type = 0x0800;
	/*
	 * RESET removes completions that were not polled: that of the second receive is in the CQ,
	 * or comes. The next one is that of a frame. And receives are refused.
	 */
	EXPECT_EQ(0, recv_to(&s, queue));
	EXPECT_EQ(0, recv_to(&s, queue));
	EXPECT_TRUE(flushed(&s, queue));
	EXPECT_EQ(0, wq_state(s.wq[queue], IBV_WQS_RESET));
	EXPECT_EQ(EINVAL, recv_to(&s, queue));
	EXPECT_EQ(EINVAL, wq_state(s.wq[queue], IBV_WQS_ERR));
	EXPECT_EQ(0, wq_state(s.wq[queue], IBV_WQS_RDY));
	EXPECT_EQ(0, recv_to(&s, queue));
	EXPECT_EQ(queue, queue_of(&s, &self->b, &self->frame));
	EXPECT_EQ(0, spread_close(&s));
}

static int post_n(struct spread *s, int queue, int n)
{
	int ret = 0;

	while (n-- && !ret)
		ret = recv_to(s, queue);
	return ret;
}

/*
 * A queue takes as many receives as its depth, again and again. Without a receive, frames are
 * dropped.
 */
TEST_F(steer, depth)
{
	static const uint8_t other[6] = { 2, 9, 9, 9, 9, 9 };
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = DEPTH, .max_sge = 2, .pd = self->a.ep.pd,
	};
	struct vt_frame later = self->frame;
	struct spread s;
	int i;

	VT_SETUP(spread_open(&s, &self->a));
	init.cq = s.cq;
	ASSERT_EQ(0, ibv_destroy_rwq_ind_table(s.table));
	ASSERT_EQ(0, ibv_destroy_wq(s.wq[0]));
	s.wq[0] = ibv_create_wq(self->a.ep.dev.ctx, &init);
	ASSERT_NE(NULL, s.wq[0]);
	EXPECT_LE(DEPTH, init.max_wr);
	EXPECT_LE(2, init.max_sge);
	ASSERT_EQ(0, wq_state(s.wq[0], IBV_WQS_RDY));
	s.table = make_table(&self->a, s.wq, 0);
	ASSERT_NE(NULL, s.table);
	/* one queue needs no fields */
	ASSERT_EQ(0, spread_by(&s, 0, self->frame.dst));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	/* a later frame, for another QP, has come: so this one was dropped */
	memcpy(later.dst, other, 6);
	self->flows[0] = vt_rule_mac(&self->a, other, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &later));
	EXPECT_TRUE(qp_got(&self->a, &later));
	EXPECT_TRUE(vt_no_completion(s.cq, 0));
	EXPECT_EQ(0, post_n(&s, 0, init.max_wr));
	EXPECT_EQ(ENOMEM, recv_to(&s, 0));
	for (i = 0; i < 3 * (int)init.max_wr; i++)
		EXPECT_EQ(0, queue_of(&s, &self->b, &self->frame));
	EXPECT_EQ(0, spread_close(&s));
}

/* A default rule; and the QP can also send. */
TEST_F(steer, other_rules_and_sends)
{
	struct ibv_qp_init_attr_ex attr;
	struct vt_raw sender;
	struct spread s;

	VT_SETUP(spread_open(&s, &self->a));
	ASSERT_EQ(0, recv_to_all(&s));
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.send_cq = self->a.ep.scq;
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = 4, .max_send_sge = 1 };
	s.qp = ibv_create_qp_ex(self->a.ep.dev.ctx, &attr);
	ASSERT_NE(NULL, s.qp);
	EXPECT_LE(4, attr.cap.max_send_wr);
	EXPECT_EQ(0, attr.cap.max_recv_wr);
	sender = self->a;
	sender.ep.qp = s.qp;
	s.flow = rule_of_type(&sender, IBV_FLOW_ATTR_ALL_DEFAULT);
	ASSERT_NE(NULL, s.flow);
	EXPECT_LE(0, queue_of(&s, &self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
	ASSERT_EQ(0, ibv_destroy_flow(s.flow));
	/* frames that it sends */
	ASSERT_EQ(0, vt_raw_ready(&sender));
	self->flows[0] = rule_udp(&self->b, PORT, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->b, 1));
	memset(self->frame.dst, 0xff, 6);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&sender, &self->frame));
	EXPECT_TRUE(got_ours(&self->b, &self->frame));
	s.flow = NULL;
	EXPECT_EQ(0, spread_close(&s));
}

/* -- refused requests, and destruction */

static int qp_errno(struct vt_raw *raw, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = ibv_create_qp_ex(raw->ep.dev.ctx, attr);

	if (qp)
		ibv_destroy_qp(qp);
	return qp ? 0 : errno;
}

TEST_F(steer, refused_qps)
{
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_qp_init_attr_ex attr;
	struct spread s;
	uint64_t fields;
	int i;

	static const struct {
		uint64_t fields;
		int err;
	} tries[] = {
		{ IPV4 | IPV6, EINVAL }, { IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV6, EINVAL },
		{ IPV4 | TCP | UDP, EINVAL }, { 0, EINVAL },
		{ IPV4 | IBV_RX_HASH_IPSEC_SPI, EOPNOTSUPP }, { 1ull << 40 | IPV4, EOPNOTSUPP },
		{ IPV4 | 1ull << 31, EOPNOTSUPP },
		{ TCP, 0 }, { IPV6 | UDP, 0 }, { IBV_RX_HASH_DST_IPV6, 0 },
	};

	VT_SETUP(spread_open(&s, &self->a));
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		fields = tries[i].fields;
		attr = qp_attr(&self->a, s.table, fields);
		EXPECT_EQ(tries[i].err, qp_errno(&self->a, &attr)) TH_LOG("%d", i);
	}
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.rx_hash_conf.rx_hash_function = 2;
	EXPECT_EQ(EOPNOTSUPP, qp_errno(&self->a, &attr));
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.rx_hash_conf.rx_hash_key_len = 39;
	EXPECT_EQ(EINVAL, qp_errno(&self->a, &attr));
	attr.rx_hash_conf.rx_hash_key_len = 41;
	EXPECT_EQ(EINVAL, qp_errno(&self->a, &attr));
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_RX_HASH;
	EXPECT_EQ(EINVAL, qp_errno(&self->a, &attr));
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_IND_TABLE;
	EXPECT_EQ(EINVAL, qp_errno(&self->a, &attr));
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.cap.max_recv_wr = 1;
	EXPECT_EQ(EINVAL, qp_errno(&self->a, &attr));
	attr = qp_attr(&self->a, s.table, IPV4);
	attr.qp_type = IBV_QPT_UD;
	EXPECT_EQ(EOPNOTSUPP, qp_errno(&self->a, &attr));
	/* it has no receive queue of its own */
	s.qp = make_qp(&self->a, s.table, IPV4);
	ASSERT_NE(NULL, s.qp);
	EXPECT_EQ(EINVAL, ibv_post_recv(s.qp, &wr, &bad));
	EXPECT_EQ(0, spread_close(&s));
}

static int wq_errno(struct vt_raw *raw, struct ibv_wq_init_attr *init)
{
	struct ibv_wq *wq = ibv_create_wq(raw->ep.dev.ctx, init);

	if (wq)
		ibv_destroy_wq(wq);
	return wq ? 0 : errno;
}

TEST_F(steer, refused_queues)
{
	struct ibv_device_attr *limit = &self->a.ep.dev.attr;
	const struct ibv_wq_init_attr good = {
		.wq_type = IBV_WQT_RQ, .max_wr = DEPTH, .max_sge = 2,
		.pd = self->a.ep.pd, .cq = self->a.ep.rcq,
	};
	struct ibv_wq_init_attr init = good;
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq[2], *many[1 << 11];
	int i;

	EXPECT_EQ(0, wq_errno(&self->a, &init));
	init.max_wr = limit->max_qp_wr + 1;
	EXPECT_EQ(EINVAL, wq_errno(&self->a, &init));
	init.max_wr = 0;
	EXPECT_EQ(EINVAL, wq_errno(&self->a, &init));
	init = good;
	init.max_sge = limit->max_sge + 1;
	EXPECT_EQ(EINVAL, wq_errno(&self->a, &init));
	init = good;
	init.wq_type = IBV_WQT_RQ + 1;
	EXPECT_EQ(EINVAL, wq_errno(&self->a, &init));
	init = good;
	init.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	init.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	EXPECT_EQ(EOPNOTSUPP, wq_errno(&self->a, &init));
	init = good;
	init.comp_mask = IBV_WQ_INIT_ATTR_RESERVED;
	EXPECT_EQ(EOPNOTSUPP, wq_errno(&self->a, &init));
	/* tables */
	for (i = 0; i < 2; i++) {
		init = good;
		wq[i] = ibv_create_wq(self->a.ep.dev.ctx, &init);
		ASSERT_NE(NULL, wq[i]);
	}
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = wq[i % 2];
	EXPECT_EQ(NULL, make_table(&self->a, many, 11));
	EXPECT_EQ(EINVAL, errno);
	table = make_table(&self->a, many, 10);
	EXPECT_NE(NULL, table);
	EXPECT_EQ(0, ibv_destroy_rwq_ind_table(table));
	EXPECT_EQ(NULL, make_table(&self->a, many, 30));
	EXPECT_EQ(EINVAL, errno);
	wq[1]->handle += 1000;
	EXPECT_EQ(NULL, make_table(&self->a, wq, 1));
	wq[1]->handle -= 1000;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, ibv_destroy_wq(wq[i]));
}

TEST_F(steer, nothing_goes_while_it_is_used)
{
	struct spread s;

	VT_SETUP(spread_open(&s, &self->a));
	ASSERT_EQ(0, spread_by(&s, IPV4, self->frame.dst));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(s.qp));
	EXPECT_EQ(EBUSY, ibv_destroy_rwq_ind_table(s.table));
	EXPECT_EQ(EBUSY, ibv_destroy_wq(s.wq[3]));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(s.cq));
	/* they work as before */
	ASSERT_EQ(0, recv_to_all(&s));
	EXPECT_LE(0, queue_of(&s, &self->b, &self->frame));
	EXPECT_EQ(0, spread_close(&s));
}

/* Processes exit in the middle of traffic, with all these objects. */
TEST_F(steer, process_that_ends)
{
	struct vt_raw raw;
	struct spread s;
	int status, i, n;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid) {
			status = vt_raw_open(&raw, 0, 0);
			if (!status)
				status = spread_open(&s, &raw);
			if (!status)
				status = spread_by(&s, IPV4 | UDP, self->frame.dst);
			if (!status)
				status = recv_to_all(&s);
			usleep(1000 * i);
			_exit(!!status);
		}
		for (n = 0; !waitpid(pid, &status, WNOHANG); n++) {
			self->frame.sport = n;
			EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
		}
		EXPECT_EQ(0, status);
	}
}

/*
 * The link is removed while all of this is in use, a QP waits for its rate limit, and counters
 * count.
 */
TEST(link_that_goes)
{
	struct ibv_qp_rate_limit_attr limit = {
		.rate_limit = 1, .max_burst_sz = 1, .typical_pkt_sz = 1,
	};
	struct ibv_counters_init_attr none = {};
	struct ibv_flow_spec_counter_action *count;
	const uint8_t mac[6] = { 2, 9, 9, 9, 9, 9 };
	struct ibv_counters *counters;
	struct vt_rule rule;
	struct vt_raw raw;
	struct spread s;
	uint64_t begin;
	int i;

	VT_SETUP(vt_own_link_add());
	VT_SETUP(vt_raw_open(&raw, 0, 0));
	VT_SETUP(spread_open(&s, &raw));
	ASSERT_EQ(0, spread_by(&s, IPV4, mac));
	ASSERT_EQ(0, recv_to_all(&s));
	counters = ibv_create_counters(raw.ep.dev.ctx, &none);
	ASSERT_NE(NULL, counters);
	vt_rule_normal(&rule, 0, 0);
	count = vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_COUNT, sizeof(*count));
	count->counters = counters;
	rule_add_udp(&rule, PORT);
	ASSERT_NE(NULL, vt_rule_apply(&raw, &rule));
	ASSERT_EQ(0, ibv_modify_qp_rate_limit(raw.ep.qp, &limit));
	memset(vt_raw_slot(&raw, 0), 2, 14);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vt_raw_post(&raw, 1000, 1, 0));
	begin = vt_now_ms();
	ASSERT_EQ(0, vt_own_link_del());
	EXPECT_GT(VT_TIMEOUT_MS, vt_now_ms() - begin);
	/* the process still has its objects, and its calls return */
	spread_close(&s);
	vt_raw_close(&raw);
	system("ip link del " VT_OWN_NETDEV);
}

VT_HARNESS_MAIN
