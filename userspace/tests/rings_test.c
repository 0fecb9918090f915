// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings as no real kernel shows them on demand: at the end of the index's range, in a module that describes them wrongly,
 * at the moment of a doorbell, and under concurrent producers.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "rig.h"

static struct ibv_send_wr a_send = { .opcode = IBV_WR_SEND }, *bad_send;

static int post(struct smr_qp *qp)
{
	bad_send = NULL;
	return smr_post_send(&qp->vqp.qp, &a_send, &bad_send);
}

static void full_at_the_end(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct smr_qp *qp;
	int i;

	fake.start_index = UINT32_MAX - 2;
	qp = rig_qp(IBV_QPT_RC, 0);
	for (i = 0; i < FAKE_MAX_WR; i++)
		want(!post(qp));
	fake.notes = 0;
	for (i = 0; i < 3; i++)
		want(post(qp) == ENOMEM && bad_send == &a_send);
	want(fake.notes == 1);		/* a repeated refusal is not noted again */
	want(rig_noted(SMR_WHY_POST_FULL, ENOMEM, FAKE_MAX_WR));
	qp->sq.ring.hdr->cons++;
	want(!post(qp) && post(qp) == ENOMEM && fake.notes == 2);

	want(!smr_modify_qp(&qp->vqp.qp, &attr, IBV_QP_STATE));
	want(!qp->sq.prod && !qp->sq.cons && !qp->rq.prod);
	qp->vqp.qp.state = IBV_QPS_RTS;
	want(!post(qp) && qp->sq.ring.hdr->prod == 1);
	smr_destroy_qp(&qp->vqp.qp);
	fake.start_index = 0;
}

static void device_gone(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);

	fake.doorbell_err = EIO;
	want(post(qp) == EIO && bad_send == &a_send);
	fake.doorbell_err = 0;
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
	want(key.mw.rkey == rig_sent(key.qp, key.seen++)->bind_mw.new_rkey);
}

static void bind_mw(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_mr mr = { .lkey = 0x55 };
	struct ibv_mw_bind bind = { .bind_info = { .mr = &mr, .length = 0x20 } };
	int i;

	key.qp = qp;
	key.mw = (struct ibv_mw){ .rkey = 0x1ff, .type = IBV_MW_TYPE_1 };
	key.seen = 0;
	fake.at_doorbell = key_at_doorbell;
	for (i = 0; i < FAKE_MAX_WR; i++)
		want(!smr_bind_mw(&qp->vqp.qp, &key.mw, &bind));
	/* a bind that is refused changes nothing */
	want(smr_bind_mw(&qp->vqp.qp, &key.mw, &bind) == ENOMEM);
	want(key.mw.rkey == 0x100 + FAKE_MAX_WR - 1 && key.seen == FAKE_MAX_WR);
	fake.at_doorbell = NULL;
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
	static struct ibv_sge sges[FAKE_MAX_SGE];
	struct smr_qp *qp = arg;
	int i, j;

	for (i = 0; i < RACE_CHAINS; i++) {
		for (j = 0; j < RACE_CHAIN; j++)
			wr[j] = (struct ibv_send_wr){
				.opcode = IBV_WR_SEND, .sg_list = sges, .num_sge = FAKE_MAX_SGE,
				.wr_id = i * RACE_CHAIN + j, .next = j + 1 < RACE_CHAIN ? &wr[j + 1] : NULL,
			};
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

/* Each request is seen once and whole. */
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

/* -- completion queues */

static struct smr_cq *make_cq(uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = FAKE_DEPTH, .wc_flags = wc_flags, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = flags,
	};
	struct ibv_cq_ex *cq = smr_create_cq_ex(fake_context(), &attr);

	return cq ? to_smr_cq(ibv_cq_ex_to_cq(cq)) : NULL;
}

static void complete(struct smr_cq *cq, uint64_t wr_id, uint32_t qp_num)
{
	struct smr_ring_hdr *hdr = cq->ring.hdr;
	struct smr_cqe *cqe = smr_ring_entry(&cq->ring, hdr->prod);

	*cqe = (struct smr_cqe){ .wr_id = wr_id, .qp_num = qp_num };
	smr_store_release(&hdr->prod, hdr->prod + 1);
}

static void poll_at_the_end(void)
{
	struct ibv_wc wc[FAKE_DEPTH];
	struct smr_cq *cq;
	int round, i;

	fake.start_index = UINT32_MAX - 4;
	cq = make_cq(0, 0);
	fake.start_index = 0;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < FAKE_DEPTH; i++)
			complete(cq, i, 1);
		want(smr_poll_cq(&cq->vcq.cq, 3, wc) == 3 && wc[2].wr_id == 2);
		want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == 5 && wc[4].wr_id == 7);
		want(cq->ring.hdr->cons == cq->ring.hdr->prod);
	}
	cq->ring.hdr->prod = 0x5000;	/* no kernel would write this */
	want(!smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc));
	smr_destroy_cq(&cq->vcq.cq);
}

/* The completions of other QPs move towards the producer. */
static void forget_at_the_end(void)
{
	struct ibv_wc wc[FAKE_DEPTH];
	struct smr_cq *cq;
	int start, i;

	for (start = 0; start < FAKE_DEPTH; start++) {
		fake.start_index = UINT32_MAX - start;
		cq = make_cq(0, 0);
		fake.start_index = 0;
		for (i = 0; i < FAKE_DEPTH; i++)
			complete(cq, i, 17 + i % 2);
		smr_cq_forget_qp(&cq->vcq.cq, 17);
		want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == FAKE_DEPTH / 2);
		for (i = 0; i < FAKE_DEPTH / 2; i++)
			want(wc[i].wr_id == 2 * (uint64_t)i + 1);
		smr_destroy_cq(&cq->vcq.cq);
	}
}

/*
 * The entry that the program reads does not change, and its place belongs to the program until the batch ends. Only a
 * single-threaded CQ is unlocked during a batch.
 */
static void forget_in_a_batch(void)
{
	struct smr_cq *cq = make_cq(IBV_WC_EX_WITH_QP_NUM, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};
	int i;

	for (i = 0; i < FAKE_DEPTH; i++)
		complete(cq, i, 17 + i % 2);
	want(!ibv_start_poll(cqx, &attr) && cqx->wr_id == 0);
	smr_cq_forget_qp(&cq->vcq.cq, 17);
	want(cqx->wr_id == 0 && ibv_wc_read_qp_num(cqx) == 17 && !cq->ring.hdr->cons);
	for (i = 1; i < FAKE_DEPTH; i += 2)
		want(!ibv_next_poll(cqx) && cqx->wr_id == (uint64_t)i);
	want(ibv_next_poll(cqx) == ENOENT);
	ibv_end_poll(cqx);
	want(cq->ring.hdr->cons == FAKE_DEPTH);
	smr_destroy_cq(&cq->vcq.cq);
}

/* Each function reads its own field; selftests do not see all of them. */
static void read_fields(void)
{
	struct smr_cq *cq = make_cq(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
				    IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG, 0);
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;
	struct smr_cqe *cqe = smr_ring_entry(&cq->ring, 0);
	struct ibv_poll_cq_attr attr = {};

	complete(cq, 1, 17);
	*cqe = (struct smr_cqe){
		.wr_id = 9, .timestamp = 10, .status = IBV_WC_LOC_LEN_ERR, .opcode = IBV_WC_RDMA_READ, .vendor_err = 11,
		.byte_len = 12, .flow_tag = 13, .qp_num = 14, .src_qp = 15, .wc_flags = IBV_WC_GRH, .slid = 16, .sl = 1,
		.dlid_path_bits = 2, .vlan_id = 18,
	};
	want(!ibv_start_poll(cqx, &attr) && cqx->wr_id == 9 && cqx->status == IBV_WC_LOC_LEN_ERR);
	want(ibv_wc_read_opcode(cqx) == IBV_WC_RDMA_READ && ibv_wc_read_vendor_err(cqx) == 11);
	want(ibv_wc_read_byte_len(cqx) == 12 && ibv_wc_read_flow_tag(cqx) == 13);
	want(ibv_wc_read_qp_num(cqx) == 14 && ibv_wc_read_src_qp(cqx) == 15);
	want(ibv_wc_read_wc_flags(cqx) == IBV_WC_GRH && ibv_wc_read_slid(cqx) == 16 && ibv_wc_read_sl(cqx) == 1);
	want(ibv_wc_read_dlid_path_bits(cqx) == 2 && ibv_wc_read_cvlan(cqx) == 18);
	want(ibv_wc_read_completion_wallclock_ns(cqx) == 10);
	cqe->wc_flags = IBV_WC_WITH_INV;
	want(!ibv_wc_read_flow_tag(cqx) && ibv_wc_read_invalidated_rkey(cqx) == 13);
	ibv_end_poll(cqx);
	smr_destroy_cq(&cq->vcq.cq);
}

static uint64_t thread_usecs(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static void *poll_meanwhile(void *arg)
{
	struct smr_cq *cq = arg;
	struct ibv_wc wc;
	uint64_t start;

	while (!__atomic_load_n(&fake.resizing, __ATOMIC_SEQ_CST))
		sched_yield();
	start = thread_usecs();
	want(smr_poll_cq(&cq->vcq.cq, 1, &wc) == 1 && wc.wr_id == 5);
	want(thread_usecs() - start < fake.resize_usecs / 4);
	return NULL;
}

/* A poller must not burn a CPU that the resize needs. */
static void resize_while_polled(void)
{
	struct smr_cq *cq = make_cq(0, 0);
	pthread_t thread;

	complete(cq, 5, 1);
	fake.resizing = false;
	fake.resize_usecs = 100000;
	want(!pthread_create(&thread, NULL, poll_meanwhile, cq));
	want(!smr_resize_cq(&cq->vcq.cq, 32));
	want(!pthread_join(thread, NULL));
	fake.resize_usecs = 0;
	want(cq->cons == 1);
	smr_destroy_cq(&cq->vcq.cq);
}

/* -- modules that describe rings wrongly */

static const int ring_errs[] = {
	[FAKE_RING_DEPTH] = EPROTO, [FAKE_RING_MMAP] = EINVAL, [FAKE_RING_NONE] = EPROTO,
};

/*
 * The kernel has given the old ring's memory to another ring: the CQ must not touch it, and is empty until another resize
 * succeeds.
 */
static void cq_unmappable(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc[FAKE_DEPTH];
	struct smr_cq *cq;
	uint64_t at;
	int fault;

	for (fault = FAKE_RING_DEPTH; fault <= FAKE_RING_NONE; fault++) {
		cq = make_cq(0, 0);
		at = fake.ring_at;
		complete(cq, 1, 1);
		fake.bad_ring = fault;
		want(smr_resize_cq(&cq->vcq.cq, 32) == ring_errs[fault]);
		fake.bad_ring = FAKE_RING_GOOD;
		want(rig_other_ring(at, true, 17));
		want(!smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc));
		want(ibv_start_poll(&cq->vcq.cq_ex, &attr) == ENOENT);
		smr_cq_forget_qp(&cq->vcq.cq, 17);
		want(rig_other_ring(at, false, 17));

		want(!smr_resize_cq(&cq->vcq.cq, 32));
		complete(cq, 4, 1);
		want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == 1 && wc[0].wr_id == 4);
		want(!smr_destroy_cq(&cq->vcq.cq) && rig_other_ring(at, false, 17));
	}
}

static struct smr_srq *make_srq(void)
{
	static struct smr_pd domain;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4 } };
	struct ibv_srq *srq;

	domain.pd.context = fake_context();
	srq = smr_create_srq(&domain.pd, &attr);
	return srq ? to_smr_srq(srq) : NULL;
}

static int post_srq(struct smr_srq *srq, uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad;

	return smr_post_srq_recv(&srq->vsrq.srq, &wr, &bad);
}

static int resize_srq(struct smr_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return smr_modify_srq(&srq->vsrq.srq, &attr, IBV_SRQ_MAX_WR);
}

static uint64_t posted(struct smr_srq *srq, uint32_t i)
{
	const struct smr_recv_wqe *wqe = smr_ring_entry(&srq->rq.ring, i);

	return wqe->wr_id;
}

static void srq_unmappable(void)
{
	struct smr_srq *srq;
	uint64_t at;
	int fault;

	for (fault = FAKE_RING_DEPTH; fault <= FAKE_RING_NONE; fault++) {
		srq = make_srq();
		at = fake.ring_at;
		want(!post_srq(srq, 1));
		fake.bad_ring = fault;
		want(resize_srq(srq, 32) == ring_errs[fault]);
		fake.bad_ring = FAKE_RING_GOOD;
		want(rig_other_ring(at, true, 17));
		want(post_srq(srq, 2) == EINVAL && rig_other_ring(at, false, 17));

		want(!resize_srq(srq, 32) && !post_srq(srq, 4) && rig_pending(&srq->rq) == 1);
		want(!smr_destroy_srq(&srq->vsrq.srq) && rig_other_ring(at, false, 17));
	}
	fake.bad_ring = FAKE_RING_NONE;
	errno = 0;
	want(!make_srq() && errno == EPROTO && rig_noted(SMR_WHY_RING_UNKNOWN, EPROTO, 0));
	fake.bad_ring = FAKE_RING_GOOD;
}

static void map_that_cannot_be(void)
{
	struct smr_ring_info info = { .arena = 1, .mmap_size = FAKE_MAP_SIZE, .depth = 8, .stride = 64, .max_wr = 8 };
	static const uint32_t offsets[] = { FAKE_MAP_SIZE, 12, UINT32_MAX - 7 };
	struct smr_maps *maps = &to_smr_context(fake_context())->maps;
	struct smr_ring ring;
	size_t i;

	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		info.offset = offsets[i];
		want(smr_ring_map(&ring, maps, &info, 64, NULL) == EPROTO && !ring.hdr);
	}
}

const struct tap_test rings_tests[] = {
	{ "a full queue at the index's end, and reset", full_at_the_end },
	{ "a doorbell that fails", device_gone },
	{ "the key of a window is stored before the doorbell", bind_mw },
	{ "three producers and a consumer", race },
	{ "poll at the index's end", poll_at_the_end },
	{ "completions of a destroyed QP go, at the ring's end", forget_at_the_end },
	{ "likewise, in the middle of a batch", forget_in_a_batch },
	{ "the fields of a completion", read_fields },
	{ "who polls during a resize sleeps", resize_while_polled },
	{ "a resized CQ that cannot be mapped", cq_unmappable },
	{ "a resized SRQ that cannot be mapped", srq_unmappable },
	{ "arenas that cannot be", map_that_cannot_be },
	{},
};
