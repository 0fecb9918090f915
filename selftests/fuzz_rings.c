// SPDX-License-Identifier: GPL-2.0
/*
 * Threads write into the rings that a process shares with the kernel: work requests that are
 * nearly right, indices, and bytes. They ring doorbells, also of objects that are not theirs. At
 * the same time another thread uses, resizes, changes and destroys the objects that the rings and
 * the requests belong to. In the end the process exits, closes everything or is killed. This runs
 * in one child after the other, each with its own random numbers from one seed. hostile_ring.c does
 * the same in single steps.
 *
 *   SMR_SEED=N ./fuzz_rings	draws the same numbers again; threads race, so a run differs
 *   SMR_FUZZ_SECONDS=N		for how long
 *
 * A splat is a finding, and so is another process's connection that stops working.
 *
 * beds: uml-checked uml
 * timeout: 90
 * boot: own
 * paths: host wire
 */
#include "harness.h"
#include "cover.h"
#include "random.h"
#include "rings.h"

#define SECONDS		5
#define BRIEFLY		3
#define LIFE_MS		400
#define SCRIBBLERS	2
#define RINGS		8

/**
 * struct tally - counts of the children's actions, in memory that they share with the parent
 */
struct tally {
	uint64_t entries, indices, bytes, doorbells, changes, lives;
};

/**
 * struct attack - one child's work
 * @pair: the connection whose rings are written to
 * @ring: mappings of the rings that remain when their objects are destroyed
 * @mw: a window for requests that bind
 * @mw_rkey: its key; here and in the fields below, because objects are destroyed while scribblers
 * use the keys
 * @a_lkey: of a's buffer
 * @b_rkey: of b's
 * @qpn: the numbers of both QPs
 */
struct attack {
	struct vt_pair pair;
	struct vt_rings rings[2];
	struct vt_ring ring[RINGS];
	struct ibv_mw *mw;
	uint32_t mw_rkey, a_lkey, b_rkey;
	uint32_t qpn[2];
	struct tally *tally;
};

/**
 * struct scribbler - one thread
 */
struct scribbler {
	struct attack *attack;
	pthread_t thread;
	uint64_t random;
};

FIXTURE(fuzz)
{
	struct vt_pair healthy;
	struct vt_cover cover;
	struct tally *tally;
	unsigned long taint;
};

static void count(uint64_t *number)
{
	__atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

/* -- the writes of a scribbler */

/* A request of any opcode that the kernel would execute */
static void good_entry(struct attack *a, struct smr_send_wqe *wqe, uint64_t *r)
{
	struct ibv_sge from = {
		.addr = (uintptr_t)a->pair.a.buf.p + VT_GUARD,
		.length = vt_random_below(r, 9000), .lkey = a->a_lkey,
	};

	memset(wqe, 0, sizeof(*wqe));
	wqe->opcode = vt_random_below(r, 16);
	wqe->send_flags = IBV_SEND_SIGNALED;
	wqe->num_sge = 1;
	memcpy(&wqe->sge[0], &from, sizeof(from));
	if (wqe->opcode == IBV_WR_BIND_MW) {
		wqe->bind_mw.addr = (uintptr_t)a->pair.a.buf.p;
		wqe->bind_mw.length = vt_random_below(r, 3) * 4096;
		wqe->bind_mw.mr_lkey = a->a_lkey;
		wqe->bind_mw.mw_rkey = a->mw_rkey;
		wqe->bind_mw.new_rkey = a->mw_rkey + vt_random_below(r, 3);
		wqe->bind_mw.access = IBV_ACCESS_REMOTE_WRITE;
	} else if (wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wqe->sge[0].length = 8;
		wqe->atomic.remote_addr = (uintptr_t)a->pair.b.buf.p;
		wqe->atomic.rkey = a->b_rkey;
	} else {
		wqe->rdma.remote_addr = (uintptr_t)a->pair.b.buf.p + VT_GUARD;
		wqe->rdma.rkey = a->b_rkey;
	}
	wqe->imm_or_rkey = a->mw_rkey;
}

/* Change one field: any 1, 2, 4 or 8 bytes of the entry. */
static void spoil(void *entry, size_t len, uint64_t *r)
{
	size_t size = 1ul << vt_random_below(r, 4);
	size_t at = vt_random_below(r, len / size) * size;
	uint64_t value = vt_nasty(r);

	memcpy((uint8_t *)entry + at, &value, size);
}

static void scribble_send(struct attack *a, uint64_t *r)
{
	struct vt_rings *rings = &a->rings[vt_random_below(r, 2)];
	struct smr_ring_hdr *hdr = a->ring[rings == &a->rings[0] ? 0 : 4].hdr;
	uint32_t prod = __atomic_load_n(&hdr->prod, __ATOMIC_RELAXED);
	struct smr_send_wqe *wqe = (void *)((uint8_t *)(hdr + 1) +
					    (size_t)(prod % rings->depth) * rings->sq_stride);
	int spoils = vt_random_below(r, 3);

	good_entry(a, wqe, r);
	while (spoils--)
		spoil(wqe, sizeof(*wqe) + sizeof(wqe->sge[0]), r);
	vt_set_index(&hdr->prod, prod + 1);
	count(&a->tally->entries);
}

static void scribble_recv(struct attack *a, uint64_t *r)
{
	struct vt_rings *rings = &a->rings[vt_random_below(r, 2)];
	struct smr_ring_hdr *hdr = a->ring[rings == &a->rings[0] ? 1 : 5].hdr;
	uint32_t prod = __atomic_load_n(&hdr->prod, __ATOMIC_RELAXED);
	struct smr_recv_wqe *wqe = (void *)((uint8_t *)(hdr + 1) +
					    (size_t)(prod % rings->depth) * rings->rq_stride);
	struct ibv_sge to = {
		.addr = (uintptr_t)a->pair.b.buf.p + VT_GUARD, .length = 4096, .lkey = a->b_rkey,
	};

	memset(wqe, 0, sizeof(*wqe));
	wqe->num_sge = 1;
	memcpy(&wqe->sge[0], &to, sizeof(to));
	if (vt_random_below(r, 2))
		spoil(wqe, sizeof(*wqe) + sizeof(wqe->sge[0]), r);
	vt_set_index(&hdr->prod, prod + 1);
	count(&a->tally->entries);
}

static void scribble_index(struct attack *a, uint64_t *r)
{
	struct smr_ring_hdr *hdr = a->ring[vt_random_below(r, RINGS)].hdr;
	uint32_t *index = vt_random_below(r, 2) ? &hdr->prod : &hdr->cons;

	if (!vt_random_below(r, 8))
		index = &hdr->flags;
	if (vt_random_below(r, 2))
		vt_set_index(index, vt_nasty(r));
	else
		vt_set_index(index, *index + vt_random_below(r, 9) - 4);
	count(&a->tally->indices);
}

static void scribble_bytes(struct attack *a, uint64_t *r)
{
	struct vt_ring *ring = &a->ring[vt_random_below(r, RINGS)];

	((uint64_t *)ring->hdr)[vt_random_below(r, ring->len / 8)] = vt_nasty(r);
	count(&a->tally->bytes);
}

static void ring_doorbell(struct attack *a, uint64_t *r)
{
	struct vt_ep *ep = vt_random_below(r, 2) ? &a->pair.a : &a->pair.b;

	/* of either context's QP, whether it still exists or not */
	vt_doorbell(ep->dev.ctx, vt_random_below(r, 2) ? SMR_IOC_RING_SQ : SMR_IOC_RING_RQ,
		    vt_random_below(r, 8) ? a->qpn[vt_random_below(r, 2)] : (uint32_t)vt_nasty(r));
	count(&a->tally->doorbells);
}

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	struct attack *a = s->attack;
	uint64_t *r = &s->random;

	/* until the process exits */
	for (;;) {
		switch (vt_random_below(r, 12)) {
		case 0:
			scribble_index(a, r);
			break;
		case 1:
			scribble_bytes(a, r);
			break;
		case 2:
		case 3:
			scribble_recv(a, r);
			break;
		case 4:
		case 5:
		case 6:
			ring_doorbell(a, r);
			break;
		default:
			scribble_send(a, r);
		}
	}
	return NULL;
}

/* -- changes of the objects at the same time */

/* Resize the attackers' own queues: the provider reads the contents of a ring when it moves it. */
static void change_queues(struct vt_ep *ep, uint64_t *r)
{
	struct ibv_cq *cq = ibv_create_cq(ep->dev.ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = cq ? ibv_create_qp(ep->pd, &init) : NULL;

	if (cq)
		ibv_resize_cq(cq, 1 + vt_random_below(r, 200));
	if (qp) {
		vt_qp_init(qp, &ep->conf);
		ibv_destroy_qp(qp);
	}
	if (cq)
		ibv_destroy_cq(cq);
}

static void change_state(struct vt_ep *ep, uint64_t *r)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPS_ERR };
	struct ibv_qp_attr attr = { .qp_state = states[vt_random_below(r, 3)] };

	ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE);
}

/* Deregister the regions that the requests name, and register them with other keys. */
static void change_region(struct vt_ep *ep)
{
	struct ibv_mr *mr = ibv_reg_mr(ep->pd, ep->buf.p, ep->buf.len,
				       VT_ACCESS_ALL | IBV_ACCESS_MW_BIND), *old = ep->buf.mr;

	if (!mr)
		return;
	if (ibv_dereg_mr(old))
		ibv_dereg_mr(mr);
	else
		__atomic_store_n(&ep->buf.mr, mr, __ATOMIC_RELAXED);
}

static void change(struct attack *a, uint64_t *r)
{
	struct vt_ep *ep = vt_random_below(r, 2) ? &a->pair.a : &a->pair.b;

	switch (vt_random_below(r, 8)) {
	case 0:
		change_queues(ep, r);
		break;
	case 1:
		change_state(ep, r);
		break;
	case 2:
		ibv_resize_cq(ep->scq, 16 + vt_random_below(r, 64));
		break;
	case 3:
		madvise(ep->buf.p, ep->buf.len, MADV_DONTNEED);
		break;
	case 4:
		vt_pair_reset(&a->pair);
		break;
	default:
		ring_doorbell(a, r);
	}
	count(&a->tally->changes);
}

/* -- one life */

/* Separate mappings, because the provider unmaps its own with the objects */
static int map_again(struct vt_ring ring[4], const struct vt_rings *of, struct vt_ep *ep)
{
	int fd = ep->dev.ctx->cmd_fd;

	return vt_ring_map_again(&ring[0], &of->sq, fd) ?:
	       vt_ring_map_again(&ring[1], &of->rq, fd) ?:
	       vt_ring_map_again(&ring[2], &of->scq, fd) ?:
	       vt_ring_map_again(&ring[3], &of->rcq, fd);
}

static int attack_open(struct attack *a)
{
	struct vt_conf conf = vt_defaults;
	struct vt_ep *eps[] = { &a->pair.a, &a->pair.b };
	int i, ret;

	conf.inline_len = 64;
	conf.timeout = 10;
	conf.retry_cnt = 1;
	conf.rnr_retry = 1;
	conf.buf_access |= IBV_ACCESS_MW_BIND;
	ret = vt_pair_open(&a->pair, &conf);
	for (i = 0; i < 2 && !ret; i++) {
		ret = vt_rings_find(&a->rings[i], eps[i]);
		if (!ret)
			ret = map_again(&a->ring[4 * i], &a->rings[i], eps[i]);
	}
	if (!ret)
		ret = vt_pair_reset(&a->pair);
	if (ret)
		return ret;
	a->mw = ibv_alloc_mw(a->pair.a.pd, IBV_MW_TYPE_1);
	if (!a->mw)
		return -errno;
	a->mw_rkey = a->mw->rkey;
	a->qpn[0] = a->pair.a.qp->qp_num;
	a->qpn[1] = a->pair.b.qp->qp_num;
	a->a_lkey = a->pair.a.buf.mr->lkey;
	a->b_rkey = a->pair.b.buf.mr->rkey;
	return 0;
}

/* Destroy the connection while its rings are still written to. */
static void destroy_under_fire(struct attack *a)
{
	ibv_destroy_qp(a->pair.a.qp);
	a->pair.a.qp = NULL;
	usleep(2000);
	ibv_destroy_qp(a->pair.b.qp);
	a->pair.b.qp = NULL;
	change_region(&a->pair.a);
	change_region(&a->pair.b);
	ibv_dealloc_mw(a->mw);
	ibv_destroy_cq(a->pair.a.scq);
	a->pair.a.scq = NULL;
	usleep(2000);
}

/* A child's life, which ends in one of three ways. Exit status 1: it could not begin. */
static void live(struct tally *tally, uint64_t seed, uint64_t n)
{
	static struct attack attack;
	struct scribbler s[SCRIBBLERS];
	uint64_t r = vt_random_begin(seed, n), end;
	int i, way = vt_random_below(&r, 3);

	attack.tally = tally;
	if (attack_open(&attack))
		_exit(1);
	end = vt_now_ms() + LIFE_MS / 4 + vt_random_below(&r, LIFE_MS);
	for (i = 0; i < SCRIBBLERS; i++) {
		s[i] = (struct scribbler){ .attack = &attack, .random = vt_random(&r) };
		if (pthread_create(&s[i].thread, NULL, scribble, &s[i]))
			_exit(1);
	}
	while (vt_now_ms() < end)
		change(&attack, &r);
	if (way == 0)
		kill(getpid(), SIGKILL);
	if (way == 1)
		destroy_under_fire(&attack);
	_exit(0);
}

FIXTURE_SETUP(fuzz)
{
	memset(self, 0, sizeof(*self));
	VT_SETUP(vt_pair_open(&self->healthy, &vt_defaults));
	self->tally = mmap(NULL, sizeof(*self->tally), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->tally);
	self->taint = vt_tainted();
	vt_cover_open(&self->cover);
}

FIXTURE_TEARDOWN(fuzz)
{
	vt_cover_close(&self->cover);
	vt_pair_close(&self->healthy);
}

TEST_F_TIMEOUT(fuzz, rings, 100000)
{
	uint64_t end = vt_now_ms() + 1000ull * vt_fuzz_seconds(SECONDS, BRIEFLY);
	struct tally *t = self->tally;
	uint64_t seed = vt_seed();
	int status;
	pid_t pid;

	while (vt_now_ms() < end) {
		fflush(stdout);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			live(t, seed, t->lives);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_FALSE(WIFEXITED(status) && WEXITSTATUS(status))
			TH_LOG("life %llu could not begin", (unsigned long long)t->lives);
		t->lives++;
		ASSERT_TRUE(vt_pair_works(&self->healthy))
			TH_LOG("after life %llu", (unsigned long long)t->lives);
		ASSERT_EQ(self->taint, vt_tainted())
			TH_LOG("after life %llu", (unsigned long long)t->lives);
	}
	vt_cover_grows(&self->cover);
	printf("# fuzz_rings: %llu lives, %llu entries, %llu indices, %llu writes of bytes, %llu doorbells, %llu changes, %d blocks and %d edges covered, 0 found\n",
	       (unsigned long long)t->lives, (unsigned long long)t->entries,
	       (unsigned long long)t->indices, (unsigned long long)t->bytes,
	       (unsigned long long)t->doorbells, (unsigned long long)t->changes,
	       self->cover.blocks, self->cover.edges);
	EXPECT_LT(0, t->doorbells);
	EXPECT_LT(0, t->changes);
}

VT_HARNESS_MAIN
