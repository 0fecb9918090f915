// SPDX-License-Identifier: GPL-2.0
/*
 * What ibv_dereg_mr() promises, row by row of Documentation/semantics.rst.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 90
 * paths: host veth
 */
#include "netdev.h"
#include "rows.h"
#include "window.h"
#include "writer.h"

#include <dlfcn.h>
#include <infiniband/softmrdv.h>
#include <rdma/rdma_verbs.h>

#define ALL	(LW | RW | RR | RA)
#define BIND	(ALL | IBV_ACCESS_MW_BIND)
#define BAD_HANDLE	0x7ffffff0

/* How a window's binding ends */
enum {
	BY_UNBIND, BY_INVALIDATE, BY_REMOTE_INVALIDATE, BY_DEALLOC,
	BY_REBIND, BY_DESTROY_QP,
};

/* A region on b's PD with a window of all its rights on bytes 8 to 1032. */
#define WIN_OFF	8
#define WIN_LEN	1024

static struct vt_bind window_of(const struct vt_place *r)
{
	return (struct vt_bind){ r->mr, r->iova + WIN_OFF, WIN_LEN,
				 RW | RR | RA };
}

static struct ibv_mw *bound_window(struct __test_metadata *_metadata,
				   row_data *self, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(self->b->pd, type);
	struct vt_bind to = window_of(&self->r);

	ASSERT_NE(NULL, mw);
	ASSERT_EQ(IBV_WC_SUCCESS, vt_bind_any(self->b, mw, &to));
	return mw;
}

/* Whether the peer may use a window of window_of() with all its rights */
static bool window_works(row_data *self, const struct ibv_mw *mw)
{
	struct vt_remote remote = { self->r.iova + WIN_OFF, mw->rkey };

	return vt_remote_allows(&self->pair, &self->r, remote, WIN_OFF,
				WIN_LEN, RW | RR | RA);
}

CHECK(not_bound)
{
	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	self->r.mr = NULL;
}

/* The keys are invalid when the call returns. */
CHECK(dead_key)
{
	struct ibv_sge sge, near = vt_sge(&self->a->buf, 0, 64);
	struct vt_remote far = { (uintptr_t)self->a->buf.p,
				 self->a->buf.mr->rkey }, remote;

	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, ALL | row->access));
	sge = vt_place_sge(&self->r, 0, 64);
	remote = (struct vt_remote){ self->r.iova, self->r.mr->rkey };
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
	self->r.mr = NULL;
	if (row->kind)
		EXPECT_EQ(row->want, vt_op(self->a, IBV_WR_RDMA_WRITE, &near,
					   remote));
	if (!row->kind)
		EXPECT_EQ(row->want, vt_op(self->b, IBV_WR_RDMA_WRITE, &sge,
					   far));
}

/* EBUSY each time; region and window still work. */
CHECK(bound)
{
	struct ibv_mr *mr, was;
	struct ibv_mw *mw;

	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, BIND | row->access));
	mw = bound_window(_metadata, self, row->kind);
	mr = self->r.mr;
	was = *mr;
	EXPECT_EQ(row->want, ibv_dereg_mr(mr));
	EXPECT_EQ(row->want, ibv_dereg_mr(mr));
	EXPECT_EQ(0, memcmp(mr, &was, sizeof(was)));
	EXPECT_TRUE(vt_local_allows(&self->pair, &self->r, ALL));
	EXPECT_TRUE(vt_remote_allows(&self->pair, &self->r,
				     (struct vt_remote){ self->r.iova, mr->rkey },
				     0, self->r.len, ALL));
	EXPECT_TRUE(window_works(self, mw));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	self->r.mr = NULL;
}

static void free_region(struct __test_metadata *_metadata, row_data *self,
			int by, struct ibv_mw *mw, struct vt_place *other)
{
	struct vt_bind nothing = {}, to;

	switch (by) {
	case BY_UNBIND:
		ASSERT_EQ(IBV_WC_SUCCESS, vt_bind(self->b, mw, &nothing));
		break;
	case BY_REBIND:
		ASSERT_EQ(0, vt_place_open(other, self->b->pd, BIND));
		to = window_of(other);
		ASSERT_EQ(IBV_WC_SUCCESS, vt_bind(self->b, mw, &to));
		EXPECT_EQ(EBUSY, ibv_dereg_mr(other->mr));
		break;
	case BY_INVALIDATE:
		ASSERT_EQ(IBV_WC_SUCCESS, vt_invalidate(self->b, mw->rkey));
		break;
	case BY_REMOTE_INVALIDATE:
		ASSERT_EQ(0, vt_post_recv(self->b, 1, NULL, 0));
		ASSERT_EQ(IBV_WC_SUCCESS,
			  vt_send_invalidate(self->a, mw->rkey));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_status(self->b->rcq, 1));
		break;
	case BY_DEALLOC:
		ASSERT_EQ(0, ibv_dealloc_mw(mw));
		break;
	case BY_DESTROY_QP:
		ASSERT_EQ(0, ibv_destroy_qp(self->b->qp));
		self->b->qp = NULL;
		break;
	}
}

/* dereg succeeds after the window is gone. */
CHECK(goes_then)
{
	enum ibv_mw_type type = IBV_MW_TYPE_2;
	struct vt_place other = {};
	struct ibv_mw *mw;

	if (row->kind == BY_UNBIND || row->kind == BY_REBIND)
		type = IBV_MW_TYPE_1;
	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, BIND));
	mw = bound_window(_metadata, self, type);
	EXPECT_EQ(EBUSY, ibv_dereg_mr(self->r.mr));
	free_region(_metadata, self, row->kind, mw, &other);
	EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	self->r.mr = NULL;
	if (row->kind != BY_DEALLOC)
		EXPECT_EQ(0, ibv_dealloc_mw(mw));
	vt_place_close(&other);
}

/* -- operations in flight */

/* After dereg has returned, nothing is written to the memory. */
CHECK(in_flight)
{
	struct vt_place *r = &self->r;
	struct vt_writer w;

	ASSERT_EQ(0, vt_place_open(r, self->b->pd, ALL | row->access));
	vt_writer_aim(&w, &self->pair, r, row->kind);
	ASSERT_EQ(0, vt_writer_start(&w));
	ASSERT_EQ(0, ibv_dereg_mr(r->mr));
	vt_fill(r->p, r->len, 4242, 0);
	r->mr = NULL;
	EXPECT_EQ(row->want, vt_writer_end(&w));
	EXPECT_TRUE(vt_check("afterwards", r->p, r->len, 4242, 0));
}

/* -- handles */

CHECK(handle)
{
	struct ibv_mr *mr;
	uint32_t handle;

	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, ALL));
	mr = self->r.mr;
	handle = mr->handle;
	mr->handle = row->kind ? BAD_HANDLE : self->b->pd->handle;
	EXPECT_EQ(row->want, ibv_dereg_mr(mr));
	mr->handle = handle;
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	self->r.mr = NULL;
}

CHECK(librdmacm)
{
	struct ibv_mw *mw;

	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, BIND));
	mw = bound_window(_metadata, self, IBV_MW_TYPE_2);
	errno = 0;
	EXPECT_EQ(-1, rdma_dereg_mr(self->r.mr));
	EXPECT_EQ(row->want, errno);
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
	EXPECT_EQ(0, rdma_dereg_mr(self->r.mr));
	self->r.mr = NULL;
}

/* -- which windows? */

typedef int query_fn(struct ibv_mr *mr, struct softmrdv_mr_window *windows,
		     uint32_t max, uint32_t *total);

CHECK(report)
{
	struct softmrdv_mr_window win[3] = {};
	void *lib = dlopen("libsoftmr.so.1", RTLD_NOW);
	struct ibv_mw *mw[2];
	query_fn *query;
	uint32_t total;
	int i, k;

	ASSERT_NE(NULL, lib);
	query = (query_fn *)dlsym(lib, "softmrdv_query_mr_windows");
	ASSERT_NE(NULL, query);
	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd, BIND));
	ASSERT_EQ(0, query(self->r.mr, win, 3, &total));
	EXPECT_EQ(0, total);
	mw[0] = bound_window(_metadata, self, IBV_MW_TYPE_1);
	mw[1] = bound_window(_metadata, self, IBV_MW_TYPE_2);
	EXPECT_EQ(EBUSY, ibv_dereg_mr(self->r.mr));
	ASSERT_EQ(0, query(self->r.mr, win, 3, &total));
	ASSERT_EQ(2, total);
	for (i = 0; i < 2; i++) {
		k = win[0].type != mw[i]->type;
		EXPECT_EQ(mw[i]->handle, win[k].handle);
		EXPECT_EQ(mw[i]->rkey, win[k].rkey);
		EXPECT_EQ(mw[i]->type, win[k].type);
		EXPECT_EQ(i ? self->b->qp->qp_num : 0, win[k].qp_num);
		EXPECT_EQ(self->r.iova + WIN_OFF, win[k].addr);
		EXPECT_EQ(WIN_LEN, win[k].length);
		EXPECT_EQ(RW | RR | RA, win[k].access);
		EXPECT_EQ(0, ibv_dealloc_mw(mw[i]));
	}
	ASSERT_EQ(0, query(self->r.mr, win, 3, &total));
	EXPECT_EQ(0, total);
}

/* -- regions that end without a deregistration */

/* The number of objects of a kind on the device, by "rdma resource show" */
static int resources(const char *dev, const char *what)
{
	char command[128], word[32];
	int n = -1, next;
	FILE *f;

	snprintf(command, sizeof(command), "rdma resource show %s", dev);
	f = popen(command, "r");
	while (f && fscanf(f, "%31s", word) == 1)
		if (!strcmp(word, what) && fscanf(f, "%d", &next) == 1)
			n = next;
	if (f)
		pclose(f);
	return n;
}

static int open_and_bind(struct vt_pair *pair, struct vt_place *r)
{
	struct ibv_mw *mw;
	struct vt_bind to;
	int type, ret;

	ret = vt_pair_open(pair, &vt_defaults);
	if (!ret)
		ret = vt_place_open(r, pair->b.pd, BIND);
	for (type = IBV_MW_TYPE_1; !ret && type <= IBV_MW_TYPE_2; type++) {
		mw = ibv_alloc_mw(pair->b.pd, type);
		to = window_of(r);
		ret = mw ? vt_bind_any(&pair->b, mw, &to) : -errno;
	}
	return ret;
}

/* Close the device with a region and a window of type 1 bound to it. */
static int close_early(struct vt_ep *ep)
{
	/*
	 * Mapped rings keep the file open, so the kernel keeps the objects:
	 * unmap them.
	 */
	if (ibv_destroy_qp(ep->qp) || ibv_destroy_cq(ep->scq) ||
	    ibv_destroy_cq(ep->rcq))
		return -EBUSY;
	return ibv_close_device(ep->dev.ctx);
}

static int abandon(bool by_close, const char *dev, int before)
{
	struct vt_place r;
	struct vt_pair pair;
	int more = 2;

	if (open_and_bind(&pair, &r))
		return 4;
	/* the region, b's buffer, and that of a if it is on this device, too */
	more += !strcmp(ibv_get_device_name(pair.a.dev.ctx->device), dev);
	if (resources(dev, "mr") != before + more)
		return 1;
	if (!by_close)
		return 0;
	if (close_early(&pair.a) || close_early(&pair.b))
		return 2;
	return resources(dev, "mr") == before ? 0 : 3;
}

/* The process ends, or it closes the device, with windows bound. */
CHECK(abandoned)
{
	const char *dev = getenv("SMR_DEV2");
	int before = resources(dev, "mr");

	ASSERT_LE(0, before);
	EXPECT_EQ(0, VT_IN_CHILD(abandon(row->kind, dev, before)));
	EXPECT_EQ(before, resources(dev, "mr"));
}

CHECK(removed)
{
	struct vt_place r;
	struct vt_pair pair;

	ASSERT_EQ(0, vt_own_link_add());
	EXPECT_EQ(0, open_and_bind(&pair, &r));
	EXPECT_EQ(0, vt_own_link_del());
	EXPECT_EQ(-1, resources(VT_OWN_LINK, "mr"));
	/* libibverbs' own objects remain. */
	vt_place_close(&r);
	vt_pair_close(&pair);
	EXPECT_EQ(0, system("ip link del " VT_OWN_NETDEV));
}

/* -- no window */
ROW(dereg, not_bound, .access = ALL);
ROW(dereg_on_demand, not_bound, .access = ALL | ODP);
ROW(dereg_local_key, dead_key, .kind = 0, .want = IBV_WC_LOC_PROT_ERR);
ROW(dereg_remote_key, dead_key, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
ROW(dereg_in_flight_remote, in_flight, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
ROW(dereg_in_flight_local, in_flight, .kind = 0, .want = IBV_WC_LOC_PROT_ERR);
ROW(dereg_in_flight_on_demand, in_flight, .access = ODP, .kind = 1, .want = IBV_WC_REM_ACCESS_ERR);
/* -- a window is bound */
ROW(dereg_bound_type_1, bound, .kind = IBV_MW_TYPE_1, .want = EBUSY, .needs = WINDOWS);
ROW(dereg_bound_type_2, bound, .kind = IBV_MW_TYPE_2, .want = EBUSY, .needs = WINDOWS);
ROW(dereg_bound_on_demand, bound, .access = ODP, .kind = IBV_MW_TYPE_2, .want = EBUSY, .needs = WINDOWS);
ROW(dereg_after_unbind, goes_then, .kind = BY_UNBIND, .needs = WINDOWS);
ROW(dereg_after_rebind, goes_then, .kind = BY_REBIND, .needs = WINDOWS);
ROW(dereg_after_invalidate, goes_then, .kind = BY_INVALIDATE, .needs = WINDOWS);
ROW(dereg_after_remote_invalidate, goes_then, .kind = BY_REMOTE_INVALIDATE, .needs = WINDOWS);
ROW(dereg_after_dealloc, goes_then, .kind = BY_DEALLOC, .needs = WINDOWS);
ROW(dereg_after_destroy_qp, goes_then, .kind = BY_DESTROY_QP, .needs = WINDOWS);
ROW(dereg_report, report, .needs = WINDOWS);
/* -- handles; and librdmacm's call */
ROW(dereg_bad_handle, handle, .kind = 1, .want = ENOENT);
ROW(dereg_wrong_type, handle, .kind = 0, .want = EINVAL);
ROW(dereg_librdmacm, librdmacm, .want = EBUSY, .needs = WINDOWS);
/* -- regions that end on their own */
ROW(dereg_exit, abandoned, .kind = 0, .needs = WINDOWS);
ROW(dereg_close, abandoned, .kind = 1, .needs = WINDOWS);
ROW(dereg_device_removed, removed);

VT_HARNESS_MAIN
