// SPDX-License-Identifier: GPL-2.0
/*
 * ATOMIC WRITE and FLUSH (IBTA annex A19): data, completions, order, rights and
 * malformed requests. In interop_rxe.sh, one end is the kernel's rdma_rxe.
 * rdma_rxe computes the ICRC of a FLUSH over the headers twice (its opcode
 * table does not say where the payload would be), so only rdma_rxe accepts its
 * own FLUSH.
 *
 * timeout: 200
 * paths: host wire veth
 */
#include "harness.h"

#define FLUSH_RIGHTS	IBV_ACCESS_FLUSH_GLOBAL

/* as in the kernel's rdma/ib_user_verbs.h; libibverbs has no names for them */
#define CAP_FLUSH_GLOBAL	(1ull << 38)
#define CAP_FLUSH_PERSISTENT	(1ull << 39)
#define CAP_ATOMIC_WRITE	(1ull << 40)

FIXTURE(annex19)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	uint64_t remote;
	uint32_t rkey;
};

static struct vt_conf annex19_conf(void)
{
	struct vt_conf conf = vt_defaults;

	conf.wr_api = true;
	conf.send_ops = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE;
	conf.buf_access |= FLUSH_RIGHTS;
	conf.qp_access |= FLUSH_RIGHTS | IBV_ACCESS_FLUSH_PERSISTENT;
	conf.timeout = 14;
	return conf;
}

/* Linux has both since 6.2. */
static int need_annex19(void)
{
	const uint64_t caps = CAP_ATOMIC_WRITE | CAP_FLUSH_GLOBAL;
	struct ibv_device_attr_ex attr;
	struct vt_ep ep;
	int ret = vt_ep_open(&ep, &vt_defaults, 0);

	if (ret)
		return ret;
	ret = -ibv_query_device_ex(ep.dev.ctx, NULL, &attr);
	vt_ep_close(&ep);
	if (ret)
		return ret;
	return (attr.device_cap_flags_ex & caps) == caps ? 0 : -EOPNOTSUPP;
}

FIXTURE_SETUP(annex19)
{
	struct vt_conf conf = annex19_conf();

	VT_SETUP(need_annex19());
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	self->remote = (uintptr_t)self->b->buf.p + VT_GUARD;
	self->rkey = self->b->buf.mr->rkey;
}

FIXTURE_TEARDOWN(annex19)
{
	vt_pair_close(&self->pair);
}

#define SKIP_FLUSH_OF_RXE() do { \
	if (vt_on_path("rxe")) \
		SKIP(return, "rdma_rxe's ICRC of a FLUSH is not the standard's"); \
} while (0)

static void begin(struct vt_ep *ep, uint64_t wr_id)
{
	ibv_wr_start(ep->qpx);
	ep->qpx->wr_id = wr_id;
	ep->qpx->wr_flags = IBV_SEND_SIGNALED;
}

static int write8(struct vt_ep *ep, uint64_t wr_id, uint32_t rkey,
		  uint64_t addr, uint64_t value)
{
	begin(ep, wr_id);
	ibv_wr_atomic_write(ep->qpx, rkey, addr, &value);
	return ibv_wr_complete(ep->qpx);
}

static int flush(struct vt_ep *ep, uint64_t wr_id, uint32_t rkey,
		 uint64_t addr, size_t len, int type, int level)
{
	begin(ep, wr_id);
	ibv_wr_flush(ep->qpx, rkey, addr, len, type, level);
	return ibv_wr_complete(ep->qpx);
}

/* The next completion is that of @wr_id, with @status and @opcode. */
static bool completes(struct vt_ep *ep, uint64_t wr_id, int status, int opcode)
{
	struct ibv_wc wc;

	if (vt_wait(ep->scq, &wc))
		return false;
	if (wc.wr_id == wr_id && (int)wc.status == status &&
	    (status || (int)wc.opcode == opcode))
		return true;
	printf("# wr_id %llu, %s, opcode %d\n", (unsigned long long)wc.wr_id,
	       ibv_wc_status_str(wc.status), wc.opcode);
	return false;
}

static bool flushes(struct vt_ep *ep, uint32_t rkey, uint64_t addr, size_t len,
		    int level, int status)
{
	return !flush(ep, 7, rkey, addr, len, IBV_FLUSH_GLOBAL, level) &&
	       completes(ep, 7, status, IBV_WC_FLUSH);
}

static bool writes8(struct vt_ep *ep, uint32_t rkey, uint64_t addr,
		    uint64_t value, int status)
{
	return !write8(ep, 9, rkey, addr, value) &&
	       completes(ep, 9, status, IBV_WC_ATOMIC_WRITE);
}

/* True if b's buffer is unchanged outside the 8 bytes at @off */
static bool only8(struct vt_buf *buf, size_t off)
{
	return vt_check("before", buf->p, off, buf->seed, 0) &&
	       vt_check("behind", buf->p + off + 8, buf->len - off - 8,
			buf->seed, off + 8);
}

TEST_F(annex19, atomic_write)
{
	uint64_t value = 0x0123456789abcdefull, seen;
	size_t off;

	for (off = VT_GUARD; off < VT_GUARD + 64; off += 8) {
		EXPECT_TRUE(writes8(self->a, self->rkey,
				    (uintptr_t)self->b->buf.p + off,
				    value + off, IBV_WC_SUCCESS));
		memcpy(&seen, self->b->buf.p + off, sizeof(seen));
		EXPECT_EQ(value + off, seen);
		EXPECT_TRUE(only8(&self->b->buf, off));
		vt_fill(self->b->buf.p, self->b->buf.len, self->b->buf.seed, 0);
	}
}

/*
 * The operand from a scatter list of one entry and of two, as ibv_post_send()
 * takes it
 */
TEST_F(annex19, atomic_write_from_a_list)
{
	struct ibv_sge sge[2] = {
		vt_sge(&self->a->buf, VT_GUARD, 3),
		vt_sge(&self->a->buf, VT_GUARD + 3, 5),
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = 3, .opcode = IBV_WR_ATOMIC_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge, .num_sge = 2,
		.wr.rdma.remote_addr = self->remote,
		.wr.rdma.rkey = self->rkey,
	};

	if (vt_on_path("from_rxe"))
		SKIP(return, "rdma_rxe takes the operand by ibv_wr_* only");
	vt_fill(self->a->buf.p + VT_GUARD, 8, 77, 0);
	ASSERT_EQ(0, ibv_post_send(self->a->qp, &wr, &bad));
	EXPECT_TRUE(completes(self->a, 3, IBV_WC_SUCCESS,
			      IBV_WC_ATOMIC_WRITE));
	EXPECT_TRUE(vt_check("value", self->b->buf.p + VT_GUARD, 8, 77, 0));
	EXPECT_TRUE(only8(&self->b->buf, VT_GUARD));
	sge[1].length = 4;
	ASSERT_EQ(0, ibv_post_send(self->a->qp, &wr, &bad));
	EXPECT_TRUE(completes(self->a, 3, IBV_WC_LOC_LEN_ERR, 0));
}

TEST_F(annex19, atomic_write_misaligned)
{
	EXPECT_TRUE(writes8(self->a, self->rkey, self->remote + 4, 1,
			    IBV_WC_REM_INV_REQ_ERR));
	EXPECT_TRUE(vt_check("buffer", self->b->buf.p, self->b->buf.len,
			     self->b->buf.seed, 0));
}

TEST_F(annex19, atomic_write_out_of_bounds)
{
	EXPECT_TRUE(writes8(self->a, self->rkey,
			    (uintptr_t)self->b->buf.p + self->b->buf.len, 1,
			    IBV_WC_REM_ACCESS_ERR));
}

TEST_F(annex19, atomic_write_without_the_right)
{
	struct ibv_mr *mr = ibv_reg_mr(self->b->pd, self->b->buf.p, 4096,
				       IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_ATOMIC);

	ASSERT_NE(NULL, mr);
	EXPECT_TRUE(writes8(self->a, mr->rkey, (uintptr_t)mr->addr, 1,
			    IBV_WC_REM_ACCESS_ERR));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(annex19, qp_permits_no_atomic_write)
{
	self->b->conf.qp_access &= ~IBV_ACCESS_REMOTE_WRITE;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(writes8(self->a, self->rkey, self->remote, 1,
			    IBV_WC_REM_INV_REQ_ERR));
}

TEST_F(annex19, flush_range_and_region)
{
	SKIP_FLUSH_OF_RXE();
	EXPECT_TRUE(flushes(self->a, self->rkey, self->remote, 4096,
			    IBV_FLUSH_RANGE, IBV_WC_SUCCESS));
	EXPECT_TRUE(flushes(self->a, self->rkey, self->remote, 1,
			    IBV_FLUSH_RANGE, IBV_WC_SUCCESS));
	EXPECT_TRUE(flushes(self->a, self->rkey,
			    (uintptr_t)self->b->buf.p, self->b->buf.len,
			    IBV_FLUSH_RANGE, IBV_WC_SUCCESS));
	/* a flush of the whole region ignores the range */
	EXPECT_TRUE(flushes(self->a, self->rkey, 0, 0, IBV_FLUSH_MR,
			    IBV_WC_SUCCESS));
	EXPECT_TRUE(vt_check("buffer", self->b->buf.p, self->b->buf.len,
			     self->b->buf.seed, 0));
}

TEST_F(annex19, flush_out_of_bounds)
{
	SKIP_FLUSH_OF_RXE();
	EXPECT_TRUE(flushes(self->a, self->rkey,
			    (uintptr_t)self->b->buf.p + 1, self->b->buf.len,
			    IBV_FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR));
}

TEST_F(annex19, flush_of_an_unknown_key)
{
	SKIP_FLUSH_OF_RXE();
	EXPECT_TRUE(flushes(self->a, self->rkey ^ 0x5a00, 0, 0, IBV_FLUSH_MR,
			    IBV_WC_REM_ACCESS_ERR));
}

TEST_F(annex19, flush_without_the_right)
{
	struct ibv_mr *mr = ibv_reg_mr(self->b->pd, self->b->buf.p, 4096,
				       VT_ACCESS_ALL);

	SKIP_FLUSH_OF_RXE();
	ASSERT_NE(NULL, mr);
	EXPECT_TRUE(flushes(self->a, mr->rkey, (uintptr_t)mr->addr, 8,
			    IBV_FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(flushes(self->a, mr->rkey, 0, 0, IBV_FLUSH_MR,
			    IBV_WC_REM_ACCESS_ERR));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Persistence needs another right, which the buffer does not have. */
TEST_F(annex19, flush_of_another_type)
{
	SKIP_FLUSH_OF_RXE();
	ASSERT_EQ(0, flush(self->a, 5, self->rkey, self->remote, 8,
			   IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE));
	EXPECT_TRUE(completes(self->a, 5, IBV_WC_REM_ACCESS_ERR, 0));
}

TEST_F(annex19, qp_permits_no_flush)
{
	SKIP_FLUSH_OF_RXE();
	self->b->conf.qp_access = VT_ACCESS_ALL;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(flushes(self->a, self->rkey, self->remote, 8,
			    IBV_FLUSH_RANGE, IBV_WC_REM_INV_REQ_ERR));
}

/* The requester refuses these itself; they do not reach the peer. */
TEST_F(annex19, flush_malformed)
{
	static const struct { int type, level; } bad[] = {
		{ 0, IBV_FLUSH_RANGE }, { 4, IBV_FLUSH_RANGE },
		{ IBV_FLUSH_GLOBAL, 2 },
	};
	unsigned int i;

	SKIP_FLUSH_OF_RXE();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(0, flush(self->a, 6, self->rkey, self->remote, 8,
				   bad[i].type, bad[i].level));
		EXPECT_TRUE(completes(self->a, 6, IBV_WC_LOC_QP_OP_ERR, 0));
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
	}
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

/* Volatile memory cannot be registered as persistent. */
TEST_F(annex19, persistence_of_ordinary_memory)
{
	struct ibv_device_attr_ex attr;
	int want = EOPNOTSUPP;

	ASSERT_EQ(0, ibv_query_device_ex(self->b->dev.ctx, NULL, &attr));
	if (attr.device_cap_flags_ex & CAP_FLUSH_PERSISTENT)
		want = EINVAL;
	EXPECT_TRUE(attr.device_cap_flags_ex & CAP_FLUSH_GLOBAL);
	EXPECT_TRUE(attr.device_cap_flags_ex & CAP_ATOMIC_WRITE);
	EXPECT_EQ(NULL, ibv_reg_mr(self->b->pd, self->b->buf.p, 4096,
				   VT_ACCESS_ALL |
				   IBV_ACCESS_FLUSH_PERSISTENT));
	EXPECT_EQ(want, errno);
}

/* A round of WRITE, FLUSH and ATOMIC WRITE, as a program writes a log. */
static int post_round(struct vt_ep *ep, uint64_t id, struct ibv_sge *sge,
		      uint32_t rkey, uint64_t addr)
{
	begin(ep, 3 * id);
	ibv_wr_rdma_write(ep->qpx, rkey, addr + 8);
	ibv_wr_set_sge(ep->qpx, sge->lkey, sge->addr, sge->length);
	ep->qpx->wr_id = 3 * id + 1;
	ibv_wr_flush(ep->qpx, rkey, addr + 8, sge->length, IBV_FLUSH_GLOBAL,
		     IBV_FLUSH_RANGE);
	ep->qpx->wr_id = 3 * id + 2;
	ibv_wr_atomic_write(ep->qpx, rkey, addr, &id);
	return ibv_wr_complete(ep->qpx);
}

static bool take_round(struct vt_ep *ep, uint64_t id)
{
	return completes(ep, 3 * id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE) &&
	       completes(ep, 3 * id + 1, IBV_WC_SUCCESS, IBV_WC_FLUSH) &&
	       completes(ep, 3 * id + 2, IBV_WC_SUCCESS, IBV_WC_ATOMIC_WRITE);
}

/* More of them than may be outstanding, all executed in order. */
TEST_F(annex19, many)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, VT_GUARD, 9000);
	uint64_t id, seen;

	SKIP_FLUSH_OF_RXE();
	vt_fill_sges(&sge, 1, 9000, 5);
	for (id = 0; id < 100; id++) {
		ASSERT_EQ(0, post_round(self->a, id, &sge, self->rkey,
					self->remote));
		if (id >= 4)
			ASSERT_TRUE(take_round(self->a, id - 4));
	}
	for (id = 96; id < 100; id++)
		ASSERT_TRUE(take_round(self->a, id));
	memcpy(&seen, self->b->buf.p + VT_GUARD, sizeof(seen));
	EXPECT_EQ(99, seen);
	EXPECT_TRUE(vt_check("data", self->b->buf.p + VT_GUARD + 8, 9000, 5,
			     0));
}

/* With rd_atomic 0 a QP can do neither. */
TEST_F(annex19, no_resources)
{
	if (vt_on_path("from_rxe"))
		SKIP(return, "rdma_rxe waits for ever");
	self->a->conf.rd_atomic = 0;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(flushes(self->a, self->rkey, self->remote, 8,
			    IBV_FLUSH_RANGE, IBV_WC_LOC_QP_OP_ERR));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_TRUE(writes8(self->a, self->rkey, self->remote, 1,
			    IBV_WC_LOC_QP_OP_ERR));
}

VT_HARNESS_MAIN
