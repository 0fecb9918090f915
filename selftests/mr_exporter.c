// SPDX-License-Identifier: GPL-2.0
/*
 * Regions over dma-bufs of an exporter that watches its importers (kmod/dmabuf_exporter.c): CPU
 * access is bracketed, only operations on the buffer wait for its fences, and requests that the
 * memory does not support are refused.
 *
 * mr_exporter --hold dmabuf registers a buffer whose content never arrives, while link_never.sh
 * removes link, netdev and namespace.
 *
 * break: qemu-newest qemu-oldest
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"

#include <sys/ioctl.h>
#include <time.h>

#include "kmod/dmabuf_exporter.h"
#include "region.h"
#include "system.h"
#include "why.h"
#include "window.h"

#define LEN	(40 * PAGE)
#define NO_ATOMICS	(VT_ACCESS_ALL & ~IBV_ACCESS_REMOTE_ATOMIC)

/* The promise is a second. On an emulated machine it may take longer. */
#define SOON_MS	5000

/**
 * struct buffer - a buffer of the exporter
 * @ctl: its file
 * @fd: its dma-buf
 * @p: the mapping of the exporter's device
 */
struct buffer {
	int ctl;
	int fd;
	uint8_t *p;
};

/* @r: over @buf, at end b */
FIXTURE(exporter)
{
	struct vt_pair pair;
	struct vt_region r;
	struct buffer buf;
};

FIXTURE_SETUP(exporter)
{
	struct vt_conf conf = vt_defaults;

	self->buf.ctl = -1;
	conf.buf_len = LEN + 4 * VT_GUARD;
	/* 4 s: an operation waits while a test does other things */
	conf.timeout = 20;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	if (system("modprobe -q dmabuf_exporter"))
		SKIP(return, "this kernel has no dma-bufs");
}

static void buffer_close(struct buffer *buf)
{
	if (buf->ctl < 0)
		return;
	munmap(buf->p, LEN);
	close(buf->fd);
	close(buf->ctl);
	buf->ctl = -1;
}

FIXTURE_TEARDOWN(exporter)
{
	if (self->r.mr)
		ibv_dereg_mr(self->r.mr);
	vt_pair_close(&self->pair);
	buffer_close(&self->buf);
}

static int buffer_open(struct buffer *buf, uint32_t flags)
{
	struct exporter_make how = { .size = LEN, .flags = flags };
	int err;

	buf->ctl = open("/dev/dmabuf_exporter", O_RDWR | O_CLOEXEC);
	if (buf->ctl < 0)
		return -errno;
	buf->fd = ioctl(buf->ctl, EXPORTER_MAKE, &how);
	err = errno;
	buf->p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, buf->ctl,
		      0);
	if (buf->fd >= 0 && buf->p != MAP_FAILED)
		return 0;
	close(buf->ctl);
	buf->ctl = -1;
	return -err;
}

static int buffer_reg(const struct buffer *buf, struct vt_region *r,
		      struct ibv_pd *pd, int access)
{
	*r = (struct vt_region){ .p = buf->p, .len = LEN, .iova = 0x100000 };
	r->mr = ibv_reg_dmabuf_mr(pd, 0, LEN, r->iova, buf->fd, access);
	return r->mr ? 0 : -errno;
}

/* A buffer, and the region over it */
static int open_and_reg(FIXTURE_DATA(exporter) *self, uint32_t flags)
{
	int ret = buffer_open(&self->buf, flags);

	return ret ? ret : buffer_reg(&self->buf, &self->r, self->pair.b.pd,
				      VT_ACCESS_ALL);
}

static struct exporter_report report(const struct buffer *buf)
{
	struct exporter_report rep = {};

	if (ioctl(buf->ctl, EXPORTER_REPORT, &rep))
		printf("# report: %s\n", strerror(errno));
	return rep;
}

static bool brackets_ok(const struct buffer *buf)
{
	struct exporter_report rep = report(buf);

	if (rep.begins && rep.begins == rep.ends && !rep.wrong && !rep.early)
		return true;
	printf("# %u begins, %u ends, %u wrong, %u early\n", rep.begins,
	       rep.ends, rep.wrong, rep.early);
	return false;
}

TEST_F(exporter, plain)
{
	ASSERT_EQ(0, open_and_reg(self, 0));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

/* The exporter loses each byte that is moved outside of a bracket. */
TEST_F(exporter, bracketed)
{
	ASSERT_EQ(0, open_and_reg(self, EXPORTER_BRACKETED));
	EXPECT_EQ(0, report(&self->buf).begins);
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 8 * 1001, 1));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, PAGE, 5 * PAGE + 8));
	EXPECT_TRUE(brackets_ok(&self->buf));
}

static struct ibv_sge region_sge(const struct vt_region *r, size_t off,
				 size_t len)
{
	return (struct ibv_sge){
		.addr = r->iova + off, .length = len, .lkey = r->mr->lkey,
	};
}

/* From end a's region to end b's, and back. */
static bool between(struct vt_pair *pair, const struct vt_region *a,
		    const struct vt_region *b, size_t len)
{
	struct ibv_sge sge = region_sge(a, 0, len);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge,
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { b->iova + LEN / 2, b->mr->rkey },
	};
	bool ok;

	vt_fill(a->p, len, 3, 0);
	ok = !vt_outcome(&pair->a, &wr);
	ok &= vt_check("written", b->p + LEN / 2, len, 3, 0);
	vt_fill(b->p + LEN / 2, len, 4, 0);
	wr.opcode = IBV_WR_RDMA_READ;
	ok &= !vt_outcome(&pair->a, &wr);
	return vt_check("read", a->p, len, 4, 0) && ok;
}

TEST_F(exporter, both_ends_bracketed)
{
	struct buffer other = { .ctl = -1 };
	struct vt_region r = {};

	ASSERT_EQ(0, open_and_reg(self, EXPORTER_BRACKETED));
	ASSERT_EQ(0, buffer_open(&other, EXPORTER_BRACKETED));
	ASSERT_EQ(0, buffer_reg(&other, &r, self->pair.a.pd, VT_ACCESS_ALL));
	EXPECT_TRUE(between(&self->pair, &r, &self->r, 3 * PAGE + 5));
	EXPECT_TRUE(brackets_ok(&other));
	EXPECT_EQ(0, ibv_dereg_mr(r.mr));
	/* the same buffer at both ends */
	ASSERT_EQ(0, buffer_reg(&self->buf, &r, self->pair.a.pd,
				VT_ACCESS_ALL));
	EXPECT_TRUE(between(&self->pair, &r, &self->r, 3 * PAGE + 5));
	EXPECT_EQ(0, ibv_dereg_mr(r.mr));
	EXPECT_TRUE(brackets_ok(&self->buf));
	buffer_close(&other);
}

/* On-demand memory at the other end, whose pages are touched with a lock held */
TEST_F(exporter, with_on_demand_memory)
{
	struct vt_region odp = {};
	void *p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);

	ASSERT_NE(NULL, p);
	if (vt_need_odp(&self->pair.a, IBV_ODP_SUPPORT))
		SKIP(return, "no on-demand paging");
	ASSERT_EQ(0, open_and_reg(self, EXPORTER_BRACKETED));
	ASSERT_EQ(0, vt_region_reg(&odp, self->pair.a.pd, p, LEN, 0,
				   VT_ACCESS_ODP));
	EXPECT_TRUE(between(&self->pair, &odp, &self->r, 3 * PAGE + 5));
	EXPECT_TRUE(brackets_ok(&self->buf));
	vt_region_close(&odp);
}

/* Both QPs use the buffer at once. */
TEST_F(exporter, accesses_take_turns)
{
	int i, n = 10;

	ASSERT_EQ(0, open_and_reg(self, EXPORTER_BRACKETED));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, vt_region_post(&self->pair, &self->r, VT_WRITE, 0,
					    LEN / 2));
		ASSERT_EQ(0, vt_region_post(&self->pair, &self->r, VT_PUSH,
					    LEN / 2, LEN / 2));
	}
	for (i = 0; i < n; i++) {
		EXPECT_EQ(0, vt_status(self->pair.a.scq, 1));
		EXPECT_EQ(0, vt_status(self->pair.b.scq, 1));
	}
	EXPECT_TRUE(brackets_ok(&self->buf));
}

/* Operations on the buffer wait for the device; others do not. */
TEST_F(exporter, fences_are_waited_for)
{
	struct vt_conn other = {};
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_sge sge = vt_sge(&self->pair.a.buf, VT_GUARD, 8);
	int way;

	for (way = 0; way < VT_WAYS; way++) {
		ASSERT_EQ(0, open_and_reg(self,
					  EXPORTER_BRACKETED | EXPORTER_BUSY));
		ASSERT_EQ(0, vt_region_post(&self->pair, &self->r, way, 0, 9));
		/* another connection between the two */
		ASSERT_EQ(0, vt_conn_open(&other, &self->pair.a,
					  &self->pair.b));
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr_id = 7;
		wr.wr.rdma.remote_addr =
			(uintptr_t)self->pair.b.buf.p + VT_GUARD;
		wr.wr.rdma.rkey = self->pair.b.buf.mr->rkey;
		ASSERT_EQ(0, ibv_post_send(other.a, &wr, &bad));
		EXPECT_EQ(0, vt_status(self->pair.a.scq, 7));
		vt_conn_close(&other);

		EXPECT_TRUE(vt_no_completion(self->pair.a.scq, 0));
		EXPECT_TRUE(vt_no_completion(self->pair.b.scq, 0));
		EXPECT_EQ(0, report(&self->buf).begins);
		EXPECT_EQ(0, ioctl(self->buf.ctl, EXPORTER_DONE));
		EXPECT_EQ(0, vt_status(way == VT_WRITE || way == VT_READ ||
				       way == VT_RECV ? self->pair.a.scq :
							self->pair.b.scq, 1));
		EXPECT_TRUE(brackets_ok(&self->buf));
		ASSERT_EQ(0, vt_pair_recover(&self->pair));
		ASSERT_EQ(0, ibv_dereg_mr(self->r.mr));
		self->r.mr = NULL;
		buffer_close(&self->buf);
	}
}

/* A device that never finishes delays neither dereg nor destroy. */
TEST_F(exporter, a_fence_that_never_comes)
{
	uint64_t start;

	ASSERT_EQ(0, open_and_reg(self, EXPORTER_BRACKETED | EXPORTER_BUSY));
	ASSERT_EQ(0, vt_region_post(&self->pair, &self->r, VT_WRITE, 0, 9));
	EXPECT_TRUE(vt_no_completion(self->pair.a.scq, 100));
	start = vt_now_ms();
	EXPECT_EQ(0, ibv_dereg_mr(self->r.mr));
	self->r.mr = NULL;
	EXPECT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_GT(SOON_MS, vt_now_ms() - start);
	EXPECT_TRUE(vt_pair_works(&self->pair));
	EXPECT_EQ(0, report(&self->buf).begins);
}

static int registrar_main(int sock, const void *arg)
{
	const struct buffer *buf = arg;
	struct vt_region r;
	struct vt_ep ep;

	if (vt_ep_open(&ep, &vt_defaults, 0) || write(sock, "", 1) != 1)
		return 1;
	if (buffer_reg(buf, &r, ep.pd, VT_ACCESS_ALL))
		return 2;
	return write(sock, "", 1) != 1;
}

static bool is_told(int sock, int ms)
{
	struct timeval limit = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	char byte;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return read(sock, &byte, 1) == 1;
}

/* A buffer is registered when its content has arrived; a process that waits can be killed. */
TEST_F(exporter, content_is_waited_for)
{
	uint32_t kinds[] = { EXPORTER_MOVING, EXPORTER_MOVING | EXPORTER_BRACKETED };
	int i, sock, status;
	uint64_t start;
	pid_t pid;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, buffer_open(&self->buf, kinds[i % 2]));
		pid = vt_child(&sock, registrar_main, &self->buf);
		ASSERT_LT(0, pid);
		EXPECT_TRUE(is_told(sock, VT_TIMEOUT_MS));
		EXPECT_FALSE(is_told(sock, 200));
		start = vt_now_ms();
		EXPECT_EQ(0, i < 2 ? ioctl(self->buf.ctl, EXPORTER_DONE) :
				     kill(pid, SIGKILL));
		EXPECT_EQ(i < 2, is_told(sock, SOON_MS));
		EXPECT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_GT(SOON_MS, vt_now_ms() - start);
		EXPECT_EQ(i < 2 ? 0 : SIGKILL, status);
		close(sock);
		buffer_close(&self->buf);
	}
	ASSERT_EQ(0, open_and_reg(self, 0));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

/* Written data may not have arrived: from then on the region fails. */
TEST_F(exporter, end_that_fails)
{
	ASSERT_EQ(0, open_and_reg(self,
				  EXPORTER_BRACKETED | EXPORTER_BROKEN));
	vt_region_copy(&self->pair, &self->r, VT_READ, 0, 9);
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  vt_region_copy(&self->pair, &self->r, VT_READ, 0, 9));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR,
		  vt_region_copy(&self->pair, &self->r, VT_SEND, 0, 9));
	ASSERT_EQ(0, vt_pair_recover(&self->pair));
}

TEST_F(exporter, memory_of_the_device)
{
	struct smr_abi_why why;

	EXPECT_EQ(-EOPNOTSUPP, open_and_reg(self, EXPORTER_IOMEM));
	ASSERT_EQ(0, vt_why_last(self->pair.b.dev.ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_MR_IO_MEMORY, why.id);
	EXPECT_EQ((uint64_t)self->buf.fd, why.num[0]);
}

/* As with any RDMA driver: only mmap() checks the mode in which the descriptor was opened. */
TEST_F(exporter, read_only_descriptor)
{
	ASSERT_EQ(0, open_and_reg(self, EXPORTER_READ_ONLY));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, LEN, PROT_READ | PROT_WRITE,
				   MAP_SHARED, self->buf.fd, 0));
	EXPECT_TRUE(vt_region_works(&self->pair, &self->r, 0, LEN));
}

/* Where memory is not write-back, the CPU's atomics may not work on it. */
TEST_F(exporter, no_atomics)
{
	struct vt_bind to = { .addr = 0x100000, .len = LEN,
			      .access = IBV_ACCESS_REMOTE_ATOMIC };
	struct ibv_sge sge = vt_sge(&self->pair.a.buf, VT_GUARD, 8);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic.remote_addr = 0x100000,
	};
	struct smr_abi_why why;
	struct ibv_mw *mw;
	int ret;

	ret = open_and_reg(self, EXPORTER_WRITE_COMBINED);
	if (self->buf.ctl < 0)
		SKIP(return, "all memory does atomics here");
	EXPECT_EQ(-EOPNOTSUPP, ret);
	ASSERT_EQ(0, vt_why_last(self->pair.b.dev.ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_MR_NO_ATOMICS, why.id);
	ASSERT_EQ(0, buffer_reg(&self->buf, &self->r, self->pair.b.pd,
				NO_ATOMICS | IBV_ACCESS_MW_BIND));
	EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, VT_WRITE, 0, LEN));
	EXPECT_TRUE(vt_region_moves(&self->pair, &self->r, VT_READ, 0, LEN));
	/* a window may have rights that its region has not */
	mw = ibv_alloc_mw(self->pair.b.pd, IBV_MW_TYPE_2);
	ASSERT_NE(NULL, mw);
	to.mr = self->r.mr;
	ASSERT_EQ(0, vt_bind_any(&self->pair.b, mw, &to));
	wr.wr.atomic.rkey = mw->rkey;
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_outcome(&self->pair.a, &wr));
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

/* A thread that registers a buffer whose content never arrives */
struct registrar {
	struct vt_ep ep;
	struct buffer buf;
	int ret;
};

static void *registrar_thread(void *arg)
{
	struct registrar *r = arg;
	struct vt_region region;

	r->ret = buffer_reg(&r->buf, &region, r->ep.pd, VT_ACCESS_ALL);
	return NULL;
}

/* Wait for the content, until this process is killed or the device is removed. */
static int hold(void)
{
	struct registrar r = {};
	struct timespec limit;
	pthread_t thread;

	if (system("modprobe -q dmabuf_exporter"))
		return KSFT_SKIP;
	if (buffer_open(&r.buf, EXPORTER_MOVING) || vt_ep_open(&r.ep, &vt_defaults, 0) ||
	    pthread_create(&thread, NULL, registrar_thread, &r))
		return KSFT_FAIL;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec++;
	if (pthread_timedjoin_np(thread, NULL, &limit) != ETIMEDOUT)
		return KSFT_FAIL;
	printf("waits\n");
	fflush(stdout);
	pthread_join(thread, NULL);
	printf("registration: %s\n", strerror(-r.ret));
	return r.ret == -EIO ? KSFT_PASS : KSFT_FAIL;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--hold") && !strcmp(argv[2], "dmabuf")) {
		vt_load_providers();
		return hold();
	}
	return vt_harness_main(argc, argv);
}
