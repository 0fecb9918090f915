// SPDX-License-Identifier: GPL-2.0
/*
 * Processes are killed at random points: while they open devices, make objects, register memory, connect, send, or
 * exit. A reader reads from each of them: it gets the right bytes, and then an error. An unrelated connection goes on.
 * Nothing of the dead processes is left: otherwise the limit on objects would be exceeded.
 *
 *   SMR_KILLS=N ./kill_often	how many processes are killed
 *
 * timeout: 120
 * boot: kmemleak
 * paths: host veth
 * params: max_objects=80
 */
#include "harness.h"

#include <sys/prctl.h>

#include "cover.h"
#include "mix.h"
#include "random.h"

#define KILLS		150
#define SHORT_KILLS	60
/* The longest life at first. It adapts until half of the processes live long enough to be read from */
#define LIFE_US		60000
#define MAX_LIFE_US	5000000
#define LEN		20000
#define SEED		77

/**
 * struct card - what a process sends about itself when it is ready
 */
struct card {
	struct vt_addr addr;
	uint64_t data;
	uint32_t rkey;
};

/**
 * struct shared - memory that the test shares with the unrelated process
 * @stop: the process must end
 * @bytes: what it has moved so far
 */
struct shared {
	int stop;
	uint64_t bytes;
};

FIXTURE(often)
{
	struct vt_ep reader;
	struct shared *shared;
	uint64_t random;
	unsigned int life_us;
	int kills, ready, read;
};

static struct vt_conf conf_of_all(void)
{
	struct vt_conf conf = vt_defaults;

	conf.buf_len = VT_MIX_BUF;
	/* 16 ms */
	conf.timeout = 12;
	conf.retry_cnt = 3;
	return conf;
}

FIXTURE_SETUP(often)
{
	struct vt_conf conf = conf_of_all();

	memset(self, 0, sizeof(*self));
	self->random = vt_random_begin(vt_seed(), 0);
	self->life_us = LIFE_US;
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->shared);
	VT_SETUP(vt_ep_open(&self->reader, &conf, 1));
}

FIXTURE_TEARDOWN(often)
{
	vt_ep_close(&self->reader);
	munmap(self->shared, sizeof(*self->shared));
}

/* -- the process that is killed */

/* Its own two ends exchange data, and the reader reads through another of its QPs. Never returns */
static void live(int out, uint64_t random)
{
	struct vt_conf conf = conf_of_all();
	struct vt_pair pair;
	struct card card;
	struct vt_ep ep;
	struct vt_mix mix;

	if (vt_ep_open(&ep, &conf, 0) || vt_pair_open(&pair, &conf))
		_exit(1);
	vt_fill(ep.buf.p, LEN, SEED, 0);
	card = (struct card){
		.addr = vt_ep_addr(&ep), .data = (uintptr_t)ep.buf.p, .rkey = ep.buf.mr->rkey,
	};
	if (write(out, &card, sizeof(card)) != sizeof(card))
		_exit(1);
	/* the reader sends its address */
	if (read(out, &card.addr, sizeof(card.addr)) != sizeof(card.addr) ||
	    vt_ep_connect(&ep, &card.addr))
		_exit(2);
	if (write(out, "", 1) != 1)
		_exit(1);
	mix = vt_mix(&pair.a, &pair.b, 0, random);
	while (!vt_mix_run(&mix, 50))
		;
	_exit(3);
}

struct killer {
	pid_t pid;
	unsigned int us;
};

static void *kill_later(void *arg)
{
	struct killer *killer = arg;

	usleep(killer->us);
	kill(killer->pid, SIGKILL);
	return NULL;
}

/* -- the processes that survive */

/* Read from @card until that fails. Return: the status, or a negative errno */
static int read_all(struct vt_ep *ep, const struct card *card, int *times)
{
	struct ibv_sge sge = vt_sge(&ep->buf, 0, LEN);
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = card->data, .rkey = card->rkey },
	};
	int status;

	for (;;) {
		memset(ep->buf.p, 0, LEN);
		status = vt_outcome(ep, &wr);
		if (status)
			return status;
		if (!vt_check("what was read", ep->buf.p, LEN, SEED, 0))
			return -EBADMSG;
		(*times)++;
	}
}

/* Read from a process at the other end of @sock, once it is ready. Return: 0, or a negative errno */
static int be_reader(FIXTURE_DATA(often) *self, int sock)
{
	struct vt_ep *ep = &self->reader;
	struct vt_addr me = vt_ep_addr(ep);
	struct card card;
	struct ibv_wc wc;
	char byte;
	int ret;

	if (read(sock, &card, sizeof(card)) != sizeof(card))
		return 0;
	self->ready++;
	ret = vt_ep_connect(ep, &card.addr);
	/* it may be dead already */
	if (!ret && send(sock, &me, sizeof(me), MSG_NOSIGNAL) == sizeof(me) && read(sock, &byte, 1) == 1) {
		ret = read_all(ep, &card, &self->read);
		if (ret == IBV_WC_RETRY_EXC_ERR || ret == IBV_WC_REM_ACCESS_ERR)
			ret = 0;
	}
	if (vt_qp_reset(ep->qp))
		return -EIO;
	while (ibv_poll_cq(ep->scq, 1, &wc) == 1)
		;
	return ret;
}

/*
 * A connection that goes on until the end. It is a process, because a process with threads cannot fork well. Never
 * returns
 */
static void beside(struct shared *shared, uint64_t random)
{
	struct vt_conf conf = conf_of_all();
	struct vt_pair pair;
	struct vt_mix mix;
	int ret = 0;

	conf.retry_cnt = 7;
	conf.timeout = 17;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || vt_pair_open(&pair, &conf))
		_exit(1);
	mix = vt_mix(&pair.a, &pair.b, 0, random);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED) && !ret) {
		ret = vt_mix_run(&mix, 20);
		shared->bytes = mix.bytes;
	}
	vt_pair_close(&pair);
	if (ret)
		printf("# beside: %d\n", ret);
	fflush(stdout);
	_exit(ret ? 2 : 0);
}

/*
 * The speed of the machine is unknown, and changes. A process that was killed before anything was read from it makes
 * the following lives longer, one that was killed later makes them shorter
 */
static void learn_life(FIXTURE_DATA(often) *self, bool was_read)
{
	if (was_read)
		self->life_us -= self->life_us / 8;
	else if (self->life_us < MAX_LIFE_US)
		self->life_us += self->life_us / 8;
}

static void one_life(struct __test_metadata *_metadata, FIXTURE_DATA(often) *self)
{
	struct killer killer = { .us = vt_random_below(&self->random, self->life_us) };
	uint64_t random = vt_random(&self->random);
	int read_before = self->read;
	int sock[2], status, ret;
	pthread_t thread;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	fflush(stdout);
	killer.pid = fork();
	ASSERT_LE(0, killer.pid);
	if (!killer.pid) {
		/* keep its own end only: otherwise it would not see the other end close */
		close(sock[0]);
		live(sock[1], random);
	}
	close(sock[1]);
	ASSERT_EQ(0, pthread_create(&thread, NULL, kill_later, &killer));
	ret = be_reader(self, sock[0]);
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(killer.pid, waitpid(killer.pid, &status, 0));
	close(sock[0]);
	ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("it ended by itself, with status %d", WEXITSTATUS(status));
	self->kills++;
	learn_life(self, self->read > read_before);
}

TEST_F_TIMEOUT(often, killed, 3600)
{
	const char *given = getenv("SMR_KILLS");
	int kills = given ? atoi(given) : getenv("SMR_SHORT") ? SHORT_KILLS : KILLS, status;
	unsigned long taint = vt_tainted();
	pid_t pid;

	fflush(stdout);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		beside(self->shared, vt_random(&self->random));
	while (self->kills < kills)
		one_life(_metadata, self);
	__atomic_store_n(&self->shared->stop, 1, __ATOMIC_RELAXED);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(taint, vt_tainted());
	printf("# kill_often: %d processes killed, the last within %u us, %d after they were ready, %d messages of %d bytes read, %llu KiB moved beside\n",
	       self->kills, self->life_us, self->ready, self->read, LEN,
	       (unsigned long long)self->shared->bytes / 1024);
	EXPECT_LT(0, self->ready);
	EXPECT_LT(0, self->read);
	EXPECT_LT(0, self->shared->bytes);
}

VT_HARNESS_MAIN
