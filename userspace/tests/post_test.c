// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_post_send(), ibv_post_recv(), ibv_bind_mw().
 */
#include <errno.h>
#include <pthread.h>

#include "rig.h"

static struct ibv_sge sges[FAKE_MAX_SGE + 1] = {
	{ .addr = 0x1000, .length = 1, .lkey = 0x100 },
	{ .addr = 0x2000, .length = 2, .lkey = 0x200 },
	{ .addr = 0x3000, .length = 3, .lkey = 0x300 },
};

/* The last refusal was noted with this reason, of this QP, and these first two numbers. */
#define want_why(name, qp, a, b)                                               \
	want(fake.note.id == SMR_WHY_##name && fake.note.error &&              \
	     fake.note.qpn == (qp)->vqp.qp.qp_num &&                           \
	     fake.note.num[0] == (uint64_t)(a) &&                              \
	     fake.note.num[1] == (uint64_t)(b))

static int post(struct smr_qp *qp, struct ibv_send_wr *wr,
		struct ibv_send_wr **bad)
{
	*bad = NULL;
	return smr_post_send(&qp->vqp.qp, wr, bad);
}

static void send_chain(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr[3] = {}, *bad;
	int i;

	for (i = 0; i < 3; i++) {
		wr[i].wr_id = 100 + i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].sg_list = sges;
		wr[i].num_sge = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	want(!post(qp, wr, &bad) && !bad);
	want(fake.doorbells[0] == 1 && fake.doorbells[1] == 0);
	want(rig_pending(&qp->sq) == 3);
	for (i = 0; i < 3; i++) {
		struct smr_send_wqe *wqe = rig_sent(qp, i);

		want(wqe->wr_id == wr[i].wr_id && wqe->num_sge == i);
		want(wqe->opcode == IBV_WR_SEND && !wqe->inline_len);
		want(wqe->send_flags == IBV_SEND_SIGNALED);
		want(!memcmp(wqe->sge, sges, i * sizeof(*sges)));
	}
	smr_destroy_qp(&qp->vqp.qp);
}

static void opcodes(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = {}, *bad;

	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = htobe32(0x11223344);
	wr.wr.rdma.remote_addr = 0xabcdef;
	wr.wr.rdma.rkey = 5;
	want(!post(qp, &wr, &bad));
	want(rig_sent(qp, 0)->imm_or_rkey == htobe32(0x11223344));
	want(rig_sent(qp, 0)->rdma.remote_addr == 0xabcdef);
	want(rig_sent(qp, 0)->rdma.rkey == 5);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 0x88;
	wr.wr.atomic.compare_add = 1;
	wr.wr.atomic.swap = 2;
	wr.wr.atomic.rkey = 3;
	want(!post(qp, &wr, &bad));
	want(rig_sent(qp, 1)->atomic.remote_addr == 0x88);
	want(rig_sent(qp, 1)->atomic.compare_add == 1);
	want(rig_sent(qp, 1)->atomic.swap == 2);
	want(rig_sent(qp, 1)->atomic.rkey == 3);

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 99;
	want(!post(qp, &wr, &bad));
	want(rig_sent(qp, 2)->imm_or_rkey == 99);
	smr_destroy_qp(&qp->vqp.qp);
}

static void inline_data(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr good = {}, wr = {}, *bad;
	char data[FAKE_MAX_INLINE + 1];
	struct ibv_sge list[2] = {
		{ .addr = (uintptr_t)data, .length = 3 },
		{ .addr = (uintptr_t)data + 3, .length = FAKE_MAX_INLINE - 3 },
	};
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (char)i;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = list;
	wr.num_sge = 2;
	want(!post(qp, &wr, &bad));
	want(rig_sent(qp, 0)->inline_len == FAKE_MAX_INLINE);
	want(!rig_sent(qp, 0)->num_sge);
	want(!memcmp(rig_sent(qp, 0)->sge, data, FAKE_MAX_INLINE));

	/* One byte more in total; requests before it in the chain are sent. */
	list[1].length++;
	good.opcode = IBV_WR_SEND;
	good.next = &wr;
	want(post(qp, &good, &bad) == EINVAL && bad == &wr);
	want(rig_pending(&qp->sq) == 2 && fake.doorbells[0] == 2);
	want_why(POST_INLINE_LENGTH, qp, FAKE_MAX_INLINE + 1, FAKE_MAX_INLINE);

	list[1].length = UINT32_MAX;
	want(post(qp, &wr, &bad) == EINVAL && bad == &wr);
	wr.opcode = IBV_WR_RDMA_READ;
	list[1].length = 1;
	want(post(qp, &wr, &bad) == EINVAL);
	want_why(POST_INLINE, qp, IBV_WR_RDMA_READ, 0);
	want(rig_pending(&qp->sq) == 2 && fake.doorbells[0] == 2);
	smr_destroy_qp(&qp->vqp.qp);
}

static void refusals(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_UD, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	enum ibv_qp_state state;
	struct smr_ah ah = { .number = 44 };

	errno = 0;
	want(post(qp, &wr, &bad) == EINVAL && !errno);
	want_why(POST_NO_AH, qp, 0, 0);
	wr.wr.ud.ah = &ah.ah;
	wr.wr.ud.remote_qpn = 6;
	want(!post(qp, &wr, &bad));
	want(rig_sent(qp, 0)->ud.ah_handle == 44);
	want(rig_sent(qp, 0)->ud.remote_qpn == 6);
	wr.opcode = IBV_WR_RDMA_WRITE;
	want(post(qp, &wr, &bad) == EINVAL);	/* not on UD */
	want_why(POST_OPCODE, qp, IBV_WR_RDMA_WRITE, IBV_QPT_UD);
	wr.opcode = 77;
	want(post(qp, &wr, &bad) == EINVAL);
	want_why(POST_OPCODE, qp, 77, IBV_QPT_UD);
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = sges;
	wr.num_sge = FAKE_MAX_SGE + 1;
	want(post(qp, &wr, &bad) == EINVAL);
	want_why(POST_SGE, qp, FAKE_MAX_SGE + 1, FAKE_MAX_SGE);
	wr.num_sge = -1;
	want(post(qp, &wr, &bad) == EINVAL);
	wr.num_sge = 0;
	wr.send_flags = 1 << 20;
	want(post(qp, &wr, &bad) == EINVAL);
	want_why(POST_FLAGS, qp, 1 << 20, 1 << 20);
	wr.send_flags = 0;
	for (state = IBV_QPS_RESET; state < IBV_QPS_RTS; state++) {
		qp->vqp.qp.state = state;
		want(post(qp, &wr, &bad) == EINVAL && bad == &wr);
		want_why(POST_STATE, qp, state, 0);
	}
	for (state = IBV_QPS_RTS; state <= IBV_QPS_ERR; state++) {
		qp->vqp.qp.state = state;
		want(!post(qp, &wr, &bad));
	}
	smr_destroy_qp(&qp->vqp.qp);
}

static void full_and_reset(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct smr_qp *qp;
	int i;

	/* Across the end of the index's range. */
	fake.start_index = UINT32_MAX - 2;
	qp = rig_qp(IBV_QPT_RC, 0);
	for (i = 0; i < FAKE_MAX_WR; i++)
		want(!post(qp, &wr, &bad));
	fake.notes = 0;
	for (i = 0; i < 3; i++)
		want(post(qp, &wr, &bad) == ENOMEM && bad == &wr);
	want(fake.notes == 1);		/* a repeated refusal is not noted again */
	want_why(POST_FULL, qp, FAKE_MAX_WR, 0);
	qp->sq.ring.hdr->cons++;
	want(!post(qp, &wr, &bad));
	want(post(qp, &wr, &bad) == ENOMEM);
	want(fake.notes == 2);

	want(!smr_modify_qp(&qp->vqp.qp, &attr, IBV_QP_STATE));
	want(!qp->sq.prod && !qp->sq.cons && !qp->rq.prod);
	qp->vqp.qp.state = IBV_QPS_RTS;
	want(!post(qp, &wr, &bad) && qp->sq.ring.hdr->prod == 1);
	smr_destroy_qp(&qp->vqp.qp);
	fake.start_index = 0;
}

static void device_gone(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	fake.doorbell_err = EIO;
	want(post(qp, &wr, &bad) == EIO && bad == &wr);
	smr_destroy_qp(&qp->vqp.qp);
}

static void recv_doorbell(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = sges, .num_sge = 2 };
	struct ibv_recv_wr *bad;
	struct smr_recv_wqe *wqe = smr_ring_entry(&qp->rq.ring, 0);
	int i;

	want(!smr_post_recv(&qp->vqp.qp, &wr, &bad));
	want(wqe->wr_id == 5 && wqe->num_sge == 2);
	want(!memcmp(wqe->sge, sges, 2 * sizeof(*sges)));
	want(!fake.doorbells[1]);
	qp->rq.ring.hdr->flags = SMR_RING_NEED_DOORBELL;
	want(!smr_post_recv(&qp->vqp.qp, &wr, &bad));
	want(fake.doorbells[1] == 1 && !fake.doorbells[0]);
	for (i = 2; i < FAKE_MAX_WR; i++)
		want(!smr_post_recv(&qp->vqp.qp, &wr, &bad));
	want(smr_post_recv(&qp->vqp.qp, &wr, &bad) == ENOMEM && bad == &wr);
	wr.num_sge = FAKE_MAX_SGE + 1;
	want(smr_post_recv(&qp->vqp.qp, &wr, &bad) == EINVAL);
	qp->vqp.qp.state = IBV_QPS_RESET;
	want(smr_post_recv(&qp->vqp.qp, &wr, &bad) == EINVAL && bad == &wr);
	smr_destroy_qp(&qp->vqp.qp);
}

/* An older module has no file for doorbells: a command rings. */
static void older_doorbell(void)
{
	int *fd = &to_smr_context(fake_context())->bell_fd;

	*fd = -1;
	send_chain();
	recv_doorbell();
	device_gone();
	*fd = FAKE_BELL_FD;
}

static void rate_limit(void)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };
	struct smr_qp *qp = rig_qp(IBV_QPT_RAW_PACKET, 0);
	uint32_t *minor = &to_smr_context(fake_context())->abi_minor;
	struct ibv_qp_attr attr = { .rate_limit = 500 };

	/* An older module does not read fields that are only in the driver's part. */
	*minor = SMR_ABI_MINOR_RATE - 1;
	want(!smr_modify_qp_rate_limit(&qp->vqp.qp, &limit));
	want(fake.rate_limit == 1000);
	limit.max_burst_sz = 4000;
	limit.rate_limit = 2000;
	want(smr_modify_qp_rate_limit(&qp->vqp.qp, &limit) == EOPNOTSUPP);
	want(fake.rate_limit == 1000);

	*minor = SMR_ABI_MINOR;
	limit.typical_pkt_sz = 64;
	want(!smr_modify_qp_rate_limit(&qp->vqp.qp, &limit));
	want(fake.rate_limit == 2000 && fake.burst.max_burst_sz == 4000 &&
	     fake.burst.typical_pkt_sz == 64);
	want(!smr_modify_qp(&qp->vqp.qp, &attr, IBV_QP_RATE_LIMIT));
	want(fake.rate_limit == 500 && !fake.burst.max_burst_sz);
	limit.comp_mask = 1;
	want(smr_modify_qp_rate_limit(&qp->vqp.qp, &limit) == EINVAL);
	smr_destroy_qp(&qp->vqp.qp);
}

static struct {
	struct smr_qp *qp;
	struct ibv_mw mw;
	unsigned int seen;
} key;

/* The kernel runs the bind in the doorbell: its completion may be polled now. */
static void key_at_doorbell(void)
{
	const struct smr_send_wqe *wqe = rig_sent(key.qp, key.seen++);

	want(key.mw.rkey == wqe->bind_mw.new_rkey);
}

static void bind_mw(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_mr mr = { .lkey = 0x55 };
	struct ibv_mw_bind bind = {
		.wr_id = 3,
		.bind_info = { .mr = &mr, .addr = 0x10, .length = 0x20,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};
	int i;

	key.qp = qp;
	key.mw = (struct ibv_mw){ .rkey = 0x1ff, .type = IBV_MW_TYPE_1 };
	key.seen = 0;
	fake.at_doorbell = key_at_doorbell;
	want(!smr_bind_mw(&qp->vqp.qp, &key.mw, &bind));
	want(key.seen == 1 && key.mw.rkey == 0x100);
	want(rig_sent(qp, 0)->wr_id == 3);
	want(rig_sent(qp, 0)->bind_mw.mw_rkey == 0x1ff);
	want(rig_sent(qp, 0)->bind_mw.new_rkey == 0x100);
	want(rig_sent(qp, 0)->bind_mw.mr_lkey == 0x55);
	want(rig_sent(qp, 0)->bind_mw.length == 0x20);

	memset(&bind, 0, sizeof(bind));		/* unbind */
	want(!smr_bind_mw(&qp->vqp.qp, &key.mw, &bind));
	want(key.mw.rkey == 0x101 && !rig_sent(qp, 1)->bind_mw.mr_lkey);

	/* A bind that is refused changes nothing. */
	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	want(smr_bind_mw(&qp->vqp.qp, &key.mw, &bind) == EINVAL);
	bind.bind_info.mw_access_flags = 0;
	qp->vqp.qp.state = IBV_QPS_INIT;
	want(smr_bind_mw(&qp->vqp.qp, &key.mw, &bind) == EINVAL);
	qp->vqp.qp.state = IBV_QPS_RTS;
	want(key.mw.rkey == 0x101);
	for (i = 2; i < FAKE_MAX_WR; i++)
		want(!smr_bind_mw(&qp->vqp.qp, &key.mw, &bind));
	want(smr_bind_mw(&qp->vqp.qp, &key.mw, &bind) == ENOMEM);
	want(key.mw.rkey == 0x101 + FAKE_MAX_WR - 2);
	want(key.seen == FAKE_MAX_WR);
	fake.at_doorbell = NULL;
	smr_destroy_qp(&qp->vqp.qp);

	qp = rig_qp(IBV_QPT_UD, 0);
	want(smr_bind_mw(&qp->vqp.qp, &key.mw, &bind) == EINVAL);
	smr_destroy_qp(&qp->vqp.qp);
}

static uint32_t bound_key(struct smr_qp *qp, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_mr mr = { .lkey = 0x55 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw, .rkey = rkey,
			.bind_info = { .mr = &mr, .length = 0x20 },
		},
	};
	uint32_t i = rig_pending(&qp->sq);
	struct ibv_send_wr *bad;

	want(!smr_post_send(&qp->vqp.qp, &wr, &bad));
	want(rig_sent(qp, i)->bind_mw.mw_rkey >> 8 == mw->rkey >> 8);
	return rig_sent(qp, i)->bind_mw.new_rkey;
}

/*
 * The key has the window's own upper bits, whatever the program passes in them, and only the
 * program changes struct ibv_mw.
 */
static void bind_mw_type_2(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_mw mw = { .rkey = 0x1ff, .type = IBV_MW_TYPE_2 };
	uint32_t beside = mw.rkey;

	want(bound_key(qp, &mw, 0x7ff0b) == 0x10b);
	want(bound_key(qp, &mw, 0x0c) == 0x10c);
	want(mw.rkey == 0x1ff);

	/* As mlx5's and rxe's users do: */
	want(bound_key(qp, &mw, ibv_inc_rkey(mw.rkey)) == 0x100);
	mw.rkey = ibv_inc_rkey(mw.rkey);
	want(mw.rkey == 0x100);
	want(bound_key(qp, &mw, ibv_inc_rkey(mw.rkey)) == 0x101);

	beside = ibv_inc_rkey(beside);
	want(bound_key(qp, &mw, beside) == beside);
	want(mw.rkey == 0x100);
	smr_destroy_qp(&qp->vqp.qp);
}

enum {
	RACE_THREADS = 3,
	RACE_CHAINS = 5000,
	RACE_CHAIN = 3,
	RACE_IDS = RACE_CHAINS * RACE_CHAIN,
};

static int race_running;

static void *race_producer(void *arg)
{
	struct ibv_send_wr wr[RACE_CHAIN] = {}, *bad, *next;
	struct smr_qp *qp = arg;
	int i, j;

	for (j = 0; j < RACE_CHAIN; j++) {
		wr[j].opcode = IBV_WR_SEND;
		wr[j].sg_list = sges;
		wr[j].num_sge = FAKE_MAX_SGE;
		wr[j].next = j + 1 < RACE_CHAIN ? &wr[j + 1] : NULL;
	}
	for (i = 0; i < RACE_CHAINS; i++) {
		for (j = 0; j < RACE_CHAIN; j++)
			wr[j].wr_id = i * RACE_CHAIN + j;
		for (next = wr; smr_post_send(&qp->vqp.qp, next, &bad);)
			next = bad;
	}
	__atomic_fetch_sub(&race_running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void race_consume(struct smr_qp *qp, unsigned char *seen)
{
	struct smr_ring_hdr *hdr = qp->sq.ring.hdr;
	uint32_t n = 0;
	bool running;

	do {
		running = __atomic_load_n(&race_running, __ATOMIC_ACQUIRE);
		while (smr_load_acquire(&hdr->prod) != n) {
			uint64_t id = rig_sent(qp, n)->wr_id;

			if (id < RACE_IDS)
				seen[id]++;
			smr_store_release(&hdr->cons, ++n);
		}
	} while (running);
}

/* Producers against a consumer: each request is seen once and whole. */
static void race(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	static unsigned char seen[RACE_IDS];
	pthread_t threads[RACE_THREADS];
	int i, wrong = 0;

	memset(seen, 0, sizeof(seen));
	race_running = RACE_THREADS;
	for (i = 0; i < RACE_THREADS; i++)
		pthread_create(&threads[i], NULL, race_producer, qp);
	race_consume(qp, seen);
	for (i = 0; i < RACE_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < RACE_IDS; i++)
		wrong += seen[i] != RACE_THREADS;
	want(!wrong);
	smr_destroy_qp(&qp->vqp.qp);
}

const struct tap_test post_tests[] = {
	{ "a chain of sends is one doorbell", send_chain },
	{ "fields of each opcode", opcodes },
	{ "inline data and its limit", inline_data },
	{ "sends that are refused", refusals },
	{ "full queue, index wrap, reset", full_and_reset },
	{ "a doorbell that fails", device_gone },
	{ "receives ring only when asked", recv_doorbell },
	{ "doorbells of an older module", older_doorbell },
	{ "rate limits, and modules without bursts", rate_limit },
	{ "bind and unbind a window", bind_mw },
	{ "bind a type 2 window", bind_mw_type_2 },
	{ "three producers and a consumer", race },
	{},
};
