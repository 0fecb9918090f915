// SPDX-License-Identifier: GPL-2.0
/*
 * A process that writes garbage into the rings that it shares with the kernel
 * harms nobody but itself.
 *
 * The tests check that other QPs still work, and that the process gets its own
 * QP back by a reset. The runner checks that the kernel logs nothing. fuzz_rings.c
 * writes garbage at random, from several threads.
 *
 * timeout: 120
 * boot: kmemleak
 * paths: host wire
 */
#include "harness.h"

#include <sys/ioctl.h>

#include "random.h"
#include "rings.h"
#include "uverbs.h"
#include "why.h"

#define FEED_MS		2000
#define FEED_DEPTH	16384

FIXTURE(hostile)
{
	/* a is the attacker, b its peer */
	struct vt_pair pair;
	struct vt_pair healthy;
	struct vt_rings a;
	struct vt_rings b;
};

FIXTURE_SETUP(hostile)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.inline_len = 64, .timeout = 10, .retry_cnt = 1,
			.rnr_retry = 1, .events = true)));
	VT_SETUP(vt_rings_find(&self->a, &self->pair.a));
	VT_SETUP(vt_rings_find(&self->b, &self->pair.b));
	VT_SETUP(vt_pair_reset(&self->pair));
	VT_SETUP(vt_pair_open(&self->healthy, &vt_defaults));
}

/* The attackers' CQs may contain anything: read no completion. */
FIXTURE_TEARDOWN(hostile)
{
	vt_pair_close(&self->pair);
	vt_pair_close(&self->healthy);
}

/* -- single entries, one thing wrong with each */

/**
 * struct wrong - a send request with one error
 * @make: spoils a correct WRITE
 * @why: the reason; 0: any
 * @num: its first number
 */
struct wrong {
	const char *what;
	void (*make)(struct smr_send_wqe *wqe);
	enum smr_why_id why;
	uint64_t num;
};

#define WRONG(name, statement) \
static void name(struct smr_send_wqe *wqe) { statement; }

WRONG(no_sge_room, wqe->num_sge = 5)
WRONG(sges_33, wqe->num_sge = 33)
WRONG(sges_255, wqe->num_sge = 255)
WRONG(opcode_255, wqe->opcode = 255)
WRONG(opcode_14, wqe->opcode = 14)
WRONG(opcode_reg_mr, wqe->opcode = 0x20)
WRONG(opcode_bind, wqe->opcode = IBV_WR_BIND_MW)
WRONG(opcode_local_inv, wqe->opcode = IBV_WR_LOCAL_INV)
WRONG(opcode_tso, wqe->opcode = IBV_WR_TSO)
WRONG(inline_over, wqe->send_flags |= IBV_SEND_INLINE; wqe->inline_len = 65)
WRONG(inline_65535,
      wqe->send_flags |= IBV_SEND_INLINE; wqe->inline_len = 65535)
WRONG(inline_read, wqe->opcode = IBV_WR_RDMA_READ;
      wqe->send_flags |= IBV_SEND_INLINE; wqe->inline_len = 8)
WRONG(length_2g, wqe->sge[0].length = 0x80000001)
WRONG(length_4g, wqe->sge[0].length = 0xffffffff)
WRONG(length_sum, wqe->num_sge = 4; wqe->sge[0].length = 0x7fffffff;
      wqe->sge[1] = wqe->sge[2] = wqe->sge[3] = wqe->sge[0])
WRONG(atomic_7_bytes, wqe->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      wqe->sge[0].length = 7)
WRONG(atomic_no_sge, wqe->opcode = IBV_WR_ATOMIC_CMP_AND_SWP; wqe->num_sge = 0)
WRONG(address_wraps, wqe->sge[0].addr = ~0ull)
WRONG(address_kernel, wqe->sge[0].addr = 0xffff888000000000ull)
WRONG(key_0, wqe->sge[0].lkey = 0)
WRONG(key_max, wqe->sge[0].lkey = ~0u)

static const struct wrong wrongs[] = {
#define W(name, ...) { #name, name, __VA_ARGS__ }
	W(no_sge_room, SMR_WHY_WR_SGE, 5), W(sges_33, SMR_WHY_WR_SGE, 33),
	W(sges_255, SMR_WHY_WR_SGE, 255), W(opcode_255, SMR_WHY_WR_OPCODE, 255),
	W(opcode_14, SMR_WHY_WR_FLUSH, 14), W(opcode_reg_mr), W(opcode_bind),
	W(opcode_local_inv, SMR_WHY_WR_INVALIDATE), W(opcode_tso, SMR_WHY_WR_OPCODE, IBV_WR_TSO),
	W(inline_over, SMR_WHY_WR_INLINE, IBV_WR_RDMA_WRITE),
	W(inline_65535, SMR_WHY_WR_INLINE, IBV_WR_RDMA_WRITE),
	W(inline_read, SMR_WHY_WR_INLINE, IBV_WR_RDMA_READ),
	W(length_2g, SMR_WHY_WR_LENGTH, IBV_WR_RDMA_WRITE),
	W(length_4g, SMR_WHY_WR_LENGTH, IBV_WR_RDMA_WRITE),
	W(length_sum, SMR_WHY_WR_LENGTH, IBV_WR_RDMA_WRITE),
	W(atomic_7_bytes, SMR_WHY_WR_LENGTH, IBV_WR_ATOMIC_FETCH_AND_ADD),
	W(atomic_no_sge, SMR_WHY_WR_LENGTH, IBV_WR_ATOMIC_CMP_AND_SWP),
	W(address_wraps), W(address_kernel), W(key_0, SMR_WHY_KEY_UNKNOWN, 0),
	W(key_max, SMR_WHY_KEY_UNKNOWN, ~0u),
#undef W
};

static void good_wqe(struct vt_pair *pair, struct smr_send_wqe *wqe)
{
	struct ibv_sge from = vt_sge(&pair->a.buf, VT_GUARD, 100);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = 77;
	wqe->opcode = IBV_WR_RDMA_WRITE;
	wqe->send_flags = IBV_SEND_SIGNALED;
	wqe->num_sge = 1;
	wqe->rdma.remote_addr = (uintptr_t)pair->b.buf.p + VT_GUARD;
	wqe->rdma.rkey = pair->b.buf.mr->rkey;
	memcpy(&wqe->sge[0], &from, sizeof(from));
}

/* Publish the next entry, and return the status of its completion. */
static int submit(FIXTURE_DATA(hostile) *self)
{
	struct smr_ring_hdr *hdr = self->a.sq.hdr;

	vt_set_index(&hdr->prod, hdr->prod + 1);
	if (vt_ring_sq(&self->pair.a))
		return -EIO;
	return vt_status(self->pair.a.scq, 77);
}

/* The correct entry works. Otherwise the failures below would mean nothing. */
TEST_F(hostile, entry_as_it_should_be)
{
	good_wqe(&self->pair, vt_sq_entry(&self->a, self->a.sq.hdr->prod));
	EXPECT_EQ(IBV_WC_SUCCESS, submit(self));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(self->pair.a.qp));
}

static bool is_refused_for(FIXTURE_DATA(hostile) *self, const struct wrong *wrong)
{
	struct smr_abi_why rec;

	return !vt_why_last(self->pair.a.dev.ctx, &rec) && rec.id == wrong->why &&
	       rec.wr_id == 77 && (!wrong->num || rec.num[0] == wrong->num) && vt_why_reads(&rec);
}

/* Each single error causes an error completion, and a QP in the error state. */
TEST_F(hostile, entry_with_one_wrong_thing)
{
	struct smr_send_wqe *wqe;
	int i, status;

	for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
		wqe = vt_sq_entry(&self->a, self->a.sq.hdr->prod);
		good_wqe(&self->pair, wqe);
		wrongs[i].make(wqe);
		status = submit(self);
		EXPECT_LT(IBV_WC_SUCCESS, status)
			TH_LOG("%s: status %d", wrongs[i].what, status);
		EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->pair.a.qp));
		if (wrongs[i].why)
			EXPECT_TRUE(is_refused_for(self, &wrongs[i]))
				TH_LOG("%s", wrongs[i].what);
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

static void spoil_rwqe(struct smr_recv_wqe *wqe, int how)
{
	static const uint32_t counts[] = { 5, 33, 255, 0x80000001, ~0u };

	if (how < ARRAY_SIZE(counts))
		wqe->num_sge = counts[how];
	else
		wqe->sge[0].addr = ~0ull;
}

/*
 * A malformed receive: the peer's SEND fails, and the receiver gets an error.
 */
TEST_F(hostile, receive_entry_with_one_wrong_thing)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_sge from = vt_sge(&a->buf, VT_GUARD, 100);
	struct ibv_sge to = vt_sge(&b->buf, VT_GUARD, 100);
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, &from);
	int how;

	for (how = 0; how < 6; how++) {
		uint32_t idx = self->b.rq.hdr->prod;

		ASSERT_EQ(0, vt_post_recv(b, 2, &to, 1));
		spoil_rwqe(vt_rq_entry(&self->b, idx), how);
		ASSERT_EQ(0, vt_post(a, &wr));
		EXPECT_LT(IBV_WC_SUCCESS, vt_status(a->scq, 1))
			TH_LOG("way %d", how);
		EXPECT_LT(IBV_WC_SUCCESS, vt_status(b->rcq, 2))
			TH_LOG("way %d", how);
		EXPECT_TRUE(how < 5 ? vt_why_is(b->dev.ctx, RECV_SGE, 4) :
			    vt_why_is(b->dev.ctx, KEY_RANGE, to.lkey, ~0ull));
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

/* The receive ring claims more entries than it has: the sender learns that its peer has failed. */
TEST_F(hostile, receive_index_out_of_range)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, NULL);

	vt_set_index(&self->b.rq.hdr->prod, self->b.rq.hdr->cons + 1000);
	ASSERT_EQ(0, vt_post(a, &wr));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, vt_status(a->scq, 1));
	EXPECT_TRUE(vt_why_is(b->dev.ctx, RECV_RING));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

/* A producer index beyond the ring's depth, or one that goes back. */
TEST_F(hostile, send_index_out_of_range)
{
	static const int32_t jumps[] = {
		1000, 0x7fffffff, INT32_MIN, -1, -1000, 17, 33, 4096,
	};
	struct ibv_wc wc[64];
	int i;

	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		struct smr_ring_hdr *hdr = self->a.sq.hdr;

		vt_set_index(&hdr->prod, hdr->cons + jumps[i]);
		ASSERT_EQ(0, vt_ring_sq(&self->pair.a));
		while (vt_poll(self->pair.a.scq, wc, 64, 20) > 0)
			;
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_TRUE(vt_pair_works(&self->pair));
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

/* A CQ with a wrong consumer index: at worst that CQ overruns. */
TEST_F(hostile, cq_index_out_of_range)
{
	static const int32_t jumps[] = { 1, 1000, INT32_MIN, -1, -1000 };
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 0, NULL);
	int i;

	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		struct smr_ring_hdr *hdr = self->a.scq.hdr;

		vt_set_index(&hdr->cons, hdr->prod + jumps[i]);
		vt_post(&self->pair.a, &wr);
		usleep(5000);
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

/* -- a ring that another thread writes to */

struct feeder {
	struct vt_rings *rings;
	pthread_t thread;
	bool going;
};

/* A thread keeps the ring full. */
static void *feed(void *arg)
{
	struct feeder *f = arg;
	struct smr_ring_hdr *hdr = f->rings->sq.hdr;
	uint64_t end = vt_now_ms() + FEED_MS;
	int i;

	while (vt_now_ms() < end) {
		/* faster than the kernel consumes it */
		for (i = 0; i < 10000; i++)
			vt_set_index(&hdr->prod, hdr->cons + f->rings->depth);
		__atomic_store_n(&f->going, true, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&f->going, false, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Requests that take no time, need no peer and are unsignalled: the thread that
 * rings the doorbell returns even while more of them are posted.
 */
TEST_F(hostile, ring_that_is_never_empty)
{
	struct vt_rings rings = { .depth = 0 };
	struct feeder f = { .rings = &rings };
	struct smr_send_wqe *wqe;
	struct vt_pair pair;
	struct ibv_mw *mw;
	int bell, doorbells = 0;
	uint32_t i;

	/*
	 * The ring must not run empty while the feeder waits for a processor.
	 */
	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.depth = FEED_DEPTH)));
	ASSERT_EQ(0, vt_rings_find(&rings, &pair.a));
	ASSERT_EQ(0, vt_pair_reset(&pair));
	mw = ibv_alloc_mw(pair.a.pd, IBV_MW_TYPE_1);
	if (!mw)
		SKIP(return, "no memory windows");
	for (i = 0; i < rings.depth; i++) {
		wqe = vt_sq_entry(&rings, i);
		memset(wqe, 0, sizeof(*wqe));
		wqe->opcode = IBV_WR_BIND_MW;
		wqe->bind_mw.mw_rkey = mw->rkey;
		wqe->bind_mw.new_rkey = mw->rkey;
	}
	bell = vt_ucmd_file(pair.a.dev.ctx, SMR_METHOD_DOORBELL_OPEN, SMR_ATTR_DOORBELL_FD);
	ASSERT_LE(0, bell);
	ASSERT_EQ(0, pthread_create(&f.thread, NULL, feed, &f));
	while (!__atomic_load_n(&f.going, __ATOMIC_RELAXED))
		sched_yield();
	while (__atomic_load_n(&f.going, __ATOMIC_RELAXED)) {
		ASSERT_EQ(0, ioctl(bell, SMR_IOC_RING_SQ, pair.a.qp->qp_num));
		doorbells++;
	}
	/*
	 * Do not check the maximum: a busy machine may not schedule a thread
	 * for a while.
	 */
	printf("# %d doorbells\n", doorbells);
	EXPECT_LE(FEED_MS / 4, doorbells);
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(pair.a.qp));
	EXPECT_TRUE(vt_pair_works(&self->healthy));
	pthread_join(f.thread, NULL);
	close(bell);
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	vt_pair_close(&pair);
}

/* -- mappings */

static bool mappable(int fd, size_t len, int prot, int flags, uint64_t offset)
{
	void *p = mmap(NULL, len, prot, flags, fd, offset);

	if (p != MAP_FAILED)
		munmap(p, len);
	return p != MAP_FAILED;
}

/* An arena can be mapped as a whole, shared, and at its offset. */
TEST_F(hostile, rings_map_only_as_they_are)
{
	int fd = self->pair.a.dev.ctx->cmd_fd, rw = PROT_READ | PROT_WRITE;
	int other = self->pair.b.dev.ctx->cmd_fd;
	size_t page = sysconf(_SC_PAGESIZE);
	struct vt_arena arena;

	ASSERT_EQ(0, vt_arena_find(&self->a.sq, &arena));
	EXPECT_TRUE(mappable(fd, arena.len, rw, MAP_SHARED, arena.offset));
	EXPECT_FALSE(mappable(fd, arena.len - page, rw, MAP_SHARED, arena.offset));
	EXPECT_FALSE(mappable(fd, arena.len + page, rw, MAP_SHARED, arena.offset));
	EXPECT_FALSE(mappable(fd, 16 * 1024 * 1024, rw, MAP_SHARED, arena.offset));
	EXPECT_FALSE(mappable(fd, page, rw, MAP_SHARED, arena.offset));
	EXPECT_FALSE(mappable(fd, arena.len, rw, MAP_PRIVATE, arena.offset));
	EXPECT_FALSE(mappable(fd, arena.len, rw, MAP_SHARED,
			      arena.offset + (1ull << 40)));
	EXPECT_FALSE(mappable(other, arena.len, rw, MAP_SHARED,
			      arena.offset + (1ull << 30)));
}

/* A ring that is mapped after its QP was destroyed is plain memory. */
TEST_F(hostile, mapping_outlives_its_qp)
{
	struct vt_ep *a = &self->pair.a;
	struct vt_ring *ring = &self->a.sq, extra;
	uint64_t random = vt_random_begin(vt_seed(), 0);
	struct vt_arena arena;
	int i;

	ASSERT_EQ(0, vt_ring_map_again(&extra, ring, a->dev.ctx->cmd_fd));
	ASSERT_EQ(0, vt_arena_find(&extra, &arena));
	ASSERT_EQ(0, ibv_destroy_qp(a->qp));
	a->qp = NULL;
	for (i = 0; i < 1000; i++)
		((uint64_t *)extra.hdr)[vt_random(&random) % (ring->len / 8)] =
			random;
	EXPECT_EQ(0, munmap(arena.p, arena.len));
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

VT_HARNESS_MAIN
