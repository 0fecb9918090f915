// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell of a context is a file. It rings only the context's own QPs, and may outlive the context and the device.
 *
 * timeout: 60
 * paths: host
 */
#include "harness.h"

#include <sys/ioctl.h>
#include <sys/resource.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "netdev.h"
#include "rings.h"
#include "uverbs.h"

/* Return: the file, or a negative errno. */
static int bell_open(struct ibv_context *ctx)
{
	return vt_ucmd_file(ctx, SMR_METHOD_DOORBELL_OPEN, SMR_ATTR_DOORBELL_FD);
}

/* Return: 0, or the errno. */
static int ring(int fd, unsigned long request, unsigned long number)
{
	return ioctl(fd, request, number) ? errno : 0;
}

FIXTURE(doorbell)
{
	struct vt_pair pair;
	struct vt_ep *ep;
	struct vt_ep other;
	struct vt_rings rings;
	int fd;
	int other_fd;
};

FIXTURE_SETUP(doorbell)
{
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
	self->ep = &self->pair.a;
	VT_SETUP(vt_ep_open(&self->other, &vt_defaults, 0));
	VT_SETUP(vt_rings_find(&self->rings, self->ep));
	VT_SETUP(vt_pair_reset(&self->pair));
	self->fd = bell_open(self->ep->dev.ctx);
	ASSERT_LE(0, self->fd);
	self->other_fd = bell_open(self->other.dev.ctx);
	ASSERT_LE(0, self->other_fd);
}

FIXTURE_TEARDOWN(doorbell)
{
	close(self->fd);
	close(self->other_fd);
	vt_ep_close(&self->other);
	vt_pair_close(&self->pair);
}

/*
 * Put the QP into the error state, where the kernel flushes receives when the doorbell is rung. The ring says that the
 * kernel waits for the doorbell.
 */
static bool fail_qp(struct ibv_qp *qp, const struct smr_ring_hdr *rq)
{
	uint64_t end = vt_now_ms() + 10000;

	if (vt_qp_to(qp, IBV_QPS_ERR))
		return false;
	while (vt_now_ms() < end)
		if (__atomic_load_n(&rq->flags, __ATOMIC_ACQUIRE) &
		    SMR_RING_NEED_DOORBELL)
			return true;
	return false;
}

TEST_F(doorbell, rings_its_own)
{
	struct smr_ring_hdr *sq = self->rings.sq.hdr, *rq = self->rings.rq.hdr;
	struct smr_send_wqe *send = vt_sq_entry(&self->rings, sq->prod);
	uint32_t qpn = self->ep->qp->qp_num;
	struct smr_recv_wqe *recv;
	struct ibv_wc wc;

	/* A WRITE of length 0. The kernel executes it before the doorbell call returns. */
	*send = (struct smr_send_wqe){
		.wr_id = 77, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	vt_set_index(&sq->prod, sq->prod + 1);
	EXPECT_EQ(ENOENT, ring(self->other_fd, SMR_IOC_RING_SQ, qpn));
	EXPECT_EQ(0, ibv_poll_cq(self->ep->scq, 1, &wc));
	ASSERT_EQ(0, ring(self->fd, SMR_IOC_RING_SQ, qpn));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->ep->scq, 77));

	ASSERT_TRUE(fail_qp(self->ep->qp, rq));
	recv = vt_rq_entry(&self->rings, rq->prod);
	*recv = (struct smr_recv_wqe){ .wr_id = 78 };
	vt_set_index(&rq->prod, rq->prod + 1);
	EXPECT_EQ(ENOENT, ring(self->other_fd, SMR_IOC_RING_RQ, qpn));
	EXPECT_EQ(0, ibv_poll_cq(self->ep->rcq, 1, &wc));
	ASSERT_EQ(0, ring(self->fd, SMR_IOC_RING_RQ, qpn));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(self->ep->rcq, 78));
}

TEST_F(doorbell, refuses)
{
	static const unsigned long nobody[] = {
		0, 1, 0xffffff, 0xffffffff, 1ul << 32, ~0ul
	};
	uint32_t qpn = self->ep->qp->qp_num;
	size_t i;

	for (i = 0; i < sizeof(nobody) / sizeof(*nobody); i++) {
		EXPECT_EQ(ENOENT, ring(self->fd, SMR_IOC_RING_SQ, nobody[i]));
		EXPECT_EQ(ENOENT, ring(self->fd, SMR_IOC_RING_RQ, nobody[i]));
	}
	EXPECT_EQ(ENOENT, ring(self->fd, SMR_IOC_RING_SQ, qpn | 1ul << 32));
	EXPECT_EQ(ENOTTY, ring(self->fd, SMR_IOC_RING_RQ + 1, qpn));
	EXPECT_EQ(ENOTTY, ring(self->fd, RDMA_VERBS_IOCTL, 0));
	EXPECT_EQ(0, ring(self->fd, SMR_IOC_RING_SQ, qpn));
	EXPECT_EQ(-1, read(self->fd, &qpn, sizeof(qpn)));
	EXPECT_EQ(-1, write(self->fd, &qpn, sizeof(qpn)));
}

TEST_F(doorbell, outlives_its_context)
{
	uint32_t qpn = self->other.qp->qp_num;

	ASSERT_EQ(0, ring(self->other_fd, SMR_IOC_RING_SQ, qpn));
	vt_ep_close(&self->other);
	EXPECT_EQ(EIO, ring(self->other_fd, SMR_IOC_RING_SQ, qpn));
}

/* Opening takes three files: for commands, events and the doorbell. With fewer there is no context. */
TEST_F(doorbell, no_file_no_context)
{
	struct ibv_device *device = self->ep->dev.ctx->device;
	struct rlimit lim, few;
	struct ibv_context *ctx;
	int i, err, spare[3];

	for (i = 0; i < 3; i++)
		spare[i] = dup(0);
	ASSERT_LE(0, spare[2]);
	for (i = 0; i < 3; i++)
		close(spare[i]);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &lim));
	few = lim;
	for (i = 1; i < 3; i++) {
		few.rlim_cur = spare[i];
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
		errno = 0;
		ctx = ibv_open_device(device);
		err = errno;
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &lim));
		EXPECT_EQ(NULL, ctx);
		EXPECT_EQ(EMFILE, err);
	}
	EXPECT_EQ(0, system("softmr why | grep -q 'the process has no free file descriptor'"));
	few.rlim_cur = spare[2] + 1;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	ctx = ibv_open_device(device);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &lim));
	ASSERT_NE(NULL, ctx);
	EXPECT_EQ(0, ibv_close_device(ctx));
}

TEST(outlives_the_device)
{
	struct vt_ep ep;
	uint32_t qpn;
	int fd;

	ASSERT_EQ(0, vt_own_link_add());
	ASSERT_EQ(0, vt_ep_open(&ep, &vt_defaults, 0));
	qpn = ep.qp->qp_num;
	fd = bell_open(ep.dev.ctx);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ring(fd, SMR_IOC_RING_SQ, qpn));
	ASSERT_EQ(0, vt_own_link_del());
	EXPECT_EQ(EIO, ring(fd, SMR_IOC_RING_SQ, qpn));
	EXPECT_EQ(EIO, ring(fd, SMR_IOC_RING_RQ, qpn));
	close(fd);
	vt_ep_close(&ep);
}

VT_HARNESS_MAIN
