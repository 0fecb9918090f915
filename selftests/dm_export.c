// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory as a dma-buf: the process maps it, another link registers it, and it
 * outlives the memory's owner and the link.
 *
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <softmr-abi.h>

#include "kmod/dmabuf_importer.h"
#include "netdev.h"
#include "region.h"
#include "uverbs.h"

#define LEN	(16 * PAGE)

FIXTURE(dm)
{
	struct vt_pair pair;
	struct ibv_context *ctx;	/* of a, whose memory b uses */
	struct ibv_dm *dm;
	struct vt_region r;
	int fd;
	uint8_t *p;
};

static struct ibv_dm *alloc_dm(struct ibv_context *ctx, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	return ibv_alloc_dm(ctx, &attr);
}

/* Return: a file descriptor, or a negative errno */
static int export(struct ibv_context *ctx, uint32_t handle)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DM, SMR_METHOD_DM_EXPORT);
	int32_t fd = -EIO;
	int ret;

	vt_ucmd_object(&cmd, SMR_ATTR_DM_EXPORT_DM, handle);
	vt_ucmd_out(&cmd, SMR_ATTR_DM_EXPORT_FD, &fd, sizeof(fd));
	ret = vt_ucmd_run(&cmd, ctx);
	return ret ? ret : fd;
}

static void *map_all(int fd, size_t len, int flags)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int open_all(FIXTURE_DATA(dm) *self)
{
	struct vt_conf conf = vt_defaults;
	int ret;

	conf.buf_len = LEN + 4 * VT_GUARD;
	ret = vt_pair_open(&self->pair, &conf);
	if (ret)
		return ret;
	self->ctx = self->pair.a.dev.ctx;
	self->dm = alloc_dm(self->ctx, LEN);
	ret = self->dm ? export(self->ctx, self->dm->handle) : -errno;
	if (ret < 0)
		vt_pair_close(&self->pair);
	self->fd = ret;
	return ret < 0 ? ret : 0;
}

FIXTURE_SETUP(dm)
{
	VT_SETUP(open_all(self));
	self->p = map_all(self->fd, LEN, MAP_SHARED);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(dm)
{
	if (self->r.mr)
		EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	if (self->p)
		munmap(self->p, LEN);
	if (self->fd >= 0)
		close(self->fd);
	if (self->dm)
		EXPECT_EQ(0, ibv_free_dm(self->dm));
	vt_pair_close(&self->pair);
}

static int cpu_access(int fd, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0;
}

TEST_F(dm, same_bytes)
{
	static uint8_t buf[LEN];

	ASSERT_EQ(LEN, lseek(self->fd, 0, SEEK_END));
	vt_fill(buf, LEN, 3, 0);
	ASSERT_EQ(0, ibv_memcpy_to_dm(self->dm, 0, buf, LEN));
	EXPECT_EQ(0, cpu_access(self->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_TRUE(vt_check("the buffer", self->p, LEN, 3, 0));
	vt_fill(self->p, LEN, 4, 0);
	EXPECT_EQ(0, cpu_access(self->fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	ASSERT_EQ(0, ibv_memcpy_from_dm(buf, self->dm, 0, LEN));
	EXPECT_TRUE(vt_check("device memory", buf, LEN, 4, 0));
}

/* At end b, which is another link on the wire's path */
static int reg(FIXTURE_DATA(dm) *self, int access)
{
	self->r = (struct vt_region){ .p = self->p, .len = LEN };
	self->r.mr = ibv_reg_dmabuf_mr(self->pair.b.pd, 0, LEN, 0, self->fd,
				       access);
	return self->r.mr ? 0 : -errno;
}

/* A device maps the memory for its own DMA, while the CPU and another link use it. */
TEST_F(dm, another_device)
{
	static uint8_t before[LEN];
	int dev, i, wrong = 0;

	ASSERT_EQ(0, system("modprobe -q dmabuf_importer"));
	dev = open("/dev/dmabuf_importer", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, dev);
	if (ioctl(dev, IMPORTER_MAP, &self->fd)) {
		ASSERT_EQ(EOPNOTSUPP, errno);
		close(dev);
		SKIP(return, "this kernel has no DMA");
	}
	ASSERT_EQ(0, reg(self, VT_ACCESS_ALL));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	memcpy(before, self->p, LEN);
	ASSERT_EQ(LEN, ioctl(dev, IMPORTER_INVERT));
	EXPECT_EQ(0, cpu_access(self->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	for (i = 0; i < LEN; i++)
		wrong += self->p[i] != (uint8_t)~before[i];
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, cpu_access(self->fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	close(dev);
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

TEST_F(dm, another_link)
{
	ASSERT_EQ(0, reg(self, VT_ACCESS_ALL));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 8 * 1001, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_region_copy(&self->pair, &self->r, VT_WRITE, LEN - 1, 2));
}

/* The buffer consists of whole pages. The rest of the last page belongs to nobody else. */
TEST_F(dm, whole_pages)
{
	struct ibv_dm *dm = alloc_dm(self->ctx, 100);
	uint8_t *p;
	int fd, i;

	ASSERT_NE(NULL, dm);
	fd = export(self->ctx, dm->handle);
	ASSERT_LE(0, fd);
	EXPECT_EQ(PAGE, lseek(fd, 0, SEEK_END));
	p = map_all(fd, PAGE, MAP_SHARED);
	ASSERT_NE(NULL, p);
	for (i = 0; i < PAGE; i++)
		ASSERT_EQ(0, p[i]);
	munmap(p, PAGE);
	close(fd);
	EXPECT_EQ(0, ibv_free_dm(dm));
}

TEST_F(dm, refused)
{
	EXPECT_EQ(NULL, map_all(self->fd, LEN + PAGE, MAP_SHARED));
	EXPECT_EQ(NULL, map_all(self->fd, LEN, MAP_PRIVATE));
	EXPECT_EQ(-ENOENT, export(self->ctx, 0x12345));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
}

/*
 * After the memory is freed its bytes remain, and the link does not reuse its space until the last
 * user is gone.
 */
TEST_F(dm, outlives_its_owner)
{
	struct ibv_device_attr_ex attr;
	struct ibv_dm *all;
	int i;

	ASSERT_EQ(0, ibv_query_device_ex(self->ctx, NULL, &attr));
	ASSERT_EQ(0, reg(self, VT_ACCESS_ALL));
	vt_fill(self->p, LEN, 7, 0);
	ASSERT_EQ(0, ibv_free_dm(self->dm));
	self->dm = NULL;
	EXPECT_TRUE(vt_check("the buffer", self->p, LEN, 7, 0));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	close(self->fd);
	self->fd = -1;
	munmap(self->p, LEN);
	self->p = NULL;
	EXPECT_EQ(0, vt_region_copy(&self->pair, &self->r, VT_WRITE, 0, LEN));
	EXPECT_EQ(NULL, alloc_dm(self->ctx, attr.max_dm_size));
	EXPECT_EQ(ENOMEM, errno);
	ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
	self->r.mr = NULL;
	/* a file is released when its process returns to user space, a region's memory at once */
	all = NULL;
	for (i = 0; i < 100 && !all; i++) {
		all = alloc_dm(self->ctx, attr.max_dm_size);
		if (!all)
			usleep(10000);
	}
	ASSERT_NE(NULL, all);
	EXPECT_EQ(0, ibv_free_dm(all));
}

TEST(outlives_its_link)
{
	struct ibv_dm *dm;
	struct vt_dev dev;
	uint8_t *p;
	int fd;

	VT_SETUP(vt_own_link_add());
	VT_SETUP(vt_dev_open(&dev, 0, AF_INET));
	dm = alloc_dm(dev.ctx, LEN);
	ASSERT_NE(NULL, dm);
	fd = export(dev.ctx, dm->handle);
	if (fd == -EOPNOTSUPP)
		SKIP(return, "device memory cannot be exported");
	ASSERT_LE(0, fd);
	p = map_all(fd, LEN, MAP_SHARED);
	ASSERT_NE(NULL, p);
	vt_fill(p, LEN, 5, 0);
	ASSERT_EQ(0, vt_own_link_del());
	vt_dev_close(&dev);
	EXPECT_TRUE(vt_check("the buffer", p, LEN, 5, 0));
	vt_fill(p, LEN, 6, 0);
	munmap(p, LEN);
	p = map_all(fd, LEN, MAP_SHARED);
	ASSERT_NE(NULL, p);
	EXPECT_TRUE(vt_check("mapped again", p, LEN, 6, 0));
	munmap(p, LEN);
	close(fd);
	system("ip link del " VT_OWN_NETDEV);
}

VT_HARNESS_MAIN
