// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging of a process that requests more slow pages than can be
 * brought in at once: other processes do not wait for them, and the requests
 * end when the process exits.
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"
#include "disk.h"
#include "region.h"
#include "system.h"

#define LEN		(VT_WAYS * PAGE)
#define SIZE		1000

/* Another user */
#define SOMEBODY	1000
/* A kernel has at most 1024 workers for a queue. */
#define WORKERS		1024

/**
 * struct wish - what the process requests
 * @pages: of the disk
 * @requests: in how many parts
 * @delay_ms: how long a page takes
 */
struct wish {
	int pages;
	int requests;
	int delay_ms;
};

FIXTURE(hog)
{
	struct vt_pair pair;
	int64_t prefetched;
	pid_t pid;
	int sock;
};

/* Prefetch all of a region, in @requests parts. Do not wait for them. */
static int prefetch(struct vt_ep *ep, struct vt_region *r, int requests)
{
	struct ibv_sge sge = {
		.addr = r->iova, .length = r->len / requests,
		.lkey = r->mr->lkey,
	};
	int ret = 0;

	for (; !ret && requests; requests--) {
		ret = ibv_advise_mr(ep->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
				    &sge, 1);
		sge.addr += sge.length;
	}
	return ret;
}

/* The child lives until the other end of @sock is closed. */
static int hog_main(int sock, const void *arg)
{
	const struct wish *wish = arg;
	size_t len = wish->pages * PAGE;
	int fd = open(VT_DISK, O_RDONLY);
	struct vt_region r;
	struct vt_ep ep;
	uint8_t *p;
	char c = 0;

	if (fd < 0 || setuid(SOMEBODY) || vt_ep_open(&ep, &vt_defaults, 1))
		return 1;
	p = vt_disk_map(fd, len);
	if (!p || vt_region_reg(&r, ep.pd, p, len, (uintptr_t)p, VT_ACCESS_ODP))
		return 1;
	if (prefetch(&ep, &r, wish->requests) || write(sock, &c, 1) != 1)
		return 1;
	return read(sock, &c, 1);
}

static int64_t prefetched(FIXTURE_DATA(hog) *self)
{
	return vt_counter_now(self->pair.b.dev.ctx, "odp_prefetched_pages") -
	       self->prefetched;
}

/*
 * Returns when the child has requested its pages; false if there is no slow
 * disk.
 */
static bool hog_begin(struct __test_metadata *_metadata,
		      FIXTURE_DATA(hog) *self, const struct wish *wish)
{
	char c;

	if (!vt_disk_add(wish->delay_ms))
		return false;
	self->prefetched = 0;
	self->prefetched = prefetched(self);
	self->pid = vt_child(&self->sock, hog_main, wish);
	EXPECT_LT(0, self->pid);
	EXPECT_EQ(1, read(self->sock, &c, 1));
	return true;
}

/*
 * End the child: it exits (@sig is 0), or is killed. After that the disk is
 * unused.
 */
static void hog_end(struct __test_metadata *_metadata, FIXTURE_DATA(hog) *self,
		    int sig)
{
	int status = -1;

	if (sig)
		kill(self->pid, sig);
	close(self->sock);
	EXPECT_EQ(self->pid, waitpid(self->pid, &status, 0));
	EXPECT_EQ(sig, status);
	self->pid = 0;
	EXPECT_TRUE(vt_disk_del(20000));
}

FIXTURE_SETUP(hog)
{
	/* no packet is lost: do not retransmit */
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.timeout = 19)));
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT));
}

FIXTURE_TEARDOWN(hog)
{
	if (self->pid > 0)
		hog_end(_metadata, self, SIGKILL);
	vt_pair_close(&self->pair);
}

TEST_F(hog, others_do_not_wait)
{
	const struct wish wish = { 8192, 8192, 100 };
	struct vt_region r;
	uint8_t *p;

	if (!hog_begin(_metadata, self, &wish))
		SKIP(return, "no slow disk (null_blk)");
	p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&r, self->pair.b.pd, p, LEN, (uintptr_t)p,
				   VT_ACCESS_ODP));
	EXPECT_EQ(IBV_WC_SUCCESS,
		  vt_region_copy(&self->pair, &r, VT_WRITE, 0, SIZE));
	/*
	 * If the transfer had waited in the same queue, all pages but the last
	 * WORKERS would be there by now.
	 */
	EXPECT_GT(wish.pages - WORKERS, prefetched(self));
	EXPECT_TRUE(vt_region_works(&self->pair, &r, 0, LEN));
	vt_region_close(&r);
	hog_end(_metadata, self, 0);
}

TEST_F(hog, prefetch_ends_with_its_process)
{
	/* half a minute and more, also if the four run together */
	const struct wish wish = { 65536, 4, 2 };

	if (!hog_begin(_metadata, self, &wish))
		SKIP(return, "no slow disk (null_blk)");
	while (!prefetched(self))
		usleep(10000);
	hog_end(_metadata, self, SIGKILL);
}

VT_HARNESS_MAIN
