// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging of pages that take long, as on a slow disk: operations that do not need them do
 * not wait for them. And of pages that are taken away again and again: an operation that waits for
 * them can be ended at any time.
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#include <sys/time.h>

#include "disk.h"
#include "region.h"
#include "system.h"
#include "why.h"

#define DELAY_MS	500
#define PAGES		16
#define TRIES		5
#define LEN		(VT_WAYS * PAGE)
#define SIZE		1000

/* No packet is lost: do not retransmit. */
static struct vt_conf patient(void)
{
	struct vt_conf conf = vt_defaults;

	conf.timeout = 19;
	return conf;
}

FIXTURE(slow)
{
	struct vt_pair pair, other;
	struct vt_region r;
	int fd;
};

FIXTURE_SETUP(slow)
{
	struct vt_conf conf = patient();
	uint8_t *p;

	self->fd = -1;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT));
	VT_SETUP(vt_pair_open(&self->other, &conf));
	if (!vt_disk_add(DELAY_MS))
		SKIP(return, "no slow disk (null_blk)");
	self->fd = open(VT_DISK, O_RDONLY);
	ASSERT_LE(0, self->fd);
	p = vt_disk_map(self->fd, TRIES * LEN);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.b.pd, p, TRIES * LEN,
				   (uintptr_t)p, VT_ACCESS_ODP));
}

FIXTURE_TEARDOWN(slow)
{
	vt_region_close(&self->r);
	if (self->fd >= 0) {
		close(self->fd);
		EXPECT_TRUE(vt_disk_del(VT_TIMEOUT_MS));
	}
	vt_pair_close(&self->other);
	vt_pair_close(&self->pair);
}

/**
 * struct message - a message that needs a slow page, in a thread of its own
 * @way: the kind of access
 * @page: the page that it needs
 * @status: as from vt_region_copy()
 * @done: it has the page
 */
struct message {
	FIXTURE_DATA(slow) *self;
	enum vt_way way;
	int page;
	pthread_t thread;
	int status;
	volatile bool done;
};

static void *message_main(void *arg)
{
	struct message *m = arg;

	m->status = vt_region_copy(&m->self->pair, &m->self->r, m->way,
				   m->page * PAGE, SIZE);
	m->done = true;
	return NULL;
}

/* On return the message waits for the page. */
static int message_begin(struct message *m)
{
	int ret = pthread_create(&m->thread, NULL, message_main, m);

	usleep(DELAY_MS / 4 * 1000);
	return ret;
}

/*
 * Deregister the region at the other end at once, whatever the message's status will be.
 * Return: whether the message still waited at that moment.
 */
static bool deregister(struct __test_metadata *_metadata,
		       FIXTURE_DATA(slow) *self, enum vt_way way, int page)
{
	struct message m = { .self = self, .way = way, .page = page };
	struct vt_ep *a = &self->pair.a;
	struct ibv_mr *kept = a->buf.mr;
	bool waited;

	a->buf.mr = ibv_reg_mr(a->pd, a->buf.p, a->buf.len, VT_ACCESS_ALL);
	EXPECT_NE(NULL, a->buf.mr);
	EXPECT_EQ(0, message_begin(&m));
	EXPECT_EQ(0, ibv_dereg_mr(a->buf.mr));
	waited = !m.done;
	pthread_join(m.thread, NULL);
	EXPECT_LE(0, m.status);
	a->buf.mr = kept;
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
	return waited;
}

/* Return: whether the message still waited when the others were done. */
static bool others_first(struct __test_metadata *_metadata,
			 FIXTURE_DATA(slow) *self, enum vt_way way, int page)
{
	struct message m = { .self = self, .way = way, .page = page };
	bool waited;

	EXPECT_EQ(0, message_begin(&m));
	EXPECT_TRUE(vt_pair_works(&self->other));
	waited = !m.done;
	pthread_join(m.thread, NULL);
	EXPECT_EQ(IBV_WC_SUCCESS, m.status);
	return waited;
}

/* On a slow machine the page may be there before the test looks. */
static void each_way(struct __test_metadata *_metadata,
		     FIXTURE_DATA(slow) *self, typeof(deregister) *still_waited)
{
	int way, i;

	for (way = 0; way < VT_WAYS; way++) {
		for (i = 0; i < TRIES; i++)
			if (still_waited(_metadata, self, way,
					 i * VT_WAYS + way))
				break;
		EXPECT_GT(TRIES, i) TH_LOG("way %d", way);
	}
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

TEST_F(slow, peer_deregisters) { each_way(_metadata, self, deregister); }
TEST_F(slow, other_qps_go_on) { each_way(_metadata, self, others_first); }

/*
 * Change the PD of the region. The message passed its checks before that, but holds no reference
 * while it waits. When its page arrives, its key no longer opens the region. A message that
 * succeeds had its page before, though its thread may not have reported it yet. Return: as
 * deregister().
 */
static bool reregister(struct __test_metadata *_metadata,
		       FIXTURE_DATA(slow) *self, enum vt_way way, int page)
{
	struct message m = { .self = self, .way = way, .page = page };
	struct ibv_pd *pd = self->pair.b.pd, *other;
	bool waited;

	other = ibv_alloc_pd(self->pair.b.dev.ctx);
	EXPECT_NE(NULL, other);
	EXPECT_EQ(0, message_begin(&m));
	EXPECT_EQ(0, ibv_rereg_mr(self->r.mr, IBV_REREG_MR_CHANGE_PD, other,
				  NULL, 0, 0));
	waited = !m.done;
	pthread_join(m.thread, NULL);
	EXPECT_LE(0, m.status);
	EXPECT_EQ(0, ibv_rereg_mr(self->r.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL,
				  0, 0));
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_EQ(0, ibv_dealloc_pd(other));
	return waited && m.status != IBV_WC_SUCCESS;
}

TEST_F(slow, reregistration_does_not_wait) { each_way(_metadata, self, reregister); }

static bool is_there(uint8_t *p)
{
	unsigned char there = 0;

	return !mincore(p, PAGE, &there) && there & 1;
}

/* Change a region's PD, in a thread of its own */
struct change {
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	pthread_t thread;
	int ret;
};

static void *change_main(void *arg)
{
	struct change *c = arg;

	c->ret = ibv_rereg_mr(c->mr, IBV_REREG_MR_CHANGE_PD, c->pd, NULL, 0, 0);
	return NULL;
}

/* Operations that the new PD admits are executed, while former ones wait. */
TEST_F(slow, reregistration_lets_in)
{
	struct message m = { .self = self, .way = VT_WRITE };
	struct change c = { .mr = self->r.mr };
	struct ibv_sge sge = {
		.addr = self->r.iova + 2 * PAGE, .length = 1,
		.lkey = self->r.mr->lkey,
	};
	int ret;

	c.pd = ibv_alloc_pd(self->pair.b.dev.ctx);
	ASSERT_NE(NULL, c.pd);
	ASSERT_EQ(0, message_begin(&m));
	ASSERT_EQ(0, pthread_create(&c.thread, NULL, change_main, &c));
	do {
		ret = ibv_advise_mr(c.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				    IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	} while (ret == EPERM);
	EXPECT_EQ(0, ret);
	EXPECT_TRUE(is_there(self->r.p + 2 * PAGE));
	pthread_join(c.thread, NULL);
	EXPECT_EQ(0, c.ret);
	pthread_join(m.thread, NULL);
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
	vt_region_close(&self->r);
	EXPECT_EQ(0, ibv_dealloc_pd(c.pd));
}

static void ignore(int signal) { (void)signal; }

/* A signal ends a prefetch that waits for a page. On a slow machine the page may be there before. */
TEST_F(slow, signal_ends_advice)
{
	struct itimerval soon = { .it_value.tv_usec = DELAY_MS / 4 * 1000 };
	struct sigaction action = { .sa_handler = ignore };
	struct ibv_sge sge = { .length = 1, .lkey = self->r.mr->lkey };
	int i, ret = 0;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	for (i = 0; i < TRIES && ret != EINTR; i++) {
		sge.addr = self->r.iova + i * PAGE;
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
		ret = ibv_advise_mr(self->pair.b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				    IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	}
	EXPECT_EQ(EINTR, ret);
	EXPECT_TRUE(vt_why_is(self->pair.b.dev.ctx, SIGNAL));
}

/*
 * Another process owns the slow pages: a process that has asked for them can
 * end.
 */

/**
 * struct offer - the owner's answer: how to reach its pages
 * @addr: its own address
 * @va: of its region
 * @rkey: of its region
 */
struct offer {
	struct vt_addr addr;
	uint64_t va;
	uint32_t rkey;
};

FIXTURE(apart)
{
	struct vt_ep ep;
	struct offer offer;
	bool open, disk;
	pid_t owner;
	int sock;
};

/*
 * @slow: the pages are the disk's; otherwise they are unmapped again and again
 */
FIXTURE_VARIANT(apart)
{
	bool slow;
	int rounds;
};

FIXTURE_VARIANT_ADD(apart, disk) { true, 9 };
FIXTURE_VARIANT_ADD(apart, memory) { false, 300 };

/*
 * The owner: connects to each process that asks, and posts a receive, until no
 * process asks any more.
 */
static int owner_serve(struct vt_ep *ep, struct vt_region *r, int sock)
{
	struct offer offer = { .va = r->iova, .rkey = r->mr->rkey };
	struct vt_addr asks;
	int page = 0;

	while (read(sock, &asks, sizeof(asks)) == sizeof(asks)) {
		struct ibv_sge sge = {
			.addr = r->iova + (PAGES - 1 - page) * PAGE,
			.length = SIZE, .lkey = r->mr->lkey,
		};

		page = (page + 1) % PAGES;
		if (vt_qp_reset(ep->qp) || vt_ep_connect(ep, &asks) ||
		    vt_post_recv(ep, 1, &sge, 1))
			return 1;
		offer.addr = vt_ep_addr(ep);
		if (write(sock, &offer, sizeof(offer)) != sizeof(offer))
			return 1;
	}
	return 0;
}

static void *forget_main(void *p)
{
	while (!madvise(p, PAGES * PAGE, MADV_DONTNEED))
		;
	return NULL;
}

/* @slow: whether its memory is the disk's */
static int owner_main(int sock, const void *slow)
{
	bool disk = *(const bool *)slow;
	int fd = disk ? open(VT_DISK, O_RDONLY) : -1;
	struct vt_conf conf = patient();
	struct vt_region r;
	pthread_t thread;
	struct vt_ep ep;
	uint8_t *p;

	if ((disk && fd < 0) || vt_ep_open(&ep, &conf, 1))
		return 1;
	p = vt_disk_map(fd, PAGES * PAGE);
	if (!p || (!disk && pthread_create(&thread, NULL, forget_main, p)))
		return 1;
	if (vt_region_reg(&r, ep.pd, p, PAGES * PAGE, (uintptr_t)p,
				VT_ACCESS_ODP))
		return 1;
	return owner_serve(&ep, &r, sock);
}

FIXTURE_SETUP(apart)
{
	struct vt_conf conf = patient();

	self->sock = -1;
	VT_SETUP(vt_ep_open(&self->ep, &conf, 0));
	self->open = true;
	VT_SETUP(vt_need_odp(&self->ep, IBV_ODP_SUPPORT));
	if (variant->slow && !vt_disk_add(DELAY_MS))
		SKIP(return, "no slow disk (null_blk)");
	self->disk = variant->slow;
	self->owner = vt_child(&self->sock, owner_main, &variant->slow);
	ASSERT_LT(0, self->owner);
}

FIXTURE_TEARDOWN(apart)
{
	int status = -1;

	if (self->open)
		vt_ep_close(&self->ep);
	close(self->sock);
	if (self->owner > 0) {
		EXPECT_EQ(self->owner, waitpid(self->owner, &status, 0));
		EXPECT_EQ(0, status);
	}
	if (self->disk)
		EXPECT_TRUE(vt_disk_del(VT_TIMEOUT_MS));
}

/*
 * Connect, and ask for a page of the owner's. The request is on its way at
 * return.
 */
static int go(FIXTURE_DATA(apart) *self, enum ibv_wr_opcode opcode, int page)
{
	struct ibv_sge sge = vt_sge(&self->ep.buf, VT_GUARD, SIZE);
	struct ibv_send_wr wr = vt_rdma_wr(opcode, 1, &sge,
					   self->offer.va + page * PAGE, self->offer.rkey);
	int ret = vt_ep_connect(&self->ep, &self->offer.addr);

	return ret ? ret : vt_post(&self->ep, &wr);
}

/* The same, after the owner has connected again, too. */
static void ask(struct __test_metadata *_metadata, FIXTURE_DATA(apart) *self,
		enum ibv_wr_opcode opcode, int page)
{
	struct vt_addr own = vt_ep_addr(&self->ep);

	ASSERT_EQ(sizeof(own), write(self->sock, &own, sizeof(own)));
	ASSERT_EQ(sizeof(self->offer),
		  read(self->sock, &self->offer, sizeof(self->offer)));
	ASSERT_EQ(0, go(self, opcode, page));
}

enum leave { BY_RESET, BY_ERROR, BY_DESTROY, LEAVES };

static int leave(FIXTURE_DATA(apart) *self, enum leave how)
{
	int ret;

	switch (how) {
	case BY_RESET:
		return vt_qp_reset(self->ep.qp);
	case BY_ERROR:
		ret = vt_qp_to(self->ep.qp, IBV_QPS_ERR);
		return ret ?: vt_status(self->ep.scq, 1);
	default:
		self->open = false;
		vt_ep_close(&self->ep);
		return 0;
	}
}

/* Ready for the next question */
static int come_back(FIXTURE_DATA(apart) *self)
{
	struct vt_conf conf = patient();
	int ret;

	if (self->open)
		return vt_qp_reset(self->ep.qp);
	ret = vt_ep_open(&self->ep, &conf, 0);
	self->open = !ret;
	return ret;
}

/* The pending operations cannot have completed, and that does not matter. */
static void leaves_at_once(struct __test_metadata *_metadata,
			   FIXTURE_DATA(apart) *self, enum leave how)
{
	uint64_t start = vt_now_ms(), took;
	struct ibv_wc wc;

	EXPECT_EQ(0, ibv_poll_cq(self->ep.scq, 1, &wc));
	EXPECT_EQ(how == BY_ERROR ? IBV_WC_WR_FLUSH_ERR : 0, leave(self, how));
	took = vt_now_ms() - start;
	EXPECT_GT(DELAY_MS / 4, took)
		TH_LOG("leave %d: %d ms", how, (int)took);
}

/* Pending operations may have ended, and leave nothing behind. */
static void leaves_some_time(struct __test_metadata *_metadata,
			     FIXTURE_DATA(apart) *self, enum leave how, int us)
{
	int ret;

	usleep(us);
	ret = leave(self, how);
	if (how != BY_ERROR || ret != IBV_WC_WR_FLUSH_ERR)
		EXPECT_EQ(0, ret);
}

TEST_F(apart, requester_leaves)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
	};
	int i, how, page = 0;

	for (i = 0; i < variant->rounds; i++) {
		enum ibv_wr_opcode opcode = opcodes[i / LEAVES % 3];

		how = i % LEAVES;
		ask(_metadata, self, opcode, page);
		if (variant->slow) {
			usleep(DELAY_MS / 4 * 1000);
			leaves_at_once(_metadata, self, how);
		} else {
			leaves_some_time(_metadata, self, how, i % 50 * 10);
		}
		ASSERT_EQ(0, come_back(self));
		if (variant->slow && how == BY_RESET) {
			/*
			 * to an owner that still works for the process that
			 * ended
			 */
			ASSERT_EQ(0, go(self, opcode, page));
			leaves_at_once(_metadata, self, how);
		}
		page = (page + 1) % PAGES;
	}
	/* They have left nothing behind at the owner. */
	ask(_metadata, self, IBV_WR_RDMA_WRITE, page);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep.scq, 1));
}

VT_HARNESS_MAIN
