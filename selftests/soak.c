// SPDX-License-Identifier: GPL-2.0
/*
 * All kinds of work at once, between two devices on a network that loses, reorders and duplicates packets: messages of
 * RC, datagrams, atomics that must count exactly, on-demand memory that is unmapped, windows that are bound and
 * invalidated, registrations, new connections, processes that are killed. Each byte and each completion is checked. The
 * work is divided into rounds. After each round all objects of the test are destroyed. Then softmr must have no more
 * objects than after the first rounds, and the kernel at most 8 MiB more memory.
 *
 *   SMR_SOAK_SECONDS=N ./soak		for how long
 *   SMR_SEED=N ./soak			draws the same numbers again
 *
 * beds: uml-checked uml
 * timeout: 200
 * boot: own
 * paths: veth
 */
#include "harness.h"

#include <stdarg.h>

#include "cover.h"
#include "random.h"
#include "region.h"
#include "system.h"
#include "ud.h"
#include "window.h"

#define SECONDS		40
#define ROUNDS		5
/* the first rounds fill caches that remain */
#define SETTLING	2
/*
 * softmr may not have one object more (record/live.c counts them). That leaves what the kernel allocates for it, and what
 * other parts of the kernel keep. In KiB: slabs that are not full, and shadow that KASAN keeps for vmalloc() addresses that
 * were in use once. In an hour these were 5.2 MiB. A leak grows with time: of a page for each connection it is 100 MiB.
 */
#define SLAB_SLACK_KB	3072
#define SLACK_KB	8192
#define DATAGRAM	900
#define SLOT		2048
#define RECVS		12
#define REGION		(128 * 1024)

enum job { MESSAGES, DATAGRAMS, ATOMICS, ON_DEMAND, WINDOWS, REGIONS, CONNECTS, NR_JOBS };

static const char * const job_names[] = {
	"messages", "datagrams", "atomics", "transfers on demand", "windows", "registrations",
	"connections",
};

/**
 * struct worker - a thread
 * @soak: the soak that it belongs to
 * @job: its work
 * @done: how much
 * @lost: datagrams that did not arrive
 * @error: what went wrong, or empty
 */
struct worker {
	struct soak *soak;
	enum job job;
	pthread_t thread;
	uint64_t random;
	uint64_t done, lost;
	char error[160];
};

/**
 * struct soak - the state of all threads
 * @end: of this round, by vt_now_ms()
 * @kills: processes killed so far; in shared memory
 * @used_kb: kernel memory after each round
 * @slab_kb: the part of it that is slab
 * @objects: how many softmr has then, where that is recorded
 */
struct soak {
	struct worker worker[NR_JOBS];
	uint64_t end;
	uint64_t *kills;
	long used_kb[ROUNDS], slab_kb[ROUNDS], objects[ROUNDS];
};

FIXTURE(soak)
{
	struct soak soak;
	unsigned long taint;
};

static bool going(const struct worker *w)
{
	return !w->error[0] && vt_now_ms() < w->soak->end;
}

/* Record an error, unless there is one already. Return: whether there is none */
static bool __attribute__((format(printf, 3, 4)))
expect(struct worker *w, bool ok, const char *format, ...)
{
	va_list args;

	if (ok || w->error[0])
		return ok;
	va_start(args, format);
	vsnprintf(w->error, sizeof(w->error), format, args);
	va_end(args);
	return false;
}

static struct vt_conf soak_conf(enum ibv_qp_type type)
{
	struct vt_conf conf = vt_defaults;

	conf.qp_type = type;
	conf.timeout = 14;
	conf.buf_access |= IBV_ACCESS_MW_BIND;
	return conf;
}

static bool open_pair(struct worker *w, struct vt_pair *pair, const struct vt_conf *conf)
{
	int ret = vt_pair_open(pair, conf);

	return expect(w, !ret, "no connection: %s", strerror(-ret));
}

/* -- the jobs: each makes its objects, works until the round ends, and leaves nothing */

static void messages(struct worker *w)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};
	struct vt_conf conf = soak_conf(IBV_QPT_RC);
	struct vt_pair pair;
	struct vt_xfer x;

	if (vt_random_below(&w->random, 2))
		conf.family = AF_INET6;
	if (!open_pair(w, &pair, &conf))
		goto close;
	while (going(w)) {
		x = (struct vt_xfer){
			.op = ops[vt_random_below(&w->random, 5)],
			.len = vt_random_below(&w->random, 4) ? vt_random_below(&w->random, 4096) :
								vt_random_below(&w->random, 30000),
			.src_sges = 1 + vt_random_below(&w->random, 4),
			.dst_sges = 1 + vt_random_below(&w->random, 4),
		};
		expect(w, vt_transfer(&pair, &x), "%s of %zu bytes", vt_op_name(x.op), x.len);
		w->done++;
	}
close:
	vt_pair_close(&pair);
}

/* A receive for each slot; the first bytes of a datagram name the pattern that follows. */
static int post_slot(struct vt_ep *ep, unsigned int slot)
{
	struct ibv_sge sge = vt_sge(&ep->buf, slot * SLOT, SLOT);

	return vt_post_recv(ep, slot, &sge, 1);
}

static bool datagram_ok(const struct vt_ep *ep, const struct ibv_wc *wc, uint32_t *seed)
{
	const uint8_t *p = ep->buf.p + wc->wr_id * SLOT + VT_GRH_LEN;

	memcpy(seed, p, sizeof(*seed));
	return wc->status == IBV_WC_SUCCESS && wc->byte_len == VT_GRH_LEN + DATAGRAM &&
	       vt_check("datagram", p + 4, DATAGRAM - 4, *seed, 0);
}

static bool one_datagram(struct worker *w, struct vt_pair *pair, uint32_t seed)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, 0, DATAGRAM);
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 1, &sge);
	uint32_t got = seed - 1;
	struct ibv_wc wc;

	memcpy(pair->a.buf.p, &seed, 4);
	vt_fill(pair->a.buf.p + 4, DATAGRAM - 4, seed, 0);
	vt_wr_to_peer(&pair->a, &wr);
	if (!expect(w, vt_outcome(&pair->a, &wr) == IBV_WC_SUCCESS, "a datagram was not sent"))
		return false;
	/* late datagrams, and duplicates, are fine */
	while (got != seed && vt_poll(pair->b.rcq, &wc, 1, 20) == 1) {
		expect(w, datagram_ok(&pair->b, &wc, &got), "a datagram is wrong");
		post_slot(&pair->b, wc.wr_id);
	}
	return got == seed;
}

static void datagrams(struct worker *w)
{
	struct vt_conf conf = soak_conf(IBV_QPT_UD);
	struct vt_pair pair;
	uint32_t seed = vt_random(&w->random);
	unsigned int i;

	if (!open_pair(w, &pair, &conf))
		goto close;
	for (i = 0; i < RECVS; i++)
		expect(w, !post_slot(&pair.b, i), "post_recv");
	while (going(w)) {
		w->lost += !one_datagram(w, &pair, seed++);
		w->done++;
	}
close:
	vt_pair_close(&pair);
}

/* However often a request is sent, it is executed once. */
static void atomics(struct worker *w)
{
	struct vt_conf conf = soak_conf(IBV_QPT_RC);
	struct vt_pair pair;
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &sge);
	uint64_t count = 0, now = 0;

	if (!open_pair(w, &pair, &conf))
		goto close;
	sge = vt_sge(&pair.a.buf, VT_GUARD, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)pair.b.buf.p;
	wr.wr.atomic.rkey = pair.b.buf.mr->rkey;
	wr.wr.atomic.compare_add = 1;
	memset(pair.b.buf.p, 0, 8);
	while (going(w)) {
		expect(w, vt_outcome(&pair.a, &wr) == IBV_WC_SUCCESS, "an atomic has failed");
		memcpy(&now, pair.a.buf.p + VT_GUARD, 8);
		expect(w, now == count, "atomic %llu has found %llu", (unsigned long long)count,
		       (unsigned long long)now);
		count++;
		w->done++;
	}
	memcpy(&now, pair.b.buf.p, 8);
	expect(w, now == count, "%llu atomics counted to %llu", (unsigned long long)count,
	       (unsigned long long)now);
close:
	vt_pair_close(&pair);
}

static void on_demand(struct worker *w)
{
	struct vt_conf conf = soak_conf(IBV_QPT_RC);
	struct vt_region region = { .p = NULL };
	struct vt_pair pair;
	size_t off, len;
	uint8_t *p;

	if (!open_pair(w, &pair, &conf))
		goto close;
	p = vt_map(REGION, 4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!expect(w, p && !vt_region_reg(&region, pair.b.pd, p, REGION, (uintptr_t)p,
					   VT_ACCESS_ODP), "no region on demand"))
		goto close;
	while (going(w)) {
		off = vt_random_below(&w->random, REGION / 2);
		len = 1 + vt_random_below(&w->random, 12000);
		madvise(p, REGION, MADV_DONTNEED);
		expect(w, vt_region_moves(&pair, &region, vt_random_below(&w->random, VT_WAYS), off,
					  len), "on demand, %zu bytes at %zu", len, off);
		w->done++;
	}
	vt_region_close(&region);
close:
	vt_pair_close(&pair);
}

static void windows(struct worker *w)
{
	struct vt_conf conf = soak_conf(IBV_QPT_RC);
	struct vt_window window = { .mr = NULL };
	struct vt_pair pair;
	int ret;

	if (!open_pair(w, &pair, &conf) ||
	    !expect(w, !vt_window_open(&window, &pair.b, IBV_MW_TYPE_2), "no window"))
		goto close;
	while (going(w)) {
		ret = vt_bind_page(&pair.b, window.mw, window.mr);
		expect(w, !ret, "bind: %d", ret);
		ret = vt_write_through(&pair, window.mw->rkey);
		expect(w, !ret, "write through a window: %d", ret);
		expect(w, ibv_dereg_mr(window.mr) == EBUSY, "a bound region could go");
		ret = vt_invalidate(&pair.b, window.mw->rkey);
		expect(w, !ret, "invalidate: %d", ret);
		/*
		 * WRITEs from now on are refused, which ends the connection. A NAK that the network loses is not sent
		 * again, because the responder is in the error state.
		 */
		if (!vt_random_below(&w->random, 16)) {
			ret = vt_write_through(&pair, window.mw->rkey);
			expect(w, ret == IBV_WC_REM_ACCESS_ERR || ret == IBV_WC_RETRY_EXC_ERR,
			       "write after it: %d", ret);
			expect(w, !vt_pair_recover(&pair), "no connection again");
		}
		w->done++;
	}
close:
	vt_window_close(&window);
	vt_pair_close(&pair);
}

static void regions(struct worker *w)
{
	struct vt_conf conf = soak_conf(IBV_QPT_RC);
	struct vt_ep ep;
	struct ibv_mr *mr[4] = { NULL };
	uint8_t *p = vt_map(REGION, 4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int i, ret = vt_ep_open(&ep, &conf, 0), access;
	size_t off;

	expect(w, p && !ret, "no endpoint: %s", strerror(-ret));
	while (going(w)) {
		i = vt_random_below(&w->random, 4);
		if (mr[i])
			expect(w, !ibv_dereg_mr(mr[i]), "dereg_mr");
		off = vt_random_below(&w->random, REGION);
		access = vt_random_below(&w->random, 2) ? VT_ACCESS_ALL : VT_ACCESS_ODP;
		mr[i] = ibv_reg_mr(ep.pd, p + off, REGION - off, access);
		expect(w, mr[i], "reg_mr: %s", strerror(errno));
		if (mr[i] && vt_random_below(&w->random, 2))
			expect(w, !ibv_rereg_mr(mr[i], IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p,
						REGION, 0), "rereg_mr");
		w->done++;
	}
	for (i = 0; i < 4; i++)
		if (mr[i])
			expect(w, !ibv_dereg_mr(mr[i]), "dereg_mr at the end");
	vt_ep_close(&ep);
	if (p)
		munmap(p, REGION);
}

static void connects(struct worker *w)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC };
	struct vt_pair pair;
	struct vt_conf conf;

	while (going(w)) {
		conf = soak_conf(types[vt_random_below(&w->random, 3)]);
		conf.srq_depth = vt_random_below(&w->random, 2) ? 16 : 0;
		/* a UC message may be lost */
		if (open_pair(w, &pair, &conf) && conf.qp_type == IBV_QPT_RC)
			expect(w, vt_pair_works(&pair), "a new connection does not work");
		vt_pair_close(&pair);
		w->done++;
	}
}

static void *work(void *arg)
{
	static void (* const jobs[])(struct worker *) = {
		[MESSAGES] = messages, [DATAGRAMS] = datagrams, [ATOMICS] = atomics,
		[ON_DEMAND] = on_demand, [WINDOWS] = windows, [REGIONS] = regions,
		[CONNECTS] = connects,
	};
	struct worker *w = arg;

	jobs[w->job](w);
	return NULL;
}

/* -- processes that are killed */

static void live_and_die(void)
{
	struct vt_conf conf = soak_conf(IBV_QPT_RC);
	struct vt_pair pair;

	if (vt_pair_open(&pair, &conf))
		_exit(1);
	for (;;)
		vt_pair_works(&pair);
}

/* A separate process, because a process with threads cannot fork well. Exits by the end of the round. */
static void killer(struct soak *soak, uint64_t random)
{
	int status;
	pid_t pid;

	while (vt_now_ms() < soak->end) {
		pid = fork();
		if (!pid) {
			/* its messages about unfinished work are of no interest */
			if (!freopen("/dev/null", "w", stdout))
				_exit(1);
			live_and_die();
		}
		if (pid < 0)
			_exit(1);
		usleep(1000 * (100 + vt_random_below(&random, 400)));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status))
			_exit(1);
		__atomic_fetch_add(soak->kills, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* -- memory */

/* Those of the links; a user of on-demand memory remains until another process comes */
static long objects(void)
{
	FILE *f = popen("awk '!/^(user_create|cover_begin) / { n += $2 } END { print n + 0 }' "
			"/sys/module/softmr/parameters/live 2>/dev/null", "r");
	long n = 0;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = 0;
	if (f)
		pclose(f);
	return n;
}

/*
 * The kernel's memory use, after it has released what it can: KASAN keeps freed objects for a while, until their cache
 * is shrunk.
 */
static void measure(struct soak *soak, int round)
{
	sleep(1);
	if (system("echo 3 >/proc/sys/vm/drop_caches; for c in /sys/kernel/slab/*/shrink; do echo 1 >$c; done 2>/dev/null"))
		printf("# caches were not shrunk\n");
	soak->slab_kb[round] = vt_meminfo("Slab:");
	soak->used_kb[round] = vt_meminfo("MemTotal:") - vt_meminfo("MemFree:") -
			       vt_meminfo("Buffers:") - vt_meminfo("Cached:") -
			       vt_meminfo("AnonPages:");
	soak->objects[round] = objects();
	printf("# round %d: the kernel has %ld KiB, %ld KiB of that slab, softmr %ld objects\n",
	       round + 1, soak->used_kb[round], soak->slab_kb[round], soak->objects[round]);
}

static bool flat(const long *used, long slack)
{
	long most = 0;
	int i;

	for (i = 0; i < SETTLING; i++)
		most = used[i] > most ? used[i] : most;
	return used[ROUNDS - 1] <= most + slack;
}

/* -- the run */

static int on_both_ends(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "%s && ip netns exec %s %s", command, getenv("SMR_PEER_NETNS"),
		 command);
	return system(line);
}

FIXTURE_SETUP(soak)
{
	uint64_t seed = vt_seed();
	struct soak *soak = &self->soak;
	int i;

	memset(self, 0, sizeof(*self));
	if (!getenv("SMR_PEER_NETNS"))
		SKIP(return, "no network to make bad");
	/* without GSO each packet is lost by itself */
	ASSERT_EQ(0, on_both_ends("ethtool -K veth0 tx-udp-segmentation off >/dev/null"));
	ASSERT_EQ(0, system("modprobe sch_netem 2>/dev/null || true"));
	ASSERT_EQ(0, on_both_ends("tc qdisc replace dev veth0 root netem limit 10000 delay 200us 100us "
				  "loss 0.5% duplicate 0.5% corrupt 0.1% reorder 90%"));
	soak->kills = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)soak->kills);
	for (i = 0; i < NR_JOBS; i++)
		soak->worker[i] = (struct worker){
			.soak = soak, .job = i, .random = vt_random_begin(seed, i),
		};
	self->taint = vt_tainted();
}

FIXTURE_TEARDOWN(soak)
{
}

static bool run_round(struct soak *soak, int round, int seconds)
{
	int i, status;
	bool ok = true;
	pid_t pid;

	soak->end = vt_now_ms() + 1000ull * seconds;
	fflush(stdout);
	pid = fork();
	if (!pid)
		killer(soak, vt_random_begin(soak->worker[0].random, round));
	for (i = 0; i < NR_JOBS; i++)
		if (pthread_create(&soak->worker[i].thread, NULL, work, &soak->worker[i]))
			return false;
	for (i = 0; i < NR_JOBS; i++) {
		pthread_join(soak->worker[i].thread, NULL);
		if (!soak->worker[i].error[0])
			continue;
		printf("# %s: %s\n", job_names[i], soak->worker[i].error);
		ok = false;
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status && ok;
}

TEST_F_TIMEOUT(soak, all, 100000)
{
	const char *time = getenv("SMR_SOAK_SECONDS");
	int seconds = (time ? atoi(time) : SECONDS) / ROUNDS, round, i;
	struct soak *soak = &self->soak;

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_TRUE(run_round(soak, round, seconds > 1 ? seconds : 1));
		/* measuring takes seconds, so skip the rounds in between, which are not compared */
		if (round < SETTLING || round == ROUNDS - 1)
			measure(soak, round);
		ASSERT_EQ(self->taint, vt_tainted());
	}
	EXPECT_TRUE(flat(soak->used_kb, SLACK_KB));
	EXPECT_TRUE(flat(soak->slab_kb, SLAB_SLACK_KB));
	EXPECT_TRUE(flat(soak->objects, 0));
	printf("# soak:");
	for (i = 0; i < NR_JOBS; i++) {
		printf(" %llu %s,", (unsigned long long)soak->worker[i].done, job_names[i]);
		EXPECT_LT(0, soak->worker[i].done) TH_LOG("no %s", job_names[i]);
	}
	printf(" %llu datagrams lost, %llu processes killed, kernel memory %ld KiB, then %ld KiB\n",
	       (unsigned long long)soak->worker[DATAGRAMS].lost, (unsigned long long)*soak->kills,
	       soak->used_kb[SETTLING - 1], soak->used_kb[ROUNDS - 1]);
	EXPECT_LT(0, *soak->kills);
	/* most of them arrive */
	EXPECT_LT(soak->worker[DATAGRAMS].lost, soak->worker[DATAGRAMS].done / 2 + 10);
}

VT_HARNESS_MAIN
