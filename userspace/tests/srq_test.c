// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: posting, resizing, older and faulty modules.
 */
#include <errno.h>

#include "rig.h"

static struct smr_srq *make_srq(void)
{
	static struct smr_pd domain;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4 } };
	struct ibv_srq *srq;

	domain.pd.context = fake_context();
	to_smr_context(fake_context())->abi_minor = SMR_ABI_MINOR;
	srq = smr_create_srq(&domain.pd, &attr);
	return srq ? to_smr_srq(srq) : NULL;
}

static int post(struct smr_srq *srq, uint64_t wr_id, int num_sge)
{
	static struct ibv_sge sges[FAKE_MAX_SGE + 1] = {
		{ .addr = 0x1000, .length = 1, .lkey = 0x100 },
	};
	struct ibv_recv_wr wr = {
		.wr_id = wr_id, .sg_list = sges, .num_sge = num_sge,
	};
	struct ibv_recv_wr *bad = NULL;
	int ret = smr_post_srq_recv(&srq->vsrq.srq, &wr, &bad);

	want(bad == (ret ? &wr : NULL));
	return ret;
}

static int resize(struct smr_srq *srq, uint32_t max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return smr_modify_srq(&srq->vsrq.srq, &attr, IBV_SRQ_MAX_WR);
}

static uint64_t posted(struct smr_srq *srq, uint32_t i)
{
	struct smr_recv_wqe *wqe = smr_ring_entry(&srq->rq.ring, i);

	return wqe->wr_id;
}

static void post_and_number(void)
{
	struct smr_srq *srq = make_srq();
	uint32_t num, i;

	want(!post(srq, 5, 1) && posted(srq, 0) == 5);
	want(rig_pending(&srq->rq) == 1);
	want(post(srq, 6, FAKE_MAX_SGE + 1) == EINVAL);
	want(post(srq, 6, -1) == EINVAL);
	for (i = 1; i < FAKE_MAX_WR; i++)
		want(!post(srq, 5 + i, 1));
	want(post(srq, 99, 1) == ENOMEM);
	want(!fake.doorbells[1]);

	want(smr_get_srq_num(&srq->vsrq.srq, &num) == EOPNOTSUPP);
	srq->vsrq.srq_type = IBV_SRQT_XRC;
	want(!smr_get_srq_num(&srq->vsrq.srq, &num) && num == 23);
	want(!smr_destroy_srq(&srq->vsrq.srq));
}

static void resized(struct smr_srq *srq)
{
	struct ibv_srq_attr attr = { .max_wr = 64, .srq_limit = 3 };

	want(!post(srq, 1, 1) && !post(srq, 2, 1) && !post(srq, 3, 0));
	srq->rq.ring.hdr->cons++;
	want(!resize(srq, 32));
	want(srq->rq.ring.depth == 32 && rig_pending(&srq->rq) == 2);
	want(posted(srq, 0) == 2 && posted(srq, 1) == 3);
	want(!post(srq, 4, 1) && posted(srq, 2) == 4);

	want(!smr_modify_srq(&srq->vsrq.srq, &attr,
			     IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	want(fake.srq_limit == 3 && srq->rq.ring.depth == 64);
	want(resize(srq, FAKE_MAX_CQE + 1) == EINVAL);
	want(smr_modify_srq(&srq->vsrq.srq, &attr, 1 << 5) == EINVAL);
	want(srq->rq.ring.depth == 64 && !post(srq, 5, 1));
	want(rig_pending(&srq->rq) == 4);
	want(!smr_destroy_srq(&srq->vsrq.srq));
}

static void resize_moves(void)
{
	size_t before = fake.not_for_child;

	resized(make_srq());
	fake.shared = true;
	resized(make_srq());
	fake.shared = false;
	want(fake.not_for_child == before && !fake_maps());
}

static void resize_of_old(void)
{
	struct smr_srq *srq = make_srq();

	to_smr_context(fake_context())->abi_minor = 0;
	resized(srq);
	to_smr_context(fake_context())->abi_minor = SMR_ABI_MINOR;
}

/* As for a CQ: the old ring's memory belongs to another ring. */
static void resize_unmappable(void)
{
	static const int errs[] = {
		[FAKE_RING_DEPTH] = EPROTO, [FAKE_RING_MMAP] = EINVAL,
		[FAKE_RING_NONE] = EPROTO,
	};
	struct smr_srq *srq;
	uint64_t at;
	int fault;

	for (fault = FAKE_RING_DEPTH; fault <= FAKE_RING_NONE; fault++) {
		srq = make_srq();
		at = fake.ring_at;
		want(!post(srq, 1, 1));
		fake.bad_ring = fault;
		want(resize(srq, 32) == errs[fault]);
		fake.bad_ring = FAKE_RING_GOOD;
		want(rig_other_ring(at, true, 17));

		want(post(srq, 2, 1) == EINVAL && post(srq, 3, 0) == EINVAL);
		want(rig_other_ring(at, false, 17));

		want(!resize(srq, 32));
		want(!post(srq, 4, 1) && rig_pending(&srq->rq) == 1);
		want(!smr_destroy_srq(&srq->vsrq.srq));
		want(rig_other_ring(at, false, 17));
	}
}

/* A module that creates an SRQ without a ring */
static void no_ring(void)
{
	fake.bad_ring = FAKE_RING_NONE;
	errno = 0;
	want(!make_srq() && errno == EPROTO);
	want(rig_noted(SMR_WHY_RING_UNKNOWN, EPROTO, 0));
	fake.bad_ring = FAKE_RING_GOOD;
}

const struct tap_test srq_tests[] = {
	{ "post to a shared receive queue", post_and_number },
	{ "a resize keeps what was not received", resize_moves },
	{ "the same of an older module", resize_of_old },
	{ "a resize to a ring that cannot be mapped", resize_unmappable },
	{ "a shared receive queue without a ring", no_ring },
	{},
};
