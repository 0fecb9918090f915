// SPDX-License-Identifier: GPL-2.0
/*
 * A process captures the packets of its own QPs: what a read of the file returns, when it waits, what is lost, and how it
 * ends. capture_local.sh looks at the packets themselves, and at whose they are.
 *
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <softmr-abi.h>

#include "counter.h"
#include "netdev.h"
#include "uverbs.h"

#define PACKET_MAX	8192
/* More than the file keeps: 1 MiB */
#define MANY_BYTES	(2 << 20)
#define ETH_BYTES	14
/* The packets of a message that are shown if it goes without packets */
#define HOST_MAX	1024u

struct record {
	struct smr_captured_packet head;
	uint8_t frame[PACKET_MAX];
};

/* Return: the file, or a negative errno. */
static int capture_open(struct ibv_context *ctx)
{
	int fd = vt_ucmd_file(ctx, SMR_METHOD_CAPTURE_OPEN, SMR_ATTR_CAPTURE_FD);

	return fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) ? -errno : fd;
}

/* Is it the whole record of an IPv4 or IPv6 packet? */
static bool is_whole(const struct record *r, ssize_t bytes)
{
	unsigned int type = r->frame[12] << 8 | r->frame[13];

	return bytes == (ssize_t)(sizeof(r->head) + r->head.len) &&
	       r->head.len > ETH_BYTES && (type == 0x0800 || type == 0x86dd);
}

/* Return: how many packets there are, all whole; -1: one is not. @lost: how many were lost. */
static int read_all(int fd, uint64_t *lost)
{
	struct record r;
	ssize_t bytes;
	int n = 0;

	*lost = 0;
	while ((bytes = read(fd, &r, sizeof(r))) > 0) {
		if (!is_whole(&r, bytes))
			return -1;
		*lost += r.head.lost;
		n++;
	}
	return errno == EAGAIN ? n : -1;
}

static bool is_ready(int fd)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };

	return poll(&in, 1, 0) == 1 && in.revents & POLLIN;
}

FIXTURE(capture)
{
	struct vt_pair pair;
	int fd;
};

FIXTURE_SETUP(capture)
{
	struct vt_conf conf = vt_defaults;

	conf.buf_len = MANY_BYTES;
	conf.mtu = IBV_MTU_1024;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
	self->fd = capture_open(self->pair.a.dev.ctx);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(capture)
{
	close(self->fd);
	vt_pair_close(&self->pair);
}

static int write_bytes(struct vt_pair *pair, size_t len)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, 0, len);
	struct ibv_send_wr wr = vt_rdma_wr(IBV_WR_RDMA_WRITE, 0, &sge,
					   (uintptr_t)pair->b.buf.p, pair->b.buf.mr->rkey);

	return vt_outcome(&pair->a, &wr);
}

TEST_F(capture, reads_packets)
{
	struct timespec t;
	struct record r;
	uint64_t lost, now;
	ssize_t bytes;

	errno = 0;
	EXPECT_EQ(-1, read(self->fd, &r, sizeof(r)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_FALSE(is_ready(self->fd));
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	EXPECT_TRUE(is_ready(self->fd));

	/* a buffer that is too small takes nothing away */
	EXPECT_EQ(-1, read(self->fd, &r, sizeof(r.head)));
	EXPECT_EQ(EMSGSIZE, errno);
	bytes = read(self->fd, &r, sizeof(r));
	ASSERT_LT(0, bytes);
	EXPECT_TRUE(is_whole(&r, bytes));
	EXPECT_EQ(0, r.head.lost);
	clock_gettime(CLOCK_REALTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	EXPECT_GE(now, r.head.time);
	EXPECT_LT(now - r.head.time, 20000000000ull);
	/* at least the acknowledge */
	EXPECT_LE(1, read_all(self->fd, &lost));
	EXPECT_EQ(0, lost);
}

TEST_F(capture, loses_and_counts)
{
	uint64_t lost, then;
	int i, n;

	/* on one host the first 1024 packets of a message are shown */
	for (i = 0; i < 4; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, MANY_BYTES / 2));
	n = read_all(self->fd, &lost);
	EXPECT_LT(100, n);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	EXPECT_LT(1, read_all(self->fd, &then));
	EXPECT_LT(100, lost + then);
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

/* A message between two QPs of this host is answered after its packets were made: these are not too many. */
TEST_F(capture, long_message_is_cut)
{
	struct ibv_context *ctx = self->pair.a.dev.ctx;
	int64_t sent = vt_counter_now(ctx, "tx_packets");
	uint64_t lost, then;
	int shown;

	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, MANY_BYTES));
	shown = read_all(self->fd, &lost);
	ASSERT_LT(0, shown);
	/* the next packet says how many were lost */
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	EXPECT_LE(2, read_all(self->fd, &then));
	if (vt_counter_now(ctx, "tx_packets") == sent) {
		EXPECT_EQ(HOST_MAX, shown + lost + then);
	} else {
		EXPECT_LT(HOST_MAX, shown + lost + then);
	}
}

TEST_F(capture, several)
{
	int other = capture_open(self->pair.b.dev.ctx);
	uint64_t lost;
	int n;

	ASSERT_LE(0, other);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	n = read_all(self->fd, &lost);
	EXPECT_LE(2, n);
	EXPECT_EQ(n, read_all(other, &lost));
	close(other);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	EXPECT_LE(2, read_all(self->fd, &lost));
}

TEST_F(capture, ends_with_its_context)
{
	struct vt_ep beside;
	struct record r;
	int fd;

	ASSERT_EQ(0, vt_ep_open(&beside, &vt_defaults, 0));
	fd = capture_open(beside.dev.ctx);
	ASSERT_LE(0, fd);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	vt_ep_close(&beside);
	/* what was captured before is still there */
	EXPECT_LT(0, read(fd, &r, sizeof(r)));
	while (read(fd, &r, sizeof(r)) > 0)
		;
	EXPECT_EQ(0, read(fd, &r, sizeof(r)));
	EXPECT_TRUE(is_ready(fd));
	close(fd);
}

TEST(ends_with_the_device)
{
	struct record r;
	struct vt_ep ep;
	int fd;

	ASSERT_EQ(0, vt_own_link_add());
	ASSERT_EQ(0, vt_ep_open(&ep, &vt_defaults, 0));
	fd = capture_open(ep.dev.ctx);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vt_own_link_del());
	EXPECT_EQ(0, read(fd, &r, sizeof(r)));
	close(fd);
	vt_ep_close(&ep);
}

VT_HARNESS_MAIN
