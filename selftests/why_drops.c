// SPDX-License-Identifier: GPL-2.0
/*
 * Each reason for which a packet is dropped after its QP was found (kernel/uapi/softmr-why.h): the owner of the QP can
 * read it, and a sender of many bad packets does not fill the log. If a reason has no function here, this file does not
 * compile.
 *
 * break: qemu-newest
 * timeout: 60
 * paths: wire
 */
#include "harness.h"

#include <time.h>

#include "roce.h"
#include "why.h"

#define UC_SEND_ONLY	0x24
#define UD_SEND_ONLY	0x64
#define PKEY		0xffff
#define PSN		0x1000
#define LEN		100
#define CNP_RESERVED	16
#define RETH		16
#define MESSAGE_MAX	0x80000000u
#define MANY		300

#define WHY(name)	enum { tested_##name }; TEST_F(drop, name)
#define ELSEWHERE(name, text)	enum { tested_##name };

FIXTURE(drop)
{
	struct vt_conf conf;
	struct vt_roce roce;
	struct vt_ep rc;
	struct vt_ep ud;
	union ibv_gid from;
	uint8_t data[2 * LEN];
};

static int connect_to(struct vt_ep *ep, union ibv_gid gid)
{
	return vt_ep_connect(ep, &(struct vt_addr){ .gid = gid, .qpn = 0x321, .psn = PSN });
}

FIXTURE_SETUP(drop)
{
	VT_SETUP(vt_roce_open(&self->roce));
	self->from = vt_roce_gid(&self->roce);
	self->conf = vt_defaults;
	VT_SETUP(vt_ep_open(&self->rc, &self->conf, 0));
	self->conf.qp_type = IBV_QPT_UD;
	VT_SETUP(vt_ep_open(&self->ud, &self->conf, 0));
}

FIXTURE_TEARDOWN(drop)
{
	vt_ep_close(&self->ud);
	vt_ep_close(&self->rc);
	vt_roce_close(&self->roce);
}

static struct vt_bth bth_for(const struct vt_ep *ep, int opcode)
{
	return (struct vt_bth){ .opcode = opcode, .pkey = PKEY, .qpn = ep->qp->qp_num, .psn = PSN };
}

static int send_datagram(FIXTURE_DATA(drop) *self, uint32_t qkey)
{
	struct vt_bth bth = bth_for(&self->ud, UD_SEND_ONLY);
	uint32_t deth[2] = { htonl(qkey), htonl(0x321) };

	memcpy(self->data, deth, sizeof(deth));
	return vt_roce_send(&self->roce, &bth, self->data, sizeof(deth) + LEN);
}

/* The packet becomes the last reason of its QP's context: no status, no work request. */
#define EXPECT_DROPPED(ep, name, counter, send) ({				\
	int64_t _before = vt_counter_now((ep)->dev.ctx, counter);		\
	static struct smr_abi_why _rec;						\
										\
	ASSERT_EQ(0, send);							\
	EXPECT_TRUE(vt_counter_wait((ep)->dev.ctx, counter, _before + 1));	\
	ASSERT_EQ(0, vt_why_last((ep)->dev.ctx, &_rec));			\
	EXPECT_EQ((uint32_t)SMR_WHY_##name, _rec.id);				\
	EXPECT_EQ((ep)->qp->qp_num, _rec.qpn);					\
	EXPECT_EQ(0, _rec.error);						\
	EXPECT_EQ(0, _rec.wr_id);						\
	EXPECT_EQ(0, _rec.tid);							\
	EXPECT_TRUE(vt_why_reads(&_rec));					\
	&_rec;									\
})

#define EXPECT_NUM(rec, i, value) EXPECT_EQ((uint64_t)(value), (rec)->num[i])
#define EXPECT_FROM(rec) EXPECT_EQ(0, memcmp((rec)->peer, self->from.raw, 16))

WHY(DROP_STATE)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);
	struct smr_abi_why *rec;

	rec = EXPECT_DROPPED(&self->rc, DROP_STATE, "rx_dropped", vt_roce_send(&self->roce, &bth, self->data, LEN));
	EXPECT_NUM(rec, 0, VT_OP_SEND_ONLY);
	EXPECT_NUM(rec, 1, vt_qp_state(self->rc.qp));
	EXPECT_FROM(rec);
}

WHY(DROP_SOURCE)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	self->from.raw[15] ^= 0x40;
	memcpy(&self->roce.saddr, self->from.raw + 12, 4);
	EXPECT_FROM(EXPECT_DROPPED(&self->rc, DROP_SOURCE, "rx_wrong_source",
				   vt_roce_send(&self->roce, &bth, self->data, LEN)));
}

WHY(DROP_PKEY)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);
	struct smr_abi_why *rec;

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	bth.pkey = 0x1234;
	rec = EXPECT_DROPPED(&self->rc, DROP_PKEY, "rx_bad_pkey", vt_roce_send(&self->roce, &bth, self->data, LEN));
	EXPECT_NUM(rec, 0, 0x1234);
	EXPECT_FROM(rec);
}

WHY(DROP_QKEY)
{
	struct smr_abi_why *rec;

	ASSERT_EQ(0, connect_to(&self->ud, self->from));
	rec = EXPECT_DROPPED(&self->ud, DROP_QKEY, "rx_bad_qkey", send_datagram(self, self->conf.qkey + 1));
	EXPECT_NUM(rec, 0, self->conf.qkey + 1);
	EXPECT_NUM(rec, 1, self->conf.qkey);
}

WHY(DROP_NO_RECV)
{
	ASSERT_EQ(0, connect_to(&self->ud, self->from));
	EXPECT_NUM(EXPECT_DROPPED(&self->ud, DROP_NO_RECV, "rx_no_receive", send_datagram(self, self->conf.qkey)), 0, LEN);
}

/* UC loses the message, as UD does. */
TEST_F(drop, no_receive_on_uc)
{
	struct vt_bth bth;
	struct vt_ep uc;

	VT_SETUP(vt_ep_open(&uc, &VT_CONF(.qp_type = IBV_QPT_UC), 0));
	ASSERT_EQ(0, connect_to(&uc, self->from));
	bth = bth_for(&uc, UC_SEND_ONLY);
	EXPECT_NUM(EXPECT_DROPPED(&uc, DROP_NO_RECV, "rx_no_receive",
				  vt_roce_send(&self->roce, &bth, self->data, LEN)), 0, LEN);
	vt_ep_close(&uc);
}

/* A CNP has 16 bytes, and no payload. */
WHY(DROP_HEADER)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_CNP);

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	EXPECT_NUM(EXPECT_DROPPED(&self->rc, DROP_HEADER, "rx_bad_header",
				  vt_roce_send(&self->roce, &bth, self->data, CNP_RESERVED + 4)), 0, 4);
}

WHY(DROP_ICRC)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	self->roce.spoil_icrc = true;
	EXPECT_NUM(EXPECT_DROPPED(&self->rc, DROP_ICRC, "rx_bad_icrc", vt_roce_send(&self->roce, &bth, self->data, LEN)),
		   0, VT_OP_SEND_ONLY);
}

/* A datagram to an RC QP, whose state has nothing to do with it */
WHY(DROP_SERVICE)
{
	struct vt_bth bth = bth_for(&self->rc, UD_SEND_ONLY);
	struct smr_abi_why *rec;

	rec = EXPECT_DROPPED(&self->rc, DROP_SERVICE, "rx_dropped",
			     vt_roce_send(&self->roce, &bth, self->data, 8 + LEN));
	EXPECT_NUM(rec, 0, UD_SEND_ONLY);
	EXPECT_NUM(rec, 1, IBV_QPT_RC);
	EXPECT_FROM(rec);
}

/* It is of no process: root reads it from a log of the namespace, once a second. */
WHY(DROP_NO_QP)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);
	int64_t before = vt_counter_now(self->rc.dev.ctx, "rx_unknown_qpn");
	char cmd[160];

	bth.qpn ^= 0x400000;
	snprintf(cmd, sizeof(cmd),
		 "softmr why | grep -q 'kernel\\[0\\] QP %#x .*: dropped: .* opcode 0x4 .*no queue pair'", bth.qpn);
	EXPECT_NE(0, system(cmd));
	sleep(1);
	ASSERT_EQ(0, vt_roce_send(&self->roce, &bth, self->data, LEN));
	EXPECT_TRUE(vt_counter_wait(self->rc.dev.ctx, "rx_unknown_qpn", before + 1));
	EXPECT_EQ(0, system(cmd));
}

WHY(DROP_NOT_READY)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	EXPECT_NUM(EXPECT_DROPPED(&self->rc, DROP_NOT_READY, "rnr_tx",
				  vt_roce_send(&self->roce, &bth, self->data, LEN)), 0, VT_OP_SEND_ONLY);
}

WHY(DROP_GAP)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);
	struct smr_abi_why *rec;

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	bth.psn = PSN + 2;
	rec = EXPECT_DROPPED(&self->rc, DROP_GAP, "out_of_sequence", vt_roce_send(&self->roce, &bth, self->data, LEN));
	EXPECT_NUM(rec, 0, PSN + 2);
	EXPECT_NUM(rec, 1, PSN);
}

WHY(DROP_PSN)
{
	struct vt_bth bth = bth_for(&self->rc, VT_OP_SEND_ONLY);
	struct smr_abi_why *rec;

	ASSERT_EQ(0, connect_to(&self->rc, self->from));
	bth.psn = PSN + 0x400000;
	rec = EXPECT_DROPPED(&self->rc, DROP_PSN, "rx_wrong_psn", vt_roce_send(&self->roce, &bth, self->data, LEN));
	EXPECT_NUM(rec, 0, PSN + 0x400000);
	EXPECT_NUM(rec, 1, PSN);
}

ELSEWHERE(DROP_NO_MEMORY, "an allocation that fails while frames come")
ELSEWHERE(DROP_BUDGET, "see raw_rules.c, copies_of_a_softirq_are_bounded")
ELSEWHERE(DROP_QUEUE, "see rc_queue.c: round_of()")

/* -- requests that no peer sends: the responder refuses them, and its owner can read why */

static struct smr_abi_why refused(FIXTURE_DATA(drop) *self, int opcode, uint32_t dma_len, size_t len)
{
	struct vt_bth bth = bth_for(&self->rc, opcode);
	uint64_t limit = vt_now_ms() + VT_TIMEOUT_MS;
	struct smr_abi_why rec = {};

	dma_len = htonl(dma_len);
	memcpy(self->data + 12, &dma_len, sizeof(dma_len));
	if (connect_to(&self->rc, self->from) || vt_roce_send(&self->roce, &bth, self->data, len))
		return rec;
	while (vt_qp_state(self->rc.qp) != IBV_QPS_ERR && vt_now_ms() < limit)
		;
	vt_why_last(self->rc.dev.ctx, &rec);
	return rec;
}

#define EXPECT_REFUSED(name, opcode_, dma_len, len, ...) do {			\
	const uint64_t _num[] = { __VA_ARGS__ };				\
	struct smr_abi_why _rec = refused(self, opcode_, dma_len, len);		\
										\
	EXPECT_EQ((uint32_t)SMR_WHY_##name, _rec.id);				\
	EXPECT_EQ((uint32_t)IBV_WC_REM_INV_REQ_ERR, _rec.error);		\
	EXPECT_EQ((uint32_t)(opcode_), _rec.opcode);				\
	EXPECT_EQ((uint32_t)PSN, _rec.psn);					\
	EXPECT_EQ(self->rc.qp->qp_num, _rec.qpn);				\
	EXPECT_EQ(0, memcmp(_num, _rec.num, sizeof(_num)));			\
	EXPECT_TRUE(vt_why_reads(&_rec));					\
} while (0)

TEST_F(drop, REQ_SEQUENCE)
{
	EXPECT_REFUSED(REQ_SEQUENCE, VT_OP_SEND_LAST, 0, LEN, VT_OP_SEND_LAST, 0);
}

TEST_F(drop, REQ_PAYLOAD)
{
	EXPECT_REFUSED(REQ_PAYLOAD, VT_OP_SEND_FIRST, 0, LEN, VT_OP_SEND_FIRST, LEN,
		       vt_mtu_bytes(self->conf.mtu));
}

TEST_F(drop, REQ_WRITE_LENGTH)
{
	EXPECT_REFUSED(REQ_WRITE_LENGTH, VT_OP_WRITE_ONLY, 2 * LEN, RETH + LEN, LEN, 2 * LEN);
}

TEST_F(drop, REQ_READ_LENGTH)
{
	EXPECT_REFUSED(REQ_READ_LENGTH, VT_OP_READ_REQUEST, MESSAGE_MAX + 1, RETH, MESSAGE_MAX + 1, MESSAGE_MAX);
}

/*
 * Datagrams that are too long for the receive, which stays posted: they are refused, and do not push the process's own
 * refusals out of its log.
 */
TEST_F(drop, many_that_do_not_fit)
{
	struct ibv_sge to = vt_sge(&self->ud.buf, VT_GUARD, LEN);
	struct ibv_context *ctx = self->ud.dev.ctx;
	int64_t before = vt_counter_now(ctx, "rx_packets");
	struct smr_abi_why recs[64];
	time_t start = time(NULL);
	int i, n, own = 0;

	ASSERT_EQ(0, connect_to(&self->ud, self->from));
	errno = ibv_advise_mr(self->ud.pd, 99, IBV_ADVISE_MR_FLAG_FLUSH, &to, 1);
	EXPECT_EQ(EOPNOTSUPP, errno);
	ASSERT_EQ(0, vt_post_recv(&self->ud, 1, &to, 1));
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, send_datagram(self, self->conf.qkey));
	EXPECT_TRUE(vt_counter_wait(ctx, "rx_packets", before + MANY));
	n = vt_whys(ctx, 0, recs, 64);
	ASSERT_LT(1, n);
	EXPECT_GE(time(NULL) - start + 3, n);
	for (i = 0; i < n; i++) {
		own += recs[i].id == SMR_WHY_ADVICE;
		EXPECT_TRUE(recs[i].id == SMR_WHY_ADVICE || recs[i].id == SMR_WHY_RECV_TOO_SHORT);
	}
	EXPECT_EQ(1, own);
}

/* Each reason is logged once a second, and another reason in the same second is logged, too. */
TEST_F(drop, many_do_not_fill_the_log)
{
	struct smr_abi_why recs[64];
	int64_t start = time(NULL), before = vt_counter_now(self->ud.dev.ctx, "rx_no_receive");
	int i, n, qkeys = 0, none = 0;

	ASSERT_EQ(0, connect_to(&self->ud, self->from));
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, send_datagram(self, self->conf.qkey + 1));
	ASSERT_EQ(0, send_datagram(self, self->conf.qkey));
	EXPECT_TRUE(vt_counter_wait(self->ud.dev.ctx, "rx_no_receive", before + 1));
	n = vt_whys(self->ud.dev.ctx, 0, recs, 64);
	ASSERT_LT(0, n);
	for (i = 0; i < n; i++) {
		qkeys += recs[i].id == SMR_WHY_DROP_QKEY;
		none += recs[i].id == SMR_WHY_DROP_NO_RECV;
	}
	EXPECT_LE(1, qkeys);
	EXPECT_GE(time(NULL) - start + 2, qkeys);
	EXPECT_EQ(1, none);
}

#define EACH(name, ...)	tested_##name,
static const int tested[] __attribute__((unused)) = { SMR_WHYS_DROPS(EACH) };

VT_HARNESS_MAIN
