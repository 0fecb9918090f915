// SPDX-License-Identifier: GPL-2.0
/*
 * Completion counters: what they count, in operations and in bytes; errors; the QPs to which they can
 * be attached; and the limit on their number.
 *
 * break: qemu-newest
 * timeout: 120
 * paths: host wire
 * params: max_objects=500
 */
#include "harness.h"

#include <softmr-abi.h>

#include "uverbs.h"
#include "why.h"

#define LEN		3000
#define MAX_COUNTERS	500

/* Kinds of operations, as the bits of an attachment */
enum {
	SEND = 1 << 0,
	RECV = 1 << 1,
	READ = 1 << 2,
	REMOTE_READ = 1 << 3,
	WRITE = 1 << 4,
	REMOTE_WRITE = 1 << 5,
	KINDS = 6,
	ALL = (1 << KINDS) - 1,
};

enum { DONE, FAILED };
enum { SET, INC };

FIXTURE(counters)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	struct ibv_context *ctx;	/* of a */
	struct ibv_sge local;
	struct ibv_send_wr wr;
	uint32_t cntr[KINDS];		/* one for each kind: at a, or at b */
};

/* At most 4 packets; 12 packets */
FIXTURE_VARIANT(counters)
{
	enum ibv_mtu mtu;
};

FIXTURE_VARIANT_ADD(counters, few) { IBV_MTU_1024 };
FIXTURE_VARIANT_ADD(counters, many) { IBV_MTU_256 };

static int create(struct ibv_context *ctx, int type, uint32_t *handle)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_COMP_CNTR, VT_METHOD_CNTR_CREATE);
	struct ib_uverbs_attr *made = vt_ucmd_object(&cmd, VT_CNTR_HANDLE, 0);
	int ret;

	if (type)
		vt_ucmd_value(&cmd, SMR_ATTR_COMP_CNTR_TYPE, type, 8);
	ret = vt_ucmd_run(&cmd, ctx);
	*handle = made->data;
	return ret;
}

static int destroy(struct ibv_context *ctx, uint32_t handle)
{
	return vt_uobject_destroy(ctx, VT_OBJ_COMP_CNTR, VT_METHOD_CNTR_DESTROY,
				  handle);
}

static int attach(struct ibv_qp *qp, uint32_t handle, uint32_t ops)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_QP, VT_METHOD_QP_ATTACH_CNTR);

	vt_ucmd_object(&cmd, VT_ATTACH_QP, qp->handle);
	vt_ucmd_object(&cmd, VT_ATTACH_CNTR, handle);
	vt_ucmd_value(&cmd, VT_ATTACH_OPS, ops, 4);
	return vt_ucmd_run(&cmd, qp->context);
}

static int modify(struct ibv_context *ctx, uint32_t handle, uint64_t entry,
		  uint64_t op, uint64_t value)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_COMP_CNTR, VT_METHOD_CNTR_MODIFY);

	vt_ucmd_object(&cmd, VT_CNTR_HANDLE, handle);
	vt_ucmd_value(&cmd, VT_CNTR_ENTRY, entry, 8);
	vt_ucmd_value(&cmd, VT_CNTR_MODIFY_OP, op, 8);
	vt_ucmd_value(&cmd, VT_CNTR_MODIFY_VALUE, value, 8);
	return vt_ucmd_run(&cmd, ctx);
}

/* Return: the count, ~0 if it cannot be read */
static uint64_t count(struct ibv_context *ctx, uint32_t handle, uint64_t entry)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_COMP_CNTR, VT_METHOD_CNTR_READ);
	uint64_t value = 0;

	vt_ucmd_object(&cmd, VT_CNTR_HANDLE, handle);
	vt_ucmd_value(&cmd, VT_CNTR_ENTRY, entry, 8);
	vt_ucmd_out(&cmd, VT_CNTR_READ_VALUE, &value, 8);
	return vt_ucmd_run(&cmd, ctx) ? ~0ull : value;
}

/* Which end has the counter for a kind? */
static struct vt_ep *end_of(FIXTURE_DATA(counters) *self, int kind)
{
	return 1 << kind & (SEND | READ | WRITE) ? self->a : self->b;
}

/*
 * The answer to a READ may reach the peer before the READ is counted, and receives may be flushed
 * late. So wait.
 */
static bool becomes(FIXTURE_DATA(counters) *self, int kind, uint64_t entry,
		    uint64_t want)
{
	struct ibv_context *ctx = end_of(self, kind)->dev.ctx;
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS, n;

	do {
		n = count(ctx, self->cntr[kind], entry);
	} while (n < want && vt_now_ms() < end);
	if (n != want)
		printf("# kind %d, entry %d: %llu and not %llu\n", kind,
		       (int)entry, (unsigned long long)n,
		       (unsigned long long)want);
	return n == want;
}

/* Each kind's count, in the order of the kinds */
static bool all_are(FIXTURE_DATA(counters) *self, uint64_t entry,
		    const uint64_t want[KINDS])
{
	bool ok = true;
	int i;

	for (i = 0; i < KINDS; i++)
		ok &= becomes(self, i, entry, want[i]);
	return ok;
}

/* Counters of a type for each kind. Return: 0 or a negative errno */
static int attach_all(FIXTURE_DATA(counters) *self, int type)
{
	int i, ret;

	ret = vt_qp_reset(self->a->qp);
	if (!ret)
		ret = vt_qp_reset(self->b->qp);
	for (i = 0; i < KINDS && !ret; i++) {
		struct vt_ep *ep = end_of(self, i);

		ret = create(ep->dev.ctx, type, &self->cntr[i]);
		if (!ret)
			ret = attach(ep->qp, self->cntr[i], 1 << i);
	}
	return ret ? ret : vt_pair_connect(&self->pair);
}

static int open_all(FIXTURE_DATA(counters) *self, enum ibv_mtu mtu)
{
	struct vt_conf conf = vt_defaults;
	uint32_t first;
	int ret;

	conf.mtu = mtu;
	conf.timeout = 14;
	ret = vt_pair_open(&self->pair, &conf);
	if (ret)
		return ret;
	ret = create(self->pair.a.dev.ctx, 0, &first);
	if (ret)
		vt_pair_close(&self->pair);
	else
		destroy(self->pair.a.dev.ctx, first);
	return ret;
}

FIXTURE_SETUP(counters)
{
	VT_SETUP(open_all(self, variant->mtu));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	self->ctx = self->a->dev.ctx;
	self->local = vt_sge(&self->a->buf, VT_GUARD, LEN);
	self->wr = (struct ibv_send_wr){
		.wr_id = 1, .sg_list = &self->local, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p + VT_GUARD,
		.wr.rdma.rkey = self->b->buf.mr->rkey,
	};
}

FIXTURE_TEARDOWN(counters)
{
	vt_pair_close(&self->pair);
}

/* @len bytes. Return: the status of the completion, or a negative errno */
static int do_op(FIXTURE_DATA(counters) *self, enum ibv_wr_opcode op, size_t len)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);
	int ret = 0;

	if (vt_op_receives(op))
		ret = vt_post_recv(self->b, 7, &to, 1);
	self->local.length = len;
	self->wr.opcode = op;
	if (!ret)
		ret = vt_post(self->a, &self->wr);
	if (!ret)
		ret = vt_status(self->a->scq, 1);
	if (!ret && vt_op_receives(op))
		ret = vt_status(self->b->rcq, 7);
	return ret;
}

/* 3 SENDs, 2 READs, 4 WRITEs, of which one takes a receive; and an atomic */
static bool do_some(FIXTURE_DATA(counters) *self)
{
	static const struct {
		enum ibv_wr_opcode op;
		size_t len;
	} some[] = {
		{ IBV_WR_SEND, LEN }, { IBV_WR_SEND_WITH_IMM, 1 },
		{ IBV_WR_SEND, 0 }, { IBV_WR_RDMA_READ, LEN },
		{ IBV_WR_RDMA_READ, 0 }, { IBV_WR_RDMA_WRITE, LEN },
		{ IBV_WR_RDMA_WRITE, 10 }, { IBV_WR_RDMA_WRITE, 0 },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, 500 },
	};
	struct ibv_send_wr wr = self->wr;
	int i, status;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		status = do_op(self, some[i].op, some[i].len);
		if (!status)
			continue;
		printf("# operation %d: %d\n", i, status);
		return false;
	}
	self->local.length = 8;
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = self->wr.wr.rdma.remote_addr;
	wr.wr.atomic.rkey = self->wr.wr.rdma.rkey;
	wr.wr.atomic.compare_add = 1;
	return vt_outcome(self->a, &wr) == IBV_WC_SUCCESS;
}

TEST_F(counters, operations)
{
	static const uint64_t done[KINDS] = { 3, 4, 2, 2, 4, 4 };
	static const uint64_t none[KINDS];

	ASSERT_EQ(0, attach_all(self, SMR_COMP_CNTR_WRS));
	ASSERT_TRUE(do_some(self));
	EXPECT_TRUE(all_are(self, DONE, done));
	EXPECT_TRUE(all_are(self, FAILED, none));
}

TEST_F(counters, bytes)
{
	static const uint64_t done[KINDS] = {
		LEN + 1, LEN + 1 + 500, LEN, LEN, LEN + 510, LEN + 510,
	};
	static const uint64_t none[KINDS];

	ASSERT_EQ(0, attach_all(self, SMR_COMP_CNTR_BYTES));
	ASSERT_TRUE(do_some(self));
	EXPECT_TRUE(all_are(self, DONE, done));
	EXPECT_TRUE(all_are(self, FAILED, none));
}

/* Unsignalled requests are counted, too. */
TEST_F(counters, not_signalled)
{
	int i;

	ASSERT_EQ(0, attach_all(self, SMR_COMP_CNTR_WRS));
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	self->wr.send_flags = 0;
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, vt_post(self->a, &self->wr));
	EXPECT_TRUE(becomes(self, 4, DONE, 8));
	EXPECT_TRUE(becomes(self, 5, DONE, 8));
	EXPECT_TRUE(vt_sq_quiet(self->a));
}

/* One request is refused, and the requests after it are flushed. */
TEST_F(counters, errors)
{
	static const uint64_t failed[KINDS] = { 2, 3, 1, 0, 1, 1 };
	static const uint64_t none[KINDS];
	struct ibv_send_wr more[3] = {}, *bad;
	int i;

	ASSERT_EQ(0, attach_all(self, SMR_COMP_CNTR_BYTES));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vt_post_recv(self->b, i, NULL, 0));
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	self->wr.wr.rdma.rkey ^= 0x5a00;
	self->wr.next = more;
	for (i = 0; i < 3; i++) {
		more[i] = self->wr;
		more[i].wr_id = 2 + i;
		more[i].opcode = i < 2 ? IBV_WR_SEND : IBV_WR_RDMA_READ;
		more[i].next = i < 2 ? &more[i + 1] : NULL;
	}
	ASSERT_EQ(0, ibv_post_send(self->a->qp, &self->wr, &bad));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_status(self->a->scq, 1));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->a->scq, 2 + i));
	for (i = 0; i < 3; i++)
		EXPECT_LT(0, vt_status(self->b->rcq, i));
	EXPECT_TRUE(all_are(self, FAILED, failed));
	EXPECT_TRUE(all_are(self, DONE, none));
}

/* A READ that the peer refuses */
TEST_F(counters, read_refused)
{
	static const uint64_t failed[KINDS] = { 0, 0, 1, 1, 0, 0 };

	ASSERT_EQ(0, attach_all(self, SMR_COMP_CNTR_WRS));
	self->wr.wr.rdma.rkey ^= 0x5a00;
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, do_op(self, IBV_WR_RDMA_READ, LEN));
	EXPECT_TRUE(all_are(self, FAILED, failed));
}

/* A completion is counted before it can be polled. */
TEST_F(counters, counted_before_completed)
{
	int i;

	ASSERT_EQ(0, attach_all(self, SMR_COMP_CNTR_WRS));
	for (i = 1; i <= 50; i++) {
		ASSERT_EQ(0, do_op(self, IBV_WR_SEND, 100));
		ASSERT_EQ(i, count(self->ctx, self->cntr[0], DONE));
		ASSERT_EQ(i, count(self->b->dev.ctx, self->cntr[1], DONE));
	}
}

/* One counter for several kinds and QPs, which keeps counting after the QPs are reset */
TEST_F(counters, shared)
{
	uint32_t cntr;
	int i;

	ASSERT_EQ(0, create(self->ctx, 0, &cntr));
	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	ASSERT_EQ(0, vt_qp_reset(self->b->qp));
	ASSERT_EQ(0, attach(self->a->qp, cntr, SEND | WRITE));
	ASSERT_EQ(0, attach(self->a->qp, cntr, READ));
	ASSERT_EQ(0, vt_pair_connect(&self->pair));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, do_op(self, IBV_WR_SEND, 5));
		ASSERT_EQ(0, do_op(self, IBV_WR_RDMA_WRITE, 5));
		ASSERT_EQ(0, do_op(self, IBV_WR_RDMA_READ, 5));
		EXPECT_EQ(3 * (i + 1), count(self->ctx, cntr, DONE));
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_EQ(-EBUSY, destroy(self->ctx, cntr));
	ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
	self->a->qp = NULL;
	EXPECT_EQ(6, count(self->ctx, cntr, DONE));
	EXPECT_EQ(0, destroy(self->ctx, cntr));
}

TEST_F(counters, modify)
{
	uint32_t cntr;

	ASSERT_EQ(0, create(self->ctx, 0, &cntr));
	EXPECT_EQ(0, count(self->ctx, cntr, DONE));
	EXPECT_EQ(0, modify(self->ctx, cntr, DONE, SET, UINT64_MAX));
	EXPECT_EQ(0, modify(self->ctx, cntr, FAILED, INC, 5));
	EXPECT_EQ(0, modify(self->ctx, cntr, FAILED, INC, 2));
	EXPECT_EQ(7, count(self->ctx, cntr, FAILED));
	/* it wraps around */
	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	ASSERT_EQ(0, vt_qp_reset(self->b->qp));
	ASSERT_EQ(0, attach(self->a->qp, cntr, WRITE));
	ASSERT_EQ(0, vt_pair_connect(&self->pair));
	EXPECT_EQ(0, do_op(self, IBV_WR_RDMA_WRITE, 1));
	EXPECT_EQ(0, count(self->ctx, cntr, DONE));
	EXPECT_EQ(7, count(self->ctx, cntr, FAILED));
}

TEST_F(counters, attach_rules)
{
	struct smr_abi_why why;
	uint32_t cntr[2];

	ASSERT_EQ(0, create(self->ctx, 0, &cntr[0]));
	ASSERT_EQ(0, create(self->ctx, 0, &cntr[1]));
	EXPECT_EQ(-EINVAL, attach(self->a->qp, cntr[0], SEND)) TH_LOG("RTS");
	ASSERT_EQ(0, vt_why_last(self->ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_CNTR_STATE, why.id);
	EXPECT_EQ((uint64_t)IBV_QPS_RTS, why.num[0]);
	ASSERT_EQ(0, vt_qp_reset(self->a->qp));
	EXPECT_EQ(-EINVAL, attach(self->a->qp, cntr[0], 0));
	EXPECT_EQ(-EINVAL, attach(self->a->qp, cntr[0], ALL + 1));
	EXPECT_EQ(0, attach(self->a->qp, cntr[0], SEND | RECV));
	EXPECT_EQ(-EBUSY, attach(self->a->qp, cntr[1], RECV | READ));
	ASSERT_EQ(0, vt_qp_init(self->a->qp, &self->a->conf));
	EXPECT_EQ(0, attach(self->a->qp, cntr[1], READ));
	EXPECT_EQ(-EOPNOTSUPP, create(self->ctx, SMR_COMP_CNTR_BYTES + 1,
				      &cntr[0]));
	ASSERT_EQ(0, vt_why_last(self->ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_CNTR_KIND, why.id);
	EXPECT_EQ((uint64_t)SMR_COMP_CNTR_BYTES + 1, why.num[0]);
}

TEST_F(counters, limit)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE,
				     VT_METHOD_QUERY_COMP_CNTR_CAPS);
	uint32_t max = 0, ops = 0, cntr[MAX_COUNTERS + 1];
	uint64_t value = 0;
	int i;

	vt_ucmd_out(&cmd, VT_CNTR_CAPS_COUNTERS, &max, 4);
	vt_ucmd_out(&cmd, VT_CNTR_CAPS_VALUE, &value, 8);
	vt_ucmd_out(&cmd, VT_CNTR_CAPS_OPS, &ops, 4);
	ASSERT_EQ(0, vt_ucmd_run(&cmd, self->ctx));
	EXPECT_EQ(MAX_COUNTERS, max);
	EXPECT_EQ(UINT64_MAX, value);
	EXPECT_EQ(ALL, ops);
	for (i = 0; i < MAX_COUNTERS; i++)
		ASSERT_EQ(0, create(self->ctx, 0, &cntr[i]));
	EXPECT_EQ(-ENOMEM, create(self->ctx, 0, &cntr[i]));
	EXPECT_EQ(0, destroy(self->ctx, cntr[0]));
	EXPECT_EQ(0, create(self->ctx, 0, &cntr[0]));
}

VT_HARNESS_MAIN
