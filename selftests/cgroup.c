// SPDX-License-Identifier: GPL-2.0
/*
 * The rdma controller of cgroups (Documentation/admin-guide/cgroup-v2.rst,
 * "RDMA"): a process that is at its limit of contexts (hca_handle) or objects
 * (hca_object) gets EAGAIN, and gets more when the limit is raised. And the
 * memory controller: memory for on-demand paging is charged to the process.
 *
 * timeout: 60
 * paths: host
 */
#include "harness.h"

#include <sys/stat.h>

#include "objects.h"
#include "region.h"
#include "system.h"

#define CGROUPS	"/sys/fs/cgroup/"
#define GROUP	CGROUPS "softmr-test"

/* "max" for a negative one */
static int limit(int handles, int objects)
{
	char line[128], h[16] = "max", o[16] = "max";

	if (handles >= 0)
		snprintf(h, sizeof(h), "%d", handles);
	if (objects >= 0)
		snprintf(o, sizeof(o), "%d", objects);
	snprintf(line, sizeof(line), "%s hca_handle=%s hca_object=%s",
		 getenv("SMR_DEV"), h, o);
	return vt_write_file(GROUP "/rdma.max", line);
}

/*
 * The group's current count of @what; a controller without entries prints
 * nothing.
 */
static int used(const char *what)
{
	size_t dev = strlen(getenv("SMR_DEV"));
	FILE *f = fopen(GROUP "/rdma.current", "r");
	char line[256];
	int n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char *p = strstr(line, what);

		if (!strncmp(line, getenv("SMR_DEV"), dev) &&
		    line[dev] == ' ' && p)
			n = atoi(p + strlen(what) + 1);
	}
	if (!f)
		return -errno;
	fclose(f);
	return n;
}

/* The group's @what in bytes, from the memory controller */
static long memory(const char *what)
{
	FILE *f = fopen(GROUP "/memory.stat", "r");
	long bytes = -1, value;
	char name[64];

	while (f && bytes < 0 && fscanf(f, "%63s %ld", name, &value) == 2)
		if (!strcmp(name, what))
			bytes = value;
	if (f)
		fclose(f);
	return bytes;
}

/* Each test is a process of its own, which joins the group. */
static int enter_group(void)
{
	int ret = vt_write_file(CGROUPS "cgroup.subtree_control", "+rdma +memory");

	if (ret)
		return ret;
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		return -errno;
	return vt_write_file(GROUP "/cgroup.procs", "0");
}

/*
 * The rdma controller of Linux 6.12 leaves a removed group with limits in the
 * device's list, and uses it later. So the limits are reset first.
 */
static void leave_group(void)
{
	vt_write_file(CGROUPS "cgroup.procs", "0");
	limit(-1, -1);
	rmdir(GROUP);
}

/* Return: -EOPNOTSUPP if there are no such groups; the reason is printed. */
static int open_in_group(struct vt_dev *dev)
{
	int ret;

	if (enter_group()) {
		printf("# this kernel has no rdma or no memory controller\n");
		leave_group();
		return -EOPNOTSUPP;
	}
	/*
	 * if the controller does not know the device, that is a failure and not
	 * a skip
	 */
	ret = limit(-1, -1) ? -EIO : vt_dev_open(dev, 0, AF_INET);
	if (ret)
		leave_group();
	return ret;
}

FIXTURE(cgroup)
{
	struct vt_dev dev;
};

FIXTURE_SETUP(cgroup)
{
	VT_SETUP(open_in_group(&self->dev));
}

FIXTURE_TEARDOWN(cgroup)
{
	vt_dev_close(&self->dev);
	leave_group();
}

TEST_F(cgroup, contexts)
{
	struct vt_dev more, another;

	EXPECT_EQ(1, used("hca_handle"));
	ASSERT_EQ(0, limit(1, -1));
	EXPECT_EQ(-EAGAIN, vt_dev_open(&more, 0, AF_INET));
	EXPECT_EQ(1, used("hca_handle"));
	ASSERT_EQ(0, limit(2, -1));
	ASSERT_EQ(0, vt_dev_open(&more, 0, AF_INET));
	EXPECT_EQ(2, used("hca_handle"));
	EXPECT_EQ(-EAGAIN, vt_dev_open(&another, 0, AF_INET));
	EXPECT_EQ(0, ibv_close_device(more.ctx));
	ASSERT_EQ(0, vt_dev_open(&more, 0, AF_INET));
	EXPECT_EQ(0, ibv_close_device(more.ctx));
}

/* Memory is charged to the process that uses it, and uncharged when it ends. */
TEST_F(cgroup, process_dies)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct vt_dev dev;

		_exit(vt_dev_open(&dev, 0, AF_INET) || !ibv_alloc_pd(dev.ctx) ||
		      used("hca_handle") != 2 || used("hca_object") != 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, used("hca_handle"));
	EXPECT_EQ(0, used("hca_object"));
}

/* Pages that lie far apart: each has its own chunk, and its own tree nodes. */
TEST_F(cgroup, on_demand_memory)
{
	enum { N = 512, NODE = 512, ACCESS = IBV_ACCESS_LOCAL_WRITE |
					     IBV_ACCESS_ON_DEMAND };
	size_t step = 128ul << 20;
	struct ibv_pd *pd = ibv_alloc_pd(self->dev.ctx);
	struct vt_region r;
	struct ibv_sge sge;
	long before;
	uint8_t *p;
	int i;

	p = vt_map(N * step, step, MAP_PRIVATE | MAP_NORESERVE, -1);
	ASSERT_NE(NULL, p);
	madvise(p, N * step, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, vt_region_reg(&r, pd, p, N * step, (uintptr_t)p, ACCESS));
	before = memory("slab_reclaimable");
	ASSERT_LE(0, before);
	for (i = 0; i < N; i++) {
		sge = (struct ibv_sge){ r.iova + i * step, 1, r.mr->lkey };
		ASSERT_EQ(0, ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
					   IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	}
	EXPECT_LT(N * NODE, memory("slab_reclaimable") - before);
	vt_region_close(&r);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* The PD and CQ that the objects need are made before the limit is set. */
FIXTURE(objects)
{
	struct vt_dev dev;
	struct vt_parts parts;
};

FIXTURE_VARIANT(objects)
{
	enum vt_object kind;
};

FIXTURE_VARIANT_ADD(objects, pd) { VT_PD };
FIXTURE_VARIANT_ADD(objects, cq) { VT_CQ };
FIXTURE_VARIANT_ADD(objects, qp) { VT_QP };
FIXTURE_VARIANT_ADD(objects, srq) { VT_SRQ };
FIXTURE_VARIANT_ADD(objects, mr) { VT_MR };
FIXTURE_VARIANT_ADD(objects, mw) { VT_MW };
FIXTURE_VARIANT_ADD(objects, ah) { VT_AH };
FIXTURE_VARIANT_ADD(objects, dm) { VT_DM };
FIXTURE_VARIANT_ADD(objects, xrcd) { VT_XRCD };

FIXTURE_SETUP(objects)
{
	struct vt_parts *parts = &self->parts;

	VT_SETUP(open_in_group(&self->dev));
	parts->address = vt_ah_attr(self->dev.gid_index, &self->dev.gid);
	parts->pd = ibv_alloc_pd(self->dev.ctx);
	ASSERT_NE(NULL, parts->pd);
	parts->cq = ibv_create_cq(self->dev.ctx, 1, NULL, NULL, 0);
	ASSERT_NE(NULL, parts->cq);
}

FIXTURE_TEARDOWN(objects)
{
	ibv_destroy_cq(self->parts.cq);
	ibv_dealloc_pd(self->parts.pd);
	vt_dev_close(&self->dev);
	leave_group();
}

TEST_F(objects, limited)
{
	int before = used("hca_object"), i;
	void *o[3];

	EXPECT_EQ(2, before);
	ASSERT_EQ(0, limit(-1, before + 2));
	for (i = 0; i < 2; i++) {
		o[i] = vt_object_create(variant->kind, &self->parts);
		ASSERT_NE(NULL, o[i])
			TH_LOG("%d: errno %d", i, errno);
	}
	EXPECT_EQ(NULL, vt_object_create(variant->kind, &self->parts));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(before + 2, used("hca_object"));

	ASSERT_EQ(0, limit(-1, before + 3));
	o[2] = vt_object_create(variant->kind, &self->parts);
	ASSERT_NE(NULL, o[2])
		TH_LOG("after the limit was raised: errno %d", errno);
	EXPECT_EQ(NULL, vt_object_create(variant->kind, &self->parts));
	/* after one is destroyed, another one can be made */
	EXPECT_EQ(0, vt_object_destroy(variant->kind, o[0]));
	o[0] = vt_object_create(variant->kind, &self->parts);
	ASSERT_NE(NULL, o[0]);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, vt_object_destroy(variant->kind, o[i]));
	EXPECT_EQ(before, used("hca_object"));
}

VT_HARNESS_MAIN
