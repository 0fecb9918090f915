// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: a thread moves the memory in all ways during RDMA traffic, and the data is
 * checked. Also: pages next to those in use are mapped and unmapped, pages are unmapped while a
 * fault finds them, and processes exit in the middle of faults.
 *
 * race: yes
 * timeout: 90
 * paths: host wire
 */
#include "harness.h"
#include "cover.h"
#include "memory.h"
#include "random.h"
#include "region.h"
#include "system.h"

/* Time limit of a test in seconds, on a busy emulated machine */
#define LIMIT	90

#define CHUNK		(2 * MIB)
#define LEN		(2 * CHUNK)
/* The part that messages use; across a chunk's border */
#define AT		(CHUNK - MIB / 2)
#define SPAN		MIB
#define ROUND_MS	700

struct mover;

/**
 * struct way_to_move - moves memory and keeps its contents
 * @move: once; @n counts the calls
 */
struct way_to_move {
	const char *name;
	void (*move)(struct mover *m, unsigned int n);
};

/**
 * struct mover - a thread that moves memory
 * @p: LEN bytes
 * @lock: held while it moves, and while the process itself looks at the memory:
 *	on User-Mode Linux a process may see pages that were just freed. RDMA
 *	goes on meanwhile.
 */
struct mover {
	const struct way_to_move *way;
	uint8_t *p;
	pthread_t thread;
	pthread_mutex_t lock;
	volatile bool stop;
	unsigned int moved;
};

static void reclaim(struct mover *m, unsigned int n)
{
	madvise(m->p + (n % 4) * CHUNK / 2, CHUNK / 2, MADV_PAGEOUT);
}

static void fork_and_write(struct mover *m, unsigned int n)
{
	pid_t pid = fork();

	if (!pid) {
		memset(m->p + (n % 8) * PAGE, 0xee, LEN - 8 * PAGE);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void collapse_and_split(struct mover *m, unsigned int n)
{
	if (n % 2)
		madvise(m->p, LEN, MADV_COLLAPSE);
	else
		/* add a right: if one were removed, a write might be refused */
		mprotect(m->p + (n % 512) * PAGE, PAGE,
			 PROT_READ | PROT_WRITE | PROT_EXEC);
	mprotect(m->p, LEN, PROT_READ | PROT_WRITE);
}

static void compact(struct mover *m, unsigned int n)
{
	(void)m;
	(void)n;
	vt_compact();
}

/* Pages next to those in use, in the same chunks */
static void neighbours(struct mover *m, unsigned int n)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	size_t len = (1 + n % 100) * PAGE;

	munmap(m->p, len);
	mmap(m->p, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	memset(m->p, n, len);
	madvise(m->p + LEN - len, len, MADV_DONTNEED);
}

static void move_home_and_back(struct mover *m, unsigned int n)
{
	static uint8_t *place;

	(void)n;
	if (!place)
		place = vt_map(CHUNK, CHUNK, MAP_PRIVATE, -1);
	/* memory that is not in use, so that no message finds a hole */
	mremap(m->p, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	mremap(place, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, m->p);
}

static void *mover_main(void *arg)
{
	struct mover *m = arg;

	for (; !m->stop; m->moved++) {
		pthread_mutex_lock(&m->lock);
		m->way->move(m, m->moved);
		pthread_mutex_unlock(&m->lock);
		usleep(200);
	}
	return NULL;
}

FIXTURE(traffic)
{
	struct vt_pair pair;
	struct vt_region r;
	struct mover m;
	struct ibv_mr *odp;
	struct ibv_mr *pinned;
};

FIXTURE_VARIANT(traffic)
{
	struct way_to_move way;
};

FIXTURE_VARIANT_ADD(traffic, reclaim) { { "reclaim", reclaim } };
FIXTURE_VARIANT_ADD(traffic, fork) { { "fork", fork_and_write } };
FIXTURE_VARIANT_ADD(traffic, huge) { { "huge", collapse_and_split } };
FIXTURE_VARIANT_ADD(traffic, compact) { { "compact", compact } };
FIXTURE_VARIANT_ADD(traffic, neighbours) { { "neighbours", neighbours } };
FIXTURE_VARIANT_ADD(traffic, mremap) { { "mremap", move_home_and_back } };

FIXTURE_SETUP(traffic)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.mtu = IBV_MTU_4096,
			.buf_len = SPAN + 4 * VT_GUARD)));
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT));
	if (variant->way.move == reclaim && !vt_swap_on())
		SKIP(return, "no swap can be made here");
	if (variant->way.move == compact && !vt_compact())
		SKIP(return, "no memory compaction that spares processes");
	self->m.p = vt_map(LEN, CHUNK, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, self->m.p);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, self->m.p, LEN,
				   0x10000000, VT_ACCESS_ODP));
	/* The peer's buffer is paged on demand, too. */
	self->pinned = self->pair.a.buf.mr;
	self->odp = ibv_reg_mr(self->pair.a.pd, self->pair.a.buf.p,
			       self->pair.a.buf.len, VT_ACCESS_ODP);
	ASSERT_NE(NULL, self->odp);
	self->pair.a.buf.mr = self->odp;
	pthread_mutex_init(&self->m.lock, NULL);
	self->m.way = &variant->way;
	ASSERT_EQ(0, pthread_create(&self->m.thread, NULL, mover_main,
				    &self->m));
}

FIXTURE_TEARDOWN(traffic)
{
	if (self->odp) {
		self->pair.a.buf.mr = self->pinned;
		EXPECT_EQ(0, ibv_dereg_mr(self->odp));
	}
	vt_region_close(&self->r);
	vt_pair_close(&self->pair);
}

static bool from_region(enum vt_way way)
{
	return way == VT_READ || way == VT_SEND || way == VT_PUSH;
}

/* One message; the process looks at the memory only while it does not move. */
static bool message(FIXTURE_DATA(traffic) *self, enum vt_way way, size_t off,
		    size_t len, uint32_t seed)
{
	uint8_t *mem = self->m.p + off;
	uint8_t *buf = self->pair.a.buf.p + VT_GUARD;
	bool out = from_region(way), ok;
	int status;

	pthread_mutex_lock(&self->m.lock);
	vt_fill(out ? mem : buf, len, seed, 0);
	vt_fill(out ? buf : mem, len, ~seed, 0);
	pthread_mutex_unlock(&self->m.lock);
	status = vt_region_copy(&self->pair, &self->r, way, off, len);
	pthread_mutex_lock(&self->m.lock);
	getppid();
	ok = vt_check("target", out ? buf : mem, len, seed, 0);
	ok &= vt_check("source", out ? mem : buf, len, seed, 0);
	pthread_mutex_unlock(&self->m.lock);
	if (status || !ok)
		printf("# way %d, %zu bytes at %zu: status %d\n", way, len,
		       off, status);
	return !status && ok;
}

TEST_F_TIMEOUT(traffic, goes_on, LIMIT)
{
	static const size_t lens[] = { SPAN, 1, 5000, 100000, 64 };
	uint64_t end = vt_now_ms() + ROUND_MS;
	unsigned int n = 0;
	bool ok = true;

	/* each way at least twice, also on a busy machine */
	while (ok && (vt_now_ms() < end || self->m.moved < 10 ||
		      n < 2 * VT_WAYS)) {
		size_t len = lens[n % ARRAY_SIZE(lens)];
		size_t off = AT + (SPAN - len) / (1 + n % 3);

		ok = message(self, n % VT_WAYS, off, len, n);
		n++;
	}
	self->m.stop = true;
	pthread_join(self->m.thread, NULL);
	EXPECT_TRUE(ok) TH_LOG("message %u, moved %u times", n, self->m.moved);
}

/* -- a page that is taken away while a fault finds it */

#define TURNS		100
/* How long a fault waits between finding a page and storing it, if the module allows it. */
#define PAUSE_US	3000
#define FEW		256
#define OTHERS		(64 * PAGE)

/**
 * struct taker - a thread that takes a page away, once in each turn
 * @p: the page
 * @others: other pages, which get the freed page. Otherwise the process might get it back
 * @turn: when a turn begins, and when it ends
 * @lead: us after its beginning
 */
struct taker {
	uint8_t *p;
	uint8_t *others;
	pthread_t thread;
	pthread_barrier_t turn;
	long lead;
	bool done;
};

static void *taker_main(void *arg)
{
	struct taker *t = arg;

	for (;;) {
		pthread_barrier_wait(&t->turn);
		if (t->done)
			return NULL;
		vt_spin(t->lead);
		madvise(t->p, PAGE, MADV_DONTNEED);
		memset(t->others, 1, OTHERS);
		pthread_barrier_wait(&t->turn);
	}
}

/* A WRITE that has to fault during that time. Return: how many us it took, or 0 if it failed */
static uint64_t write_meanwhile(struct vt_pair *pair, const struct vt_region *r, struct taker *t)
{
	uint64_t begin;
	int status;

	madvise(r->p, PAGE, MADV_DONTNEED);
	madvise(t->others, OTHERS, MADV_DONTNEED);
	pthread_barrier_wait(&t->turn);
	begin = vt_now_us();
	status = vt_region_copy(pair, r, VT_WRITE, 0, FEW);
	begin = vt_now_us() - begin;
	pthread_barrier_wait(&t->turn);
	return status ? 0 : begin + 1;
}

/*
 * If a page is taken away after a fault has found it, and before the fault stores it, the fault
 * looks it up again. Otherwise later WRITEs would go to a page that the process no longer has.
 */
TEST(goes_while_it_is_found)
{
	struct vt_region r = {};
	struct vt_pair pair;
	struct taker t = {};
	uint64_t seed = vt_random_begin(7, 0), took = 1000;
	bool slow, ok = true;
	int i;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	VT_SETUP(vt_need_odp(&pair.b, IBV_ODP_SUPPORT));
	t.p = vt_map(PAGE, PAGE, MAP_PRIVATE, -1);
	t.others = vt_map(OTHERS, PAGE, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, t.p);
	ASSERT_NE(NULL, t.others);
	ASSERT_EQ(0, vt_region_reg(&r, pair.b.pd, t.p, PAGE, (uintptr_t)t.p, VT_ACCESS_ODP));
	ASSERT_EQ(0, pthread_barrier_init(&t.turn, NULL, 2));
	ASSERT_EQ(0, pthread_create(&t.thread, NULL, taker_main, &t));
	slow = vt_pause_faults(PAUSE_US);
	for (i = 0; ok && took && i < TURNS; i++) {
		t.lead = vt_random_below(&seed, took);
		took = write_meanwhile(&pair, &r, &t);
		/* If it has none, the process gets another page. */
		memset(t.p, 0, FEW);
		vt_fill(pair.a.buf.p + VT_GUARD, FEW, i, 0);
		ok = !vt_region_copy(&pair, &r, VT_WRITE, 0, FEW) &&
		     vt_check("page", t.p, FEW, i, 0);
	}
	if (slow)
		EXPECT_TRUE(vt_pause_faults(0));
	t.done = true;
	pthread_barrier_wait(&t.turn);
	pthread_join(t.thread, NULL);
	EXPECT_TRUE(ok && took) TH_LOG("turn %d", i);
	vt_region_close(&r);
	vt_pair_close(&pair);
}

/* -- processes that end in the middle */

FIXTURE(end)
{
	struct vt_ep a;
	struct vt_conf conf;
};

FIXTURE_VARIANT(end)
{
	enum ibv_wr_opcode opcode;
};

FIXTURE_VARIANT_ADD(end, write) { IBV_WR_RDMA_WRITE };
FIXTURE_VARIANT_ADD(end, read) { IBV_WR_RDMA_READ };

FIXTURE_SETUP(end)
{
	self->conf = vt_defaults;
	self->conf.mtu = IBV_MTU_4096;
	self->conf.buf_len = SPAN + 2 * VT_GUARD;
	/*
	 * On an emulated machine a page may take longer than 200 ms, but not
	 * ten times as long.
	 */
	self->conf.timeout = 15;
	self->conf.retry_cnt = 3;
	VT_SETUP(vt_ep_open(&self->a, &self->conf, 0));
	VT_SETUP(vt_need_odp(&self->a, IBV_ODP_SUPPORT));
}

FIXTURE_TEARDOWN(end)
{
	vt_ep_close(&self->a);
}

/* What the process that will be killed sends */
struct victim {
	struct vt_addr addr;
	uint64_t mem;
	uint32_t rkey;
};

#define VICTIM_LEN	(64 * MIB)
/* Each page is taken away again soon, so that only few are present. */
#define VICTIM_MSG	(64 * 1024ul)

static int victim_main(const struct vt_conf *conf, const struct vt_addr *to,
		       int out)
{
	uint8_t *p = vt_map(VICTIM_LEN, CHUNK, MAP_PRIVATE, -1);
	struct victim v = { .mem = (uintptr_t)p };
	struct vt_region r;
	struct vt_ep b;
	int ret;

	ret = vt_ep_open(&b, conf, 1);
	if (!ret)
		ret = vt_region_reg(&r, b.pd, p, VICTIM_LEN, v.mem,
				    VT_ACCESS_ODP);
	if (!ret)
		ret = vt_ep_connect(&b, to);
	if (ret)
		return 1;
	v.addr = vt_ep_addr(&b);
	v.rkey = r.mr->rkey;
	if (write(out, &v, sizeof(v)) != sizeof(v))
		return 1;
	/* Use pages for a while, and unmap them. */
	for (;;) {
		madvise(p, VICTIM_LEN, MADV_DONTNEED);
		usleep(1000);
	}
	return 0;
}

/*
 * WRITEs or READs over all of the victim's memory, until the victim is gone: it
 * is killed after @before of them, or when one fails before that.
 */
static int use_victim(struct vt_ep *a, const struct victim *v, pid_t pid,
		      enum ibv_wr_opcode opcode, unsigned int before)
{
	struct ibv_sge sge = vt_sge(&a->buf, VT_GUARD, VICTIM_MSG);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = opcode, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma.rkey = v->rkey,
	};
	unsigned int n;
	int ret = 0;

	for (n = 0; !ret && n < 1000; n++) {
		if (n == before)
			kill(pid, SIGKILL);
		wr.wr.rdma.remote_addr = v->mem +
			(n * 3 * MIB) % (VICTIM_LEN - MIB);
		ret = vt_outcome(a, &wr);
	}
	if (n > before)
		return ret;
	printf("# message %u of %u before the end: status %d\n", n, before,
	       ret);
	kill(pid, SIGKILL);
	return -EIO;
}

TEST_F_TIMEOUT(end, killed_in_the_middle, LIMIT)
{
	struct vt_addr here;
	struct victim v;
	int i, status, fds[2];
	pid_t pid;

	for (i = 0; i < 6; i++) {
		here = vt_ep_addr(&self->a);
		ASSERT_EQ(0, pipe(fds));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(victim_main(&self->conf, &here, fds[1]));
		close(fds[1]);
		ASSERT_EQ(sizeof(v), read(fds[0], &v, sizeof(v)));
		close(fds[0]);
		ASSERT_EQ(0, vt_ep_connect(&self->a, &v.addr));
		status = use_victim(&self->a, &v, pid, variant->opcode, i);
		/* The process is gone; or its memory is, and the process is still exiting. */
		EXPECT_TRUE(status == IBV_WC_RETRY_EXC_ERR ||
			    status == IBV_WC_REM_ACCESS_ERR)
			TH_LOG("%s", ibv_wc_status_str(status));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		ASSERT_EQ(0, vt_qp_reset(self->a.qp));
	}
}

VT_HARNESS_MAIN
