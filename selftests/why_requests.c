// SPDX-License-Identifier: GPL-2.0
/*
 * Each reason for which a request fails, or is refused by the responder (kernel/uapi/softmr-why.h):
 * the vendor_err of its completion, and what each end can read. The requester never learns the
 * responder's reason. If a reason has no function here, this file does not compile.
 *
 * timeout: 180
 * paths: host wire
 */
#include "errors.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <infiniband/softmrdv.h>
#include <linux/capability.h>

#include "region.h"
#include "rings.h"
#include "system.h"
#include "ud.h"
#include "why.h"
#include "window.h"

#define LW	IBV_ACCESS_LOCAL_WRITE
#define RW	IBV_ACCESS_REMOTE_WRITE
#define WR_ID	1
#define USER_ODP_KB	"/sys/module/softmr/parameters/user_odp_kb"
#define CHUNK	(2 << 20)

/* enum ib_wr_opcode: libibverbs has no IBV_WR_ of them in older versions */
#define WR_OP_FLUSH	14
#define WR_OP_ATOMIC_WRITE	15

/* Each reason must use one of these two macros, or this file does not compile. */
#define WHY(name)	enum { tested_##name }; TEST_F(errors, name)

/* A reason that libibverbs cannot cause, and where it is tested */
#define ELSEWHERE(name, text)	enum { tested_##name };

/* The last reason that an end can read */
#define EXPECT_TOLD(end, name, status) ({				\
	static struct smr_abi_why _rec;					\
									\
	ASSERT_EQ(0, vt_why_last_failed((end)->dev.ctx, &_rec));		\
	EXPECT_EQ((uint32_t)SMR_WHY_##name, _rec.id);			\
	EXPECT_EQ((uint32_t)(status), _rec.error);			\
	EXPECT_EQ((end)->qp->qp_num, _rec.qpn);				\
	EXPECT_EQ(((end) == self->a ? self->b : self->a)->qp->qp_num,	\
		  _rec.peer_qpn);					\
	EXPECT_EQ(0, memcmp(_rec.peer, ((end) == self->a ? self->b :	\
					self->a)->dev.gid.raw, 16));	\
	EXPECT_EQ(0, _rec.tid);						\
	EXPECT_TRUE(vt_why_reads(&_rec));				\
	&_rec;								\
})

/* The request fails with this status, for this reason. */
#define EXPECT_FAILS(name, st) ({					\
	struct ibv_wc _wc = {};						\
									\
	ASSERT_EQ(0, vt_post(self->a, &self->wr));			\
	ASSERT_EQ(0, vt_wait(self->a->scq, &_wc));			\
	EXPECT_EQ(st, _wc.status);					\
	EXPECT_EQ((uint32_t)SMR_WHY_##name, _wc.vendor_err);		\
	EXPECT_EQ((uint64_t)WR_ID,					\
		  EXPECT_TOLD(self->a, name, st)->wr_id);		\
	EXPECT_TOLD(self->a, name, st);					\
})

#define EXPECT_NUM(rec, i, value) EXPECT_EQ((uint64_t)(value), (rec)->num[i])

/* -- keys: at the responder, and at the requester */

static uint64_t remote(FIXTURE_DATA(errors) *self)
{
	return self->wr.wr.rdma.remote_addr;
}

/* The peer's key does not open. The requester learns nothing else. */
#define EXPECT_REMOTE(name) ({						\
	struct smr_abi_why *_told;					\
									\
	_told = EXPECT_FAILS(PEER_ACCESS, IBV_WC_REM_ACCESS_ERR);	\
	EXPECT_NUM(_told, 0, self->wr.wr.rdma.rkey);			\
	EXPECT_NUM(_told, 1, remote(self));				\
	EXPECT_NUM(_told, 2, LEN);					\
	_told = EXPECT_TOLD(self->b, name, IBV_WC_REM_ACCESS_ERR);	\
	EXPECT_NUM(_told, 0, self->wr.wr.rdma.rkey);			\
	EXPECT_NUM(_told, 1, remote(self));				\
	EXPECT_NUM(_told, 2, LEN);					\
	_told;								\
})

WHY(KEY_UNKNOWN)
{
	struct smr_abi_why *told;

	self->wr.wr.rdma.rkey ^= 0x5a00;
	told = EXPECT_REMOTE(KEY_UNKNOWN);
	EXPECT_NUM(told, 3, self->b->buf.mr->rkey);
	EXPECT_NUM(told, 4, (uintptr_t)self->b->buf.p);
	EXPECT_NUM(told, 5, self->b->buf.len);
	EXPECT_NUM(told, 6, 0);
	ASSERT_TRUE(recovers(&self->pair));
	self->local.lkey ^= 0x5a00;
	told = EXPECT_FAILS(KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR);
	EXPECT_NUM(told, 0, self->local.lkey);
	EXPECT_NUM(told, 1, self->local.addr);
	EXPECT_NUM(told, 2, LEN);
	EXPECT_NUM(told, 3, self->a->buf.mr->lkey);
	EXPECT_NUM(told, 6, 0);
}

/* Of several regions the nearest one is named, and how far away it is. */
TEST_F(errors, nearest_region)
{
	char *p = vt_map(16 * PAGE, PAGE, MAP_PRIVATE, -1);
	struct ibv_mr *low, *high;
	struct smr_abi_why *told;

	ASSERT_NE(NULL, p);
	low = ibv_reg_mr(self->b->pd, p, PAGE, LW | RW);
	high = ibv_reg_mr(self->b->pd, p + 8 * PAGE, 2 * PAGE, LW | RW);
	ASSERT_TRUE(low && high);
	self->wr.wr.rdma.rkey ^= 0x5a00;
	self->wr.wr.rdma.remote_addr = (uintptr_t)p + PAGE + 8;
	told = EXPECT_REMOTE(KEY_UNKNOWN);
	EXPECT_NUM(told, 3, low->rkey);
	EXPECT_NUM(told, 4, (uintptr_t)p);
	EXPECT_NUM(told, 5, PAGE);
	EXPECT_NUM(told, 6, LEN + 8);
	ASSERT_TRUE(recovers(&self->pair));
	self->wr.wr.rdma.remote_addr = (uintptr_t)high->addr - 8;
	told = EXPECT_REMOTE(KEY_UNKNOWN);
	EXPECT_NUM(told, 3, high->rkey);
	EXPECT_NUM(told, 5, 2 * PAGE);
	EXPECT_NUM(told, 6, 8);
	EXPECT_EQ(0, ibv_dereg_mr(high));
	EXPECT_EQ(0, ibv_dereg_mr(low));
	EXPECT_EQ(0, munmap(p, 16 * PAGE));
}

/* A search among so many keys would take too long. */
TEST_F(errors, nearest_region_of_many)
{
	struct ibv_mr *mrs[520];
	struct smr_abi_why *told;
	int i;

	for (i = 0; i < ARRAY_SIZE(mrs); i++) {
		mrs[i] = ibv_reg_mr(self->b->pd, self->b->buf.p, 8, LW | RW);
		ASSERT_NE(NULL, mrs[i]);
	}
	self->wr.wr.rdma.rkey ^= 0x5a00;
	told = EXPECT_REMOTE(KEY_UNKNOWN);
	EXPECT_NUM(told, 3, 0);
	for (i = 0; i < ARRAY_SIZE(mrs); i++)
		EXPECT_EQ(0, ibv_dereg_mr(mrs[i]));
}

/* The regions of another protection domain are not named. */
TEST_F(errors, nearest_region_of_another_domain)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->b->dev.ctx);
	struct smr_abi_why *told;
	struct vt_buf buf;

	ASSERT_NE(NULL, pd);
	ASSERT_EQ(0, vt_buf_open(&buf, pd, 8192, VT_ACCESS_ALL));
	self->wr.wr.rdma.rkey ^= 0x5a00;
	self->wr.wr.rdma.remote_addr = (uintptr_t)buf.p;
	told = EXPECT_REMOTE(KEY_UNKNOWN);
	EXPECT_NUM(told, 3, self->b->buf.mr->rkey);
	EXPECT_NUM(told, 4, (uintptr_t)self->b->buf.p);
	vt_buf_close(&buf);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

WHY(KEY_ENDED)
{
	struct smr_abi_why *told;
	struct vt_buf buf;

	ASSERT_EQ(0, vt_buf_open(&buf, self->b->pd, 8192, VT_ACCESS_ALL));
	self->wr.wr.rdma.rkey = buf.mr->rkey;
	vt_buf_close(&buf);
	usleep(100000);
	told = EXPECT_REMOTE(KEY_ENDED);
	EXPECT_NUM(told, 3, getpid());
	EXPECT_LE(90, told->num[4]);
	EXPECT_GE(100000, told->num[4]);
	EXPECT_NUM(told, 5, self->b->buf.mr->rkey);
	EXPECT_NUM(told, 6, (uintptr_t)self->b->buf.p);
	EXPECT_NUM(told, 7, 0);
}

/* A user of another protection domain's key learns nothing about that key. */
TEST_F(errors, ended_key_of_another_domain)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->b->dev.ctx);
	struct vt_buf buf;

	ASSERT_NE(NULL, pd);
	ASSERT_EQ(0, vt_buf_open(&buf, pd, 8192, VT_ACCESS_ALL));
	self->wr.wr.rdma.rkey = buf.mr->rkey;
	vt_buf_close(&buf);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_REMOTE(KEY_UNKNOWN);
}

WHY(KEY_STALE)
{
	uint32_t rkey = self->wr.wr.rdma.rkey;

	self->wr.wr.rdma.rkey ^= 1;
	EXPECT_NUM(EXPECT_REMOTE(KEY_STALE), 3, rkey);
}

WHY(KEY_DEAD)
{
	struct ibv_mw *mw = ibv_alloc_mw(self->b->pd, IBV_MW_TYPE_1);

	ASSERT_NE(NULL, mw);
	self->wr.wr.rdma.rkey = mw->rkey;
	EXPECT_REMOTE(KEY_DEAD);
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

WHY(KEY_PD)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->b->dev.ctx);
	struct vt_buf buf;

	ASSERT_NE(NULL, pd);
	ASSERT_EQ(0, vt_buf_open(&buf, pd, 8192, VT_ACCESS_ALL));
	self->wr.wr.rdma.rkey = buf.mr->rkey;
	self->wr.wr.rdma.remote_addr = (uintptr_t)buf.p;
	EXPECT_NUM(EXPECT_REMOTE(KEY_PD), 3, 0);
	vt_buf_close(&buf);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

WHY(KEY_ACCESS)
{
	struct smr_abi_why *told;
	struct vt_buf buf;

	ASSERT_EQ(0, vt_buf_open(&buf, self->b->pd, 8192, LW));
	self->wr.wr.rdma.rkey = buf.mr->rkey;
	self->wr.wr.rdma.remote_addr = (uintptr_t)buf.p;
	usleep(100000);
	told = EXPECT_REMOTE(KEY_ACCESS);
	EXPECT_NUM(told, 3, RW);
	EXPECT_NUM(told, 4, LW);
	EXPECT_NUM(told, 5, 0);
	EXPECT_LE(90, told->num[6]);
	EXPECT_GE(100000, told->num[6]);
	vt_buf_close(&buf);
}

WHY(KEY_RANGE)
{
	uint64_t start = (uintptr_t)self->b->buf.p;
	struct smr_abi_why *told;

	self->wr.wr.rdma.remote_addr = start + self->b->buf.len - LEN + 1;
	told = EXPECT_REMOTE(KEY_RANGE);
	EXPECT_NUM(told, 3, start);
	EXPECT_NUM(told, 4, self->b->buf.len);
	EXPECT_NUM(told, 5, 1);
	ASSERT_TRUE(recovers(&self->pair));
	self->wr.wr.rdma.remote_addr = start - 10;
	EXPECT_NUM(EXPECT_REMOTE(KEY_RANGE), 5, 10);
	ASSERT_TRUE(recovers(&self->pair));
	self->wr.wr.rdma.remote_addr = -(uint64_t)LEN / 2;
	EXPECT_NUM(EXPECT_REMOTE(KEY_RANGE), 5, self->wr.wr.rdma.remote_addr + LEN - start - self->b->buf.len);
}

/* The key is that of another region, and the region that has the bytes is named. */
TEST_F(errors, range_of_another_region)
{
	struct smr_abi_why *told;
	struct vt_buf buf;

	ASSERT_EQ(0, vt_buf_open(&buf, self->b->pd, 8192, VT_ACCESS_ALL));
	usleep(100000);
	self->wr.wr.rdma.rkey = buf.mr->rkey;
	told = EXPECT_REMOTE(KEY_RANGE);
	EXPECT_NUM(told, 3, (uintptr_t)buf.p);
	EXPECT_LE(90, told->num[6]);
	EXPECT_GE(100000, told->num[6]);
	EXPECT_NUM(told, 7, self->b->buf.mr->rkey);
	ASSERT_TRUE(recovers(&self->pair));
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b->buf.p + self->b->buf.len - LEN + 1;
	EXPECT_NUM(EXPECT_REMOTE(KEY_RANGE), 7, 0);
	vt_buf_close(&buf);
}

/* -- work requests */

ELSEWHERE(WR_OPCODE, "the provider refuses it first; see hostile_ring.c")
ELSEWHERE(WR_FLUSH, "the provider refuses it first; see hostile_ring.c")
ELSEWHERE(WR_INLINE, "the provider refuses it first; see hostile_ring.c")
ELSEWHERE(WR_SGE, "the provider refuses it first; see hostile_ring.c")
ELSEWHERE(WR_FRAME, "see raw_packet.c, lengths_that_are_none")
ELSEWHERE(WR_OTHER, "there is no other status")

/* A flush is only reported by its completion. */
WHY(WR_FLUSHED)
{
	struct ibv_send_wr next = self->wr;
	struct ibv_wc wc = {};

	next.wr_id = 2;
	self->wr.next = &next;
	self->local.lkey ^= 0x5a00;
	EXPECT_FAILS(KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR);
	ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	EXPECT_EQ((uint32_t)SMR_WHY_WR_FLUSHED, wc.vendor_err);
	EXPECT_TOLD(self->a, KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR);
}

WHY(WR_LENGTH)
{
	struct smr_abi_why *told;

	self->local.length = 4;
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->wr.wr.atomic.remote_addr = (uintptr_t)self->b->buf.p;
	self->wr.wr.atomic.rkey = self->b->buf.mr->rkey;
	told = EXPECT_FAILS(WR_LENGTH, IBV_WC_LOC_LEN_ERR);
	EXPECT_NUM(told, 0, IBV_WR_ATOMIC_FETCH_AND_ADD);
	EXPECT_NUM(told, 1, 4);
}

/* Put a request into the ring that libibverbs may not have: a FLUSH or an ATOMIC WRITE. */
static int post_entry(FIXTURE_DATA(errors) *self, struct vt_rings *rings, int opcode)
{
	struct smr_ring_hdr *hdr = rings->sq.hdr;
	struct smr_send_wqe *wqe = vt_sq_entry(rings, hdr->prod);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = WR_ID;
	wqe->opcode = opcode;
	wqe->send_flags = IBV_SEND_SIGNALED;
	if (opcode == WR_OP_FLUSH) {
		wqe->flush.type = 1;
	} else {
		wqe->send_flags |= IBV_SEND_INLINE;
		wqe->inline_len = 8;
	}
	vt_set_index(&hdr->prod, hdr->prod + 1);
	return vt_ring_sq(self->a);
}

WHY(WR_NO_RD_ATOMIC)
{
	static const int others[] = { WR_OP_FLUSH, WR_OP_ATOMIC_WRITE };
	struct vt_rings rings;
	struct ibv_wc wc = {};
	int i;

	ASSERT_EQ(0, vt_rings_find(&rings, self->a));
	self->a->conf.rd_atomic = 0;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	self->wr.opcode = IBV_WR_RDMA_READ;
	EXPECT_NUM(EXPECT_FAILS(WR_NO_RD_ATOMIC, IBV_WC_LOC_QP_OP_ERR), 0,
		   IBV_WR_RDMA_READ);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
		ASSERT_EQ(0, post_entry(self, &rings, others[i]));
		ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
		EXPECT_EQ((uint32_t)SMR_WHY_WR_NO_RD_ATOMIC, wc.vendor_err);
		EXPECT_NUM(EXPECT_TOLD(self->a, WR_NO_RD_ATOMIC, IBV_WC_LOC_QP_OP_ERR), 0, others[i]);
	}
}

/* The datagram fails for its address, and the QP sends again. */
#define EXPECT_NO_ADDRESS(request) do {						\
	struct smr_abi_why _rec;						\
	struct ibv_wc _wc = {};							\
										\
	ASSERT_EQ(0, vt_post(&pair.a, request));					\
	ASSERT_EQ(0, vt_wait(pair.a.scq, &_wc));				\
	EXPECT_EQ(IBV_WC_LOC_QP_OP_ERR, _wc.status);				\
	EXPECT_EQ((uint32_t)SMR_WHY_WR_ADDRESS, _wc.vendor_err);		\
	ASSERT_EQ(0, vt_why_last(pair.a.dev.ctx, &_rec));			\
	EXPECT_EQ((uint32_t)SMR_WHY_WR_ADDRESS, _rec.id);			\
	EXPECT_NUM(&_rec, 0, (request)->wr.ud.remote_qpn);			\
	ASSERT_EQ(0, vt_qp_resume(&pair.a));					\
} while (0)

/* A QP number that is none, and the address handle of another protection domain */
WHY(WR_ADDRESS)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->a->dev.ctx);
	struct vt_conf conf = vt_defaults;
	struct ibv_ah_attr attr;
	struct ibv_send_wr wr;
	struct vt_pair pair;
	struct ibv_sge sge;

	ASSERT_NE(NULL, pd);
	conf.qp_type = IBV_QPT_UD;
	conf.inline_len = 64;
	VT_SETUP(vt_pair_open(&pair, &conf));
	attr = vt_ah_attr(pair.a.dev.gid_index, &pair.b.dev.gid);
	sge = vt_sge(&pair.a.buf, VT_GUARD, 8);
	wr = vt_ud_wr(&pair.a, &sge);
	wr.wr.ud.remote_qpn |= 1 << 24;
	EXPECT_NO_ADDRESS(&wr);
	wr = vt_ud_wr(&pair.a, &sge);
	wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.ud.ah = ibv_create_ah(pd, &attr);
	ASSERT_NE(NULL, wr.wr.ud.ah);
	EXPECT_NO_ADDRESS(&wr);
	EXPECT_EQ(0, ibv_destroy_ah(wr.wr.ud.ah));
	vt_pair_close(&pair);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* The table of the region's pages is more than the user may have. */
WHY(WR_NO_MEMORY)
{
	void *p = vt_map(CHUNK, CHUNK, MAP_PRIVATE, -1);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_capability(CAP_SYS_RESOURCE, false));
	mr = ibv_reg_mr(self->a->pd, p, CHUNK, LW | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	ASSERT_EQ(0, vt_write_file(USER_ODP_KB, "1"));
	self->local = (struct ibv_sge){ (uintptr_t)p, LEN, mr->lkey };
	EXPECT_NUM(EXPECT_FAILS(WR_NO_MEMORY, IBV_WC_LOC_QP_OP_ERR), 0, LEN);
	EXPECT_EQ(0, vt_write_file(USER_ODP_KB, "0"));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, munmap(p, CHUNK));
}

WHY(SEND_RING)
{
	struct smr_ring_hdr *hdr;
	struct smr_abi_why rec;
	struct vt_rings rings;

	ASSERT_EQ(0, vt_rings_find(&rings, self->a));
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	hdr = rings.sq.hdr;
	vt_set_index(&hdr->prod, hdr->cons + 1000);
	ASSERT_EQ(0, vt_ring_sq(self->a));
	ASSERT_TRUE(qp_in_error(self->a));
	ASSERT_EQ(0, vt_why_last(self->a->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_SEND_RING, rec.id);
	EXPECT_EQ(self->a->qp->qp_num, rec.qpn);
}

/* The first completion that is lost; those of the requests behind it are lost, too. */
WHY(CQ_OVERRUN)
{
	struct vt_conf conf = vt_defaults;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	};
	struct smr_abi_why rec;
	struct vt_pair pair;
	int cqe;

	conf.cqe = 4;
	conf.depth = 64;
	VT_SETUP(vt_pair_open(&pair, &conf));
	cqe = pair.a.scq->cqe;
	for (wr.wr_id = 0; wr.wr_id < cqe + 3u; wr.wr_id++)
		ASSERT_EQ(0, vt_post(&pair.a, &wr));
	ASSERT_TRUE(qp_in_error(&pair.a));
	ASSERT_EQ(0, vt_why_last(pair.a.dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_CQ_OVERRUN, rec.id);
	EXPECT_EQ(pair.a.qp->qp_num, rec.qpn);
	EXPECT_EQ((uint64_t)cqe, rec.wr_id);
	EXPECT_NUM(&rec, 0, cqe);
	vt_pair_close(&pair);
}

/* An on-demand region whose memory is unmapped; NULL: not supported */
static struct ibv_mr *lost_region(struct vt_ep *ep, int access)
{
	void *p = vt_map(2 * PAGE, PAGE, MAP_PRIVATE, -1);
	struct ibv_mr *mr;

	mr = p ? ibv_reg_mr(ep->pd, p, 2 * PAGE,
			    access | IBV_ACCESS_ON_DEMAND) : NULL;
	if (mr)
		munmap(p, 2 * PAGE);
	return mr;
}

WHY(WR_PAGE)
{
	struct ibv_mr *mr = lost_region(self->a, LW);

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	self->local = (struct ibv_sge){ (uintptr_t)mr->addr, LEN, mr->lkey };
	EXPECT_NUM(EXPECT_FAILS(WR_PAGE, IBV_WC_LOC_PROT_ERR), 0, LEN);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Bound, and of type 2 */
WHY(WR_BIND)
{
	struct smr_abi_why *told;
	struct vt_window w;

	VT_SETUP(vt_window_open(&w, self->a, IBV_MW_TYPE_2));
	ASSERT_EQ(IBV_WC_SUCCESS, vt_bind_page(self->a, w.mw, w.mr));
	self->wr.opcode = IBV_WR_BIND_MW;
	self->wr.num_sge = 0;
	self->wr.bind_mw.mw = w.mw;
	self->wr.bind_mw.rkey = ibv_inc_rkey(w.mw->rkey);
	self->wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = w.mr, .addr = (uintptr_t)w.mr->addr, .length = 8,
		.mw_access_flags = RW,
	};
	told = EXPECT_FAILS(WR_BIND, IBV_WC_MW_BIND_ERR);
	EXPECT_NUM(told, 0, w.mw->rkey);
	EXPECT_NUM(told, 1, w.mr->lkey);
	EXPECT_NUM(told, 3, 8);
	EXPECT_NUM(told, 4, RW);
	vt_window_close(&w);
}

WHY(WR_INVALIDATE)
{
	self->wr.opcode = IBV_WR_LOCAL_INV;
	self->wr.num_sge = 0;
	self->wr.invalidate_rkey = 0x5a00;
	EXPECT_NUM(EXPECT_FAILS(WR_INVALIDATE, IBV_WC_MW_BIND_ERR), 0, 0x5a00);
}

/* -- the peer's answers, and what the peer can read */

ELSEWHERE(PEER_NONSENSE, "no peer does it; see rc_responses.c")
ELSEWHERE(REQ_OPCODE, "a packet with such an opcode reaches no responder")
ELSEWHERE(REQ_SEQUENCE, "no peer sends it; see why_drops.c")
ELSEWHERE(REQ_PAYLOAD, "no peer sends it; see why_drops.c")
ELSEWHERE(REQ_WRITE_LENGTH, "no peer sends it; see why_drops.c")
ELSEWHERE(REQ_READ_LENGTH, "no peer sends it; see why_drops.c")
ELSEWHERE(REQ_XRC, "see xrc.c")
ELSEWHERE(REQ_NO_MEMORY, "see data_fail.c")
ELSEWHERE(RECV_SGE, "the provider refuses it first; see hostile_ring.c")
ELSEWHERE(RECV_RING, "see hostile_ring.c")

WHY(PEER_INVALID)
{
	struct smr_abi_why *told;

	self->b->conf.qp_access = 0;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	told = EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_NUM(told, 0, IBV_WR_RDMA_WRITE);
	EXPECT_NUM(told, 1, LEN);
}

WHY(REQ_FORBIDDEN)
{
	struct smr_abi_why *told;

	self->b->conf.qp_access = LW | IBV_ACCESS_REMOTE_READ;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	told = EXPECT_TOLD(self->b, REQ_FORBIDDEN, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_NUM(told, 1, LW | IBV_ACCESS_REMOTE_READ);
	EXPECT_NUM(told, 2, self->b->conf.rd_atomic);
}

WHY(PEER_ACCESS)
{
	struct smr_abi_why recs[16];
	int i, n;

	self->wr.wr.rdma.rkey ^= 0x5a00;
	EXPECT_REMOTE(KEY_UNKNOWN);
	/* the requester can read nothing more */
	n = vt_whys(self->a->dev.ctx, 0, recs, 16);
	ASSERT_EQ(1, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ((uint32_t)SMR_WHY_PEER_ACCESS, recs[i].id);
}

/* A key of the receive is wrong: an error of the receiver itself. */
WHY(PEER_FAILED)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);
	struct smr_abi_why *told;
	struct ibv_wc wc = {};

	to.lkey ^= 0x5a00;
	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	as_send(self);
	EXPECT_FAILS(PEER_FAILED, IBV_WC_REM_OP_ERR);
	ASSERT_EQ(0, vt_wait(self->b->rcq, &wc));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, wc.status);
	EXPECT_EQ((uint32_t)SMR_WHY_KEY_UNKNOWN, wc.vendor_err);
	told = EXPECT_TOLD(self->b, KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(2, told->wr_id);
	EXPECT_NUM(told, 0, to.lkey);
	EXPECT_NUM(told, 1, to.addr);
}

WHY(PEER_SILENT)
{
	struct smr_abi_why rec;
	struct ibv_wc wc = {};

	ASSERT_EQ(0, vt_qp_reset(self->b->qp));
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, wc.status);
	EXPECT_EQ((uint32_t)SMR_WHY_PEER_SILENT, wc.vendor_err);
	ASSERT_EQ(0, vt_why_last(self->a->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_PEER_SILENT, rec.id);
	EXPECT_NUM(&rec, 0, self->a->conf.retry_cnt);
	EXPECT_NUM(&rec, 1, self->a->conf.timeout);
	/* and the peer knows why, whether packets came or not */
	ASSERT_EQ(0, vt_why_last(self->b->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_DROP_STATE, rec.id);
	EXPECT_EQ(self->b->qp->qp_num, rec.qpn);
	EXPECT_EQ(0, memcmp(rec.peer, self->a->dev.gid.raw, 16));
	EXPECT_NUM(&rec, 1, IBV_QPS_RESET);
}

/* A peer on this host is connected to another QP. On the wire only addresses are compared. */
TEST_F(errors, connected_to_another)
{
	const char *path = getenv("SMR_PATH");
	struct vt_addr other = vt_ep_addr(self->a);
	int64_t wrong = vt_counter_now(self->b->dev.ctx, "rx_wrong_source");
	struct smr_abi_why rec;
	struct ibv_wc wc = {};

	if (!path || strcmp(path, "host"))
		SKIP(return, "the ends are on two hosts");
	other.qpn ^= 0x400000;
	ASSERT_EQ(0, vt_qp_reset(self->b->qp));
	ASSERT_EQ(0, vt_ep_connect(self->b, &other));
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, wc.status);
	EXPECT_LT(wrong, vt_counter_now(self->b->dev.ctx, "rx_wrong_source"));
	ASSERT_EQ(0, vt_why_last(self->b->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_DROP_SOURCE, rec.id);
	EXPECT_EQ(0, memcmp(rec.peer, self->a->dev.gid.raw, 16));
}

WHY(PEER_NOT_READY)
{
	self->a->conf.rnr_retry = 1;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	as_send(self);
	EXPECT_NUM(EXPECT_FAILS(PEER_NOT_READY, IBV_WC_RNR_RETRY_EXC_ERR), 0, 1);
}

WHY(REQ_UNALIGNED)
{
	uint64_t addr = (uintptr_t)self->b->buf.p + VT_GUARD + 4;

	self->local.length = 8;
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->wr.wr.atomic.remote_addr = addr;
	self->wr.wr.atomic.rkey = self->b->buf.mr->rkey;
	EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_NUM(EXPECT_TOLD(self->b, REQ_UNALIGNED, IBV_WC_REM_INV_REQ_ERR),
		   0, addr);
}

WHY(REQ_INVALIDATE)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN);

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	as_send(self);
	self->wr.opcode = IBV_WR_SEND_WITH_INV;
	self->wr.invalidate_rkey = 0x5a00;
	EXPECT_FAILS(PEER_ACCESS, IBV_WC_REM_ACCESS_ERR);
	EXPECT_NUM(EXPECT_TOLD(self->b, REQ_INVALIDATE, IBV_WC_REM_ACCESS_ERR),
		   0, 0x5a00);
}

WHY(REQ_PAGE)
{
	struct ibv_mr *mr = lost_region(self->b, LW | RW);
	struct smr_abi_why *told;

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	self->wr.wr.rdma.rkey = mr->rkey;
	self->wr.wr.rdma.remote_addr = (uintptr_t)mr->addr;
	EXPECT_FAILS(PEER_ACCESS, IBV_WC_REM_ACCESS_ERR);
	told = EXPECT_TOLD(self->b, REQ_PAGE, IBV_WC_REM_ACCESS_ERR);
	EXPECT_NUM(told, 0, mr->rkey);
	EXPECT_NUM(told, 1, (uintptr_t)mr->addr);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

WHY(RECV_TOO_SHORT)
{
	struct ibv_sge to = vt_sge(&self->b->buf, VT_GUARD, LEN - 1);
	struct smr_abi_why *told;
	struct ibv_wc wc = {};

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	as_send(self);
	EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	ASSERT_EQ(0, vt_wait(self->b->rcq, &wc));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, wc.status);
	EXPECT_EQ((uint32_t)SMR_WHY_RECV_TOO_SHORT, wc.vendor_err);
	told = EXPECT_TOLD(self->b, RECV_TOO_SHORT, IBV_WC_LOC_LEN_ERR);
	EXPECT_EQ(2, told->wr_id);
	EXPECT_NUM(told, 0, LEN - 1);
	EXPECT_NUM(told, 1, LEN);
}

WHY(RECV_PAGE)
{
	struct ibv_mr *mr = lost_region(self->b, LW);
	struct ibv_sge to;

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	to = (struct ibv_sge){ (uintptr_t)mr->addr, LEN, mr->lkey };
	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	as_send(self);
	EXPECT_FAILS(PEER_FAILED, IBV_WC_REM_OP_ERR);
	EXPECT_NUM(EXPECT_TOLD(self->b, RECV_PAGE, IBV_WC_LOC_PROT_ERR), 0, LEN);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

#define EACH(name, ...)	tested_##name,
static const int tested[] __attribute__((unused)) = { SMR_WHYS_REQUESTS(EACH) };

/* -- as programs ask */

typedef int why_fn(struct ibv_context *ctx, struct softmrdv_why *why);
typedef int why_wc_fn(struct ibv_context *ctx, const struct ibv_wc *wc,
		      struct softmrdv_why *why);
typedef int why_qp_fn(struct ibv_qp *qp, struct softmrdv_why *why);
typedef int why_text_fn(const struct softmrdv_why *why, char *text, size_t size);

TEST_F(errors, softmrdv)
{
	void *lib = dlopen("libsoftmr.so.1", RTLD_NOW);
	char want[300], text[400] = "";
	struct softmrdv_why why = {};
	struct ibv_qp_attr attr = {};
	struct ibv_wc wc = {};
	why_text_fn *why_text;
	why_wc_fn *why_wc;
	why_qp_fn *why_qp;
	why_fn *why_last;

	ASSERT_NE(NULL, lib);
	why_last = (why_fn *)dlsym(lib, "softmrdv_why");
	why_wc = (why_wc_fn *)dlsym(lib, "softmrdv_why_wc");
	why_qp = (why_qp_fn *)dlsym(lib, "softmrdv_why_qp");
	why_text = (why_text_fn *)dlsym(lib, "softmrdv_why_text");
	ASSERT_TRUE(why_last && why_wc && why_qp && why_text);

	EXPECT_EQ(ENOENT, why_last(self->a->dev.ctx, &why));
	self->local.addr = (uintptr_t)self->a->buf.p + self->a->buf.len;
	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
	ASSERT_EQ(0, why_wc(self->a->dev.ctx, &wc, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_KEY_RANGE, why.id);
	snprintf(want, sizeof(want),
		 "%d bytes at %#lx are not inside what the key %#x opens, %zu bytes at %p, registered %ld ms before: %d bytes too far; try: ",
		 LEN, (long)self->local.addr, self->local.lkey,
		 self->a->buf.len, (void *)self->a->buf.p, (long)why.number[6], LEN);
	EXPECT_LT((int)strlen(want), why_text(&why, text, sizeof(text)));
	EXPECT_EQ(0, strncmp(want, text, strlen(want)))
		TH_LOG("%s", text);

	/* no call of this thread was refused */
	EXPECT_EQ(ENOENT, why_last(self->a->dev.ctx, &why));
	attr.timeout = 40;
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->a->qp, &attr, IBV_QP_TIMEOUT));
	ASSERT_EQ(0, why_last(self->a->dev.ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_QP_VALUE, why.id);
	EXPECT_EQ(40, why.number[1]);
	ASSERT_EQ(0, why_qp(self->a->qp, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_QP_VALUE, why.id);
	EXPECT_EQ(ENOENT, why_qp(self->b->qp, &why));
}

VT_HARNESS_MAIN
