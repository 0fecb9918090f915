// SPDX-License-Identifier: GPL-2.0
/*
 * Windows and regions are revoked while other CPUs use them: a bind against a deregistration, and a
 * writer against each way to revoke its access. After the revoking call has returned, nothing is
 * written any more. Two racing calls must occur in both orders, or the test fails.
 *
 * race: yes
 * daily: uml-checked
 * timeout: 180
 * paths: host wire
 */
#include "harness.h"
#include "cover.h"
#include "region.h"
#include "system.h"
#include "window.h"
#include "writer.h"

FIXTURE(race)
{
	struct vt_pair pair;
	pthread_barrier_t start;
	struct vt_window w;
	struct ibv_mr copy;
};

FIXTURE_VARIANT(race)
{
	enum ibv_mw_type type;
};

FIXTURE_VARIANT_ADD(race, type_1) { IBV_MW_TYPE_1 };
FIXTURE_VARIANT_ADD(race, type_2) { IBV_MW_TYPE_2 };

FIXTURE_SETUP(race)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 14)));
	ASSERT_EQ(0, pthread_barrier_init(&self->start, NULL, 2));
	VT_SETUP(vt_window_open(&self->w, &self->pair.b, variant->type));
	ASSERT_EQ(0, vt_window_close(&self->w));
}

FIXTURE_TEARDOWN(race)
{
	vt_window_close(&self->w);
	vt_pair_close(&self->pair);
}

static int fresh(FIXTURE_DATA(race) *self, enum ibv_mw_type type)
{
	int ret = vt_window_open(&self->w, &self->pair.b, type);

	/* A copy, because the library frees its struct on success */
	if (!ret)
		self->copy = *self->w.mr;
	return ret;
}

/*
 * A race between ibv_dereg_mr() and another call. Each round delays the call
 * that came first in the last round: longer each time that it comes first
 * again, and less when the order has changed. So both orders happen, however
 * slow the machine is, and most rounds are near the point where they change.
 *
 * @lead: us that the other call waits; negative: that ibv_dereg_mr() waits
 */
struct race {
	long lead;
	long step;
	bool dereg_first;
	int dereg_won, other_won;
};

#define RACE_STEP_MIN	1
#define RACE_STEP_MAX	50000

static void race_init(struct race *race)
{
	*race = (struct race){ .step = 100 };
}

static void race_count(struct race *race, bool dereg_first)
{
	if (dereg_first)
		race->dereg_won++;
	else
		race->other_won++;
	if (dereg_first == race->dereg_first)
		race->step *= 2;
	else
		race->step /= 4;
	if (race->step < RACE_STEP_MIN)
		race->step = RACE_STEP_MIN;
	if (race->step > RACE_STEP_MAX)
		race->step = RACE_STEP_MAX;
	race->dereg_first = dereg_first;
	race->lead += dereg_first ? -race->step : race->step;
}

#define EXPECT_BOTH_ORDERS(race) do {				\
	TH_LOG("dereg first: %d rounds, second: %d rounds",	\
	       (race)->dereg_won, (race)->other_won);		\
	EXPECT_GT((race)->dereg_won, 0);			\
	EXPECT_GT((race)->other_won, 0);			\
} while (0)

struct dereg {
	FIXTURE_DATA(race) *self;
	long delay;
	int refused;
	int ret;
};

static void *dereg_main(void *arg)
{
	struct dereg *d = arg;

	pthread_barrier_wait(&d->self->start);
	vt_spin(d->delay);
	d->ret = ibv_dereg_mr(d->self->w.mr);
	return NULL;
}

/* The call that comes second fails. */
TEST_F(race, bind_against_dereg)
{
	struct dereg d = { .self = self };
	struct race race;
	pthread_t thread;
	int i, status;

	race_init(&race);
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(0, fresh(self, variant->type));
		d.delay = -race.lead;
		ASSERT_EQ(0, pthread_create(&thread, NULL, dereg_main, &d));
		pthread_barrier_wait(&self->start);
		vt_spin(race.lead);
		status = vt_bind_page(&self->pair.b, self->w.mw, &self->copy);
		pthread_join(thread, NULL);
		race_count(&race, status != IBV_WC_SUCCESS);
		if (status == IBV_WC_SUCCESS) {
			ASSERT_EQ(EBUSY, d.ret);
			ASSERT_EQ(0, vt_write_through(&self->pair, self->w.mw->rkey));
		} else {
			ASSERT_EQ(IBV_WC_MW_BIND_ERR, status);
			ASSERT_EQ(0, d.ret);
			self->w.mr = NULL;
			ASSERT_EQ(0, vt_pair_recover(&self->pair));
		}
		ASSERT_EQ(0, vt_window_close(&self->w));
	}
	EXPECT_BOTH_ORDERS(&race);
}

static void *dereg_until_done(void *arg)
{
	struct dereg *d = arg;

	pthread_barrier_wait(&d->self->start);
	vt_spin(d->delay);
	d->refused = 0;
	while ((d->ret = ibv_dereg_mr(d->self->w.mr)) == EBUSY)
		d->refused++;
	return NULL;
}

TEST_F(race, dealloc_against_dereg)
{
	struct dereg d = { .self = self };
	struct race race;
	pthread_t thread;
	uint32_t rkey;
	int i;

	race_init(&race);
	for (i = 0; i < 15; i++) {
		ASSERT_EQ(0, fresh(self, variant->type));
		ASSERT_EQ(0, vt_bind_page(&self->pair.b, self->w.mw, &self->copy));
		ASSERT_EQ(0, vt_write_through(&self->pair, self->w.mw->rkey));
		rkey = self->w.mw->rkey;
		d.delay = -race.lead;
		ASSERT_EQ(0, pthread_create(&thread, NULL, dereg_until_done,
					    &d));
		pthread_barrier_wait(&self->start);
		vt_spin(race.lead);
		ASSERT_EQ(0, ibv_dealloc_mw(self->w.mw));
		self->w.mw = NULL;
		pthread_join(thread, NULL);
		race_count(&race, d.refused);
		ASSERT_EQ(0, d.ret);
		self->w.mr = NULL;
		ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, vt_write_through(&self->pair, rkey));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
	EXPECT_BOTH_ORDERS(&race);
}

/* -- nothing is written afterwards */

#define SPAN	MIB
#define SAMPLES	(SPAN / 512)
#define ROUNDS	12

enum how { INVALIDATE, DEALLOC_1, DEALLOC_2, UNBIND, REBIND, DEREG, REREG };

/*
 * @ctl: the writer's peer with a second QP, which no writer can bring into
 * error
 */
FIXTURE(end)
{
	struct vt_pair pair;
	struct vt_ep ctl;
	struct vt_window w;
	struct ibv_mr *other;
	uint32_t rkey;
	uint8_t *target;
	volatile bool going;
	int status;
};

FIXTURE_VARIANT(end)
{
	enum how how;
};

FIXTURE_VARIANT_ADD(end, invalidate) { INVALIDATE };
FIXTURE_VARIANT_ADD(end, dealloc_type_1) { DEALLOC_1 };
FIXTURE_VARIANT_ADD(end, dealloc_type_2) { DEALLOC_2 };
FIXTURE_VARIANT_ADD(end, unbind) { UNBIND };
FIXTURE_VARIANT_ADD(end, rebind) { REBIND };
FIXTURE_VARIANT_ADD(end, dereg) { DEREG };
FIXTURE_VARIANT_ADD(end, rereg) { REREG };

/* Connect the control QP to itself, from any state. */
static int ctl_connect(FIXTURE_DATA(end) *self)
{
	struct vt_addr itself = vt_ep_addr(&self->ctl);
	int ret = vt_qp_reset(self->ctl.qp);

	return ret ? ret : vt_ep_connect(&self->ctl, &itself);
}

FIXTURE_SETUP(end)
{
	struct vt_ep *b = &self->pair.b;

	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 14, .mtu = IBV_MTU_4096,
			.buf_len = SPAN + 2 * VT_GUARD)));
	self->target = b->buf.p + VT_GUARD;
	self->other = vt_window_reg(b, PAGE);
	ASSERT_NE(NULL, self->other);
	self->ctl = *b;
	self->ctl.qp = vt_qp_create(b);
	ASSERT_NE(NULL, self->ctl.qp);
	ASSERT_EQ(0, ctl_connect(self));
}

FIXTURE_TEARDOWN(end)
{
	if (self->ctl.qp)
		ibv_destroy_qp(self->ctl.qp);
	vt_window_close(&self->w);
	if (self->other)
		ibv_dereg_mr(self->other);
	vt_pair_close(&self->pair);
}

/*
 * A region; unless the region itself is to end, also a window over all of it.
 */
static int open_target(FIXTURE_DATA(end) *self, enum how how)
{
	bool type_2 = how == INVALIDATE || how == DEALLOC_2;
	struct vt_ep *b = &self->pair.b;
	struct vt_bind to = {
		.addr = (uintptr_t)self->target, .len = SPAN,
		.access = IBV_ACCESS_REMOTE_WRITE,
	};
	int ret;

	if (how == DEREG || how == REREG) {
		self->w.mr = vt_window_reg(b, b->buf.len);
		if (!self->w.mr)
			return -errno;
		self->rkey = self->w.mr->rkey;
		return 0;
	}
	ret = vt_window_open(&self->w, b, type_2 ? IBV_MW_TYPE_2 :
						   IBV_MW_TYPE_1);
	if (ret)
		return ret;
	to.mr = self->w.mr;
	ret = vt_bind_any(b, self->w.mw, &to);
	self->rkey = self->w.mw->rkey;
	return ret;
}

/* Return: 0 when the window or region has ended. */
static int end_target(FIXTURE_DATA(end) *self, enum how how)
{
	struct vt_bind nothing = { .len = 0 };
	int ret = 0;

	switch (how) {
	case INVALIDATE:
		return vt_invalidate(&self->pair.b, self->rkey);
	case DEALLOC_1:
	case DEALLOC_2:
		ret = ibv_dealloc_mw(self->w.mw);
		self->w.mw = NULL;
		return ret;
	case UNBIND:
		return vt_bind_any(&self->ctl, self->w.mw, &nothing);
	case REBIND:
		return vt_bind_page(&self->ctl, self->w.mw, self->other);
	case DEREG:
		ret = ibv_dereg_mr(self->w.mr);
		self->w.mr = NULL;
		return ret;
	case REREG:
		return ibv_rereg_mr(self->w.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				    self->other->addr, self->other->length, 0);
	}
	return ret;
}

/* Write, each time other data, until a write is refused. */
static void *writer_main(void *arg)
{
	FIXTURE_DATA(end) *self = arg;
	struct vt_ep *a = &self->pair.a;
	struct ibv_sge sge = vt_sge(&a->buf, VT_GUARD, SPAN);
	struct ibv_send_wr wr = vt_rdma_wr(IBV_WR_RDMA_WRITE, 1, &sge,
					   (uintptr_t)self->target, self->rkey);
	int n;

	for (n = 0, self->status = 0; !self->status; n++) {
		memset(a->buf.p + VT_GUARD, n, SPAN);
		self->status = vt_outcome(a, &wr);
		self->going = true;
	}
	return NULL;
}

/* This must be quick: a write during this function may be missed. */
static void look(FIXTURE_DATA(end) *self, uint8_t *sample)
{
	volatile uint8_t *p = self->target;
	size_t i;

	for (i = 0; i < SAMPLES; i++)
		sample[i] = p[i * (SPAN / SAMPLES)];
}

struct gone {
	struct ibv_mr *mr;
	long delay;
	int ret;
};

static void *other_goes(void *arg)
{
	struct gone *g = arg;

	vt_spin(g->delay);
	g->ret = ibv_dereg_mr(g->mr);
	return NULL;
}

/*
 * A peer writes through a window while it is bound to another region, and that
 * region is deregistered at the same moment. If ibv_dereg_mr() comes first, the
 * bind fails, and the writer does not notice anything.
 */
static void rebind_or_not(struct __test_metadata *_metadata,
			  FIXTURE_DATA(end) *self, struct race *race)
{
	struct vt_ep *b = &self->pair.b;
	struct gone gone = { .delay = -race->lead };
	pthread_t writer, thread;
	struct ibv_mr copy;
	int ret;

	gone.mr = vt_window_reg(b, PAGE);
	ASSERT_NE(NULL, gone.mr);
	/* A copy, because the library frees its struct on success */
	copy = *gone.mr;
	ASSERT_EQ(0, open_target(self, REBIND));
	self->going = false;
	ASSERT_EQ(0, pthread_create(&writer, NULL, writer_main, self));
	while (!self->going)
		;
	ASSERT_EQ(0, pthread_create(&thread, NULL, other_goes, &gone));
	vt_spin(race->lead);
	ret = vt_bind_page(&self->ctl, self->w.mw, &copy);
	pthread_join(thread, NULL);
	race_count(race, ret != IBV_WC_SUCCESS);
	if (ret == IBV_WC_SUCCESS) {
		EXPECT_EQ(EBUSY, gone.ret);
	} else {
		EXPECT_EQ(IBV_WC_MW_BIND_ERR, ret);
		EXPECT_EQ(0, gone.ret);
		usleep(2000);
		EXPECT_EQ(0, self->status);
		ASSERT_EQ(0, ibv_dealloc_mw(self->w.mw));
		self->w.mw = NULL;
	}
	pthread_join(writer, NULL);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, self->status);
	ASSERT_EQ(0, vt_window_close(&self->w));
	if (gone.ret)
		ASSERT_EQ(0, ibv_dereg_mr(gone.mr));
}

TEST_F(end, rebind_is_done_or_not)
{
	struct race race;
	int i;

	if (variant->how != REBIND)
		SKIP(return, "nothing is bound again");
	race_init(&race);
	for (i = 0; i < 60 && !_metadata->exit_code; i++) {
		rebind_or_not(_metadata, self, &race);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		ASSERT_EQ(0, ctl_connect(self));
	}
	EXPECT_BOTH_ORDERS(&race);
}

TEST_F(end, nothing_is_written_after)
{
	static uint8_t before[SAMPLES], after[SAMPLES];
	pthread_t thread;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, open_target(self, variant->how));
		self->going = false;
		ASSERT_EQ(0, pthread_create(&thread, NULL, writer_main, self));
		while (!self->going)
			;
		vt_spin(i % 8 * 10);
		ret = end_target(self, variant->how);
		look(self, before);
		/* The writer may be refused first, which flushes this QP. */
		if (ret != IBV_WC_WR_FLUSH_ERR || variant->how != INVALIDATE)
			ASSERT_EQ(0, ret);
		pthread_join(thread, NULL);
		look(self, after);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, self->status);
		ASSERT_EQ(0, memcmp(before, after, SAMPLES)) TH_LOG("%d", i);
		ASSERT_EQ(0, vt_window_close(&self->w));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
}

/* -- a writer against ibv_rereg_mr() */

/* Longer than a thread needs to begin a change, and shorter than the changes are apart */
#define PAUSE_US	1000
#define CHANGES		60
#define REREGS		10

/* A region that is changed in place, again and again, to the values that it already has */
struct changing {
	struct ibv_mr *mr;
	bool done;
	int changes;
	int ret;
};

static void *changing_main(void *arg)
{
	struct changing *c = arg;

	while (!c->ret && !__atomic_load_n(&c->done, __ATOMIC_RELAXED)) {
		c->ret = ibv_rereg_mr(c->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, c->mr->addr,
				      c->mr->length, 0);
		__atomic_add_fetch(&c->changes, 1, __ATOMIC_RELAXED);
		vt_spin(20 * PAUSE_US);
	}
	return NULL;
}

/*
 * The region has memory at every moment. An access that has read the key before a change, and takes
 * its reference after it, reads the key once more: it neither fails, nor uses the region's former
 * memory. If the module allows it (record/cover.c), each access waits between the two.
 */
TEST(writes_go_on_while_the_region_changes)
{
	struct changing c = {};
	struct vt_remote remote;
	struct vt_pair pair;
	struct ibv_sge sge;
	pthread_t thread;
	int i, status = IBV_WC_SUCCESS;
	bool paused;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	c.mr = pair.b.buf.mr;
	sge = vt_sge(&pair.a.buf, VT_GUARD, 64);
	remote = (struct vt_remote){ (uintptr_t)pair.b.buf.p + VT_GUARD, c.mr->rkey };
	paused = vt_pause(PAUSE_US);
	ASSERT_EQ(0, pthread_create(&thread, NULL, changing_main, &c));
	for (i = 0; status == IBV_WC_SUCCESS &&
	     __atomic_load_n(&c.changes, __ATOMIC_RELAXED) < CHANGES; i++)
		status = vt_op(&pair.a, i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, &sge, remote);
	__atomic_store_n(&c.done, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (paused)
		ASSERT_TRUE(vt_pause(0));
	EXPECT_EQ(IBV_WC_SUCCESS, status) TH_LOG("after %d changes and %d accesses", c.changes, i);
	EXPECT_EQ(0, c.ret);
	vt_pair_close(&pair);
}

/*
 * ibv_rereg_mr() returns when the copies in progress have ended. After that nothing is written to
 * the region's former memory.
 */
TEST(rereg_waits_for_copies)
{
	struct vt_place r = {}, next = {};
	struct vt_writer w;
	struct vt_pair pair;
	bool paused;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.timeout = 14)));
	ASSERT_EQ(0, vt_place_map(&next, VT_MEM_PLAIN));
	for (i = 0; i < REREGS; i++) {
		ASSERT_EQ(0, vt_place_open(&r, pair.b.pd, VT_ACCESS_ALL));
		vt_writer_aim(&w, &pair, &r, true);
		ASSERT_EQ(0, vt_writer_start(&w));
		paused = vt_pause(PAUSE_US);
		ASSERT_EQ(0, ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, next.p,
					  next.len, 0));
		vt_fill(r.p, r.len, i, 0);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_writer_end(&w));
		if (paused)
			ASSERT_TRUE(vt_pause(0));
		ASSERT_TRUE(vt_check("what it was", r.p, r.len, i, 0)) TH_LOG("round %d", i);
		ASSERT_EQ(0, vt_pair_recover(&pair));
		ASSERT_EQ(0, ibv_dereg_mr(r.mr));
		r.mr = NULL;
		vt_place_close(&r);
	}
	vt_place_close(&next);
	vt_pair_close(&pair);
}

VT_HARNESS_MAIN
