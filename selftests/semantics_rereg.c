// SPDX-License-Identifier: GPL-2.0
/*
 * What ibv_rereg_mr() promises, row by row of Documentation/semantics.rst.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 90
 * paths: host veth
 */
/* see rows.h */
#define ROWS_NEED	REREG
#include "rows.h"
#include "window.h"
#include "writer.h"

#define TRANS	IBV_REREG_MR_CHANGE_TRANSLATION
#define PD	IBV_REREG_MR_CHANGE_PD
#define ACCESS	IBV_REREG_MR_CHANGE_ACCESS
#define EACH	(TRANS | PD | ACCESS)

#define ALL	(LW | RW | RR | RA)
#define FEWER	(LW | RR)
#define BIND	(ALL | IBV_ACCESS_MW_BIND)

/* The region, the memory it may get, and endpoints on the PD that it may get */
struct scene {
	row_data *self;
	struct vt_place *r;
	struct vt_place next;
	struct vt_pair other;
};

static int scene_open(struct scene *s, row_data *self, int access)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->self = self;
	s->r = &self->r;
	ret = vt_place_open(s->r, self->b->pd, access);
	if (!ret)
		ret = vt_place_map(&s->next, VT_MEM_PLAIN);
	if (!ret)
		ret = vt_ep_open(&s->other.a, &self->a->conf, 0);
	if (!ret)
		ret = vt_ep_open_beside(&s->other.b, self->b);
	if (!ret)
		ret = vt_pair_connect(&s->other);
	s->next.len -= 4096;
	return ret;
}

static void scene_close(struct scene *s)
{
	if (s->r->mr)
		ibv_dereg_mr(s->r->mr);
	s->r->mr = NULL;
	vt_place_close(&s->next);
	vt_pair_close(&s->other);
}

static int scene_rereg(struct scene *s, int flags, int access)
{
	errno = 0;
	return ibv_rereg_mr(s->r->mr, flags,
			    flags & PD ? s->other.b.pd : NULL,
			    flags & TRANS ? s->next.p : NULL,
			    flags & TRANS ? s->next.len : 0,
			    flags & ACCESS ? access : 0);
}

/*
 * The former registration is gone: nothing of @old can be reached through @mr.
 */
static void expect_gone(struct __test_metadata *_metadata, struct scene *s,
			struct vt_pair *pair, const struct vt_place *old)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, 0, 64);
	struct vt_remote remote = { old->iova, s->r->mr->rkey };

	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_op(&pair->a, IBV_WR_RDMA_READ, &sge, remote));
	EXPECT_EQ(0, vt_pair_recover(pair));
	sge = (struct ibv_sge){ old->iova, 64, s->r->mr->lkey };
	remote = (struct vt_remote){ (uintptr_t)pair->a.buf.p,
				     pair->a.buf.mr->rkey };
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR,
		  vt_op(&pair->b, IBV_WR_RDMA_WRITE, &sge, remote));
	EXPECT_EQ(0, vt_pair_recover(pair));
}

static void expect_changed(struct __test_metadata *_metadata, struct scene *s,
			   int flags, int access)
{
	struct vt_pair *pair = flags & PD ? &s->other : &s->self->pair;
	struct vt_place now = flags & TRANS ? s->next : *s->r;

	now.mr = s->r->mr;
	EXPECT_EQ(pair->b.pd, now.mr->pd);
	EXPECT_EQ(now.p, now.mr->addr);
	EXPECT_EQ(now.len, now.mr->length);
	EXPECT_TRUE(vt_place_allows(pair, &now, access));
	if (flags & PD) {
		EXPECT_EQ(EBUSY, ibv_dealloc_pd(now.mr->pd));
		expect_gone(_metadata, s, &s->self->pair, &now);
	}
	if (flags & TRANS)
		expect_gone(_metadata, s, pair, s->r);
}

/* Each combination, on each kind of memory; the keys do not change. */
CHECK(changes)
{
	uint32_t lkey, rkey;
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, ALL | row->access));
	lkey = s.r->mr->lkey;
	rkey = s.r->mr->rkey;
	EXPECT_TRUE(vt_place_allows(&self->pair, s.r, ALL));
	ASSERT_EQ(0, scene_rereg(&s, row->flags, FEWER | row->access));
	EXPECT_EQ(lkey, s.r->mr->lkey);
	EXPECT_EQ(rkey, s.r->mr->rkey);
	expect_changed(_metadata, &s, row->flags,
		       row->flags & ACCESS ? FEWER : ALL);
	EXPECT_EQ(0, ibv_dereg_mr(s.r->mr));
	s.r->mr = NULL;
	scene_close(&s);
}

/* From @access to @flags: other rights, or another kind of memory. */
CHECK(access_changes)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_open(r, self->b->pd, row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, row->access));
	ASSERT_EQ(0, ibv_rereg_mr(r->mr, ACCESS, NULL, NULL, 0, row->flags));
	if (row->flags & IBV_ACCESS_ZERO_BASED)
		r->iova = 0;
	EXPECT_TRUE(vt_place_allows(&self->pair, r, row->flags));
	ASSERT_EQ(0, ibv_rereg_mr(r->mr, ACCESS, NULL, NULL, 0, row->access));
	r->iova = (uintptr_t)r->p;
	EXPECT_TRUE(vt_place_allows(&self->pair, r, row->access));
}

/* TRANSLATION to memory of @sort: what the process writes from then on is what peers read. */
CHECK(to_memory)
{
	struct vt_place to;

	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, row->access));
	ASSERT_EQ(0, vt_place_map(&to, row->sort));
	ASSERT_EQ(0, ibv_rereg_mr(self->r.mr, TRANS, NULL, to.p, to.len, 0));
	to.mr = self->r.mr;
	EXPECT_TRUE(vt_place_allows(&self->pair, &to, row->access));
	self->r.mr = NULL;
	vt_place_close(&to);
}

CHECK(keeps_iova)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	r->iova += 0x7000000;
	r->mr = ibv_reg_mr_iova(self->b->pd, r->p, r->len, r->iova,
				FEWER | row->access);
	ASSERT_NE(NULL, r->mr);
	ASSERT_EQ(0, ibv_rereg_mr(r->mr, ACCESS, NULL, NULL, 0,
				  ALL | row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

CHECK(implicit)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	r->mr = ibv_reg_mr(self->b->pd, NULL, SIZE_MAX, ALL | ODP);
	ASSERT_NE(NULL, r->mr);
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
	ASSERT_EQ(0, ibv_rereg_mr(r->mr, ACCESS, NULL, NULL, 0, FEWER | ODP));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, FEWER));
}

enum { NO_ADDR = 1, NO_LEN };

/* Errors that libibverbs returns by itself */
CHECK(bad_input)
{
	struct vt_place *r = &self->r;
	bool no_addr = row->kind == NO_ADDR, no_len = row->kind == NO_LEN;

	ASSERT_EQ(0, vt_place_open(r, self->b->pd, ALL));
	errno = 0;
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(r->mr, row->flags, self->b->pd,
			       no_addr ? NULL : r->p, no_len ? 0 : r->len,
			       row->access));
	EXPECT_EQ(row->want, errno);
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

/* The kernel refuses with @want; the region is unchanged. */
CHECK(refused)
{
	struct ibv_pd pd = { .context = self->b->dev.ctx, .handle = 0x7ffffff0 };
	struct vt_place *r = &self->r, to;
	struct ibv_mr was;

	ASSERT_EQ(0, vt_place_open(r, self->b->pd, ALL));
	ASSERT_EQ(0, vt_place_map(&to, row->sort));
	if (row->kind)
		pd.handle = r->mr->handle;
	was = *r->mr;
	errno = 0;
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(r->mr, row->flags, &pd, to.p, to.len,
			       row->access));
	EXPECT_EQ(row->want, errno);
	EXPECT_EQ(0, memcmp(&was, r->mr, sizeof(was)));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
	vt_place_close(&to);
}

/* Read-only pages cannot become writable. */
CHECK(read_only)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_READ_ONLY));
	ASSERT_EQ(0, vt_place_reg(r, self->b->pd, RR));
	errno = 0;
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(r->mr, ACCESS, NULL, NULL, 0, ALL));
	EXPECT_EQ(row->want, errno);
	EXPECT_TRUE(vt_place_allows(&self->pair, r, RR));
}

/* With a bound window, each combination returns EBUSY and changes nothing. */
CHECK(bound)
{
	struct vt_bind to;
	struct ibv_mw *mw;
	struct scene s;
	int flags;

	ASSERT_EQ(0, scene_open(&s, self, BIND | row->access));
	mw = ibv_alloc_mw(self->b->pd, row->kind);
	ASSERT_NE(NULL, mw);
	to = (struct vt_bind){ s.r->mr, s.r->iova, 512, RW | RR | RA };
	ASSERT_EQ(IBV_WC_SUCCESS, vt_bind_any(self->b, mw, &to));
	for (flags = 1; flags <= EACH; flags++) {
		EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
			  scene_rereg(&s, flags, FEWER | row->access));
		EXPECT_EQ(row->want, errno);
		EXPECT_EQ(self->b->pd, s.r->mr->pd);
		EXPECT_EQ(s.r->p, s.r->mr->addr);
		EXPECT_EQ(s.r->len, s.r->mr->length);
	}
	/* whatever else is wrong: here nothing is mapped */
	errno = 0;
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(s.r->mr, TRANS, NULL, (void *)4096, 4096, 0));
	EXPECT_EQ(row->want, errno);
	EXPECT_TRUE(vt_place_allows(&self->pair, s.r, ALL));
	EXPECT_TRUE(vt_remote_allows(&self->pair, s.r,
				     (struct vt_remote){ s.r->iova, mw->rkey },
				     0, 512, RW | RR | RA));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, scene_rereg(&s, EACH, ALL | row->access));
	expect_changed(_metadata, &s, EACH, ALL);
	scene_close(&s);
}

/*
 * After rereg has returned, nothing is written to the region's former memory, or by a right that it
 * has lost.
 */
CHECK(in_flight)
{
	struct vt_writer w;
	struct scene s;

	ASSERT_EQ(0, scene_open(&s, self, ALL | row->access));
	vt_writer_aim(&w, &self->pair, s.r, row->kind);
	ASSERT_EQ(0, vt_writer_start(&w));
	ASSERT_EQ(0, scene_rereg(&s, row->flags, FEWER | row->access));
	vt_fill(s.r->p, s.r->len, 4242, 0);
	EXPECT_EQ(row->want, vt_writer_end(&w));
	EXPECT_TRUE(vt_check("old", s.r->p, s.r->len, 4242, 0));
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
	expect_changed(_metadata, &s, row->flags,
		       row->flags & ACCESS ? FEWER : ALL);
	scene_close(&s);
}

/* -- what can change */
ROW(rereg_translation, changes, .flags = TRANS);
ROW(rereg_translation_untouched, to_memory, .sort = VT_MEM_PLAIN, .access = RR);
ROW(rereg_translation_only_read, to_memory, .sort = VT_MEM_READ, .access = RR);
ROW(rereg_translation_huge_page, to_memory, .sort = VT_MEM_HUGE, .access = RR);
ROW(rereg_translation_private_file, to_memory, .sort = VT_MEM_FILE_READ, .access = RR);
ROW(rereg_pd, changes, .flags = PD);
ROW(rereg_access, changes, .flags = ACCESS);
ROW(rereg_translation_pd, changes, .flags = TRANS | PD);
ROW(rereg_translation_access, changes, .flags = TRANS | ACCESS);
ROW(rereg_pd_access, changes, .flags = PD | ACCESS);
ROW(rereg_all, changes, .flags = EACH);
ROW(rereg_translation_on_demand, changes, .flags = TRANS, .access = ODP);
ROW(rereg_pd_on_demand, changes, .flags = PD, .access = ODP);
ROW(rereg_access_on_demand, changes, .flags = ACCESS, .access = ODP);
ROW(rereg_translation_pd_on_demand, changes, .flags = TRANS | PD, .access = ODP);
ROW(rereg_translation_access_on_demand, changes, .flags = TRANS | ACCESS, .access = ODP);
ROW(rereg_pd_access_on_demand, changes, .flags = PD | ACCESS, .access = ODP);
ROW(rereg_all_on_demand, changes, .flags = EACH, .access = ODP);
ROW(rereg_to_on_demand, access_changes, .access = ALL, .flags = ALL | ODP);
ROW(rereg_more_rights, access_changes, .access = RR, .flags = ALL);
ROW(rereg_more_rights_on_demand, access_changes, .access = RR | ODP, .flags = ALL | ODP);
ROW(rereg_zero_based, access_changes, .access = ALL, .flags = ALL | IBV_ACCESS_ZERO_BASED);
ROW(rereg_iova, keeps_iova);
ROW(rereg_iova_on_demand, keeps_iova, .access = ODP);
ROW(rereg_implicit, implicit, .odp = IBV_ODP_SUPPORT_IMPLICIT);
ROW(rereg_in_flight_remote, in_flight, .flags = TRANS, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
ROW(rereg_in_flight_local, in_flight, .flags = TRANS, .kind = 0, .want = IBV_WC_LOC_PROT_ERR);
ROW(rereg_in_flight_on_demand, in_flight, .flags = TRANS, .access = ODP, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
ROW(rereg_in_flight_pd, in_flight, .flags = PD, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
ROW(rereg_in_flight_pd_local, in_flight, .flags = PD, .kind = 0, .want = IBV_WC_LOC_PROT_ERR);
ROW(rereg_in_flight_access, in_flight, .flags = ACCESS, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
ROW(rereg_in_flight_access_on_demand, in_flight, .flags = ACCESS, .access = ODP, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
/* -- errors of libibverbs */
ROW(rereg_unknown_flag, bad_input, .flags = 8, .want = EINVAL);
ROW(rereg_null_address, bad_input, .flags = TRANS, .kind = NO_ADDR, .want = EINVAL);
ROW(rereg_length_0, bad_input, .flags = TRANS, .kind = NO_LEN, .want = EINVAL);
ROW(rereg_access_not_asked_for, bad_input, .flags = PD, .access = LW, .want = EINVAL);
/* -- errors of the kernel */
ROW(rereg_nothing, refused, .flags = 0, .want = EINVAL);
ROW(rereg_bad_access, refused, .flags = ACCESS, .access = RW, .want = EINVAL);
ROW(rereg_unknown_access, refused, .flags = ACCESS, .access = LW | 1 << 15, .want = EINVAL);
ROW(rereg_unknown_pd, refused, .flags = PD, .want = ENOENT);
ROW(rereg_pd_of_wrong_type, refused, .flags = PD, .kind = 1, .want = EINVAL);
ROW(rereg_not_mapped, refused, .sort = VT_MEM_NONE, .flags = TRANS, .want = EFAULT);
ROW(rereg_hole, refused, .sort = VT_MEM_HOLE, .flags = TRANS | ACCESS, .access = ALL, .want = EFAULT);
ROW(rereg_read_only, read_only, .want = EFAULT);
ROW(rereg_bound_type_1, bound, .kind = IBV_MW_TYPE_1, .want = EBUSY, .needs = WINDOWS);
ROW(rereg_bound_type_2, bound, .kind = IBV_MW_TYPE_2, .want = EBUSY, .needs = WINDOWS);
ROW(rereg_bound_on_demand, bound, .access = ODP, .kind = IBV_MW_TYPE_2, .want = EBUSY, .needs = WINDOWS);

VT_HARNESS_MAIN
