// SPDX-License-Identifier: GPL-2.0
/*
 * Objects are destroyed in every order while requests are outstanding both ways: destroying an object that is still in
 * use fails with EBUSY, and succeeds later. At each point the process closes the device and exits with the objects that
 * are left. No call takes long, and no object of the process remains.
 *
 * race: yes
 * timeout: 240
 * boot: kmemleak
 * paths: host wire
 * params: max_objects=80
 */
#include "harness.h"
#include "region.h"

#define LEN		60000
#define OUTSTANDING	8
#define BUF		(2 * VT_GUARD + OUTSTANDING * LEN)
/* The limit for each call, on an idle machine and on a busy one */
#define LIMIT_MS	1000
#define PATIENCE	3

/*
 * The steps that take one end apart. After CLOSE its rings are still mapped, so the rest is freed when the process
 * exits.
 */
enum step { QP, SCQ, RCQ, MR, PD, CLOSE, STEPS };

static const char * const names[] = { "qp", "scq", "rcq", "mr", "pd", "close", "exit" };

/**
 * struct seen - what the processes have seen
 * @slowest_ms: of all calls, and of the exits of processes
 * @slowest: which that was, STEPS for an end
 * @busy: calls that were refused
 * @end: when the last process began to end
 */
struct seen {
	uint64_t slowest_ms;
	enum step slowest;
	int busy;
	uint64_t end;
};

FIXTURE(orders)
{
	struct vt_pair healthy;
	struct seen *seen;
};

FIXTURE_SETUP(orders)
{
	self->seen = mmap(NULL, sizeof(*self->seen), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->seen);
	VT_SETUP(vt_pair_open(&self->healthy, &vt_defaults));
}

FIXTURE_TEARDOWN(orders)
{
	vt_pair_close(&self->healthy);
	munmap(self->seen, sizeof(*self->seen));
}

static void note_time(struct seen *seen, enum step step, uint64_t begin)
{
	uint64_t took = vt_now_ms() - begin;

	if (took <= seen->slowest_ms)
		return;
	seen->slowest_ms = took;
	seen->slowest = step;
}

/* READs and WRITEs of the peer's memory, as many as may be outstanding, without waiting for them */
static int begin_traffic(struct vt_ep *from, struct vt_ep *to)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.rkey = to->buf.mr->rkey,
	};
	int i, ret = 0;

	for (i = 0; i < OUTSTANDING && !ret; i++) {
		sge = vt_sge(&from->buf, VT_GUARD + i * LEN, LEN);
		wr.wr_id = i;
		wr.opcode = i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = (uintptr_t)to->buf.p + VT_GUARD + i * LEN;
		ret = vt_post(from, &wr);
	}
	return ret;
}

/* Return: 0 or an errno */
static int destroy(struct vt_ep *ep, enum step step)
{
	switch (step) {
	case QP:
		return ibv_destroy_qp(ep->qp);
	case SCQ:
		return ibv_destroy_cq(ep->scq);
	case RCQ:
		return ibv_destroy_cq(ep->rcq);
	case MR:
		return ibv_dereg_mr(ep->buf.mr);
	case PD:
		return ibv_dealloc_pd(ep->pd);
	case CLOSE:
		return ibv_close_device(ep->dev.ctx) ? errno : 0;
	default:
		return EINVAL;
	}
}

/* The steps that must come before @step */
static unsigned int needs(enum step step)
{
	switch (step) {
	case SCQ:
	case RCQ:
		return 1 << QP;
	case PD:
		return 1 << QP | 1 << MR;
	default:
		return 0;
	}
}

static int timed(struct seen *seen, struct vt_ep *ep, enum step step)
{
	uint64_t begin = vt_now_ms();
	int ret = destroy(ep, step);

	note_time(seen, step, begin);
	return ret;
}

/* Take @ep apart in this order, and start again from the beginning for objects that were busy. */
static bool take_apart(struct seen *seen, struct vt_ep *ep, const enum step *order)
{
	unsigned int gone = 0;
	bool again = true;
	int i, ret, want;

	while (again) {
		again = false;
		for (i = 0; i < STEPS && !(gone & 1 << CLOSE); i++) {
			enum step step = order[i];

			if (gone & 1 << step)
				continue;
			want = needs(step) & ~gone ? EBUSY : 0;
			ret = timed(seen, ep, step);
			if (ret != want) {
				printf("# %s, when 0x%x are gone: %d\n", names[step], gone, ret);
				return false;
			}
			seen->busy += !!ret;
			again |= !!ret;
			if (!ret)
				gone |= 1 << step;
		}
	}
	return true;
}

/* A process: opens both ends, and takes @end apart. Never returns */
static void live(struct seen *seen, const enum step *order, int end)
{
	struct vt_pair pair;
	bool ok;

	ok = !vt_pair_open(&pair, &VT_CONF(.buf_len = BUF, .timeout = 12)) &&
	     !begin_traffic(&pair.a, &pair.b) && !begin_traffic(&pair.b, &pair.a) &&
	     take_apart(seen, end ? &pair.b : &pair.a, order);
	fflush(stdout);
	seen->end = vt_now_ms();
	_exit(!ok);
}

static void one_order(struct __test_metadata *_metadata, FIXTURE_DATA(orders) *self,
		      const enum step *order, int end)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		live(self->seen, order, end);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	note_time(self->seen, STEPS, self->seen->end);
}

/* The next permutation. Return: false after the last one */
static bool permute(enum step *order)
{
	int i = STEPS - 2, j = STEPS - 1, k;
	enum step tmp;

	while (i >= 0 && order[i] > order[i + 1])
		i--;
	if (i < 0)
		return false;
	while (order[j] < order[i])
		j--;
	tmp = order[i];
	order[i] = order[j];
	order[j] = tmp;
	for (j = i + 1, k = STEPS - 1; j < k; j++, k--) {
		tmp = order[j];
		order[j] = order[k];
		order[k] = tmp;
	}
	return true;
}

/* Steps after the device is closed make no difference. */
static bool is_new(const enum step *order)
{
	int i = 0;

	while (order[i] != CLOSE)
		i++;
	for (i++; i + 1 < STEPS; i++)
		if (order[i] > order[i + 1])
			return false;
	return true;
}

TEST_F_TIMEOUT(orders, all, 240)
{
	enum step order[STEPS] = { QP, SCQ, RCQ, MR, PD, CLOSE };
	int n = 0;

	do {
		if (is_new(order))
			one_order(_metadata, self, order, n++ % 2);
	} while (permute(order));
	TH_LOG("%d orders, %d calls were EBUSY, the slowest took %d ms: %s", n, self->seen->busy,
	       (int)self->seen->slowest_ms, names[self->seen->slowest]);
	EXPECT_LT(STEPS, n);
	EXPECT_LT(0, self->seen->busy);
	EXPECT_GT(LIMIT_MS * PATIENCE, self->seen->slowest_ms);
	EXPECT_TRUE(vt_pair_works(&self->healthy));
}

VT_HARNESS_MAIN
