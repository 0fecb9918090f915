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
static const struct smr_abi_why *expect_told(struct __test_metadata *_metadata,
					     FIXTURE_DATA(errors) *self, struct vt_ep *end,
					     uint32_t id, uint32_t status)
{
	struct vt_ep *peer = end == self->a ? self->b : self->a;
	static struct smr_abi_why rec;

	ASSERT_EQ(0, vt_why_last_failed(end->dev.ctx, &rec));
	EXPECT_EQ(id, rec.id);
	EXPECT_EQ(status, rec.error);
	EXPECT_EQ(end->qp->qp_num, rec.qpn);
	EXPECT_EQ(peer->qp->qp_num, rec.peer_qpn);
	EXPECT_EQ(0, memcmp(rec.peer, peer->dev.gid.raw, 16));
	EXPECT_EQ(0, rec.tid);
	EXPECT_TRUE(vt_why_reads(&rec));
	return &rec;
}

static const struct smr_abi_why *expect_fails(struct __test_metadata *_metadata,
					      FIXTURE_DATA(errors) *self, uint32_t id, int status)
{
	struct ibv_wc wc = {};

	ASSERT_EQ(0, vt_post(self->a, &self->wr));
	ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
	EXPECT_EQ(status, wc.status);
	EXPECT_EQ(id, wc.vendor_err);
	EXPECT_EQ((uint64_t)WR_ID, expect_told(_metadata, self, self->a, id, status)->wr_id);
	return expect_told(_metadata, self, self->a, id, status);
}

#define EXPECT_TOLD(end, name, st) expect_told(_metadata, self, end, SMR_WHY_##name, st)

/* The request fails with this status, for this reason. */
#define EXPECT_FAILS(name, st) expect_fails(_metadata, self, SMR_WHY_##name, st)

/* Numbers of a reason, beginning with the one at @first */
static void expect_nums(struct __test_metadata *_metadata, const struct smr_abi_why *rec,
			int first, const uint64_t *want, int n)
{
	int i;

	for (i = 0; i < n; i++)
		EXPECT_EQ(want[i], rec->num[first + i])
			TH_LOG("number %d", first + i);
}

#define EXPECT_NUMS(rec, first, ...) do {					\
	const uint64_t _want[] = { __VA_ARGS__ };				\
										\
	expect_nums(_metadata, rec, first, _want, ARRAY_SIZE(_want));		\
} while (0)

/* -- keys: at the responder, and at the requester */

#define RKEY	self->wr.wr.rdma.rkey
#define AT	self->wr.wr.rdma.remote_addr
#define B_BUF	self->b->buf

/* The peer's key does not open. The requester learns nothing else. */
static const struct smr_abi_why *expect_remote(struct __test_metadata *_metadata,
					       FIXTURE_DATA(errors) *self, uint32_t id)
{
	const struct smr_abi_why *told;

	EXPECT_NUMS(EXPECT_FAILS(PEER_ACCESS, IBV_WC_REM_ACCESS_ERR), 0, RKEY, AT, LEN);
	told = expect_told(_metadata, self, self->b, id, IBV_WC_REM_ACCESS_ERR);
	EXPECT_NUMS(told, 0, RKEY, AT, LEN);
	return told;
}

#define EXPECT_REMOTE(name) expect_remote(_metadata, self, SMR_WHY_##name)

/* The key is of self->buf, which is this old. */
static uint32_t of_buf(FIXTURE_DATA(errors) *self, enum whose pd, int access)
{
	RKEY = another_buf(self, self->b, pd, access);
	usleep(100000);
	return RKEY;
}

#define EXPECT_AGE(ms) do {							\
	EXPECT_LE(90, ms);							\
	EXPECT_GE(100000, ms);							\
} while (0)

WHY(KEY_UNKNOWN)
{
	RKEY ^= 0x5a00;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_UNKNOWN), 3, B_BUF.mr->rkey, (uintptr_t)B_BUF.p, B_BUF.len, 0);
	ASSERT_TRUE(recovers(&self->pair));
	self->local.lkey ^= 0x5a00;
	EXPECT_NUMS(EXPECT_FAILS(KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR), 0,
		    self->local.lkey, self->local.addr, LEN, self->a->buf.mr->lkey,
		    (uintptr_t)self->a->buf.p, self->a->buf.len, 0);
}

/* Of several regions the nearest one is named, and how far away it is. */
TEST_F(errors, nearest_region)
{
	char *p = vt_map(16 * PAGE, PAGE, MAP_PRIVATE, -1);
	struct ibv_mr *low, *high;

	ASSERT_NE(NULL, p);
	low = ibv_reg_mr(self->b->pd, p, PAGE, LW | RW);
	high = ibv_reg_mr(self->b->pd, p + 8 * PAGE, 2 * PAGE, LW | RW);
	ASSERT_TRUE(low && high);
	RKEY ^= 0x5a00;
	AT = (uintptr_t)p + PAGE + 8;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_UNKNOWN), 3, low->rkey, (uintptr_t)p, PAGE, LEN + 8);
	ASSERT_TRUE(recovers(&self->pair));
	AT = (uintptr_t)high->addr - 8;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_UNKNOWN), 3, high->rkey, (uintptr_t)high->addr, 2 * PAGE, 8);
	EXPECT_EQ(0, ibv_dereg_mr(high));
	EXPECT_EQ(0, ibv_dereg_mr(low));
	EXPECT_EQ(0, munmap(p, 16 * PAGE));
}

/* A search among so many keys would take too long. */
TEST_F(errors, nearest_region_of_many)
{
	struct ibv_mr *mrs[520];
	int i;

	for (i = 0; i < ARRAY_SIZE(mrs); i++) {
		mrs[i] = ibv_reg_mr(self->b->pd, B_BUF.p, 8, LW | RW);
		ASSERT_NE(NULL, mrs[i]);
	}
	RKEY ^= 0x5a00;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_UNKNOWN), 3, 0);
	for (i = 0; i < ARRAY_SIZE(mrs); i++)
		EXPECT_EQ(0, ibv_dereg_mr(mrs[i]));
}

/* The regions of another protection domain are not named. */
TEST_F(errors, nearest_region_of_another_domain)
{
	another_buf(self, self->b, OTHER_PD, VT_ACCESS_ALL);
	RKEY ^= 0x5a00;
	AT = (uintptr_t)self->buf.p;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_UNKNOWN), 3, B_BUF.mr->rkey, (uintptr_t)B_BUF.p);
}

WHY(KEY_ENDED)
{
	const struct smr_abi_why *told;

	RKEY = another_buf(self, self->b, SAME_PD, VT_ACCESS_ALL);
	ASSERT_EQ(0, dereg_buf(self));
	usleep(100000);
	told = EXPECT_REMOTE(KEY_ENDED);
	EXPECT_NUMS(told, 3, getpid());
	EXPECT_AGE(told->num[4]);
	EXPECT_NUMS(told, 5, B_BUF.mr->rkey, (uintptr_t)B_BUF.p, 0);
}

/* A user of another protection domain's key learns nothing about that key. */
TEST_F(errors, ended_key_of_another_domain)
{
	RKEY = another_buf(self, self->b, OTHER_PD, VT_ACCESS_ALL);
	ASSERT_EQ(0, dereg_buf(self));
	EXPECT_REMOTE(KEY_UNKNOWN);
}

WHY(KEY_STALE)
{
	RKEY ^= 1;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_STALE), 3, B_BUF.mr->rkey);
}

WHY(KEY_DEAD)
{
	struct ibv_mw *mw = ibv_alloc_mw(self->b->pd, IBV_MW_TYPE_1);

	ASSERT_NE(NULL, mw);
	RKEY = mw->rkey;
	EXPECT_REMOTE(KEY_DEAD);
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

WHY(KEY_PD)
{
	RKEY = another_buf(self, self->b, OTHER_PD, VT_ACCESS_ALL);
	AT = (uintptr_t)self->buf.p;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_PD), 3, 0);
}

WHY(KEY_ACCESS)
{
	const struct smr_abi_why *told;

	of_buf(self, SAME_PD, LW);
	AT = (uintptr_t)self->buf.p;
	told = EXPECT_REMOTE(KEY_ACCESS);
	EXPECT_NUMS(told, 3, RW, LW, 0);
	EXPECT_AGE(told->num[6]);
}

WHY(KEY_RANGE)
{
	uint64_t start = (uintptr_t)B_BUF.p;

	AT = start + B_BUF.len - LEN + 1;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_RANGE), 3, start, B_BUF.len, 1);
	ASSERT_TRUE(recovers(&self->pair));
	AT = start - 10;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_RANGE), 5, 10);
	ASSERT_TRUE(recovers(&self->pair));
	AT = -(uint64_t)LEN / 2;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_RANGE), 5, AT + LEN - start - B_BUF.len);
}

/* The key is that of another region, and the region that has the bytes is named. */
TEST_F(errors, range_of_another_region)
{
	const struct smr_abi_why *told;

	of_buf(self, SAME_PD, VT_ACCESS_ALL);
	told = EXPECT_REMOTE(KEY_RANGE);
	EXPECT_NUMS(told, 3, (uintptr_t)self->buf.p);
	EXPECT_AGE(told->num[6]);
	EXPECT_NUMS(told, 7, B_BUF.mr->rkey);
	ASSERT_TRUE(recovers(&self->pair));
	AT = (uintptr_t)B_BUF.p + B_BUF.len - LEN + 1;
	EXPECT_NUMS(EXPECT_REMOTE(KEY_RANGE), 7, 0);
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
	as_atomic(self, IBV_WR_ATOMIC_FETCH_AND_ADD, 0);
	self->local.length = 4;
	EXPECT_NUMS(EXPECT_FAILS(WR_LENGTH, IBV_WC_LOC_LEN_ERR), 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 4);
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
	EXPECT_NUMS(EXPECT_FAILS(WR_NO_RD_ATOMIC, IBV_WC_LOC_QP_OP_ERR), 0, IBV_WR_RDMA_READ);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		ASSERT_EQ(0, vt_pair_reset(&self->pair));
		ASSERT_EQ(0, post_entry(self, &rings, others[i]));
		ASSERT_EQ(0, vt_wait(self->a->scq, &wc));
		EXPECT_EQ((uint32_t)SMR_WHY_WR_NO_RD_ATOMIC, wc.vendor_err);
		EXPECT_NUMS(EXPECT_TOLD(self->a, WR_NO_RD_ATOMIC, IBV_WC_LOC_QP_OP_ERR), 0, others[i]);
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
	EXPECT_NUMS(&_rec, 0, (request)->wr.ud.remote_qpn);			\
	ASSERT_EQ(0, vt_qp_resume(&pair.a));					\
} while (0)

/* A QP number that is none, and the address handle of another protection domain */
WHY(WR_ADDRESS)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->a->dev.ctx);
	struct ibv_ah_attr attr;
	struct ibv_send_wr wr;
	struct vt_pair pair;
	struct ibv_sge sge;

	ASSERT_NE(NULL, pd);
	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.qp_type = IBV_QPT_UD, .inline_len = 64)));
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
	EXPECT_NUMS(EXPECT_FAILS(WR_NO_MEMORY, IBV_WC_LOC_QP_OP_ERR), 0, LEN);
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
	ASSERT_TRUE(vt_qp_reaches(self->a->qp, IBV_QPS_ERR));
	ASSERT_EQ(0, vt_why_last(self->a->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_SEND_RING, rec.id);
	EXPECT_EQ(self->a->qp->qp_num, rec.qpn);
}

/* The first completion that is lost; those of the requests behind it are lost, too. */
WHY(CQ_OVERRUN)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 0, NULL);
	struct smr_abi_why rec;
	struct vt_pair pair;
	int cqe;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.cqe = 4, .depth = 64)));
	cqe = pair.a.scq->cqe;
	for (wr.wr_id = 0; wr.wr_id < cqe + 3u; wr.wr_id++)
		ASSERT_EQ(0, vt_post(&pair.a, &wr));
	ASSERT_TRUE(vt_qp_reaches(pair.a.qp, IBV_QPS_ERR));
	ASSERT_EQ(0, vt_why_last(pair.a.dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_CQ_OVERRUN, rec.id);
	EXPECT_EQ(pair.a.qp->qp_num, rec.qpn);
	EXPECT_EQ((uint64_t)cqe, rec.wr_id);
	EXPECT_NUMS(&rec, 0, cqe);
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
	EXPECT_NUMS(EXPECT_FAILS(WR_PAGE, IBV_WC_LOC_PROT_ERR), 0, LEN);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Bound, and of type 2 */
WHY(WR_BIND)
{
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
	EXPECT_NUMS(EXPECT_FAILS(WR_BIND, IBV_WC_MW_BIND_ERR), 0, w.mw->rkey, w.mr->lkey,
		    (uintptr_t)w.mr->addr, 8, RW);
	vt_window_close(&w);
}

WHY(WR_INVALIDATE)
{
	self->wr.opcode = IBV_WR_LOCAL_INV;
	self->wr.num_sge = 0;
	self->wr.invalidate_rkey = 0x5a00;
	EXPECT_NUMS(EXPECT_FAILS(WR_INVALIDATE, IBV_WC_MW_BIND_ERR), 0, 0x5a00);
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
	self->b->conf.qp_access = 0;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_NUMS(EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR), 0, IBV_WR_RDMA_WRITE, LEN);
}

WHY(REQ_FORBIDDEN)
{
	self->b->conf.qp_access = LW | IBV_ACCESS_REMOTE_READ;
	ASSERT_EQ(0, vt_pair_reset(&self->pair));
	EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_NUMS(EXPECT_TOLD(self->b, REQ_FORBIDDEN, IBV_WC_REM_INV_REQ_ERR), 1,
		    LW | IBV_ACCESS_REMOTE_READ, self->b->conf.rd_atomic);
}

WHY(PEER_ACCESS)
{
	struct smr_abi_why recs[16];
	int i, n;

	RKEY ^= 0x5a00;
	EXPECT_REMOTE(KEY_UNKNOWN);
	/* the requester can read nothing more */
	n = vt_whys(self->a->dev.ctx, 0, recs, 16);
	ASSERT_EQ(1, n);
	for (i = 0; i < n; i++)
		EXPECT_EQ((uint32_t)SMR_WHY_PEER_ACCESS, recs[i].id);
}

/* The SEND fails as its receive does: for @name, with @status, at the receiver. Return: what that is told */
static const struct smr_abi_why *expect_recv_fails(struct __test_metadata *_metadata,
						   FIXTURE_DATA(errors) *self, struct ibv_sge to,
						   uint32_t id, int status)
{
	const struct smr_abi_why *told;
	struct ibv_wc wc = {};

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	as_send(self);
	if (status == IBV_WC_LOC_LEN_ERR)
		EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	else
		EXPECT_FAILS(PEER_FAILED, IBV_WC_REM_OP_ERR);
	ASSERT_EQ(0, vt_wait(self->b->rcq, &wc));
	EXPECT_EQ(status, wc.status);
	EXPECT_EQ(id, wc.vendor_err);
	told = expect_told(_metadata, self, self->b, id, status);
	EXPECT_EQ(2, told->wr_id);
	return told;
}

#define EXPECT_RECV_FAILS(to, name, st) \
	expect_recv_fails(_metadata, self, to, SMR_WHY_##name, st)

/* A key of the receive is wrong: an error of the receiver itself. */
WHY(PEER_FAILED)
{
	struct ibv_sge to = vt_sge(&B_BUF, VT_GUARD, LEN);

	to.lkey ^= 0x5a00;
	EXPECT_NUMS(EXPECT_RECV_FAILS(to, KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR), 0, to.lkey, to.addr);
}

WHY(RECV_TOO_SHORT)
{
	EXPECT_NUMS(EXPECT_RECV_FAILS(vt_sge(&B_BUF, VT_GUARD, LEN - 1), RECV_TOO_SHORT,
				      IBV_WC_LOC_LEN_ERR), 0, LEN - 1, LEN);
}

WHY(RECV_PAGE)
{
	struct ibv_mr *mr = lost_region(self->b, LW);

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	EXPECT_NUMS(EXPECT_RECV_FAILS(((struct ibv_sge){ (uintptr_t)mr->addr, LEN, mr->lkey }),
				      RECV_PAGE, IBV_WC_LOC_PROT_ERR), 0, LEN);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
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
	EXPECT_NUMS(&rec, 0, self->a->conf.retry_cnt, self->a->conf.timeout);
	/* and the peer knows why, whether packets came or not */
	ASSERT_EQ(0, vt_why_last(self->b->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_DROP_STATE, rec.id);
	EXPECT_EQ(self->b->qp->qp_num, rec.qpn);
	EXPECT_EQ(0, memcmp(rec.peer, self->a->dev.gid.raw, 16));
	EXPECT_NUMS(&rec, 1, IBV_QPS_RESET);
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
	EXPECT_NUMS(EXPECT_FAILS(PEER_NOT_READY, IBV_WC_RNR_RETRY_EXC_ERR), 0, 1);
}

WHY(REQ_UNALIGNED)
{
	as_atomic(self, IBV_WR_ATOMIC_FETCH_AND_ADD, VT_GUARD + 4);
	EXPECT_FAILS(PEER_INVALID, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_NUMS(EXPECT_TOLD(self->b, REQ_UNALIGNED, IBV_WC_REM_INV_REQ_ERR), 0,
		    (uintptr_t)B_BUF.p + VT_GUARD + 4);
}

WHY(REQ_INVALIDATE)
{
	struct ibv_sge to = vt_sge(&B_BUF, VT_GUARD, LEN);

	ASSERT_EQ(0, vt_post_recv(self->b, 2, &to, 1));
	self->wr.opcode = IBV_WR_SEND_WITH_INV;
	self->wr.invalidate_rkey = 0x5a00;
	EXPECT_FAILS(PEER_ACCESS, IBV_WC_REM_ACCESS_ERR);
	EXPECT_NUMS(EXPECT_TOLD(self->b, REQ_INVALIDATE, IBV_WC_REM_ACCESS_ERR), 0, 0x5a00);
}

WHY(REQ_PAGE)
{
	struct ibv_mr *mr = lost_region(self->b, LW | RW);

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	RKEY = mr->rkey;
	AT = (uintptr_t)mr->addr;
	EXPECT_FAILS(PEER_ACCESS, IBV_WC_REM_ACCESS_ERR);
	EXPECT_NUMS(EXPECT_TOLD(self->b, REQ_PAGE, IBV_WC_REM_ACCESS_ERR), 0, RKEY, AT);
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
