// SPDX-License-Identifier: GPL-2.0
/*
 * UD: an error at the sender completes the request and stops the send queue
 * only. An error at the receiver drops the datagram, or is that QP's own error.
 * A datagram that is corrupted on the way is dropped and counted.
 *
 * break: qemu-newest
 * timeout: 120
 * paths: host wire veth
 */
#include "harness.h"
#include "rings.h"
#include "ud.h"

#define LEN	1000
#define QKEY_OF_QP	0x80000000

FIXTURE(ud)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct vt_rings rings;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

FIXTURE_SETUP(ud)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.qp_type = IBV_QPT_UD, .inline_len = 64)));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	VT_SETUP(vt_rings_find(&self->rings, self->a));
	VT_SETUP(vt_pair_reset(&self->pair));
	self->sge = vt_sge(&self->a->buf, VT_GUARD, LEN);
	self->wr = vt_ud_wr(self->a, &self->sge);
}

FIXTURE_TEARDOWN(ud)
{
	vt_pair_close(&self->pair);
}

static bool works(FIXTURE_DATA(ud) *self)
{
	vt_fill(self->b->buf.p, self->b->buf.len, self->b->buf.seed, 0);
	vt_fill(self->a->buf.p, self->a->buf.len, self->a->buf.seed, 0);
	return vt_pair_works(&self->pair);
}

/*
 * A request fails with @status, those after it are flushed, then the QP works
 * again.
 */
static void expect_send_error(struct __test_metadata *_metadata,
			      FIXTURE_DATA(ud) *self, int status)
{
	struct ibv_send_wr good = vt_ud_wr(self->a, NULL);

	EXPECT_EQ(status, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_QPS_SQE, vt_qp_state(self->a->qp));
	good.send_flags = 0;
	good.wr_id = 2;
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_outcome(self->a, &good));
	ASSERT_EQ(0, vt_qp_resume(self->a));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->a->qp));
	EXPECT_TRUE(works(self));
}

TEST_F(ud, longer_than_a_packet)
{
	self->sge.length = 4097;
	expect_send_error(_metadata, self, IBV_WC_LOC_LEN_ERR);
}

TEST_F(ud, bad_lkey)
{
	self->sge.lkey ^= 0x100;
	expect_send_error(_metadata, self, IBV_WC_LOC_PROT_ERR);
}

TEST_F(ud, outside_the_region)
{
	self->sge.addr = (uintptr_t)self->a->buf.p + self->a->buf.len - LEN + 1;
	expect_send_error(_metadata, self, IBV_WC_LOC_PROT_ERR);
}

TEST_F(ud, qpn_of_25_bits)
{
	self->wr.wr.ud.remote_qpn |= 1 << 24;
	expect_send_error(_metadata, self, IBV_WC_LOC_QP_OP_ERR);
}

/*
 * The failing request, and the requests that were posted with it, in one chain.
 */
TEST_F(ud, chain_behind_an_error)
{
	struct ibv_send_wr wr[5], *bad;
	int i;

	for (i = 0; i < 5; i++) {
		wr[i] = vt_ud_wr(self->a, NULL);
		wr[i].wr_id = i;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	ASSERT_EQ(0, vt_ud_recv(self->b, 10, 0));
	ASSERT_EQ(0, vt_ud_recv(self->b, 11, 0));
	wr[2].sg_list = &self->sge;
	wr[2].num_sge = 1;
	self->sge.lkey ^= 0x100;
	ASSERT_EQ(0, ibv_post_send(self->a->qp, wr, &bad));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_status(self->a->scq, 2));
	/* at once: a request that is still queued must not be sent now */
	ASSERT_EQ(0, vt_qp_resume(self->a));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->a->scq, 3));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->a->scq, 4));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 10));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 11));
	EXPECT_TRUE(works(self));
}

/* A send queue in error does not stop the QP from receiving. */
TEST_F(ud, receives_while_in_sqe)
{
	struct ibv_send_wr back = vt_ud_wr(self->b, NULL);

	self->sge.lkey ^= 0x100;
	ASSERT_EQ(IBV_WC_LOC_PROT_ERR, vt_outcome(self->a, &self->wr));
	ASSERT_EQ(0, vt_ud_recv(self->a, 3, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->b, &back));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->rcq, 3));
	EXPECT_EQ(IBV_QPS_SQE, vt_qp_state(self->a->qp));
}

/* -- address handles in a hostile ring */

static struct smr_send_wqe *next_wqe(FIXTURE_DATA(ud) *self)
{
	struct smr_ring_hdr *hdr = self->rings.sq.hdr;
	struct smr_send_wqe *wqe = (void *)(hdr + 1) +
		(hdr->prod % self->rings.depth) * self->rings.sq_stride;

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = 77;
	wqe->opcode = IBV_WR_SEND;
	wqe->send_flags = IBV_SEND_SIGNALED;
	wqe->ud.remote_qpn = self->b->qp->qp_num;
	wqe->ud.remote_qkey = self->a->conf.qkey;
	return wqe;
}

static int submit(FIXTURE_DATA(ud) *self)
{
	struct smr_ring_hdr *hdr = self->rings.sq.hdr;

	__atomic_store_n(&hdr->prod, hdr->prod + 1, __ATOMIC_SEQ_CST);
	if (vt_ring_sq(self->a))
		return -EIO;
	return vt_status(self->a->scq, 77);
}

/*
 * The provider does not know of entries that the test has written to the ring.
 */
static bool works_after_reset(FIXTURE_DATA(ud) *self)
{
	return !vt_pair_reset(&self->pair) && works(self);
}

/*
 * The number by which a work request names a handle, as the provider keeps it.
 */
static uint32_t ah_number(const struct ibv_ah *ah)
{
	const struct {
		struct ibv_ah ah;
		uint32_t number;
	} *own = (const void *)ah;

	return own->number;
}

/* With the number of another PD's handle, or of no handle, nothing is sent. */
TEST_F(ud, numbers_of_others)
{
	struct ibv_ah_attr attr = vt_ah_attr(self->a->dev.gid_index,
					     &self->b->dev.gid);
	struct ibv_pd *pd = ibv_alloc_pd(self->a->dev.ctx);
	static const uint32_t odd[] = {
		0, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, ~0u,
	};
	uint32_t number = ah_number(self->a->ah), i;
	struct ibv_ah *other;

	ASSERT_NE(NULL, pd);
	other = ibv_create_ah(pd, &attr);
	ASSERT_NE(NULL, other);
	EXPECT_GE(number + 15, ah_number(other));
	/* the PD's only handle, which leads to the peer */
	for (i = number > 16 ? number - 16 : 1; i < number + 16; i++) {
		next_wqe(self)->ud.ah_handle = i;
		if (i == number) {
			EXPECT_EQ(IBV_WC_SUCCESS, submit(self));
			continue;
		}
		EXPECT_EQ(IBV_WC_LOC_QP_OP_ERR, submit(self));
		EXPECT_EQ(IBV_QPS_SQE, vt_qp_state(self->a->qp));
		ASSERT_EQ(0, vt_qp_resume(self->a));
	}
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		next_wqe(self)->ud.ah_handle = odd[i];
		EXPECT_EQ(IBV_WC_LOC_QP_OP_ERR, submit(self));
		ASSERT_EQ(0, vt_qp_resume(self->a));
	}
	EXPECT_EQ(0, ibv_destroy_ah(other));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_TRUE(works_after_reset(self));
}

/* All other opcodes are refused; so are invalid lists and lengths. */
TEST_F(ud, hostile_entries)
{
	struct ibv_sge sge = self->sge;
	struct smr_send_wqe *wqe;
	uint32_t number = ah_number(self->a->ah);
	int op, ret;

	for (op = 0; op < 256; op++) {
		bool fine = op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM;

		wqe = next_wqe(self);
		wqe->opcode = op;
		wqe->ud.ah_handle = number;
		ret = submit(self);
		EXPECT_EQ(fine ? IBV_WC_SUCCESS : IBV_WC_LOC_QP_OP_ERR, ret)
			TH_LOG("opcode %d", op);
		if (!fine)
			ASSERT_EQ(0, vt_qp_resume(self->a));
	}
	for (op = 0; op < 4; op++) {
		wqe = next_wqe(self);
		wqe->ud.ah_handle = number;
		memcpy(&wqe->sge[0], &sge, sizeof(sge));
		wqe->num_sge = op == 0 ? 255 : 1;
		wqe->inline_len = op == 1 ? 65535 : 65;
		if (op == 1 || op == 2)
			wqe->send_flags |= IBV_SEND_INLINE;
		if (op == 3)
			wqe->sge[0].length = ~0u;
		EXPECT_LT(IBV_WC_SUCCESS, submit(self)) TH_LOG("way %d", op);
		ASSERT_EQ(0, vt_qp_resume(self->a));
	}
	EXPECT_TRUE(works_after_reset(self));
}

/* @number: of the newest handle */
struct maker {
	struct vt_ep *ep;
	struct ibv_ah_attr attr;
	uint32_t number;
	bool stop;
};

static void *make_handles(void *arg)
{
	struct maker *m = arg;
	struct ibv_ah *ah[8];
	int i;

	while (!__atomic_load_n(&m->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < 8; i++) {
			ah[i] = ibv_create_ah(m->ep->pd, &m->attr);
			if (ah[i])
				__atomic_store_n(&m->number, ah_number(ah[i]),
						 __ATOMIC_RELAXED);
		}
		for (i = 0; i < 8; i++)
			if (ah[i])
				ibv_destroy_ah(ah[i]);
	}
	return NULL;
}

/* Handles are created and destroyed while requests name them. */
TEST_F(ud, handles_destroyed_in_use)
{
	struct maker m = {
		.ep = self->a,
		.attr = vt_ah_attr(self->a->dev.gid_index, &self->b->dev.gid),
	};
	uint64_t end = vt_now_ms() + 300;
	int n = 0, ret = 0, sent = 0;
	pthread_t thread;
	uint32_t number;

	ASSERT_EQ(0, pthread_create(&thread, NULL, make_handles, &m));
	while (vt_now_ms() < end) {
		number = __atomic_load_n(&m.number, __ATOMIC_RELAXED) - n % 8;
		next_wqe(self)->ud.ah_handle = n++ % 4 ? number :
					       ah_number(self->a->ah);
		ret = submit(self);
		sent += ret == IBV_WC_SUCCESS;
		if (ret && (ret != IBV_WC_LOC_QP_OP_ERR ||
			    vt_qp_resume(self->a)))
			break;
	}
	__atomic_store_n(&m.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_LE(end, vt_now_ms()) TH_LOG("status %d after %d", ret, n);
	EXPECT_LT(0, sent);
	EXPECT_TRUE(works_after_reset(self));
}

/*
 * Stop the send queue (SQD), and wait until the requests that it has begun are
 * done.
 */
static int drain(struct vt_ep *ep)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	int ret = ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE |
				IBV_QP_EN_SQD_ASYNC_NOTIFY);

	return ret ? -ret : vt_async_event(ep->dev.ctx, IBV_EVENT_SQ_DRAINED,
					   VT_TIMEOUT_MS);
}

static int undrain(struct vt_ep *ep)
{
	return -vt_qp_to(ep->qp, IBV_QPS_RTS);
}

/*
 * A request waits while its handle is destroyed. The next handle may lead
 * elsewhere; the request must not use it.
 */
TEST_F(ud, handle_is_not_the_next_one)
{
	struct ibv_ah_attr to = vt_ah_attr(self->a->dev.gid_index,
					   &self->b->dev.gid);

	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	ASSERT_EQ(0, drain(self->a));
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(0, ibv_destroy_ah(self->a->ah));
	self->a->ah = ibv_create_ah(self->a->pd, &to);
	ASSERT_NE(NULL, self->a->ah);
	ASSERT_EQ(0, undrain(self->a));
	EXPECT_EQ(IBV_WC_LOC_QP_OP_ERR, vt_status(self->a->scq, 1));
	/* It takes the message that must come. */
	EXPECT_TRUE(works_after_reset(self));
}

/* -- datagrams that are dropped */

TEST_F(ud, wrong_qkey)
{
	int64_t before = vt_counter_now(self->b->dev.ctx, "rx_bad_qkey");

	self->wr.wr.ud.remote_qkey ^= 1;
	EXPECT_EQ(0, vt_ud_lost(&self->pair, &self->wr));
	EXPECT_TRUE(vt_counter_wait(self->b->dev.ctx, "rx_bad_qkey", before + 1));
}

/* IBTA 10.2.5: with the top bit set, the QP's own Q_Key is used. */
TEST_F(ud, controlled_qkey)
{
	struct ibv_qp_attr attr = { .qkey = 0x11111111 };

	self->wr.wr.ud.remote_qkey = QKEY_OF_QP | 0x5555;
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 1));
	/* The QP's own Q_Key can be changed in RTS. */
	ASSERT_EQ(0, ibv_modify_qp(self->a->qp, &attr, IBV_QP_QKEY));
	EXPECT_EQ(0, vt_ud_lost(&self->pair, &self->wr));
	ASSERT_EQ(0, ibv_modify_qp(self->b->qp, &attr, IBV_QP_QKEY));
	ASSERT_EQ(0, vt_ud_recv(self->b, 2, LEN));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 2));
}

TEST_F(ud, no_receive)
{
	int64_t before = vt_counter_now(self->b->dev.ctx, "rx_no_receive");
	int i;

	for (i = 0; i < 10; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(vt_counter_wait(self->b->dev.ctx, "rx_no_receive", before + 10));
	EXPECT_TRUE(vt_no_completion(self->b->rcq, 0));
	EXPECT_TRUE(works(self));
}

/*
 * IBTA 9.9.3, class D: a datagram too long for the receive, which takes the
 * next one.
 */
TEST_F(ud, receive_too_short)
{
	EXPECT_EQ(0, vt_ud_lost(&self->pair, &self->wr));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->b->qp));
	EXPECT_TRUE(works(self));
}

TEST_F(ud, number_of_nobody)
{
	self->wr.wr.ud.remote_qpn ^= 0x5a5a5a;
	EXPECT_EQ(0, vt_ud_lost(&self->pair, &self->wr));
}

/* A connected QP receives no datagrams. */
TEST_F(ud, number_of_a_connection)
{
	struct vt_pair rc;

	ASSERT_EQ(0, vt_pair_open(&rc, &vt_defaults));
	ASSERT_EQ(0, vt_post_recv(&rc.b, 1, NULL, 0));
	self->wr.wr.ud.remote_qpn = rc.b.qp->qp_num;
	EXPECT_EQ(0, vt_ud_lost(&self->pair, &self->wr));
	EXPECT_TRUE(vt_no_completion(rc.b.rcq, 0));
	ASSERT_EQ(0, vt_pair_reset(&rc));
	EXPECT_TRUE(vt_pair_works(&rc));
	vt_pair_close(&rc);
}

/* -- errors in a receive */

TEST_F(ud, bad_lkey_of_a_receive)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, 2000);

	to.lkey ^= 0x100;
	ASSERT_EQ(0, vt_post_recv(self->b, 1, &to, 1));
	ASSERT_EQ(0, vt_ud_recv(self->b, 2, LEN));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, vt_status(self->b->rcq, 1));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->b->rcq, 2));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->b->qp));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(works(self));
}

/*
 * Class E: a request of a shared queue cannot be returned to it, so it
 * completes with an error; the QP still works.
 */
TEST_F(ud, receive_too_short_in_srq)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 16, .max_sge = 4 },
	};
	struct vt_ep *b = self->b;
	struct vt_addr to;

	ASSERT_EQ(0, ibv_destroy_qp(b->qp));
	b->srq = ibv_create_srq(b->pd, &init);
	ASSERT_NE(NULL, b->srq);
	b->qp = vt_qp_create(b);
	ASSERT_NE(NULL, b->qp);
	to = vt_ep_addr(self->a);
	ASSERT_EQ(0, vt_ep_connect(b, &to));
	self->a->peer = vt_ep_addr(b);
	vt_wr_to_peer(self->a, &self->wr);
	ASSERT_EQ(0, vt_ud_recv(b, 1, LEN - 1));
	ASSERT_EQ(0, vt_ud_recv(b, 2, LEN));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, vt_status(b->rcq, 1));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(b->qp));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq, 2));
}

/* -- states and attributes */

/* A datagram that another QP sends meanwhile overtakes that of the drained one. */
TEST_F(ud, drains)
{
	struct vt_ep other = *self->a;

	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	ASSERT_EQ(0, vt_ud_recv(self->b, 2, LEN));
	ASSERT_EQ(0, drain(self->a));
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	other.qp = vt_qp_create(self->a);
	ASSERT_NE(NULL, other.qp);
	ASSERT_EQ(0, vt_qp_connect(other.qp, &other.conf, other.dev.gid_index, &other.peer));
	EXPECT_TRUE(vt_sq_quiet(&other));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 1));
	ASSERT_EQ(0, undrain(self->a));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 2));
	EXPECT_EQ(0, ibv_destroy_qp(other.qp));
}

/* In RTR a QP receives, but does not send. */
TEST_F(ud, ready_to_receive)
{
	struct ibv_send_wr back = vt_ud_wr(self->b, NULL);

	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	ASSERT_EQ(0, vt_qp_init(self->a->qp, &self->a->conf));
	ASSERT_EQ(0, vt_ud_recv(self->a, 1, 0));
	ASSERT_EQ(0, vt_qp_rtr(self->a->qp, &self->a->conf, 0, &self->a->peer));
	EXPECT_EQ(-EINVAL, vt_post(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->b, &back));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a->rcq, 1));
}

TEST_F(ud, attributes)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};
	struct ibv_qp_init_attr init;
	int full = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	ASSERT_EQ(0, ibv_query_qp(self->a->qp, &attr, IBV_QP_QKEY, &init));
	EXPECT_EQ(self->a->conf.qkey, attr.qkey);
	EXPECT_EQ(IBV_QPT_UD, init.qp_type);
	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	attr.qp_state = IBV_QPS_INIT;
	attr.pkey_index = 0;
	attr.port_num = 1;
	/* a missing Q_Key, attributes of connected QPs, values out of range */
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a->qp, &attr, full));
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a->qp, &attr, full | IBV_QP_QKEY |
					IBV_QP_ACCESS_FLAGS));
	attr.pkey_index = 1;
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a->qp, &attr,
					full | IBV_QP_QKEY));
	attr.pkey_index = 0;
	EXPECT_EQ(0, ibv_modify_qp(self->a->qp, &attr, full | IBV_QP_QKEY));
}

VT_HARNESS_MAIN
