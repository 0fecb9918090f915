// SPDX-License-Identifier: GPL-2.0
/*
 * The rdma controller of cgroups (Documentation/admin-guide/cgroup-v2.rst,
 * "RDMA"): a process that is at its limit of contexts (hca_handle) or objects
 * (hca_object) gets EAGAIN, and more when the limit is raised.
 *
 * beds: uml-kasan uml-lockdep qemu-7.2
 * timeout: 60
 * paths: host
 */
#include "harness.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CGROUPS	"/sys/fs/cgroup/"
#define GROUP	CGROUPS "softmr-test"

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

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
	return put(GROUP "/rdma.max", line);
}

/* What the group has of @what now; nothing is said where there is nothing. */
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

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), getenv("SMR_DEV")))
			continue;
		errno = 0;
		ctx = ibv_open_device(list[i]);
	}
	i = errno;
	ibv_free_device_list(list);
	errno = i;
	return ctx;
}

/* Each test is a process of its own, which goes into the group. */
static int enter_group(void)
{
	int ret = put(CGROUPS "cgroup.subtree_control", "+rdma");

	if (ret)
		return ret;
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		return -errno;
	return put(GROUP "/cgroup.procs", "0");
}

static void leave_group(void)
{
	put(CGROUPS "cgroup.procs", "0");
	rmdir(GROUP);
}

FIXTURE(cgroup)
{
	struct ibv_context *ctx;
};

FIXTURE_SETUP(cgroup)
{
	if (enter_group()) {
		leave_group();
		SKIP(return, "this kernel has no rdma controller");
	}
	ASSERT_EQ(0, limit(-1, -1));
	self->ctx = open_device();
	ASSERT_NE(NULL, self->ctx);
}

FIXTURE_TEARDOWN(cgroup)
{
	if (self->ctx)
		ibv_close_device(self->ctx);
	leave_group();
}

TEST_F(cgroup, contexts)
{
	struct ibv_context *more;

	EXPECT_EQ(1, used("hca_handle"));
	ASSERT_EQ(0, limit(1, -1));
	EXPECT_EQ(NULL, open_device());
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(1, used("hca_handle"));
	ASSERT_EQ(0, limit(2, -1));
	more = open_device();
	ASSERT_NE(NULL, more);
	EXPECT_EQ(2, used("hca_handle"));
	EXPECT_EQ(NULL, open_device());
	EXPECT_EQ(0, ibv_close_device(more));
	more = open_device();
	ASSERT_NE(NULL, more);
	EXPECT_EQ(0, ibv_close_device(more));
}

/* Of whom it was charged to, it goes with the process. */
TEST_F(cgroup, process_dies)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct ibv_context *ctx = open_device();

		_exit(!ctx || !ibv_alloc_pd(ctx) || used("hca_handle") != 2 ||
		      used("hca_object") != 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, used("hca_handle"));
	EXPECT_EQ(0, used("hca_object"));
}

/* What objects are made of: these are made while there is no limit. */
struct stuff {
	struct vt_dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_ah_attr address;
	char page[4096];
};

static void *make_pd(struct stuff *s)
{
	return ibv_alloc_pd(s->dev.ctx);
}

static int drop_pd(void *o)
{
	return ibv_dealloc_pd(o);
}

static void *make_cq(struct stuff *s)
{
	return ibv_create_cq(s->dev.ctx, 1, NULL, NULL, 0);
}

static int drop_cq(void *o)
{
	return ibv_destroy_cq(o);
}

static void *make_qp(struct stuff *s)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq, .recv_cq = s->cq, .cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(s->pd, &init);
}

static int drop_qp(void *o)
{
	return ibv_destroy_qp(o);
}

static void *make_srq(struct stuff *s)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };

	return ibv_create_srq(s->pd, &init);
}

static int drop_srq(void *o)
{
	return ibv_destroy_srq(o);
}

static void *make_mr(struct stuff *s)
{
	return ibv_reg_mr(s->pd, s->page, sizeof(s->page), 0);
}

static int drop_mr(void *o)
{
	return ibv_dereg_mr(o);
}

static void *make_mw(struct stuff *s)
{
	return ibv_alloc_mw(s->pd, IBV_MW_TYPE_1);
}

static int drop_mw(void *o)
{
	return ibv_dealloc_mw(o);
}

static void *make_ah(struct stuff *s)
{
	return ibv_create_ah(s->pd, &s->address);
}

static int drop_ah(void *o)
{
	return ibv_destroy_ah(o);
}

static void *make_dm(struct stuff *s)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };

	return ibv_alloc_dm(s->dev.ctx, &attr);
}

static int drop_dm(void *o)
{
	return ibv_free_dm(o);
}

static void *make_xrcd(struct stuff *s)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(s->dev.ctx, &attr);
}

static int drop_xrcd(void *o)
{
	return ibv_close_xrcd(o);
}

FIXTURE(objects)
{
	struct stuff s;
};

FIXTURE_VARIANT(objects)
{
	void *(*make)(struct stuff *s);
	int (*drop)(void *object);
};

FIXTURE_VARIANT_ADD(objects, pd) { make_pd, drop_pd };
FIXTURE_VARIANT_ADD(objects, cq) { make_cq, drop_cq };
FIXTURE_VARIANT_ADD(objects, qp) { make_qp, drop_qp };
FIXTURE_VARIANT_ADD(objects, srq) { make_srq, drop_srq };
FIXTURE_VARIANT_ADD(objects, mr) { make_mr, drop_mr };
FIXTURE_VARIANT_ADD(objects, mw) { make_mw, drop_mw };
FIXTURE_VARIANT_ADD(objects, ah) { make_ah, drop_ah };
FIXTURE_VARIANT_ADD(objects, dm) { make_dm, drop_dm };
FIXTURE_VARIANT_ADD(objects, xrcd) { make_xrcd, drop_xrcd };

FIXTURE_SETUP(objects)
{
	struct stuff *s = &self->s;

	if (enter_group()) {
		leave_group();
		SKIP(return, "this kernel has no rdma controller");
	}
	ASSERT_EQ(0, limit(-1, -1));
	VT_SETUP(vt_dev_open(&s->dev, 0, AF_INET));
	s->address = vt_ah_attr(s->dev.gid_index, &s->dev.gid);
	s->pd = ibv_alloc_pd(s->dev.ctx);
	ASSERT_NE(NULL, s->pd);
	s->cq = ibv_create_cq(s->dev.ctx, 1, NULL, NULL, 0);
	ASSERT_NE(NULL, s->cq);
}

FIXTURE_TEARDOWN(objects)
{
	ibv_destroy_cq(self->s.cq);
	ibv_dealloc_pd(self->s.pd);
	vt_dev_close(&self->s.dev);
	leave_group();
}

TEST_F(objects, limited)
{
	int before = used("hca_object"), i;
	void *o[3];

	EXPECT_EQ(2, before);
	ASSERT_EQ(0, limit(-1, before + 2));
	for (i = 0; i < 2; i++) {
		o[i] = variant->make(&self->s);
		ASSERT_NE(NULL, o[i])
			TH_LOG("%d: errno %d", i, errno);
	}
	errno = 0;
	EXPECT_EQ(NULL, variant->make(&self->s));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(before + 2, used("hca_object"));

	ASSERT_EQ(0, limit(-1, before + 3));
	o[2] = variant->make(&self->s);
	ASSERT_NE(NULL, o[2])
		TH_LOG("after the limit was raised: errno %d", errno);
	EXPECT_EQ(NULL, variant->make(&self->s));
	/* one goes, and another may come */
	EXPECT_EQ(0, variant->drop(o[0]));
	o[0] = variant->make(&self->s);
	ASSERT_NE(NULL, o[0]);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, variant->drop(o[i]));
	EXPECT_EQ(before, used("hca_object"));
}

VT_HARNESS_MAIN
