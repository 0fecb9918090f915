// SPDX-License-Identifier: GPL-2.0
/*
 * Persistent memory (IBTA annex A19): the guest has a memory module of it, which processes map as a character device.
 * It can be registered with the right to persistent placement, which ordinary memory cannot. A FLUSH of this type is
 * executed if the region has the right.
 *
 * beds: qemu-newest qemu-stable
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "region.h"
#include "system.h"

#define ND		"/sys/bus/nd/"
#define REGION		ND "devices/region0/"
#define DAX		ND "devices/dax0.0/"
#define FILE_OF_DAX	"/dev/dax0.0"
/* Mappings of the device are of huge pages */
#define LEN		(4 << 20)
#define AT		((2 << 20) - 100)
/* Each mapping of it, and all of them together */
#define HUGE		(2ul << 20)
#define EACH		(32ul << 20)
#define MUCH		(64 * EACH)
#define PIECE		3000
#define COMES_MS	10000
#define RIGHTS		(VT_ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#define BOTH		(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT)

FIXTURE(persist)
{
	struct vt_pair pair;
	struct ibv_mr *mr;
	uint8_t *p;
};

static bool appears(const char *path)
{
	uint64_t end = vt_now_ms() + COMES_MS;

	while (access(path, F_OK) && vt_now_ms() < end)
		usleep(10000);
	return !access(path, F_OK);
}

/* Make the memory a character device, as ndctl does. 0 or a negative errno */
static int make_device(void)
{
	if (!access(FILE_OF_DAX, F_OK))
		return 0;
	if (system("modprobe -a nfit nd_pmem dax_pmem device_dax") || !appears(REGION "dax_seed"))
		return -ENODEV;
	/* It may have no driver yet. */
	vt_write_file(ND "drivers/nd_pmem/unbind", "namespace0.0");
	return vt_write_file(DAX "uuid", "6d2a3bcd-12f3-4e8b-9a53-0c9c5c2f4b11") ?:
	       vt_write_file(DAX "mode", "ram") ?:
	       vt_write_file(DAX "namespace", "namespace0.0") ?:
	       vt_write_file(ND "drivers/dax_pmem/bind", "dax0.0") ?:
	       appears(FILE_OF_DAX) ? 0 : -ENOENT;
}

FIXTURE_SETUP(persist)
{
	struct vt_conf conf = vt_defaults;
	int fd;

	conf.wr_api = true;
	conf.send_ops = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE;
	conf.qp_access |= IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT;
	ASSERT_EQ(0, make_device());
	fd = open(FILE_OF_DAX, O_RDWR);
	ASSERT_LE(0, fd);
	self->p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	ASSERT_NE(MAP_FAILED, (void *)self->p);
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	self->mr = ibv_reg_mr(self->pair.b.pd, self->p, LEN, RIGHTS);
	ASSERT_NE(NULL, self->mr)
		TH_LOG("errno %d", errno);
}

FIXTURE_TEARDOWN(persist)
{
	EXPECT_EQ(0, ibv_dereg_mr(self->mr));
	vt_pair_close(&self->pair);
	munmap(self->p, LEN);
}

/* WRITE @seed's bytes to @at, then FLUSH. Return: the status of the FLUSH, or a negative errno */
static int write_and_flush(struct vt_pair *pair, const struct ibv_mr *mr, uint8_t *at, int seed, int type)
{
	struct vt_ep *a = &pair->a;
	struct ibv_wc wc = { 0 };
	int i;

	vt_fill(a->buf.p, PIECE, seed, 0);
	ibv_wr_start(a->qpx);
	a->qpx->wr_flags = IBV_SEND_SIGNALED;
	a->qpx->wr_id = 0;
	ibv_wr_rdma_write(a->qpx, mr->rkey, (uintptr_t)at);
	ibv_wr_set_sge(a->qpx, a->buf.mr->lkey, (uintptr_t)a->buf.p, PIECE);
	a->qpx->wr_id = 1;
	ibv_wr_flush(a->qpx, mr->rkey, (uintptr_t)at, PIECE, type, IBV_FLUSH_RANGE);
	if (ibv_wr_complete(a->qpx))
		return -EINVAL;
	for (i = 0; i < 2; i++)
		if (vt_wait(a->scq, &wc) || wc.wr_id != (uint64_t)i || (!i && wc.status))
			return -EIO;
	return wc.status;
}

TEST_F(persist, range_is_flushed)
{
	/* across two pages of the mapping */
	ASSERT_EQ(0, write_and_flush(&self->pair, self->mr, self->p + AT, 1, IBV_FLUSH_PERSISTENT));
	EXPECT_TRUE(vt_check("persistent", self->p + AT, PIECE, 1, 0));
	ASSERT_EQ(0, write_and_flush(&self->pair, self->mr, self->p, 2, BOTH));
	EXPECT_TRUE(vt_check("persistent and visible", self->p, PIECE, 2, 0));
}

static int post_flush(struct vt_ep *a, const struct ibv_mr *mr)
{
	ibv_wr_start(a->qpx);
	a->qpx->wr_id = 1;
	a->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(a->qpx, mr->rkey, 0, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	return ibv_wr_complete(a->qpx);
}

/* All of the region, whatever its size */
TEST_F(persist, region_is_flushed)
{
	struct vt_ep *a = &self->pair.a;
	struct ibv_wc wc;

	ASSERT_EQ(0, post_flush(a, self->mr));
	ASSERT_EQ(0, vt_wait(a->scq, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(IBV_WC_FLUSH, wc.opcode);
}

/* Map the memory many times in a row, to get a larger range. Return: NULL if that is impossible */
static uint8_t *map_much(void)
{
	uint8_t *room = vt_map(MUCH, HUGE, MAP_PRIVATE | MAP_NORESERVE, -1);
	int fd = open(FILE_OF_DAX, O_RDWR);
	size_t off;

	if (!room || fd < 0)
		return NULL;
	for (off = 0; off < MUCH; off += EACH)
		if (mmap(room + off, EACH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return room;
}

/* A FLUSH of a large region takes long; deregistering the region does not wait for its end */
TEST_F(persist, dereg_waits_for_a_slice)
{
	struct vt_ep *a = &self->pair.a;
	uint64_t begin, all, wait;
	uint8_t *much = map_much();
	struct ibv_mr *mr;
	struct ibv_wc wc;

	ASSERT_NE(NULL, much);
	mr = ibv_reg_mr(self->pair.b.pd, much, MUCH, RIGHTS);
	ASSERT_NE(NULL, mr)
		TH_LOG("errno %d", errno);
	begin = vt_now_us();
	ASSERT_EQ(0, post_flush(a, mr));
	ASSERT_EQ(0, vt_wait(a->scq, &wc));
	ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
	all = vt_now_us() - begin;
	ASSERT_EQ(0, post_flush(a, mr));
	usleep(all / 8);
	begin = vt_now_us();
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	wait = vt_now_us() - begin;
	/* Unpinning takes time, too, but less than a FLUSH. */
	EXPECT_GT(all / 2, wait)
		TH_LOG("dereg_mr took %llu us, a FLUSH takes %llu us", (unsigned long long)wait,
		       (unsigned long long)all);
	ASSERT_EQ(0, vt_wait(a->scq, &wc));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, wc.status);
	munmap(much, MUCH);
}

/* The memory is persistent, but this region does not have the right */
TEST_F(persist, needs_the_right)
{
	struct ibv_mr *mr = ibv_reg_mr(self->pair.b.pd, self->p, LEN, VT_ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL);

	ASSERT_NE(NULL, mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  write_and_flush(&self->pair, mr, self->p, 3, IBV_FLUSH_PERSISTENT));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A region over persistent memory and ordinary memory after it, each in its mapping, is ordinary */
TEST_F(persist, all_of_a_region_is)
{
	uint8_t *both = mmap(NULL, 2 * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = (uint8_t *)(((uintptr_t)both + (LEN / 2) - 1) & -(uintptr_t)(LEN / 2));
	int fd = open(FILE_OF_DAX, O_RDWR);

	ASSERT_NE(MAP_FAILED, (void *)both);
	ASSERT_LE(0, fd);
	ASSERT_EQ((void *)at, mmap(at, LEN / 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0));
	close(fd);
	ASSERT_EQ(0, mprotect(at + LEN / 2, 4096, PROT_READ | PROT_WRITE));
	EXPECT_EQ(NULL, ibv_reg_mr(self->pair.b.pd, at, LEN / 2 + 4096, RIGHTS));
	EXPECT_EQ(EINVAL, errno);
	munmap(both, 2 * LEN);
}

VT_HARNESS_MAIN
