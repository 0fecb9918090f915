// SPDX-License-Identifier: GPL-2.0
/*
 * What memory windows promise, row by row of Documentation/semantics.rst.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 90
 * paths: host veth
 */
/* see rows.h */
#define ROWS_NEED	WINDOWS
#include "rows.h"
#include "window.h"

#define ALL	(LW | RW | RR | RA)
#define BIND	(ALL | IBV_ACCESS_MW_BIND)
#define RIGHTS	(RW | RR | RA)
#define ZERO	IBV_ACCESS_ZERO_BASED

#define TYPE_1	IBV_MW_TYPE_1
#define TYPE_2	IBV_MW_TYPE_2

#define OFF	72
#define LEN	1000

/* A region on b's PD, a window on it, and the parameters of its bind */
struct scene {
	row_data *self;
	struct ibv_mw *mw;
	struct vt_bind to;
	uint32_t old;
};

static int scene_open(struct scene *s, row_data *self, int type, int access)
{
	int ret = vt_place_open(&self->r, self->b->pd, access);

	s->self = self;
	s->mw = ibv_alloc_mw(self->b->pd, type);
	s->to = (struct vt_bind){ self->r.mr, self->r.iova + OFF, LEN, RIGHTS };
	s->old = s->mw ? s->mw->rkey : 0;
	return ret ? ret : s->mw ? 0 : -errno;
}

/* The region can be deregistered, which shows that no window is bound to it. */
static void scene_close(struct __test_metadata *_metadata, struct scene *s)
{
	if (s->mw)
		EXPECT_EQ(0, ibv_dealloc_mw(s->mw));
	EXPECT_EQ(0, ibv_dereg_mr(s->self->r.mr));
	s->self->r.mr = NULL;
}

static int scene_bind(struct scene *s)
{
	return vt_bind_any(s->self->b, s->mw, &s->to);
}

/* The address of a byte of the region, as the window names it */
static struct vt_remote remote(const struct scene *s, size_t off)
{
	uint64_t addr = s->self->r.iova + off;

	if (s->to.access & ZERO)
		addr = off - OFF;
	return (struct vt_remote){ addr, s->mw->rkey };
}

static bool window_allows(struct scene *s, int access)
{
	return vt_remote_allows(&s->self->pair, &s->self->r, remote(s, OFF),
				OFF, LEN, access);
}

static bool key_is_dead(struct scene *s, uint32_t rkey)
{
	struct vt_remote r = remote(s, OFF);

	r.rkey = rkey;
	return vt_remote_allows(&s->self->pair, &s->self->r, r, OFF, LEN, 0);
}

/* -- what libibverbs refuses */

enum { MR_NULL_ADDR, MR_NULL_LEN, OTHER_PD, OF_TYPE_2, ZERO_BASED_1 };

CHECK(bind_refused)
{
	struct ibv_pd *other = NULL;
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, row->kind == OF_TYPE_2 ? TYPE_2 : TYPE_1,
				BIND));
	switch (row->kind) {
	case MR_NULL_ADDR:
		s.to = (struct vt_bind){ NULL, self->r.iova, 0, RIGHTS };
		break;
	case MR_NULL_LEN:
		s.to = (struct vt_bind){ NULL, 0, LEN, RIGHTS };
		break;
	case ZERO_BASED_1:
		s.to.access |= ZERO;
		break;
	case OTHER_PD:
		ASSERT_EQ(0, ibv_dealloc_mw(s.mw));
		other = ibv_alloc_pd(self->b->dev.ctx);
		ASSERT_NE(NULL, other);
		s.mw = ibv_alloc_mw(other, TYPE_1);
		ASSERT_NE(NULL, s.mw);
		break;
	}
	EXPECT_EQ(-row->want, vt_bind(self->b, s.mw, &s.to));
	EXPECT_TRUE(vt_qp_reaches(self->b->qp, IBV_QPS_RTS));
	scene_close(_metadata, &s);
	if (other)
		EXPECT_EQ(0, ibv_dealloc_pd(other));
}

/* -- what a bound window opens */

/* It has its own rights on its own range, whatever the region allows. */
CHECK(opens)
{
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, row->kind, BIND | row->flags));
	s.to.access = row->access;
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_TRUE(window_allows(&s, row->access));
	EXPECT_TRUE(key_is_dead(&s, s.old));
	scene_close(_metadata, &s);
}

static void expect_outside(struct __test_metadata *_metadata, row_data *self,
			   enum ibv_wr_opcode op, struct vt_remote at)
{
	struct ibv_sge sge = vt_sge(&self->a->buf, 0, 8);

	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_op(self->a, op, &sge, at))
		TH_LOG("opcode %d at 0x%lx", op, (unsigned long)at.addr);
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
}

/*
 * One byte before its start, one after its end, and sums that wrap. An atomic
 * must be aligned, so it lies completely outside.
 */
CHECK(bounds)
{
	uint64_t first, at[3];
	struct scene s;
	int i;

	ASSERT_EQ(0, scene_open(&s, self, row->kind, BIND));
	s.to.access |= row->access;
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	first = remote(&s, OFF).addr;
	at[0] = first - 1;
	at[1] = first + LEN - 7;
	at[2] = UINT64_MAX - 3;
	for (i = 0; i < 3; i++) {
		expect_outside(_metadata, self, IBV_WR_RDMA_WRITE,
			       (struct vt_remote){ at[i], s.mw->rkey });
		expect_outside(_metadata, self, IBV_WR_RDMA_READ,
			       (struct vt_remote){ at[i], s.mw->rkey });
	}
	at[0] = first - 8;
	at[1] = first + LEN;
	at[2] = UINT64_MAX - 7;
	for (i = 0; i < 3; i++)
		expect_outside(_metadata, self, IBV_WR_ATOMIC_FETCH_AND_ADD,
			       (struct vt_remote){ at[i], s.mw->rkey });
	EXPECT_TRUE(vt_check("region", self->r.p, self->r.len, 7, 0));
	EXPECT_TRUE(window_allows(&s, RIGHTS));
	scene_close(_metadata, &s);
}

/* The region's key still has all of its rights. */
CHECK(region_beside)
{
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, row->kind, BIND));
	s.to.access = RR;
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	EXPECT_TRUE(window_allows(&s, RR));
	scene_close(_metadata, &s);
}

/* A window's key is not valid as an lkey. */
CHECK(not_local)
{
	struct ibv_sge sge;
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, row->kind, BIND));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	sge = (struct ibv_sge){ s.to.addr, 8, s.mw->rkey };
	EXPECT_EQ(row->want,
		  vt_op(self->b, IBV_WR_RDMA_WRITE, &sge,
			(struct vt_remote){ (uintptr_t)self->a->buf.p,
					    self->a->buf.mr->rkey }));
	scene_close(_metadata, &s);
}

/* -- type 1 */

CHECK(rebind)
{
	struct vt_place other;
	struct scene s;
	uint32_t old;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_1, BIND));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	old = s.mw->rkey;
	s.to.access = RR;
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_NE(old, s.mw->rkey);
	EXPECT_TRUE(key_is_dead(&s, old));
	EXPECT_TRUE(window_allows(&s, RR));
	/* to another region: the first one can be deregistered at once */
	ASSERT_EQ(0, vt_place_open(&other, self->b->pd, BIND));
	s.to = (struct vt_bind){ other.mr, other.iova, LEN, RIGHTS };
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	self->r.mr = NULL;
	EXPECT_TRUE(vt_remote_allows(&self->pair, &other,
				     (struct vt_remote){ other.iova, s.mw->rkey },
				     0, LEN, RIGHTS));
	EXPECT_EQ(0, ibv_dealloc_mw(s.mw));
	vt_place_close(&other);
}

/* A refused bind changes nothing. */
CHECK(rebind_refused)
{
	struct vt_bind was;
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_1, BIND));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	was = s.to;
	s.to.addr = self->r.iova + self->r.len;
	EXPECT_EQ(row->want, scene_bind(&s));
	s.to = was;
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_TRUE(window_allows(&s, RIGHTS));
	EXPECT_EQ(EBUSY, ibv_dereg_mr(self->r.mr));
	scene_close(_metadata, &s);
}

/* Length 0 unbinds, with or without a region. */
CHECK(unbind)
{
	struct scene s;
	uint32_t old;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_1, BIND));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	old = s.mw->rkey;
	if (row->kind)
		s.to = (struct vt_bind){ NULL, 0, 0, 0 };
	s.to.len = 0;
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_TRUE(key_is_dead(&s, old));
	EXPECT_TRUE(key_is_dead(&s, s.mw->rkey));
	EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, BIND));
	scene_close(_metadata, &s);
}

/* -- invalidation */

enum { LOCALLY, BY_PEER };

static int invalidate(struct __test_metadata *_metadata, row_data *self,
		      int by, uint32_t rkey)
{
	struct ibv_wc wc;
	int ret;

	if (by == LOCALLY)
		return vt_invalidate(self->b, rkey);
	ASSERT_EQ(0, vt_post_recv(self->b, 5, NULL, 0));
	ret = vt_send_invalidate(self->a, rkey);
	ASSERT_EQ(0, vt_wait(self->b->rcq, &wc));
	EXPECT_EQ(5, wc.wr_id);
	if (ret != IBV_WC_SUCCESS) {
		EXPECT_NE(IBV_WC_SUCCESS, wc.status);
		return ret;
	}
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_NE(0, wc.wc_flags & IBV_WC_WITH_INV);
	EXPECT_EQ(rkey, wc.invalidated_rkey);
	return ret;
}

CHECK(invalidated)
{
	struct scene s;
	uint32_t old;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_2, BIND));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	old = s.mw->rkey;
	EXPECT_EQ(IBV_WC_SUCCESS,
		  invalidate(_metadata, self, row->kind, old));
	EXPECT_TRUE(key_is_dead(&s, old));
	/* The window is not bound, and can be bound again. */
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_TRUE(window_allows(&s, RIGHTS));
	scene_close(_metadata, &s);
}

enum { OF_NOBODY, OF_REGION, TYPE_1_BOUND, TYPE_2_FREE, TYPE_2_STALE };

/* Refused with @want; the object that the key names is unchanged. */
CHECK(not_invalidated)
{
	struct scene s;
	uint32_t rkey;
	bool bound = row->flags != TYPE_2_FREE;

	ASSERT_EQ(0, scene_open(&s, self, row->flags == TYPE_1_BOUND ? TYPE_1 : TYPE_2,
				BIND));
	if (bound)
		ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	rkey = row->flags == OF_NOBODY ? s.mw->rkey ^ 0x5a5a00 :
	       row->flags == OF_REGION ? self->r.mr->rkey :
	       row->flags == TYPE_2_STALE ? s.old : s.mw->rkey;
	EXPECT_EQ(row->want, invalidate(_metadata, self, row->kind, rkey));
	EXPECT_TRUE(vt_qp_reaches(self->b->qp, IBV_QPS_ERR));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	if (bound)
		EXPECT_TRUE(window_allows(&s, RIGHTS));
	scene_close(_metadata, &s);
}

/* -- type 2 and its QP */

/*
 * Another QP of the same PD: neither its peer nor its owner can use the window.
 */
CHECK(other_qp)
{
	struct vt_pair other = {};
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_2, BIND));
	ASSERT_EQ(0, vt_ep_open(&other.a, &self->a->conf, 0));
	ASSERT_EQ(0, vt_ep_open_beside(&other.b, self->b));
	ASSERT_EQ(0, ibv_destroy_qp(other.b.qp));
	other.b.qp = ibv_create_qp(self->b->pd, &(struct ibv_qp_init_attr){
		.send_cq = other.b.scq, .recv_cq = other.b.rcq,
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC });
	ASSERT_NE(NULL, other.b.qp);
	ASSERT_EQ(0, vt_pair_connect(&other));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_TRUE(vt_remote_allows(&other, &self->r, remote(&s, OFF), OFF,
				     LEN, 0));
	EXPECT_EQ(row->want, vt_invalidate(&other.b, s.mw->rkey));
	EXPECT_TRUE(window_allows(&s, RIGHTS));
	scene_close(_metadata, &s);
	vt_pair_close(&other);
}

enum { QP_DESTROYED, WINDOW_FREED };

/* Its QP or the window itself is destroyed: the key is invalid. */
CHECK(let_go)
{
	struct scene s;
	uint32_t old;

	ASSERT_EQ(0, scene_open(&s, self, row->flags, BIND));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	old = s.mw->rkey;
	if (row->kind == WINDOW_FREED) {
		EXPECT_EQ(0, ibv_dealloc_mw(s.mw));
		s.mw = ibv_alloc_mw(self->b->pd, row->flags);
		ASSERT_NE(NULL, s.mw);
	} else {
		EXPECT_EQ(0, ibv_destroy_qp(self->b->qp));
		self->b->qp = vt_qp_create(self->b);
		ASSERT_NE(NULL, self->b->qp);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
	EXPECT_TRUE(key_is_dead(&s, old));
	ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	EXPECT_TRUE(window_allows(&s, RIGHTS));
	scene_close(_metadata, &s);
}

/* -- errors of a bind */

enum {
	MR_RIGHT, MR_LOCAL_WRITE, MR_ZERO_BASED, MR_DEAD, MR_OTHER_PD,
	QP_OTHER_PD, IS_BOUND, LENGTH_0, RANGE_START, RANGE_END, RANGE_WRAPS,
};

static int mr_access(int kind)
{
	switch (kind) {
	case MR_RIGHT:
		return ALL;
	case MR_LOCAL_WRITE:
		return RR | IBV_ACCESS_MW_BIND;
	case MR_ZERO_BASED:
		return BIND | ZERO;
	default:
		return BIND;
	}
}

static void make_wrong(struct scene *s, int kind, struct vt_place *far,
		       struct ibv_mr *dead)
{
	const struct vt_place *r = &s->self->r;

	switch (kind) {
	case MR_DEAD:
		s->to.mr = dead;
		break;
	case MR_OTHER_PD:
		s->to.mr = far->mr;
		s->to.addr = far->iova;
		break;
	case LENGTH_0:
		s->to.len = 0;
		break;
	case RANGE_START:
		s->to.addr = r->iova - 1;
		break;
	case RANGE_END:
		s->to.len = r->len - OFF + 1;
		break;
	case RANGE_WRAPS:
		s->to.len = UINT64_MAX - 8;
		break;
	}
}

/* The bind completes with MW_BIND_ERR, and the QP is in the error state. */
CHECK(violation)
{
	struct vt_pair other = {};
	struct vt_place far;
	struct ibv_mr dead;
	struct vt_ep *ep = self->b;
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, row->flags, mr_access(row->kind)));
	ASSERT_EQ(0, vt_ep_open(&other.a, &self->a->conf, 0));
	ASSERT_EQ(0, vt_ep_open_beside(&other.b, self->b));
	ASSERT_EQ(0, vt_pair_connect(&other));
	ASSERT_EQ(0, vt_place_open(&far, other.b.pd, BIND));
	if (row->kind == IS_BOUND)
		ASSERT_EQ(IBV_WC_SUCCESS, scene_bind(&s));
	dead = *self->r.mr;
	if (row->kind == MR_DEAD) {
		ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
		ASSERT_EQ(0, vt_place_reg(&self->r, self->b->pd, BIND));
	}
	if (row->kind == QP_OTHER_PD)
		ep = &other.b;
	make_wrong(&s, row->kind, &far, &dead);
	s.to.access = row->access ? row->access : RIGHTS;
	EXPECT_EQ(row->want,
		  vt_bind_wr(ep, s.mw, ibv_inc_rkey(s.mw->rkey), &s.to));
	EXPECT_TRUE(vt_qp_reaches(ep->qp, IBV_QPS_ERR));
	scene_close(_metadata, &s);
	vt_place_close(&far);
	vt_pair_close(&other);
}

/* -- keys */

/* The consumer chooses only the low byte of a type 2 key. */
CHECK(low_byte)
{
	struct scene s;
	uint32_t rkey;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_2, BIND));
	rkey = (s.old & ~0xffu) | ((s.old + 77) & 0xff);
	ASSERT_EQ(IBV_WC_SUCCESS, vt_bind_wr(self->b, s.mw, rkey, &s.to));
	EXPECT_EQ(rkey, s.mw->rkey);
	EXPECT_TRUE(window_allows(&s, RIGHTS));
	EXPECT_TRUE(key_is_dead(&s, rkey ^ 1));
	scene_close(_metadata, &s);
}

/* The bits above that byte are ignored: programs pass another window's key. */
CHECK(upper_bits)
{
	static const uint32_t above[] = { 0x5a5a00, 0x100, 0xffffff00 };
	struct scene s;
	uint32_t key;
	size_t i;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_2, BIND));
	for (i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		key = ibv_inc_rkey(s.mw->rkey);
		ASSERT_EQ(IBV_WC_SUCCESS,
			  vt_bind_given(self->b, s.mw, key ^ above[i], &s.to));
		s.mw->rkey = key;
		EXPECT_TRUE(window_allows(&s, RIGHTS));
		EXPECT_TRUE(key_is_dead(&s, key ^ above[i]));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_invalidate(self->b, key));
		EXPECT_TRUE(key_is_dead(&s, key));
	}
	scene_close(_metadata, &s);
}

enum { LOW_BYTE, INCREMENTS_AFTER, KEPT_BESIDE };

static bool key_opens(struct scene *s, uint32_t rkey)
{
	struct vt_remote r = remote(s, OFF);

	r.rkey = rkey;
	return vt_remote_allows(&s->self->pair, &s->self->r, r, OFF, LEN, RIGHTS);
}

/*
 * How programs keep track of a type 2 window's key. None of them expects that
 * struct ibv_mw changes when a bind is posted.
 */
static void keep_track(struct __test_metadata *_metadata, row_data *self,
		       int how)
{
	uint32_t key, given, before;
	struct scene s;
	int i;

	ASSERT_EQ(0, scene_open(&s, self, TYPE_2, BIND));
	key = s.old;
	for (i = 0; i < 3; i++) {
		before = s.mw->rkey;
		key = ibv_inc_rkey(key);
		given = how == LOW_BYTE ? key & 0xff :
			how == KEPT_BESIDE ? key : ibv_inc_rkey(s.mw->rkey);
		ASSERT_EQ(IBV_WC_SUCCESS,
			  vt_bind_given(self->b, s.mw, given, &s.to));
		EXPECT_EQ(before, s.mw->rkey);
		if (how == INCREMENTS_AFTER)
			s.mw->rkey = ibv_inc_rkey(s.mw->rkey);
		EXPECT_TRUE(key_opens(&s, how == INCREMENTS_AFTER ?
						  s.mw->rkey : key));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_invalidate(self->b, key));
		EXPECT_TRUE(key_is_dead(&s, key));
	}
	scene_close(_metadata, &s);
}

/* By ibv_post_send() and by ibv_wr_bind_mw() */
CHECK(tracked)
{
	struct vt_conf conf = self->b->conf;

	keep_track(_metadata, self, row->kind);
	vt_pair_close(&self->pair);
	conf.wr_api = true;
	conf.send_ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	ASSERT_EQ(0, vt_pair_open(&self->pair, &conf));
	ASSERT_NE(NULL, self->b->qpx);
	keep_track(_metadata, self, row->kind);
}

CHECK(never_bound)
{
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, row->kind, BIND));
	EXPECT_TRUE(key_is_dead(&s, s.mw->rkey));
	scene_close(_metadata, &s);
}

/* -- ibv_bind_mw() */
ROW(mw_bind_type_2, bind_refused, .kind = OF_TYPE_2, .want = EINVAL);
ROW(mw_bind_address_of_nothing, bind_refused, .kind = MR_NULL_ADDR, .want = EINVAL);
ROW(mw_bind_length_of_nothing, bind_refused, .kind = MR_NULL_LEN, .want = EINVAL);
ROW(mw_bind_other_pd, bind_refused, .kind = OTHER_PD, .want = EPERM);
ROW(mw1_zero_based, bind_refused, .kind = ZERO_BASED_1, .want = EINVAL);
/* -- type 1 */
ROW(mw1_opens, opens, .kind = TYPE_1, .access = RIGHTS);
ROW(mw1_on_demand, opens, .kind = TYPE_1, .access = RIGHTS, .flags = ODP);
ROW(mw1_rebind, rebind);
ROW(mw1_rebind_refused, rebind_refused, .want = IBV_WC_MW_BIND_ERR);
ROW(mw1_unbind, unbind, .kind = 0);
ROW(mw1_unbind_no_region, unbind, .kind = 1);
ROW(mw1_invalidate, not_invalidated, .kind = LOCALLY, .flags = TYPE_1_BOUND, .want = IBV_WC_MW_BIND_ERR);
ROW(mw1_remote_invalidate, not_invalidated, .kind = BY_PEER, .flags = TYPE_1_BOUND, .want = IBV_WC_REM_ACCESS_ERR);
ROW(mw1_dealloc, let_go, .kind = WINDOW_FREED, .flags = TYPE_1);
ROW(mw1_never_bound, never_bound, .kind = TYPE_1);
/* -- type 2 */
ROW(mw2_opens, opens, .kind = TYPE_2, .access = RIGHTS);
ROW(mw2_zero_based, opens, .kind = TYPE_2, .access = RIGHTS | ZERO);
ROW(mw2_on_demand, opens, .kind = TYPE_2, .access = RIGHTS, .flags = ODP);
ROW(mw2_bound_again, violation, .kind = IS_BOUND, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_length_0, violation, .kind = LENGTH_0, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_qp_of_other_pd, violation, .kind = QP_OTHER_PD, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_other_qp, other_qp, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_invalidate, invalidated, .kind = LOCALLY);
ROW(mw2_remote_invalidate, invalidated, .kind = BY_PEER);
ROW(mw2_invalidate_unknown, not_invalidated, .kind = LOCALLY, .flags = OF_NOBODY, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_invalidate_region, not_invalidated, .kind = LOCALLY, .flags = OF_REGION, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_invalidate_free, not_invalidated, .kind = LOCALLY, .flags = TYPE_2_FREE, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_invalidate_stale, not_invalidated, .kind = LOCALLY, .flags = TYPE_2_STALE, .want = IBV_WC_MW_BIND_ERR);
ROW(mw2_remote_invalidate_unknown, not_invalidated, .kind = BY_PEER, .flags = OF_NOBODY, .want = IBV_WC_REM_ACCESS_ERR);
ROW(mw2_remote_invalidate_region, not_invalidated, .kind = BY_PEER, .flags = OF_REGION, .want = IBV_WC_REM_ACCESS_ERR);
ROW(mw2_remote_invalidate_free, not_invalidated, .kind = BY_PEER, .flags = TYPE_2_FREE, .want = IBV_WC_REM_ACCESS_ERR);
ROW(mw2_destroy_qp, let_go, .kind = QP_DESTROYED, .flags = TYPE_2);
ROW(mw2_dealloc, let_go, .kind = WINDOW_FREED, .flags = TYPE_2);
ROW(mw2_low_byte, low_byte);
ROW(mw2_upper_bits, upper_bits);
ROW(mw2_low_byte_only, tracked, .kind = LOW_BYTE);
ROW(mw2_increments_after, tracked, .kind = INCREMENTS_AFTER);
ROW(mw2_key_beside, tracked, .kind = KEPT_BESIDE);
ROW(mw2_never_bound, never_bound, .kind = TYPE_2);
/* -- the region */
ROW(mw_region_mw_bind, violation, .kind = MR_RIGHT, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_region_local_write, violation, .kind = MR_LOCAL_WRITE, .flags = TYPE_2, .access = RW, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_region_local_write_atomic, violation, .kind = MR_LOCAL_WRITE, .flags = TYPE_1, .access = RA, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_region_zero_based, violation, .kind = MR_ZERO_BASED, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_region_dead, violation, .kind = MR_DEAD, .flags = TYPE_1, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_region_of_other_pd, violation, .kind = MR_OTHER_PD, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
/* -- the range */
ROW(mw_range_start, violation, .kind = RANGE_START, .flags = TYPE_1, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_range_end, violation, .kind = RANGE_END, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw_range_wraps, violation, .kind = RANGE_WRAPS, .flags = TYPE_2, .want = IBV_WC_MW_BIND_ERR);
ROW(mw1_bounds, bounds, .kind = TYPE_1);
ROW(mw2_bounds, bounds, .kind = TYPE_2);
ROW(mw2_bounds_zero_based, bounds, .kind = TYPE_2, .access = ZERO);
ROW(mw_rights_read, opens, .kind = TYPE_1, .access = RR);
ROW(mw_rights_write, opens, .kind = TYPE_2, .access = RW);
ROW(mw_rights_atomic, opens, .kind = TYPE_2, .access = RA);
ROW(mw_region_beside, region_beside, .kind = TYPE_2);
ROW(mw_not_local, not_local, .kind = TYPE_1, .want = IBV_WC_LOC_PROT_ERR);

VT_HARNESS_MAIN
