// SPDX-License-Identifier: GPL-2.0
/*
 * Threads are refused as fast as they can call, while root reads all refusals again and again: the
 * log takes no more memory, each refusal is counted, and another user's requests are about as fast
 * as beside threads whose calls succeed. Contexts of one user share its ring.
 *
 * timeout: 60
 * paths: host
 */
#include "harness.h"
#include "system.h"
#include "why.h"

#define THREADS		4
#define SECOND_MS	1000
#define NOBODY		65534
#define GROWTH_KIB	4096
#define READ_ALL	"while softmr why --json >/dev/null; do :; done"

FIXTURE(storm)
{
	struct vt_ep ep;
	pthread_t threads[THREADS];
	unsigned long calls;
	bool stop;
	pid_t other;
	pid_t reader;
	int sock;
};

typedef FIXTURE_DATA(storm) S;

/* The other user: for each byte that it gets, requests for a second; it answers their number */
static int other_main(int sock, const void *conf)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 0, NULL);
	struct vt_pair pair;
	uint64_t end;
	char byte;
	int n;

	if (setgid(NOBODY) || setuid(NOBODY) || vt_pair_open(&pair, conf))
		return 1;
	while (read(sock, &byte, 1) == 1) {
		end = vt_now_ms() + SECOND_MS;
		for (n = 0; vt_now_ms() < end; n++)
			if (vt_outcome(&pair.a, &wr) != IBV_WC_SUCCESS)
				return 2;
		if (write(sock, &n, sizeof(n)) != sizeof(n))
			return 3;
	}
	vt_pair_close(&pair);
	return 0;
}

FIXTURE_SETUP(storm)
{
	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
	self->other = vt_child(&self->sock, other_main, &vt_defaults);
	ASSERT_LT(0, self->other);
	self->reader = fork();
	if (!self->reader) {
		setpgid(0, 0);
		execlp("sh", "sh", "-c", READ_ALL, NULL);
		_exit(127);
	}
	ASSERT_LT(0, self->reader);
	setpgid(self->reader, self->reader);
}

/* The reader does not end before it is killed. */
FIXTURE_TEARDOWN(storm)
{
	int status = 0;

	kill(-self->reader, SIGKILL);
	EXPECT_EQ(self->reader, waitpid(self->reader, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	close(self->sock);
	EXPECT_EQ(self->other, waitpid(self->other, &status, 0));
	EXPECT_EQ(0, status);
	vt_ep_close(&self->ep);
}

static void *succeed(void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	S *self = arg;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED))
		if (ibv_query_qp(self->ep.qp, &attr, IBV_QP_STATE, &init))
			return NULL;
	return self;
}

static void *be_refused(void *arg)
{
	S *self = arg;
	struct ibv_sge sge = { .lkey = self->ep.buf.mr->lkey, .length = 1 };

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		if (ibv_advise_mr(self->ep.pd, 99, 0, &sge, 1) != EOPNOTSUPP)
			return NULL;
		__atomic_add_fetch(&self->calls, 1, __ATOMIC_RELAXED);
	}
	return self;
}

/* The other user's requests in a second in which the threads do this */
static int beside(struct __test_metadata *_metadata, S *self, void *(*call)(void *arg))
{
	void *good;
	int i, n = 0;

	self->stop = false;
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&self->threads[i], NULL, call, self));
	EXPECT_EQ(1, write(self->sock, "", 1));
	EXPECT_EQ(sizeof(n), read(self->sock, &n, sizeof(n)));
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		pthread_join(self->threads[i], &good);
		EXPECT_NE(NULL, good);
	}
	return n;
}

TEST_F(storm, nobody_else_is_slower)
{
	int calm = beside(_metadata, self, succeed);
	struct smr_abi_why recs[100];
	long before = vt_meminfo("SUnreclaim:");
	int i, n, storm = beside(_metadata, self, be_refused);

	TH_LOG("%lu refusals; another user: %d requests in a second, %d beside calls that succeed",
	       self->calls, storm, calm);
	EXPECT_LT(0, calm);
	EXPECT_LT(calm / 3, storm);
	EXPECT_GT(GROWTH_KIB, vt_meminfo("SUnreclaim:") - before);
	n = vt_whys(self->ep.dev.ctx, 0, recs, ARRAY_SIZE(recs));
	ASSERT_LT(0, n);
	EXPECT_GE(64, n);
	EXPECT_EQ(self->calls, recs[n - 1].seq);
	for (i = 0; i < n; i++) {
		EXPECT_EQ((uint32_t)SMR_WHY_ADVICE, recs[i].id);
		EXPECT_EQ(99, recs[i].num[0]);
		EXPECT_LT(i ? recs[i - 1].seq : 0, recs[i].seq);
	}
}

/*
 * Contexts of one user, each refused more often than the user's ring is long, leave each other a share, and the
 * refusal of a quiet one stays.
 */
TEST_F(storm, contexts_get_a_share)
{
	struct smr_abi_why recs[100];
	struct vt_ep noisy[6];
	struct ibv_sge sge = {};
	size_t i;
	int n, k;

	EXPECT_EQ(EOPNOTSUPP, ibv_advise_mr(self->ep.pd, 77, 0, &sge, 1));
	for (i = 0; i < ARRAY_SIZE(noisy); i++) {
		VT_SETUP(vt_ep_open(&noisy[i], &vt_defaults, 0));
		for (k = 0; k < 300; k++)
			EXPECT_EQ(EOPNOTSUPP, ibv_advise_mr(noisy[i].pd, 99, 0, &sge, 1));
	}
	for (i = 0; i < ARRAY_SIZE(noisy); i++) {
		n = vt_whys(noisy[i].dev.ctx, 0, recs, ARRAY_SIZE(recs));
		EXPECT_LE(40, n);
		EXPECT_GE(64, n);
		EXPECT_EQ(300, recs[n - 1].seq);
		vt_ep_close(&noisy[i]);
	}
	ASSERT_EQ(1, vt_whys(self->ep.dev.ctx, 0, recs, ARRAY_SIZE(recs)));
	EXPECT_EQ(77, recs[0].num[0]);
}

VT_HARNESS_MAIN
