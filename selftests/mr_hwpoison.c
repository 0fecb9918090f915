// SPDX-License-Identifier: GPL-2.0
/*
 * An uncorrectable memory error is injected under a region: requests that touch the page end with
 * an error completion; everything else goes on.
 *
 * beds: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-rt
 * break: qemu-newest qemu-oldest
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "region.h"
#include "window.h"

#define PAGES	8
#define LEN	(PAGES * PAGE)
/* The page that goes bad */
#define BAD	3

FIXTURE(hwpoison)
{
	struct vt_pair pair;
	struct vt_region r;
};

/* The SIGBUS that this process itself gets must not end it. */
static void on_sigbus(int sig)
{
	(void)sig;
}

FIXTURE_SETUP(hwpoison)
{
	struct vt_conf conf = vt_defaults;

	conf.buf_len = LEN + 4 * VT_GUARD;
	signal(SIGBUS, on_sigbus);
	VT_SETUP(vt_pair_open(&self->pair, &conf));
}

FIXTURE_TEARDOWN(hwpoison)
{
	vt_region_close(&self->r);
	vt_pair_close(&self->pair);
}

static bool is_odp(int access)
{
	return access & IBV_ACCESS_ON_DEMAND;
}

static int reg(FIXTURE_DATA(hwpoison) *self, int access)
{
	void *p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);

	if (!p)
		return -errno;
	madvise(p, LEN, MADV_NOHUGEPAGE);
	vt_fill(p, LEN, 1, 0);
	return vt_region_reg(&self->r, self->pair.b.pd, p, LEN, (uintptr_t)p,
			     access | IBV_ACCESS_MW_BIND);
}

static int inject(const struct vt_region *r)
{
	return madvise(r->p + BAD * PAGE, PAGE, MADV_HWPOISON) ? -errno : 0;
}

static int expected(enum vt_way way)
{
	return way == VT_WRITE || way == VT_READ ? IBV_WC_REM_ACCESS_ERR :
						   IBV_WC_LOC_PROT_ERR;
}

/* Each way in which the bytes at @off touch the bad page */
static void touches(struct __test_metadata *_metadata,
		    FIXTURE_DATA(hwpoison) *self, size_t off, size_t len)
{
	int way;

	for (way = 0; way < VT_WAYS; way++) {
		EXPECT_EQ(expected(way),
			  vt_region_copy(&self->pair, &self->r, way, off, len))
			TH_LOG("way %d, %zu bytes at %zu", way, len, off);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
}

static int atomic_on(struct vt_pair *pair, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, VT_GUARD, 8);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = addr, .rkey = rkey },
	};

	return vt_outcome(&pair->a, &wr);
}

static void fails_there(struct __test_metadata *_metadata,
			FIXTURE_DATA(hwpoison) *self)
{
	static const struct { size_t off, len; } bad[] = {
		{ BAD * PAGE, 1 }, { BAD * PAGE, PAGE }, { 0, LEN },
		{ BAD * PAGE - 1, 2 }, { (BAD + 1) * PAGE - 1, 2 },
	};
	uint64_t addr = self->r.iova + BAD * PAGE + 8;
	struct vt_region *r = &self->r;
	struct ibv_mw *mw;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		touches(_metadata, self, bad[i].off, bad[i].len);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  atomic_on(&self->pair, addr, r->mr->rkey));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));

	/* through a window */
	mw = ibv_alloc_mw(self->pair.b.pd, IBV_MW_TYPE_1);
	ASSERT_NE(NULL, mw);
	ASSERT_EQ(0, vt_bind_any(&self->pair.b, mw, &(struct vt_bind){
		r->mr, r->iova, LEN, IBV_ACCESS_REMOTE_ATOMIC }));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  atomic_on(&self->pair, addr, mw->rkey));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

static void works_elsewhere(struct __test_metadata *_metadata,
			    FIXTURE_DATA(hwpoison) *self)
{
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, BAD * PAGE));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, (BAD + 1) * PAGE,
				    LEN - (BAD + 1) * PAGE));
}

/* A process other than the memory's owner must not be affected. */
static pid_t stranger(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	signal(SIGBUS, SIG_DFL);
	pause();
	_exit(1);
}

static void goes_bad(struct __test_metadata *_metadata,
		     FIXTURE_DATA(hwpoison) *self, int access)
{
	pid_t other = stranger();
	int ret;

	ASSERT_LT(0, other);
	ASSERT_EQ(0, reg(self, access));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	ret = inject(&self->r);
	if (ret == -EINVAL || ret == -EPERM) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
		SKIP(return, "this kernel injects no memory errors");
	}
	/* A page that is pinned cannot be taken from its users: -EBUSY. */
	if (!is_odp(access) && ret == -EBUSY)
		ret = 0;
	EXPECT_EQ(0, ret);
	fails_there(_metadata, self);
	works_elsewhere(_metadata, self);
	EXPECT_EQ(0, kill(other, SIGKILL));
	EXPECT_EQ(other, waitpid(other, &ret, 0));
	EXPECT_EQ(SIGKILL, ret);
	EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	/* It cannot be registered again, unless it is paged on demand. */
	self->r.mr = ibv_reg_mr(self->pair.b.pd, self->r.p, LEN, access);
	EXPECT_EQ(is_odp(access), self->r.mr != NULL);
}

TEST_F(hwpoison, pinned) { goes_bad(_metadata, self, VT_ACCESS_ALL); }

TEST_F(hwpoison, on_demand)
{
	VT_SETUP(vt_need_odp(&self->pair.b, IBV_ODP_SUPPORT));
	goes_bad(_metadata, self, VT_ACCESS_ODP);
}

VT_HARNESS_MAIN
