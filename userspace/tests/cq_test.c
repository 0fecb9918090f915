// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling, forgetting and resizing.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "rig.h"

static struct smr_cq *make_cq_with(uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = FAKE_DEPTH,
		.wc_flags = wc_flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags,
	};
	struct ibv_cq_ex *cq = smr_create_cq_ex(fake_context(), &attr);

	return cq ? to_smr_cq(ibv_cq_ex_to_cq(cq)) : NULL;
}

static struct smr_cq *make_cq(uint64_t wc_flags)
{
	return make_cq_with(wc_flags, 0);
}

static void complete(struct smr_cq *cq, uint64_t wr_id, uint32_t qp_num)
{
	struct smr_ring_hdr *hdr = cq->ring.hdr;
	struct smr_cqe *cqe = smr_ring_entry(&cq->ring, hdr->prod);

	*cqe = (struct smr_cqe){
		.wr_id = wr_id,
		.qp_num = qp_num,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = 1234,
		.imm_or_rkey = htobe32(0x01020304),
		.wc_flags = IBV_WC_WITH_IMM,
		.timestamp = 77,
	};
	smr_store_release(&hdr->prod, hdr->prod + 1);
}

static void poll(void)
{
	struct smr_cq *cq;
	struct ibv_wc wc[FAKE_DEPTH];
	int round, i;

	fake.start_index = UINT32_MAX - 4;
	cq = make_cq(0);
	fake.start_index = 0;
	want(!smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < FAKE_DEPTH; i++)
			complete(cq, i, 1);
		want(smr_poll_cq(&cq->vcq.cq, 3, wc) == 3);
		want(wc[2].wr_id == 2);
		want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == 5);
		want(wc[4].wr_id == 7 && wc[4].byte_len == 1234);
		want(wc[4].imm_data == htobe32(0x01020304));
		want(cq->ring.hdr->cons == cq->ring.hdr->prod);
	}
	cq->ring.hdr->prod = 0x5000;	/* no kernel would write this */
	want(!smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc));
	smr_destroy_cq(&cq->vcq.cq);
}

static void iterate(void)
{
	struct smr_cq *cq = make_cq(IBV_WC_EX_WITH_BYTE_LEN |
				    IBV_WC_EX_WITH_IMM |
				    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	want(ibv_start_poll(cqx, &attr) == ENOENT);
	complete(cq, 1, 1);
	complete(cq, 2, 1);
	want(!ibv_start_poll(cqx, &attr));
	want(cqx->wr_id == 1 && ibv_wc_read_byte_len(cqx) == 1234);
	want(ibv_wc_read_imm_data(cqx) == htobe32(0x01020304));
	want(ibv_wc_read_completion_ts(cqx) == 77);
	want(!ibv_next_poll(cqx));
	want(cqx->wr_id == 2 && ibv_wc_read_opcode(cqx) == IBV_WC_RECV);
	want(!cq->ring.hdr->cons);
	want(ibv_next_poll(cqx) == ENOENT);
	ibv_end_poll(cqx);
	want(cq->ring.hdr->cons == 2);
	want(ibv_start_poll(cqx, &attr) == ENOENT);
	smr_destroy_cq(&cq->vcq.cq);

	want(!make_cq(IBV_WC_EX_WITH_TM_INFO) && errno == EOPNOTSUPP);
}

static void forget(void)
{
	struct smr_cq *cq = make_cq(0);
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, 0);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc[FAKE_DEPTH];

	qp->vqp.qp.send_cq = &cq->vcq.cq;
	qp->vqp.qp.recv_cq = &cq->vcq.cq;
	complete(cq, 1, 17);
	complete(cq, 2, 18);
	complete(cq, 3, 17);
	complete(cq, 4, 18);
	complete(cq, 5, 17);
	smr_destroy_qp(&qp->vqp.qp);
	want(smr_poll_cq(&cq->vcq.cq, 1, wc) == 1 && wc[0].wr_id == 2);
	want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == 1);
	want(wc[0].wr_id == 4 && cq->ring.hdr->cons == 5);

	complete(cq, 6, 17);		/* only completions of the destroyed QP in the ring */
	smr_cq_forget_qp(&cq->vcq.cq, 17);
	want(ibv_start_poll(&cq->vcq.cq_ex, &attr) == ENOENT);
	want(cq->ring.hdr->cons == 6);
	smr_destroy_cq(&cq->vcq.cq);
}

/*
 * The remaining completions move towards the producer, across the ring's end.
 */
static void forget_at_the_end(void)
{
	struct ibv_wc wc[FAKE_DEPTH];
	struct smr_cq *cq;
	int start, i;

	for (start = 0; start < FAKE_DEPTH; start++) {
		fake.start_index = UINT32_MAX - start;
		cq = make_cq(0);
		fake.start_index = 0;
		for (i = 0; i < FAKE_DEPTH; i++)
			complete(cq, i, 17 + i % 2);
		smr_cq_forget_qp(&cq->vcq.cq, 17);
		want(cq->ring.hdr->prod - cq->ring.hdr->cons == FAKE_DEPTH / 2);
		want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == FAKE_DEPTH / 2);
		for (i = 0; i < FAKE_DEPTH / 2; i++)
			want(wc[i].wr_id == 2 * (uint64_t)i + 1);
		smr_destroy_cq(&cq->vcq.cq);
	}
}

/*
 * The entry that the program reads does not change, and its place belongs to
 * the program until the batch ends. Only a single-threaded CQ is unlocked
 * during a batch.
 */
static void forget_in_a_batch(void)
{
	struct smr_cq *cq = make_cq_with(IBV_WC_EX_WITH_QP_NUM,
					 IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};
	int i;

	for (i = 0; i < FAKE_DEPTH; i++)
		complete(cq, i, 17 + i % 2);
	want(!ibv_start_poll(cqx, &attr) && cqx->wr_id == 0);
	smr_cq_forget_qp(&cq->vcq.cq, 17);
	want(cqx->wr_id == 0 && ibv_wc_read_qp_num(cqx) == 17);
	want(!cq->ring.hdr->cons);
	for (i = 1; i < FAKE_DEPTH; i += 2)
		want(!ibv_next_poll(cqx) && cqx->wr_id == (uint64_t)i);
	want(ibv_next_poll(cqx) == ENOENT);
	ibv_end_poll(cqx);
	want(cq->ring.hdr->cons == FAKE_DEPTH);
	smr_destroy_cq(&cq->vcq.cq);
}

/* Each function reads its own field. */
static void read_fields(void)
{
	struct smr_cq *cq = make_cq(IBV_WC_STANDARD_FLAGS |
				    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
				    IBV_WC_EX_WITH_CVLAN |
				    IBV_WC_EX_WITH_FLOW_TAG);
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;
	struct smr_cqe *cqe = smr_ring_entry(&cq->ring, 0);
	struct ibv_poll_cq_attr attr = {};

	complete(cq, 1, 17);
	*cqe = (struct smr_cqe){
		.wr_id = 9, .timestamp = 10, .status = IBV_WC_LOC_LEN_ERR,
		.opcode = IBV_WC_RDMA_READ, .vendor_err = 11, .byte_len = 12,
		.flow_tag = 13, .qp_num = 14, .src_qp = 15,
		.wc_flags = IBV_WC_GRH, .slid = 16, .sl = 1,
		.dlid_path_bits = 2, .vlan_id = 18,
	};
	want(!ibv_start_poll(cqx, &attr));
	want(cqx->wr_id == 9 && cqx->status == IBV_WC_LOC_LEN_ERR);
	want(ibv_wc_read_opcode(cqx) == IBV_WC_RDMA_READ);
	want(ibv_wc_read_vendor_err(cqx) == 11);
	want(ibv_wc_read_byte_len(cqx) == 12);
	want(ibv_wc_read_flow_tag(cqx) == 13);
	want(ibv_wc_read_qp_num(cqx) == 14);
	want(ibv_wc_read_src_qp(cqx) == 15);
	want(ibv_wc_read_wc_flags(cqx) == IBV_WC_GRH);
	want(ibv_wc_read_slid(cqx) == 16 && ibv_wc_read_sl(cqx) == 1);
	want(ibv_wc_read_dlid_path_bits(cqx) == 2);
	want(ibv_wc_read_cvlan(cqx) == 18);
	want(ibv_wc_read_completion_wallclock_ns(cqx) == 10);
	cqe->wc_flags = IBV_WC_WITH_INV;
	want(!ibv_wc_read_flow_tag(cqx));
	want(ibv_wc_read_invalidated_rkey(cqx) == 13);
	ibv_end_poll(cqx);
	smr_destroy_cq(&cq->vcq.cq);
}

static void resize(void)
{
	struct smr_cq *cq = make_cq(0);
	struct ibv_wc wc[FAKE_DEPTH];

	complete(cq, 1, 1);
	complete(cq, 2, 1);
	complete(cq, 3, 1);
	want(smr_poll_cq(&cq->vcq.cq, 1, wc) == 1);
	want(!smr_resize_cq(&cq->vcq.cq, 32));
	complete(cq, 4, 1);
	want(cq->ring.depth == 32);
	want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == 3);
	want(wc[0].wr_id == 2 && wc[2].wr_id == 4);
	want(smr_resize_cq(&cq->vcq.cq, 0) == EINVAL);
	smr_destroy_cq(&cq->vcq.cq);
}

/*
 * The kernel has given the old ring's memory to another ring: the CQ must not
 * touch it, and is empty until another resize succeeds.
 */
static void resize_unmappable(void)
{
	static const int errs[] = {
		[FAKE_RING_DEPTH] = EPROTO, [FAKE_RING_MMAP] = EINVAL,
		[FAKE_RING_NONE] = EPROTO,
	};
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc[FAKE_DEPTH];
	struct smr_cq *cq;
	uint64_t at;
	int fault;

	for (fault = FAKE_RING_DEPTH; fault <= FAKE_RING_NONE; fault++) {
		cq = make_cq(0);
		at = fake.ring_at;
		complete(cq, 1, 1);
		fake.bad_ring = fault;
		want(smr_resize_cq(&cq->vcq.cq, 32) == errs[fault]);
		fake.bad_ring = FAKE_RING_GOOD;
		want(rig_other_ring(at, true, 17));

		want(!smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc));
		want(ibv_start_poll(&cq->vcq.cq_ex, &attr) == ENOENT);
		smr_cq_forget_qp(&cq->vcq.cq, 17);
		want(!smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc));
		want(rig_other_ring(at, false, 17));

		want(!smr_resize_cq(&cq->vcq.cq, 32));
		complete(cq, 4, 1);
		want(smr_poll_cq(&cq->vcq.cq, FAKE_DEPTH, wc) == 1);
		want(wc[0].wr_id == 4);
		want(!smr_destroy_cq(&cq->vcq.cq));
		want(rig_other_ring(at, false, 17));
	}
}

static uint64_t thread_usecs(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* Polls once while the kernel resizes the CQ. */
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
	struct smr_cq *cq = make_cq(0);
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

static void *fake_alloc(struct ibv_pd *pd, void *context, size_t size,
			size_t alignment, uint64_t type)
{
	(void)pd;
	(void)alignment;
	(void)type;
	return *(bool *)context ? malloc(size) : IBV_ALLOCATOR_USE_DEFAULT;
}

static void fake_free(struct ibv_pd *pd, void *context, void *ptr,
		      uint64_t type)
{
	(void)pd;
	(void)type;
	want(*(bool *)context);
	free(ptr);
}

/* A parent domain exists as long as its objects. */
static void parent_domain(void)
{
	struct smr_pd *base = calloc(1, sizeof(*base));
	bool own = true;
	struct ibv_parent_domain_init_attr attr = {
		.pd = &base->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = fake_alloc,
		.free = fake_free,
		.pd_context = &own,
	};
	struct ibv_pd *parent = smr_alloc_parent_domain(fake_context(), &attr);
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = FAKE_DEPTH,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct ibv_cq_ex *cq;
	int i;

	want(parent);
	for (i = 0; i < 2; i++, own = !own) {
		cq = smr_create_cq_ex(fake_context(), &cq_attr);
		want(cq);
		want(smr_dealloc_pd(parent) == EBUSY);
		want(!smr_destroy_cq(ibv_cq_ex_to_cq(cq)));
	}
	want(smr_dealloc_pd(&base->pd) == EBUSY);
	want(!smr_dealloc_pd(parent));
	free(base);
}

const struct tap_test cq_tests[] = {
	{ "poll, across the end of the index's range", poll },
	{ "iterate over an extended CQ", iterate },
	{ "completions of a destroyed QP go", forget },
	{ "likewise, across the ring's end", forget_at_the_end },
	{ "likewise, in the middle of a batch", forget_in_a_batch },
	{ "the fields of a completion", read_fields },
	{ "resize keeps what was not polled", resize },
	{ "a resize to a ring that cannot be mapped", resize_unmappable },
	{ "who polls during a resize sleeps", resize_while_polled },
	{ "a parent domain stays as long as its objects", parent_domain },
	{},
};
