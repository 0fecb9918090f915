// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory; objects imported from another process; parent and thread
 * domains with allocators; enhanced connection establishment.
 *
 * break: qemu-newest
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#define LEN	12000
#define ACCESS	(VT_ACCESS_ALL | IBV_ACCESS_ZERO_BASED)

FIXTURE(dm)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct ibv_sge local;
	struct ibv_send_wr wr;
};

static struct ibv_dm *alloc_dm(struct ibv_context *ctx, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	return ibv_alloc_dm(ctx, &attr);
}

FIXTURE_SETUP(dm)
{
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	self->dm = alloc_dm(self->b->dev.ctx, LEN);
	ASSERT_NE(NULL, self->dm);
	self->mr = ibv_reg_dm_mr(self->b->pd, self->dm, 0, LEN, ACCESS);
	ASSERT_NE(NULL, self->mr);
	self->local = vt_sge(&self->a->buf, VT_GUARD, LEN);
	self->wr = (struct ibv_send_wr){
		.wr_id = 1, .sg_list = &self->local, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.rkey = self->mr->rkey,
	};
}

FIXTURE_TEARDOWN(dm)
{
	if (self->mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	if (self->dm)
		EXPECT_EQ(0, ibv_free_dm(self->dm));
	vt_pair_close(&self->pair);
}

/* Device memory is zeroed, and the address of its first byte is 0. */
TEST_F(dm, write_and_read)
{
	static uint8_t buf[LEN];

	memset(buf, 1, LEN);
	ASSERT_EQ(0, ibv_memcpy_from_dm(buf, self->dm, 0, LEN));
	EXPECT_EQ(0, buf[0] | buf[LEN - 1] | memcmp(buf, buf + 1, LEN - 1));

	vt_fill_sges(&self->local, 1, LEN, 3);
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	ASSERT_EQ(0, ibv_memcpy_from_dm(buf, self->dm, 0, LEN));
	EXPECT_TRUE(vt_check("written", buf, LEN, 3, 0));

	vt_fill(buf, 1000, 6, 0);
	ASSERT_EQ(0, ibv_memcpy_to_dm(self->dm, 5000, buf, 1000));
	self->local.length = 1000;
	self->wr.opcode = IBV_WR_RDMA_READ;
	self->wr.wr.rdma.remote_addr = 5000;
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	EXPECT_TRUE(vt_check_sges(&self->local, 1, 1000, 6));
}

TEST_F(dm, receive_into)
{
	struct ibv_sge to = { .addr = 7, .length = LEN - 7,
			      .lkey = self->mr->lkey };
	static uint8_t buf[LEN];

	self->local.length = LEN - 7;
	vt_fill_sges(&self->local, 1, LEN - 7, 12);
	self->wr.opcode = IBV_WR_SEND;
	ASSERT_EQ(0, vt_post_recv(self->b, 4, &to, 1));
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 4));
	ASSERT_EQ(0, ibv_memcpy_from_dm(buf, self->dm, 0, LEN));
	EXPECT_TRUE(vt_check("received", buf + 7, LEN - 7, 12, 0));
}

TEST_F(dm, atomics)
{
	uint64_t word = 40, seen;

	ASSERT_EQ(0, ibv_memcpy_to_dm(self->dm, 64, &word, 8));
	self->local.length = 8;
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->wr.wr.atomic.remote_addr = 64;
	self->wr.wr.atomic.rkey = self->mr->rkey;
	self->wr.wr.atomic.compare_add = 2;
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	ASSERT_EQ(0, ibv_memcpy_from_dm(&seen, self->dm, 64, 8));
	EXPECT_EQ(42, seen);
}

/* A region over the second half has its own addresses and bounds. */
TEST_F(dm, part)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(self->b->pd, self->dm, 8000, 1000,
					  ACCESS);
	uint64_t seen = 0, word = 99;

	ASSERT_NE(NULL, mr);
	memcpy(self->a->buf.p + VT_GUARD, &word, 8);
	self->local.length = 8;
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	self->wr.wr.rdma.remote_addr = 992;
	self->wr.wr.rdma.rkey = mr->rkey;
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->a->scq, 1));
	ASSERT_EQ(0, ibv_memcpy_from_dm(&seen, self->dm, 8992, 8));
	EXPECT_EQ(99, seen);
	self->wr.wr.rdma.remote_addr = 993;
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_status(self->a->scq, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(dm, refused)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 30 };
	struct ibv_context *ctx = self->b->dev.ctx;
	uint8_t word[4] = {};

	EXPECT_EQ(NULL, ibv_alloc_dm(ctx, &attr));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, alloc_dm(ctx, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_reg_dm_mr(self->b->pd, self->dm, 0, LEN,
				      VT_ACCESS_ALL));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_reg_dm_mr(self->b->pd, self->dm, 1, LEN, ACCESS));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_reg_dm_mr(self->b->pd, self->dm, 0, LEN,
				      ACCESS | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EFAULT, ibv_memcpy_to_dm(self->dm, LEN, word, 4));
	EXPECT_EQ(EFAULT, ibv_memcpy_to_dm(self->dm, 2, word, 4));
	EXPECT_EQ(EFAULT, ibv_memcpy_from_dm(word, self->dm, 0, 3));
	EXPECT_EQ(EFAULT, ibv_memcpy_from_dm(word, self->dm, UINT64_MAX - 3,
					     4));
	EXPECT_EQ(EBUSY, ibv_free_dm(self->dm));
}

/*
 * All device memory can be allocated; the next allocation fails until some is
 * freed.
 */
TEST_F(dm, limit)
{
	struct ibv_context *ctx = self->b->dev.ctx;
	struct ibv_device_attr_ex attr;
	struct ibv_dm *all;
	size_t left;

	ASSERT_EQ(0, ibv_query_device_ex(ctx, NULL, &attr));
	ASSERT_LT(LEN, attr.max_dm_size);
	EXPECT_EQ(NULL, alloc_dm(ctx, attr.max_dm_size));
	EXPECT_EQ(ENOMEM, errno);
	left = attr.max_dm_size - 3 * 4096;
	all = alloc_dm(ctx, left);
	ASSERT_NE(NULL, all);
	EXPECT_EQ(NULL, alloc_dm(ctx, 1));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(0, ibv_free_dm(all));
	all = alloc_dm(ctx, 1);
	EXPECT_NE(NULL, all);
	EXPECT_EQ(0, ibv_free_dm(all));
}

/* Import by file descriptor and handles, as another process does. */
TEST_F(dm, import)
{
	struct ibv_context *ctx = ibv_import_device(dup(self->b->dev.ctx->cmd_fd));
	uint64_t word = 7, seen = 0;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_dm *dm;

	ASSERT_NE(NULL, ctx);
	pd = ibv_import_pd(ctx, self->b->pd->handle);
	ASSERT_NE(NULL, pd);
	mr = ibv_import_mr(pd, self->b->buf.mr->handle);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(self->b->buf.mr->lkey, mr->lkey);
	EXPECT_EQ(self->b->buf.mr->rkey, mr->rkey);
	EXPECT_EQ(self->b->buf.mr->length, mr->length);
	dm = ibv_import_dm(ctx, self->dm->handle);
	ASSERT_NE(NULL, dm);
	ASSERT_EQ(0, ibv_memcpy_to_dm(dm, 800, &word, 8));
	ASSERT_EQ(0, ibv_memcpy_from_dm(&seen, self->dm, 800, 8));
	EXPECT_EQ(7, seen);
	EXPECT_EQ(NULL, ibv_import_dm(ctx, 0x12345));
	ibv_unimport_dm(dm);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	EXPECT_EQ(0, ibv_close_device(ctx));
	/* an imported object lives on */
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

/* -- domains */

struct arena {
	int allocs[4];
	int frees[4];
};

static void *arena_alloc(struct ibv_pd *pd, void *context, size_t size,
			 size_t alignment, uint64_t type)
{
	struct arena *arena = context;
	void *p = NULL;

	(void)pd;
	if (type > 3 || posix_memalign(&p, alignment, size))
		return NULL;
	memset(p, 0x5a, size);
	arena->allocs[type]++;
	return p;
}

static void arena_free(struct ibv_pd *pd, void *context, void *ptr,
		       uint64_t type)
{
	struct arena *arena = context;

	(void)pd;
	arena->frees[type]++;
	free(ptr);
}

TEST_F(dm, parent_domain)
{
	struct arena arena = {};
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {
		.pd = self->a->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = arena_alloc,
		.free = arena_free,
		.pd_context = &arena,
	};
	struct ibv_context *ctx = self->a->dev.ctx;
	struct ibv_pd *parent, *own = self->a->pd;
	int i;

	attr.td = ibv_alloc_td(ctx, &td_attr);
	ASSERT_NE(NULL, attr.td);
	parent = ibv_alloc_parent_domain(ctx, &attr);
	ASSERT_NE(NULL, parent);
	EXPECT_EQ(EBUSY, ibv_dealloc_td(attr.td));
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(own));

	ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
	self->a->pd = parent;
	self->a->qp = vt_qp_create(self->a);
	ASSERT_NE(NULL, self->a->qp);
	EXPECT_EQ(1, arena.allocs[1]);
	ASSERT_EQ(0, vt_qp_reset(self->b->qp));
	ASSERT_EQ(0, vt_pair_connect(&self->pair));
	EXPECT_TRUE(vt_pair_works(&self->pair));
	ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
	self->a->qp = NULL;
	self->a->pd = own;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(arena.allocs[i], arena.frees[i]);
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
	EXPECT_EQ(0, ibv_dealloc_td(attr.td));
}

/* -- verbs that change nothing here */

TEST_F(dm, connection_options)
{
	struct ibv_ece ece = { .vendor_id = 0x2c9, .options = 5 };

	EXPECT_EQ(EINVAL, ibv_set_ece(self->a->qp, &ece));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	EXPECT_EQ(0, ibv_set_ece(self->a->qp, &ece));
	EXPECT_EQ(0, ibv_query_ece(self->a->qp, &ece));
	EXPECT_EQ(self->a->dev.attr.vendor_id, ece.vendor_id);
	EXPECT_EQ(0, ece.options);
	ece.comp_mask = 1;
	EXPECT_EQ(EINVAL, ibv_set_ece(self->a->qp, &ece));
}

/* The CPU decides how it copies, so the device promises no order. */
TEST_F(dm, no_order_of_data_promised)
{
	EXPECT_EQ(0, ibv_query_qp_data_in_order(self->a->qp, IBV_WR_RDMA_WRITE,
						0));
}

VT_HARNESS_MAIN
