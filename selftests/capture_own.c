// SPDX-License-Identifier: GPL-2.0
/*
 * A process captures the packets of its own QPs: what a read of the file returns, when it waits, what is lost, and how it
 * ends; and messages within this host are packets while they are captured. capture_local.sh looks at the packets
 * themselves, and at whose they are.
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <softmr-abi.h>

#include "netdev.h"
#include "paths.h"
#include "random.h"
#include "ud.h"
#include "uverbs.h"

#define PACKET_MAX	8192
/* More than the file keeps: 1 MiB */
#define MANY_BYTES	(2 << 20)
#define ETH_BYTES	14
/* Messages on their way in each direction, while captures begin and end */
#define WINDOW		16
#define STREAM_MS	4000
#define SHORT_MS	1000
#define PAUSE_US	3000

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

TEST_F(capture, flags)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE, SMR_METHOD_CAPTURE_OPEN);
	struct ib_uverbs_attr *flags;
	uint32_t unseen = -1;
	uint64_t lost;
	int32_t fd = -1;

	vt_ucmd_out(&cmd, SMR_ATTR_CAPTURE_FD, &fd, sizeof(fd));
	vt_ucmd_out(&cmd, SMR_ATTR_CAPTURE_UNSEEN, &unseen, sizeof(unseen));
	flags = vt_ucmd_value(&cmd, SMR_ATTR_CAPTURE_FLAGS, SMR_CAPTURE_ALL << 1, sizeof(uint32_t));
	EXPECT_EQ(-EINVAL, vt_ucmd_run(&cmd, self->pair.a.dev.ctx));
	flags->data = SMR_CAPTURE_ALL;
	ASSERT_EQ(0, vt_ucmd_run(&cmd, self->pair.a.dev.ctx));
	EXPECT_EQ(0, unseen);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	/* in both captures, once */
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	EXPECT_EQ(2, read_all(fd, &lost));
	EXPECT_EQ(2, read_all(self->fd, &lost));
	close(fd);
}

TEST_F(capture, loses_and_counts)
{
	uint64_t lost, then;
	int i, n;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, MANY_BYTES / 2));
	n = read_all(self->fd, &lost);
	EXPECT_LT(100, n);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
	EXPECT_LT(1, read_all(self->fd, &then));
	EXPECT_LT(100, lost + then);
	EXPECT_TRUE(vt_pair_works(&self->pair));
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

/* The packets of a link's messages within this host, and the messages that had none, since @before */
struct counts {
	int64_t packets, messages;
};

static struct counts counts_now(struct ibv_context *ctx)
{
	return (struct counts){
		vt_counter_now(ctx, "tx_packets"), vt_counter(ctx, "local_ops"),
	};
}

static struct counts counts_since(struct ibv_context *ctx, struct counts before)
{
	struct counts now = counts_now(ctx);

	return (struct counts){ now.packets - before.packets, now.messages - before.messages };
}

/* A WRITE and its acknowledge */
TEST_F(capture, messages_are_packets_meanwhile)
{
	struct ibv_context *ctx = self->pair.a.dev.ctx;
	struct counts before = counts_now(ctx), c;
	bool host = vt_on_path("host");
	struct vt_dev other;
	int i, fd;

	/* A capture that wants none of them goes on. */
	ASSERT_EQ(0, vt_own_link_add());
	ASSERT_EQ(0, vt_dev_open(&other, 0, AF_INET));
	fd = capture_open(other.ctx);
	ASSERT_LE(0, fd);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
		c = counts_since(ctx, before);
		EXPECT_EQ(2, c.packets);
		EXPECT_EQ(0, c.messages);
		close(self->fd);
		before = counts_now(ctx);
		ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&self->pair, 100));
		c = counts_since(ctx, before);
		EXPECT_EQ(host ? 0 : 2, c.packets);
		EXPECT_EQ(host, c.messages);
		self->fd = capture_open(ctx);
		ASSERT_LE(0, self->fd);
		before = counts_now(ctx);
	}
	close(fd);
	vt_dev_close(&other);
	EXPECT_EQ(0, vt_own_link_del());
}

/* Nobody answers for an address of this host, so the core is told where it is. Return: 0 or a negative errno */
static int neighbours_add(void)
{
	struct vt_dev dev;
	char cmd[400];
	int ret;

	ret = vt_dev_open(&dev, 0, AF_INET);
	if (ret)
		return ret;
	snprintf(cmd, sizeof(cmd),
		 "there='lladdr 02:00:00:00:00:01 nud permanent dev'; "
		 "ip neigh replace 10.98.0.1 $there $(cat /sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d) && "
		 "ip neigh replace %u.%u.%u.%u $there " VT_OWN_NETDEV,
		 ibv_get_device_name(dev.ctx->device), dev.gid_index, dev.gid.raw[12], dev.gid.raw[13],
		 dev.gid.raw[14], dev.gid.raw[15]);
	vt_dev_close(&dev);
	return system(cmd) ? -EIO : 0;
}

/* What a process captures on one link are messages to and from other links, too */
TEST(sees_the_other_end)
{
	const char *first = getenv("SMR_DEV");
	struct counts before;
	struct vt_pair pair;
	uint64_t lost;
	int fd;

	ASSERT_NE(NULL, first);
	first = strdup(first);
	ASSERT_EQ(0, vt_own_link_add());
	setenv("SMR_DEV", first, 1);
	ASSERT_EQ(0, neighbours_add());
	ASSERT_EQ(0, vt_pair_open(&pair, &vt_defaults));
	before = counts_now(pair.a.dev.ctx);
	fd = capture_open(pair.b.dev.ctx);
	ASSERT_LE(0, fd);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&pair, 100));
	EXPECT_EQ(2, read_all(fd, &lost));
	EXPECT_EQ(0, lost);
	EXPECT_EQ(1, counts_since(pair.a.dev.ctx, before).packets);
	close(fd);
	/* a capture of the link that sends has them as well, once */
	fd = capture_open(pair.a.dev.ctx);
	ASSERT_LE(0, fd);
	ASSERT_EQ(IBV_WC_SUCCESS, write_bytes(&pair, 100));
	EXPECT_EQ(2, read_all(fd, &lost));
	close(fd);
	vt_pair_close(&pair);
	EXPECT_EQ(0, vt_own_link_del());
}

/* -- captures begin and end while messages are exchanged */

FIXTURE(stream)
{
	struct vt_pair pair;
	pthread_t thread;
	bool ended;
};

FIXTURE_VARIANT(stream)
{
	enum ibv_qp_type type;
	int family;
};

FIXTURE_VARIANT_ADD(stream, rc) { IBV_QPT_RC, AF_INET };
FIXTURE_VARIANT_ADD(stream, uc) { IBV_QPT_UC, AF_INET6 };
FIXTURE_VARIANT_ADD(stream, ud) { IBV_QPT_UD, AF_INET };

FIXTURE_SETUP(stream)
{
	struct vt_conf conf = vt_defaults;

	conf.qp_type = variant->type;
	conf.family = variant->family;
	conf.depth = 2 * WINDOW;
	VT_SETUP(vt_pair_open(&self->pair, &conf));
}

FIXTURE_TEARDOWN(stream)
{
	vt_pair_close(&self->pair);
}

static void *begin_and_end(void *arg)
{
	FIXTURE_DATA(stream) *self = arg;
	uint64_t random = vt_random_begin(vt_seed(), 0);
	int fd;

	while (!__atomic_load_n(&self->ended, __ATOMIC_RELAXED)) {
		fd = capture_open(self->pair.a.dev.ctx);
		if (fd < 0)
			return (void *)(intptr_t)fd;
		usleep(vt_random_below(&random, PAUSE_US));
		close(fd);
		usleep(vt_random_below(&random, PAUSE_US));
	}
	return NULL;
}

/**
 * struct direction - messages from one end to the other, each with its number
 * @sent: number of messages posted
 * @completed: of these, complete
 * @received: number of messages received
 */
struct direction {
	struct vt_ep *from, *to;
	uint32_t sent, completed, received;
};

/* The buffers: numbers to send, then what was received behind its GRH, then the target of READs and WRITEs */
#define RECV_BYTES	64
#define RECV_AT		1024
#define TARGET_AT	4096
#define TARGET_BYTES	3000

static int recv_one(struct direction *d, uint32_t n)
{
	struct ibv_sge sge = vt_sge(&d->to->buf, RECV_AT + n % WINDOW * RECV_BYTES, RECV_BYTES);

	return vt_post_recv(d->to, n, &sge, 1);
}

/* With RC, there are READs, WRITEs and atomics in between */
static int send_one(struct direction *d)
{
	static const enum ibv_wr_opcode others[] = {
		IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint32_t *number = (uint32_t *)(d->from->buf.p + d->sent % WINDOW * sizeof(uint32_t));
	struct ibv_sge sges[] = {
		vt_sge(&d->from->buf, TARGET_AT, TARGET_BYTES),
		vt_sge(&d->from->buf, d->sent % WINDOW * sizeof(uint32_t), sizeof(uint32_t)),
	};
	struct ibv_send_wr wr = {
		.sg_list = &sges[0], .num_sge = 1, .opcode = others[d->sent % 3],
		.wr.rdma.remote_addr = (uintptr_t)d->to->buf.p + TARGET_AT,
		.wr.rdma.rkey = d->to->buf.mr->rkey,
	};
	int ret;

	*number = d->sent;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sges[0].length = sizeof(uint64_t);
		wr.wr.atomic.remote_addr = (uintptr_t)d->to->buf.p + TARGET_AT;
		wr.wr.atomic.rkey = d->to->buf.mr->rkey;
	}
	ret = d->from->conf.qp_type == IBV_QPT_RC ? vt_post(d->from, &wr) : 0;
	if (ret)
		return ret;
	wr = vt_is_ud(d->from) ? vt_ud_wr(d->from, &sges[1]) : (struct ibv_send_wr){
		.sg_list = &sges[1], .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr_id = d->sent++;
	return vt_post(d->from, &wr);
}

/* Take the completions that are there. Datagrams have no order. Return: 0, a status, or a negative errno */
static int reap(struct direction *d)
{
	bool ud = vt_is_ud(d->to);
	struct ibv_wc wc;
	uint32_t number;

	while (vt_poll(d->from->scq, &wc, 1, 0) == 1) {
		if (wc.status || wc.wr_id != d->completed++)
			return wc.status ? (int)wc.status : -EBADMSG;
	}
	while (vt_poll(d->to->rcq, &wc, 1, 0) == 1) {
		if (wc.status || wc.wr_id != d->received)
			return wc.status ? (int)wc.status : -ENOMSG;
		memcpy(&number, d->to->buf.p + RECV_AT + d->received % WINDOW * RECV_BYTES +
		       (ud ? sizeof(struct ibv_grh) : 0), sizeof(number));
		if (ud ? number - d->received + WINDOW > 2 * WINDOW : number != d->received)
			return -EILSEQ;
		if (recv_one(d, d->received++ + WINDOW))
			return -ENOMEM;
	}
	return 0;
}

/* Send, as long as the other end receives. */
static int stream(struct direction *d, uint64_t until)
{
	uint64_t end = until + VT_TIMEOUT_MS;
	int ret = 0, i;

	while (!ret && (d[0].received != d[0].sent || d[1].received != d[1].sent || vt_now_ms() < until)) {
		if (vt_now_ms() > end)
			return -ETIMEDOUT;
		for (i = 0; i < 2 && !ret; i++) {
			ret = reap(&d[i]);
			if (!ret && vt_now_ms() < until && d[i].sent - d[i].received < WINDOW &&
			    d[i].sent - d[i].completed < WINDOW)
				ret = send_one(&d[i]);
		}
	}
	return ret;
}

/* No message is lost, none overtakes another one, and there are messages with packets and without. */
TEST_F_TIMEOUT(stream, loses_nothing, 60)
{
	struct ibv_context *ctx = self->pair.a.dev.ctx;
	struct direction d[] = {
		{ .from = &self->pair.a, .to = &self->pair.b },
		{ .from = &self->pair.b, .to = &self->pair.a },
	};
	struct counts before = counts_now(ctx), c;
	void *failed;
	int i;

	for (i = 0; i < 2 * WINDOW; i++)
		ASSERT_EQ(0, recv_one(&d[i % 2], i / 2));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, begin_and_end, self));
	EXPECT_EQ(0, stream(d, vt_now_ms() + (getenv("SMR_SHORT") ? SHORT_MS : STREAM_MS)));
	__atomic_store_n(&self->ended, true, __ATOMIC_RELAXED);
	pthread_join(self->thread, &failed);
	EXPECT_EQ(NULL, failed);
	c = counts_since(ctx, before);
	printf("# %u and %u messages, %lld packets, %lld without packets\n", d[0].sent, d[1].sent,
	       (long long)c.packets, (long long)c.messages);
	EXPECT_LT(0, c.packets);
	if (vt_on_path("host"))
		EXPECT_LT(0, c.messages);
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
