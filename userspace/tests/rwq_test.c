// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive work queues.
 */
#include <errno.h>

#include "rig.h"

static struct ibv_cq *make_cq(void)
{
	return smr_create_cq(fake_context(), FAKE_DEPTH, NULL, 0);
}

static struct ibv_wq *make_wq(struct ibv_cq *cq)
{
	static struct smr_pd domain;
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .cq = cq,
		.pd = &domain.pd,
	};

	domain.pd.context = fake_context();
	memset(fake.doorbells, 0, sizeof(fake.doorbells));
	return smr_create_wq(fake_context(), &attr);
}

static int to_state(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state,
	};

	return smr_modify_wq(wq, &attr);
}

static int post(struct ibv_wq *wq)
{
	struct ibv_recv_wr wr = { .wr_id = 5 }, *bad = NULL;
	int ret = wq->post_recv(wq, &wr, &bad);

	want(bad == (ret ? &wr : NULL));
	return ret;
}

/* The head of the last ring, as the kernel writes it */
static void kernel_writes(uint64_t ring_at, uint32_t flags)
{
	struct smr_ring_hdr hdr = { .flags = flags };

	want(pwrite(fake_context()->cmd_fd, &hdr, sizeof(hdr),
		    (off_t)ring_at) == sizeof(hdr));
}

static void post_to_wq(void)
{
	struct ibv_cq *cq = make_cq();
	struct ibv_wq *wq = make_wq(cq);
	uint64_t at = fake.ring_at;
	int i;

	want(wq && post(wq) == EINVAL);		/* in RESET */
	want(!to_state(wq, IBV_WQS_RDY));
	want(!post(wq) && !fake.doorbells[1]);
	kernel_writes(at, SMR_RING_NEED_DOORBELL);
	want(!post(wq) && fake.doorbells[1] == 1 && !fake.doorbells[0]);
	for (i = 2; i < FAKE_MAX_WR; i++)
		want(!post(wq));
	want(post(wq) == ENOMEM);
	fake.doorbell_err = EIO;
	want(!to_state(wq, IBV_WQS_RESET));
	want(!to_state(wq, IBV_WQS_RDY));
	kernel_writes(at, SMR_RING_NEED_DOORBELL);
	want(!to_state(wq, IBV_WQS_RESET) && !to_state(wq, IBV_WQS_RDY));
	want(post(wq) == EIO);
	fake.doorbell_err = 0;

	fake.reg_err = EBUSY;			/* it is in a table */
	want(smr_destroy_wq(wq) == EBUSY);
	fake.reg_err = 0;
	want(!smr_destroy_wq(wq) && !smr_destroy_cq(cq));
}

/*
 * Its completions are removed when it is destroyed or reset; those of others
 * stay.
 */
static void forgets(void)
{
	struct ibv_cq *cq = make_cq();
	struct smr_ring *ring = &to_smr_cq(cq)->ring;
	struct ibv_wq *wq = make_wq(cq);
	struct ibv_wc wc[FAKE_DEPTH];
	int i;

	for (i = 0; i < 4; i++) {
		struct smr_cqe *cqe = smr_ring_entry(ring, ring->hdr->prod++);

		*cqe = (struct smr_cqe){
			.wr_id = i, .qp_num = i % 2 ? 17 : FAKE_WQ_NUM,
		};
	}
	want(!to_state(wq, IBV_WQS_RESET));
	want(smr_poll_cq(cq, FAKE_DEPTH, wc) == 2);
	want(wc[0].wr_id == 1 && wc[1].wr_id == 3);
	want(!smr_destroy_wq(wq) && !smr_destroy_cq(cq));
}

static void refused(void)
{
	struct ibv_cq *cq = make_cq();

	fake.reg_err = EPROTONOSUPPORT;		/* an older module */
	errno = 0;
	want(!make_wq(cq) && errno == EOPNOTSUPP);
	want(rig_noted(SMR_WHY_OLD_MODULE, EOPNOTSUPP, 0));
	fake.reg_err = 0;
	fake.bad_ring = FAKE_RING_NONE;
	want(!make_wq(cq) && errno == EPROTO);
	want(rig_noted(SMR_WHY_RING_UNKNOWN, EPROTO, 0));
	fake.bad_ring = FAKE_RING_GOOD;
	want(!smr_destroy_cq(cq));
}

const struct tap_test rwq_tests[] = {
	{ "post to a work queue", post_to_wq },
	{ "completions of a work queue that is reset go", forgets },
	{ "work queues that are refused", refused },
	{},
};
