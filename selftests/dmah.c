// SPDX-License-Identifier: GPL-2.0
/*
 * DMA handles: a region that is registered with a handle behaves like any
 * other, but cannot be paged on demand. And the limit on handles.
 *
 * timeout: 60
 * paths: host wire
 * params: max_objects=500
 */
#include "harness.h"

#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"
#include "uverbs.h"

#define LEN		(16 * PAGE)
#define MAX_HANDLES	500
#define ACCESS_RELAXED	(VT_ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING)

/* The hints of a handle; a negative @cpu: no CPU */
struct hints {
	int cpu;
	int mem_type;
	int ph;
};

static const struct hints no_hints = { -1, -1, -1 };

FIXTURE(dmah)
{
	struct vt_pair pair;
	struct ibv_context *ctx;
	uint32_t dmah;
	uint8_t *p;
	struct ibv_mr mr;
	struct vt_region r;
};

/* Return: 0 or a negative errno */
static int alloc_dmah(struct ibv_context *ctx, const struct hints *hints,
		      uint32_t *handle)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DMAH, VT_METHOD_DMAH_ALLOC);
	struct ib_uverbs_attr *made = vt_ucmd_object(&cmd, VT_DMAH_HANDLE, 0);
	int ret;

	if (hints->cpu >= 0)
		vt_ucmd_value(&cmd, VT_DMAH_CPU_ID, hints->cpu, 4);
	if (hints->mem_type >= 0)
		vt_ucmd_enum(&cmd, VT_DMAH_MEM_TYPE, hints->mem_type);
	if (hints->ph >= 0)
		vt_ucmd_value(&cmd, VT_DMAH_PH, hints->ph, 1);
	ret = vt_ucmd_run(&cmd, ctx);
	*handle = made->data;
	return ret;
}

static int free_dmah(struct ibv_context *ctx, uint32_t handle)
{
	return vt_uobject_destroy(ctx, VT_OBJ_DMAH, VT_METHOD_DMAH_FREE, handle);
}

/* With @self->dmah, at end b. Return: 0 or a negative errno */
static int reg(FIXTURE_DATA(dmah) *self, int access)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_MR, VT_METHOD_REG_MR);
	struct ib_uverbs_attr *made = vt_ucmd_object(&cmd, VT_REG_MR_HANDLE, 0);
	int ret;

	vt_ucmd_object(&cmd, VT_REG_MR_PD, self->pair.b.pd->handle);
	vt_ucmd_object(&cmd, VT_REG_MR_DMAH, self->dmah);
	vt_ucmd_value(&cmd, VT_REG_MR_IOVA, (uintptr_t)self->p, 8);
	vt_ucmd_value(&cmd, VT_REG_MR_ADDR, (uintptr_t)self->p, 8);
	vt_ucmd_value(&cmd, VT_REG_MR_LENGTH, LEN, 8);
	vt_ucmd_value(&cmd, VT_REG_MR_ACCESS, access, 4);
	vt_ucmd_out(&cmd, VT_REG_MR_LKEY, &self->mr.lkey, 4);
	vt_ucmd_out(&cmd, VT_REG_MR_RKEY, &self->mr.rkey, 4);
	ret = vt_ucmd_run(&cmd, self->ctx);
	self->mr.handle = made->data;
	self->r = (struct vt_region){
		.p = self->p, .len = LEN, .iova = (uintptr_t)self->p,
		.mr = &self->mr,
	};
	return ret;
}

static int dereg(FIXTURE_DATA(dmah) *self)
{
	return vt_uobject_destroy(self->ctx, VT_OBJ_MR, VT_METHOD_MR_DESTROY,
				  self->mr.handle);
}

/* New rights for the region. Return: 0 or a negative errno */
static int rereg(FIXTURE_DATA(dmah) *self, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} req = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_REREG_MR,
			.in_words = sizeof(req) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.mr_handle = self->mr.handle,
			.flags = IBV_REREG_MR_CHANGE_ACCESS,
			.access_flags = access,
		},
	};
	ssize_t n = write(self->ctx->cmd_fd, &req, sizeof(req));

	return n == sizeof(req) ? 0 : -errno;
}

static int open_all(FIXTURE_DATA(dmah) *self)
{
	struct vt_conf conf = vt_defaults;
	int ret;

	conf.buf_len = LEN + 4 * VT_GUARD;
	ret = vt_pair_open(&self->pair, &conf);
	if (ret)
		return ret;
	self->ctx = self->pair.b.dev.ctx;
	ret = alloc_dmah(self->ctx, &no_hints, &self->dmah);
	if (ret)
		vt_pair_close(&self->pair);
	return ret;
}

FIXTURE_SETUP(dmah)
{
	VT_SETUP(open_all(self));
	self->p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(dmah)
{
	if (self->p)
		munmap(self->p, LEN);
	vt_pair_close(&self->pair);
}

TEST_F(dmah, hints)
{
	static const struct {
		struct hints hints;
		int err;
	} some[] = {
		{ { 0, 0, 0 }, 0 },
		{ { -1, 0, 3 }, 0 },
		{ { -1, 1, -1 }, 0 },
		{ { 0, -1, -1 }, 0 },
		{ { 0, 0, 4 }, -EINVAL },
		{ { 0xffff, 0, 0 }, -EINVAL },
		{ { 0, 2, 0 }, -EOPNOTSUPP },
	};
	uint32_t handle;
	int i;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		EXPECT_EQ(some[i].err, alloc_dmah(self->ctx, &some[i].hints,
						  &handle))
			TH_LOG("%d", i);
		if (!some[i].err)
			EXPECT_EQ(0, free_dmah(self->ctx, handle));
	}
	EXPECT_EQ(0, free_dmah(self->ctx, self->dmah));
	EXPECT_EQ(-ENOENT, free_dmah(self->ctx, self->dmah));
}

TEST_F(dmah, region_works)
{
	ASSERT_EQ(0, reg(self, ACCESS_RELAXED));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 8 * 1001, 1));
	EXPECT_EQ(0, dereg(self));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_region_copy(&self->pair, &self->r, VT_WRITE, 0, 1));
}

TEST_F(dmah, stays_while_it_is_used)
{
	ASSERT_EQ(0, reg(self, VT_ACCESS_ALL));
	EXPECT_EQ(-EBUSY, free_dmah(self->ctx, self->dmah));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	EXPECT_EQ(0, dereg(self));
	EXPECT_EQ(0, free_dmah(self->ctx, self->dmah));
	EXPECT_EQ(-ENOENT, reg(self, VT_ACCESS_ALL));
}

/* On demand at registration, or by a later rereg */
TEST_F(dmah, not_on_demand)
{
	struct vt_region plain;

	EXPECT_EQ(-EOPNOTSUPP, reg(self, VT_ACCESS_ODP));
	ASSERT_EQ(0, reg(self, IBV_ACCESS_LOCAL_WRITE));
	EXPECT_EQ(-EOPNOTSUPP, rereg(self, VT_ACCESS_ODP));
	EXPECT_EQ(0, rereg(self, VT_ACCESS_ALL));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	EXPECT_EQ(0, dereg(self));
	/* the handle is the reason: without it, this works */
	ASSERT_EQ(0, vt_region_reg(&plain, self->pair.b.pd, self->p, LEN,
				   (uintptr_t)self->p, VT_ACCESS_ODP));
	EXPECT_EQ(0, ibv_dereg_mr(plain.mr));
}

TEST_F(dmah, limit)
{
	uint32_t handles[MAX_HANDLES], more;
	int i, ret;

	/* one exists already */
	for (i = 0; i < MAX_HANDLES - 1; i++)
		ASSERT_EQ(0, alloc_dmah(self->ctx, &no_hints, &handles[i]));
	EXPECT_EQ(-ENOMEM, alloc_dmah(self->ctx, &no_hints, &more));
	EXPECT_EQ(0, free_dmah(self->ctx, handles[0]));
	ret = alloc_dmah(self->ctx, &no_hints, &handles[0]);
	EXPECT_EQ(0, ret);
	/* the others are freed when the process exits */
	EXPECT_EQ(-ENOMEM, alloc_dmah(self->ctx, &no_hints, &more));
}

VT_HARNESS_MAIN
