// SPDX-License-Identifier: GPL-2.0
/*
 * What ibv_reg_mr() promises, row by row of Documentation/semantics.rst.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 90
 * paths: host veth
 */
#include "rows.h"
#include "system.h"

#include <linux/capability.h>
#include <sys/resource.h>

/* In the optional range, but not defined */
#define UNKNOWN_HINT	(1u << 28)
#define UNKNOWN_FLAG	(1 << 15)

#define ALL		(LW | RW | RR | RA)
#define CAP_FLUSH(flag)	((flag) == IBV_ACCESS_FLUSH_GLOBAL ? 1ull << 38 : 1ull << 39)

/*
 * Memory of @sort can be registered with @access, and allows exactly that. What the process
 * writes from then on is what peers read.
 */
CHECK(allows)
{
	ASSERT_EQ(0, vt_place_map(&self->r, row->sort));
	ASSERT_EQ(0, vt_place_reg(&self->r, self->b->pd, row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, row->access));
}

/* Memory of @sort cannot be registered with @access: errno is @want. */
CHECK(refused)
{
	ASSERT_EQ(0, vt_place_map(&self->r, row->sort));
	EXPECT_EQ(-row->want, vt_place_reg(&self->r, self->b->pd, row->access));
	/* and the attempt has left nothing behind */
	EXPECT_EQ(0, vt_place_open(&self->r, self->b->pd, ALL));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
}

/* A window can be bound to it, which needs MW_BIND. */
CHECK(can_bind)
{
	struct ibv_mw_bind bind = { .bind_info = { .mw_access_flags = RR } };
	struct ibv_mw *mw;

	ASSERT_EQ(0, vt_place_open(&self->r, self->b->pd,
				    ALL | row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	mw = ibv_alloc_mw(self->b->pd, IBV_MW_TYPE_1);
	ASSERT_NE(NULL, mw);
	bind.bind_info.mr = self->r.mr;
	bind.bind_info.addr = self->r.iova;
	bind.bind_info.length = 8;
	bind.send_flags = IBV_SEND_SIGNALED;
	ASSERT_EQ(0, ibv_bind_mw(self->b->qp, mw, &bind));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b->scq, 0));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

/*
 * The flag is valid if the device announces the feature. If not, the device
 * refuses the flag; a core that does not know it (Linux 6.1) refuses it as
 * invalid before that.
 */
CHECK(flush_flag)
{
	struct ibv_device_attr_ex attr;
	const char *type = getenv("LINK_TYPE");
	/* softmr announces this one, unless the core does not know it */
	bool ours = row->access == IBV_ACCESS_FLUSH_GLOBAL && (!type || !strcmp(type, "softmr"));
	int ret;

	ASSERT_EQ(0, ibv_query_device_ex(self->b->dev.ctx, NULL, &attr));
	ASSERT_EQ(0, vt_place_map(&self->r, VT_MEM_PLAIN));
	ret = vt_place_reg(&self->r, self->b->pd, ALL | row->access);
	if (attr.device_cap_flags_ex & CAP_FLUSH(row->access)) {
		ASSERT_EQ(-row->want, ret);
		if (!ret)
			EXPECT_TRUE(vt_place_allows(&self->pair, &self->r, ALL));
	} else {
		EXPECT_TRUE(ret == -EINVAL || (ret == -EOPNOTSUPP && !ours));
	}
}

/* The pages need not be present; they are brought in when they are used. */
CHECK(on_demand)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	ASSERT_EQ(0, vt_place_reg(r, self->b->pd, ALL | row->access));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
	ASSERT_EQ(r->base, mmap(r->base, r->room, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

/* Any iova is valid if it has the same offset in its page as the memory. */
CHECK(iova)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	r->iova = 0x123456789000ull + ((uintptr_t)r->p & 4095);
	r->mr = ibv_reg_mr_iova(self->b->pd, r->p, r->len, r->iova,
				ALL | row->access);
	ASSERT_NE(NULL, r->mr);
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

CHECK(iova_refused)
{
	struct vt_place *r = &self->r;
	uint64_t page_offset, iova;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	page_offset = (uintptr_t)r->p & 4095;
	iova = row->kind ? UINT64_MAX - 4095 + page_offset :
			   (uintptr_t)r->p + 1;
	errno = 0;
	EXPECT_EQ(NULL, ibv_reg_mr_iova(self->b->pd, r->p, r->len, iova, ALL));
	EXPECT_EQ(row->want, errno);
}

CHECK(range_wraps)
{
	errno = 0;
	EXPECT_EQ(NULL, ibv_reg_mr(self->b->pd, (void *)-4096l, 8192,
				   row->access));
	EXPECT_EQ(row->want, errno);
}

/* A key without any bytes: operations of length 0 succeed, others fail. */
CHECK(length_0)
{
	struct vt_place *r = &self->r;
	struct ibv_sge sge;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	r->mr = ibv_reg_mr(self->b->pd, r->p, 0, ALL | row->access);
	ASSERT_NE(NULL, r->mr);
	sge = vt_place_sge(r, 0, 0);
	EXPECT_EQ(IBV_WC_SUCCESS,
		  vt_op(self->a, IBV_WR_RDMA_WRITE, NULL,
			(struct vt_remote){ r->iova, r->mr->rkey }));
	EXPECT_EQ(IBV_WC_SUCCESS,
		  vt_op(self->b, IBV_WR_RDMA_WRITE, &sge,
			(struct vt_remote){ (uintptr_t)self->a->buf.p,
					    self->a->buf.mr->rkey }));
	sge.length = 1;
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR,
		  vt_op(self->b, IBV_WR_RDMA_WRITE, &sge,
			(struct vt_remote){ (uintptr_t)self->a->buf.p,
					    self->a->buf.mr->rkey }));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	sge = vt_sge(&self->a->buf, 0, 1);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_op(self->a, IBV_WR_RDMA_WRITE, &sge,
			(struct vt_remote){ r->iova, r->mr->rkey }));
}

/* -- RLIMIT_MEMLOCK */

/* Two regions together exceed the limit, each alone does not. */
CHECK(memlock)
{
	enum { LEN = 600 << 10 };
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct ibv_pd *pd = self->b->pd;
	struct ibv_mr *first, *second;
	uint8_t *p;

	p = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	if (row->want)
		ASSERT_EQ(0, vt_capability(CAP_IPC_LOCK, false));
	first = ibv_reg_mr(pd, p, LEN, ALL | row->access);
	ASSERT_NE(NULL, first);
	errno = 0;
	second = ibv_reg_mr(pd, p + LEN, LEN, ALL | row->access);
	EXPECT_EQ(row->want, errno);
	EXPECT_EQ(row->want != 0, second == NULL);
	/* Deregistered and refused regions do not count against the limit. */
	EXPECT_EQ(0, ibv_dereg_mr(first));
	if (second)
		EXPECT_EQ(0, ibv_dereg_mr(second));
	first = ibv_reg_mr(pd, p, LEN, ALL | row->access);
	EXPECT_NE(NULL, first);
	EXPECT_EQ(0, ibv_dereg_mr(first));
	munmap(p, 2 * LEN);
}

/* -- implicit on-demand paging */

CHECK(implicit)
{
	struct vt_place *r = &self->r;

	ASSERT_EQ(0, vt_place_map(r, VT_MEM_PLAIN));
	r->mr = ibv_reg_mr(self->b->pd, NULL, SIZE_MAX, ALL | ODP);
	ASSERT_NE(NULL, r->mr);
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

enum { ADDR_NULL, ADDR_OTHER, IOVA_OTHER };

CHECK(implicit_refused)
{
	void *addr = row->kind == ADDR_OTHER ? (void *)4096 : NULL;
	uint64_t iova = row->kind == ADDR_NULL ? 0 : 4096;

	errno = 0;
	EXPECT_EQ(NULL, ibv_reg_mr_iova(self->b->pd, addr, SIZE_MAX, iova,
					ALL | row->access));
	EXPECT_EQ(row->want, errno);
}

/* -- fork */

/*
 * The child has its own copy of the memory, and reports whether that is
 * unchanged.
 */
static int child_with_memory(struct vt_place *r, int go)
{
	char c;

	vt_fill(r->p, r->len, 4711, 0);
	if (read(go, &c, 1) != 0)
		return 2;
	return vt_check("child", r->p, r->len, 4711, 0) ? 0 : 1;
}

CHECK(forked)
{
	struct vt_place *r = &self->r;
	int go[2], status;
	pid_t pid;
	bool kept;

	if (row->kind)
		ASSERT_EQ(0, ibv_fork_init());
	ASSERT_EQ(0, vt_place_open(r, self->b->pd, ALL));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(go[1]);
		_exit(child_with_memory(r, go[0]));
	}
	close(go[0]);
	EXPECT_TRUE(vt_check("parent", r->p, r->len, 7, 0));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
	close(go[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* After ibv_fork_init() the child may not have the pages at all. */
	kept = row->kind && ibv_is_fork_initialized() == IBV_FORK_ENABLED;
	EXPECT_EQ(kept, WIFSIGNALED(status) != 0);
	EXPECT_EQ(!kept, WIFEXITED(status) && !WEXITSTATUS(status));
	EXPECT_TRUE(vt_place_allows(&self->pair, r, ALL));
}

/* -- access */
ROW(reg_local_read, allows, .access = 0);
ROW(reg_local_write, allows, .access = LW);
ROW(reg_remote_write, allows, .access = LW | RW);
ROW(reg_remote_read, allows, .access = RR);
ROW(reg_remote_atomic, allows, .access = LW | RA);
ROW(reg_mw_bind, can_bind, .access = IBV_ACCESS_MW_BIND, .needs = WINDOWS);
ROW(reg_zero_based, allows, .access = ALL | IBV_ACCESS_ZERO_BASED);
ROW(reg_zero_based_on_demand, allows, .access = ALL | ODP | IBV_ACCESS_ZERO_BASED);
ROW(reg_on_demand, on_demand, .access = ODP);
ROW(reg_on_demand_rights, allows, .access = ODP | LW | RR);
ROW(reg_hugetlb, allows, .access = ALL | IBV_ACCESS_HUGETLB);
ROW(reg_relaxed_ordering, allows, .access = ALL | IBV_ACCESS_RELAXED_ORDERING);
ROW(reg_unknown_hint, allows, .access = ALL | UNKNOWN_HINT);
ROW(reg_flush_global, flush_flag, .access = IBV_ACCESS_FLUSH_GLOBAL);
ROW(reg_flush_persistent, flush_flag, .access = IBV_ACCESS_FLUSH_PERSISTENT, .want = EINVAL);
ROW(reg_remote_write_alone, refused, .access = RW, .want = EINVAL);
ROW(reg_remote_atomic_alone, refused, .access = RA, .want = EINVAL);
ROW(reg_unknown_flag, refused, .access = LW | UNKNOWN_FLAG, .want = EINVAL);
/* -- addresses */
ROW(reg_iova, iova, .access = 0);
ROW(reg_iova_on_demand, iova, .access = ODP);
ROW(reg_iova_page_offset, iova_refused, .want = EINVAL);
ROW(reg_iova_wraps, iova_refused, .kind = 1, .want = EINVAL);
ROW(reg_range_wraps, range_wraps, .access = LW, .want = EINVAL);
ROW(reg_length_0, length_0, .access = 0);
ROW(reg_length_0_on_demand, length_0, .access = ODP);
/* -- memory */
ROW(reg_not_mapped, refused, .sort = VT_MEM_NONE, .access = 0, .want = EFAULT);
ROW(reg_hole, refused, .sort = VT_MEM_HOLE, .access = LW, .want = EFAULT);
ROW(reg_untouched, allows, .sort = VT_MEM_PLAIN, .access = RR);
ROW(reg_only_read, allows, .sort = VT_MEM_READ, .access = RR);
ROW(reg_only_read_local, allows, .sort = VT_MEM_READ, .access = 0);
ROW(reg_huge_page, allows, .sort = VT_MEM_HUGE, .access = RR);
ROW(reg_private_file, allows, .sort = VT_MEM_FILE, .access = RR);
ROW(reg_private_file_read, allows, .sort = VT_MEM_FILE_READ, .access = RR);
ROW(reg_private_file_written, allows, .sort = VT_MEM_FILE_READ, .access = ALL);
ROW(reg_shared_file, allows, .sort = VT_MEM_SHARED, .access = RR);
ROW(reg_shared_file_read_only, allows, .sort = VT_MEM_SHARED_READ_ONLY, .access = RR);
ROW(reg_read_only, allows, .sort = VT_MEM_READ_ONLY, .access = RR);
ROW(reg_read_only_written, refused, .sort = VT_MEM_READ_ONLY, .access = LW, .want = EFAULT);
ROW(reg_memlock, memlock, .access = 0, .want = ENOMEM);
ROW(reg_memlock_capable, memlock, .access = 0, .want = 0);
ROW(reg_fork, forked, .kind = 0);
ROW(reg_fork_init, forked, .kind = 1);
/* -- implicit */
ROW(reg_implicit, implicit, .odp = IBV_ODP_SUPPORT_IMPLICIT);
ROW(reg_implicit_pinned, implicit_refused, .kind = ADDR_NULL, .access = 0, .want = EINVAL);
ROW(reg_implicit_iova, implicit_refused, .kind = IOVA_OTHER, .access = ODP, .want = EINVAL, .odp = IBV_ODP_SUPPORT_IMPLICIT);
ROW(reg_implicit_address, implicit_refused, .kind = ADDR_OTHER, .access = ODP, .want = EINVAL, .odp = IBV_ODP_SUPPORT_IMPLICIT);
ROW(reg_implicit_hugetlb, implicit_refused, .kind = ADDR_NULL, .access = ODP | IBV_ACCESS_HUGETLB, .want = EINVAL, .odp = IBV_ODP_SUPPORT_IMPLICIT);

VT_HARNESS_MAIN
