// SPDX-License-Identifier: GPL-2.0
/*
 * The address of a connected QP is modified while packets of its peer arrive. It is the same
 * address each time, so all of them are right.
 *
 * timeout: 60
 * race: yes
 * paths: veth
 */
#include "harness.h"

#include <stdatomic.h>

#define ROUNDS	3000
#define MS	10000

FIXTURE(move)
{
	struct vt_pair pair;
	pthread_t thread;
	atomic_bool stop;
	atomic_int done;
	bool running;
};

/* b writes to a, one small message after another. */
static void *writer(void *arg)
{
	FIXTURE_DATA(move) *self = arg;
	struct vt_ep *b = &self->pair.b;
	struct ibv_sge sge = vt_sge(&b->buf, 0, 8);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)self->pair.a.buf.p,
		.wr.rdma.rkey = self->pair.a.buf.mr->rkey,
	};

	while (!atomic_load(&self->stop)) {
		if (vt_outcome(b, &wr))
			break;
		atomic_fetch_add(&self->done, 1);
	}
	return NULL;
}

FIXTURE_SETUP(move)
{
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
}

FIXTURE_TEARDOWN(move)
{
	atomic_store(&self->stop, true);
	if (self->running)
		pthread_join(self->thread, NULL);
	vt_pair_close(&self->pair);
}

TEST_F(move, to_the_same_address)
{
	struct vt_ep *a = &self->pair.a;
	struct vt_addr b = vt_ep_addr(&self->pair.b);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	uint64_t end = vt_now_ms() + MS;
	int64_t wrong = vt_counter_now(a->dev.ctx, "rx_wrong_source");
	int i, before;

	ASSERT_EQ(0, vt_qp_drain(a->qp));
	attr.ah_attr = vt_ah_attr(a->dev.gid_index, &b.gid);
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, writer, self));
	self->running = true;
	for (i = 0; i < ROUNDS && vt_now_ms() < end; i++)
		ASSERT_EQ(0, ibv_modify_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_AV));
	printf("# %d times, while %d messages came\n", i, atomic_load(&self->done));
	EXPECT_LT(100, atomic_load(&self->done));
	EXPECT_EQ(wrong, vt_counter_now(a->dev.ctx, "rx_wrong_source"));
	before = atomic_load(&self->done);
	while (atomic_load(&self->done) == before && vt_now_ms() < end + MS)
		;
	EXPECT_LT(before, atomic_load(&self->done));
}

VT_HARNESS_MAIN
