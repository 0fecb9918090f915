// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging of pages that take long, as they do on a slow disk: who has
 * nothing to do with them does not wait for them.
 *
 * beds: qemu-7.2
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "region.h"

/* A disk of nothing but zeros, each page of which takes DELAY_MS */
#define DISK		"/dev/nullb0"
#define DELAY_MS	500
#define DISK_ADD \
	"modprobe null_blk nr_devices=1 gb=1 irqmode=2 completion_nsec=500000000"
#define DISK_DEL	"modprobe -r null_blk"

#define PAGE		4096ul
#define LEN		(VT_WAYS * PAGE)
#define SIZE		1000

FIXTURE(slow)
{
	struct vt_pair pair, other;
	struct vt_region r;
	int fd;
};

FIXTURE_SETUP(slow)
{
	struct vt_conf conf = vt_defaults;
	uint8_t *p;

	self->fd = -1;
	/* Nothing is lost: patience, instead of asking again. */
	conf.timeout = 19;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT));
	VT_SETUP(vt_pair_open(&self->other, &conf));
	if (system(DISK_ADD))
		SKIP(return, "no slow disk (null_blk)");
	self->fd = open(DISK, O_RDONLY);
	ASSERT_LE(0, self->fd);
	p = vt_map(LEN, PAGE, MAP_PRIVATE, self->fd);
	ASSERT_NE(NULL, p);
	/* not its neighbours, too */
	ASSERT_EQ(0, madvise(p, LEN, MADV_RANDOM));
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, LEN,
				   (uintptr_t)p, VT_ACCESS_ODP));
}

FIXTURE_TEARDOWN(slow)
{
	vt_region_close(&self->r);
	if (self->fd >= 0) {
		close(self->fd);
		EXPECT_EQ(0, system(DISK_DEL));
	}
	vt_pair_close(&self->other);
	vt_pair_close(&self->pair);
}

/**
 * struct message - one that needs a slow page, in a thread of its own
 * @way: which; it has the page of that number
 * @status: as from vt_region_go()
 */
struct message {
	FIXTURE_DATA(slow) *self;
	enum vt_way way;
	pthread_t thread;
	int status;
	volatile bool done;
};

static void *message_main(void *arg)
{
	struct message *m = arg;

	m->status = vt_region_go(&m->self->pair, &m->self->r, m->way,
				 m->way * PAGE, SIZE);
	m->done = true;
	return NULL;
}

/* When it returns somebody waits for the page. */
static int message_begin(struct message *m)
{
	int ret = pthread_create(&m->thread, NULL, message_main, m);

	usleep(DELAY_MS / 4 * 1000);
	return ret;
}

/* The region at the other end goes at once, whatever that makes of the message. */
static void deregister(struct __test_metadata *_metadata,
		       FIXTURE_DATA(slow) *self, enum vt_way way)
{
	struct message m = { .self = self, .way = way };
	struct vt_ep *a = &self->pair.a;
	struct ibv_mr *kept = a->buf.mr;
	uint64_t start, took;

	a->buf.mr = ibv_reg_mr(a->pd, a->buf.p, a->buf.len, VT_ACCESS_ALL);
	ASSERT_NE(NULL, a->buf.mr);
	ASSERT_EQ(0, message_begin(&m));
	start = vt_now_ms();
	EXPECT_EQ(0, ibv_dereg_mr(a->buf.mr));
	took = vt_now_ms() - start;
	EXPECT_GT(DELAY_MS / 4, took)
		TH_LOG("way %d: %d ms", way, (int)took);
	EXPECT_FALSE(m.done);
	pthread_join(m.thread, NULL);
	EXPECT_LE(0, m.status);
	a->buf.mr = kept;
}

TEST_F(slow, peer_deregisters)
{
	int way;

	for (way = 0; way < VT_WAYS; way++) {
		deregister(_metadata, self, way);
		EXPECT_EQ(0, vt_pair_recover(&self->pair));
	}
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

TEST_F(slow, other_qps_go_on)
{
	int way;

	for (way = 0; way < VT_WAYS; way++) {
		struct message m = { .self = self, .way = way };

		ASSERT_EQ(0, message_begin(&m));
		EXPECT_TRUE(vt_pair_works(&self->other));
		EXPECT_FALSE(m.done) TH_LOG("way %d", way);
		pthread_join(m.thread, NULL);
		EXPECT_EQ(IBV_WC_SUCCESS, m.status);
	}
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

VT_HARNESS_MAIN
