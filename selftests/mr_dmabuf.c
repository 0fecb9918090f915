// SPDX-License-Identifier: GPL-2.0
/*
 * Regions over dma-bufs, which udmabuf makes of a memfd: each way of access,
 * offsets, rights, bounds, lifetimes, and what cannot be registered.
 *
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"

#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include "region.h"

#define LEN	(3 * MIB)

FIXTURE(dmabuf)
{
	struct vt_pair pair;
	struct vt_region r;
	uint8_t *all;
	int memfd;
	int fd;
};

static int make_udmabuf(int memfd)
{
	struct udmabuf_create create = { .memfd = memfd, .size = LEN };
	int ctl = open("/dev/udmabuf", O_RDWR), fd;

	if (ctl < 0)
		return -ENODEV;
	fd = ioctl(ctl, UDMABUF_CREATE, &create);
	if (fd < 0)
		fd = -errno;
	close(ctl);
	return fd;
}

FIXTURE_SETUP(dmabuf)
{
	struct ibv_mr *mr;

	self->fd = -1;
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.buf_len = LEN + 4 * VT_GUARD,
			.mtu = IBV_MTU_4096)));
	self->memfd = memfd_create("mr_dmabuf", MFD_ALLOW_SEALING);
	ASSERT_LE(0, self->memfd);
	ASSERT_EQ(0, ftruncate(self->memfd, LEN));
	ASSERT_EQ(0, fcntl(self->memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	self->fd = make_udmabuf(self->memfd);
	if (self->fd == -ENODEV)
		SKIP(return, "this kernel has no udmabuf");
	ASSERT_LE(0, self->fd);
	self->all = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED,
			 self->memfd, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->all);
	mr = ibv_reg_dmabuf_mr(self->pair.b.pd, 0, PAGE, 0, self->fd, 0);
	if (!mr && (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT))
		SKIP(return, "this device has no regions over dma-bufs");
	ASSERT_NE(NULL, mr) TH_LOG("%s", strerror(errno));
	ASSERT_EQ(0, ibv_dereg_mr(mr));
}

FIXTURE_TEARDOWN(dmabuf)
{
	if (self->r.mr)
		ibv_dereg_mr(self->r.mr);
	if (self->all)
		munmap(self->all, LEN);
	if (self->fd >= 0)
		close(self->fd);
	close(self->memfd);
	vt_pair_close(&self->pair);
}

static int reg(FIXTURE_DATA(dmabuf) *self, uint64_t off, size_t len,
	       uint64_t iova, int access)
{
	if (self->r.mr)
		ibv_dereg_mr(self->r.mr);
	self->r = (struct vt_region){
		.p = self->all + off, .len = len, .iova = iova,
	};
	self->r.mr = ibv_reg_dmabuf_mr(self->pair.b.pd, off, len, iova,
				       self->fd, access);
	return self->r.mr ? 0 : -errno;
}

TEST_F(dmabuf, each_way)
{
	ASSERT_EQ(0, reg(self, 0, LEN, 0x10000000, VT_ACCESS_ALL));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 8 * 1001, 1));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, LEN - 2 * PAGE - 8,
				    2 * PAGE + 8));
}

TEST_F(dmabuf, offsets_and_iova)
{
	static const struct { uint64_t off, iova; size_t len; } parts[] = {
		{ 0, 0, 1 }, { PAGE, 0, PAGE }, { 5 * PAGE + 8, 8, 100 },
		{ PAGE + 16, 0xffffffff00000010, 3 * PAGE },
		{ LEN - PAGE, 0x7000, PAGE }, { LEN - 8, PAGE - 8, 8 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ASSERT_EQ(0, reg(self, parts[i].off, parts[i].len,
				 parts[i].iova, VT_ACCESS_ALL));
		EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, VT_WRITE,
					    0, parts[i].len));
		EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, VT_READ, 0,
					    parts[i].len));
	}
}

/* Bytes of the buffer outside the registered part cannot be reached. */
TEST_F(dmabuf, bounds)
{
	static const struct { int64_t off; size_t len; } bad[] = {
		{ -1, 1 }, { -1, 2 }, { 1000, 1 }, { 999, 2 }, { 0, 1001 },
		{ -8, 8 }, { 1000, PAGE },
	};
	int i;

	ASSERT_EQ(0, reg(self, 3 * PAGE + 64, 1000, 64, VT_ACCESS_ALL));
	vt_fill(self->all, LEN, 5, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  vt_region_copy(&self->pair, &self->r, VT_WRITE,
					 bad[i].off, bad[i].len))
			TH_LOG("%lld, %zu", (long long)bad[i].off, bad[i].len);
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		EXPECT_EQ(IBV_WC_LOC_PROT_ERR,
			  vt_region_copy(&self->pair, &self->r, VT_PUSH,
					 bad[i].off, bad[i].len));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
	EXPECT_TRUE(vt_check("buffer", self->all, LEN, 5, 0));
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0, 1000));
}

TEST_F(dmabuf, rights)
{
	static const struct { int access, write, read, recv; } rights[] = {
		{ 0, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR,
		  IBV_WC_LOC_PROT_ERR },
		{ IBV_ACCESS_LOCAL_WRITE, IBV_WC_REM_ACCESS_ERR,
		  IBV_WC_REM_ACCESS_ERR, 0 },
		{ IBV_ACCESS_REMOTE_READ, IBV_WC_REM_ACCESS_ERR, 0,
		  IBV_WC_LOC_PROT_ERR },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0,
		  IBV_WC_REM_ACCESS_ERR, 0 },
		{ VT_ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING, 0, 0, 0 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		ASSERT_EQ(0, reg(self, 0, LEN, 0, rights[i].access));
		EXPECT_EQ(rights[i].write, vt_region_copy(&self->pair, &self->r,
							  VT_WRITE, 0, 5000));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		EXPECT_EQ(rights[i].read, vt_region_copy(&self->pair, &self->r,
							 VT_READ, 0, 5000));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		EXPECT_EQ(rights[i].recv, vt_region_copy(&self->pair, &self->r,
							 VT_RECV, 0, 5000));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_SEND, 0,
					    5000));
	}
}

static int reg_errno(struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova,
		     int fd, int access)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, off, len, iova, fd, access);

	if (!mr)
		return errno;
	ibv_dereg_mr(mr);
	return 0;
}

TEST_F(dmabuf, what_cannot_be)
{
	struct ibv_pd *pd = self->pair.b.pd;
	int all = VT_ACCESS_ALL, fd = self->fd;

	/* beyond the buffer, and sums that wrap */
	EXPECT_EQ(EINVAL, reg_errno(pd, 0, LEN + 1, 0, fd, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, LEN, 1, 0, fd, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, PAGE, LEN, 0, fd, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, PAGE, -PAGE, 0, fd, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, -PAGE, 2 * PAGE, 0, fd, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, 0, SIZE_MAX, 0, fd, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, 0, 2 * PAGE, -PAGE, fd, all));
	/* the iova has another offset in its page */
	EXPECT_EQ(EINVAL, reg_errno(pd, 0, PAGE, 8, fd, all));
	/* a closed descriptor; a descriptor of something else */
	EXPECT_EQ(EBADF, reg_errno(pd, 0, PAGE, 0, 9999, all));
	EXPECT_EQ(EBADF, reg_errno(pd, 0, PAGE, 0, -1, all));
	EXPECT_EQ(EINVAL, reg_errno(pd, 0, PAGE, 0, self->memfd, all));
	/* rights that exclude each other, or that other kinds of memory need */
	EXPECT_EQ(EINVAL, reg_errno(pd, 0, PAGE, 0, fd,
				    IBV_ACCESS_REMOTE_WRITE));
	EXPECT_NE(0, reg_errno(pd, 0, PAGE, 0, fd,
			       all | IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(0, reg_errno(pd, 0, LEN, 0, fd, all));
}

/* A region of no bytes can be registered, and reaches nothing. */
TEST_F(dmabuf, empty)
{
	ASSERT_EQ(0, reg(self, PAGE, 0, PAGE, VT_ACCESS_ALL));
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0, 0));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_region_copy(&self->pair, &self->r, VT_WRITE, 0, 1));
}

/* The region keeps the buffer, after all others have closed it. */
TEST_F(dmabuf, outlives_its_descriptors)
{
	ASSERT_EQ(0, reg(self, 0, LEN, 0, VT_ACCESS_ALL));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, PAGE, LEN / 2));
}

TEST_F(dmabuf, registered_many_times)
{
	struct vt_region r[20];
	int i;

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = (struct vt_region){
			.p = self->all + i * PAGE, .len = 2 * PAGE,
			.iova = i * PAGE,
		};
		r[i].mr = ibv_reg_dmabuf_mr(self->pair.b.pd, i * PAGE,
					    2 * PAGE, i * PAGE, self->fd,
					    VT_ACCESS_ALL);
		ASSERT_NE(NULL, r[i].mr);
	}
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		EXPECT_TRUE(vt_region_works(&self->pair, &r[i], 0, 2 * PAGE));
		EXPECT_EQ(0, ibv_dereg_mr(r[i].mr));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  vt_region_copy(&self->pair, &r[i], VT_WRITE, 0, 1));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
	}
}

/* libibverbs refuses rereg_mr for such regions; the region stays as it is. */
TEST_F(dmabuf, rereg_is_refused)
{
	ASSERT_EQ(0, reg(self, PAGE, 5 * PAGE, 0, VT_ACCESS_ALL));
	EXPECT_EQ(IBV_REREG_MR_ERR_INPUT,
		  ibv_rereg_mr(self->r.mr, IBV_REREG_MR_CHANGE_ACCESS,
			       self->pair.b.pd, NULL, 0, 0));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, 5 * PAGE));
}

VT_HARNESS_MAIN
