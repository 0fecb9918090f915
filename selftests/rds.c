// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs of the kernel, between two addresses: what rds-ping and rds-stress do, with every byte compared.
 * RDS looks at *bad_wr, not at the result of a post, and registers memory by work requests.
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#include <linux/rds.h>

#define SECOND_ADDR	"10.1.0.11"
#define BUFFERS		(4 << 20)
#define BIGGEST		(256 << 10)
#define PATIENCE_S	20

/* A socket, bound to an address. */
struct end {
	int fd;
	struct sockaddr_in addr;
};

static bool run(const char *format, const char *what)
{
	char line[200];

	snprintf(line, sizeof(line), format, what);
	return system(line) == 0;
}

/* A socket can be bound to an address once the device has its GID. */
static int bind_at_last(struct end *e)
{
	uint64_t limit = vt_now_ms() + 1000 * PATIENCE_S;

	while (bind(e->fd, (struct sockaddr *)&e->addr, sizeof(e->addr))) {
		if (errno != EADDRNOTAVAIL || vt_now_ms() > limit)
			return -errno;
		usleep(10000);
	}
	return 0;
}

static int end_open(struct end *e, const char *ip, int port)
{
	struct timeval patience = { PATIENCE_S, 0 };
	int buffers = BUFFERS, transport = RDS_TRANS_IB;

	e->addr = (struct sockaddr_in){ AF_INET, htons(port) };
	inet_pton(AF_INET, ip, &e->addr.sin_addr);
	e->fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (e->fd < 0)
		return -errno;
	if (setsockopt(e->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffers, sizeof(buffers)) ||
	    setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffers, sizeof(buffers)) ||
	    setsockopt(e->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(e->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(e->fd, SOL_RDS, SO_RDS_TRANSPORT, &transport, sizeof(transport)))
		return -errno;
	return bind_at_last(e);
}

FIXTURE(rds)
{
	struct end a, b;
	uint8_t *out, *in;
};

FIXTURE_SETUP(rds)
{
	self->a.fd = self->b.fd = -1;
	/* Debian's kernels do not load it on demand. */
	if (!run("modprobe -q %s", "rds_rdma"))
		SKIP(return, "this kernel has no RDS over RDMA");
	ASSERT_TRUE(run("ip addr replace " SECOND_ADDR "/24 dev %s", getenv("SMR_NETDEV")));
	ASSERT_EQ(0, end_open(&self->a, getenv("SMR_ADDR"), 4000));
	ASSERT_EQ(0, end_open(&self->b, SECOND_ADDR, 4000));
	self->out = aligned_alloc(4096, BIGGEST);
	self->in = aligned_alloc(4096, BIGGEST);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
}

FIXTURE_TEARDOWN(rds)
{
	if (self->a.fd >= 0)
		close(self->a.fd);
	if (self->b.fd >= 0)
		close(self->b.fd);
	free(self->out);
	free(self->in);
	run("tc qdisc del dev %s root 2>/dev/null", "lo");
}

static ssize_t send_to(const struct end *from, const struct sockaddr_in *to, const void *p, size_t len)
{
	return sendto(from->fd, p, len, 0, (const struct sockaddr *)to, sizeof(*to));
}

static bool is_from(const struct sockaddr_in *got, const struct sockaddr_in *want)
{
	return got->sin_addr.s_addr == want->sin_addr.s_addr && got->sin_port == want->sin_port;
}

/* Receive one message, and check its source and its contents */
static void expect_message(struct __test_metadata *_metadata, FIXTURE_DATA(rds) *self, const struct end *at,
			   const struct end *from, size_t len, uint32_t seed)
{
	struct sockaddr_in got = {};
	socklen_t n = sizeof(got);

	ASSERT_EQ((ssize_t)len, recvfrom(at->fd, self->in, BIGGEST, 0, (struct sockaddr *)&got, &n));
	EXPECT_TRUE(is_from(&got, &from->addr));
	EXPECT_TRUE(vt_check("message", self->in, len, seed, 0));
}

/* A socket at port 0 answers each ping with an empty message. */
TEST_F(rds, ping)
{
	const struct end *ends[] = { &self->a, &self->b };
	int i;

	for (i = 0; i < 40; i++) {
		struct sockaddr_in to = ends[!(i & 1)]->addr, got = {};
		socklen_t n = sizeof(got);

		to.sin_port = 0;
		ASSERT_EQ(0, send_to(ends[i & 1], &to, NULL, 0));
		ASSERT_EQ(0, recvfrom(ends[i & 1]->fd, self->in, BIGGEST, 0, (struct sockaddr *)&got, &n));
		EXPECT_TRUE(is_from(&got, &to));
	}
}

/* A message is sent in fragments of 4096 bytes. */
TEST_F(rds, messages)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 65536, 100001, BIGGEST };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		vt_fill(self->out, sizes[i], 2 * i + 1, 0);
		ASSERT_EQ((ssize_t)sizes[i], send_to(&self->a, &self->b.addr, self->out, sizes[i]));
		expect_message(_metadata, self, &self->b, &self->a, sizes[i], 2 * i + 1);
		vt_fill(self->out, sizes[i], 2 * i + 2, 0);
		ASSERT_EQ((ssize_t)sizes[i], send_to(&self->b, &self->a.addr, self->out, sizes[i]));
		expect_message(_metadata, self, &self->a, &self->b, sizes[i], 2 * i + 2);
	}
}

#define PAIRS	4
#define DEPTH	8
#define ROUNDS	40
#define LOSSY_ROUNDS	10
#define MESSAGE	16384

static uint32_t stress_seed(int round, int pair, int n, int way)
{
	return ((round * PAIRS + pair) * DEPTH + n) * 2 + way + 1;
}

/* Messages on their way in both directions between several pairs of sockets, which share one connection */
static void stress(struct __test_metadata *_metadata, FIXTURE_DATA(rds) *self, int rounds)
{
	struct end a[PAIRS], b[PAIRS];
	int round, i, n;

	for (i = 0; i < PAIRS; i++) {
		ASSERT_EQ(0, end_open(&a[i], getenv("SMR_ADDR"), 5000 + i));
		ASSERT_EQ(0, end_open(&b[i], SECOND_ADDR, 5000 + i));
	}
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < PAIRS; i++)
			for (n = 0; n < DEPTH; n++) {
				vt_fill(self->out, MESSAGE, stress_seed(round, i, n, 0), 0);
				ASSERT_EQ(MESSAGE, send_to(&a[i], &b[i].addr, self->out, MESSAGE));
				vt_fill(self->out, MESSAGE, stress_seed(round, i, n, 1), 0);
				ASSERT_EQ(MESSAGE, send_to(&b[i], &a[i].addr, self->out, MESSAGE));
			}
		for (i = 0; i < PAIRS; i++)
			for (n = 0; n < DEPTH; n++) {
				expect_message(_metadata, self, &b[i], &a[i], MESSAGE, stress_seed(round, i, n, 0));
				expect_message(_metadata, self, &a[i], &b[i], MESSAGE, stress_seed(round, i, n, 1));
			}
	}
	for (i = 0; i < PAIRS; i++) {
		close(a[i].fd);
		close(b[i].fd);
	}
}

TEST_F(rds, stress) { stress(_metadata, self, ROUNDS); }

/* A message of one byte, with a control message for the kernel */
static int send_with(const struct end *from, const struct end *to, int type, const void *p, size_t len)
{
	char control[CMSG_SPACE(sizeof(struct rds_rdma_args))] = {};
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_name = (void *)&to->addr, .msg_namelen = sizeof(to->addr),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = CMSG_SPACE(len),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), p, len);
	return sendmsg(from->fd, &msg, 0) == 1 ? 0 : -errno;
}

/*
 * Receive until there is a control message of that type, with or without a
 * message
 */
static int recv_with(const struct end *at, int type, void *p, size_t len)
{
	for (;;) {
		char control[256], byte;
		struct iovec iov = { &byte, 1 };
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};
		struct cmsghdr *c;

		if (recvmsg(at->fd, &msg, 0) < 0)
			return -errno;
		for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
			if (c->cmsg_level == SOL_RDS && c->cmsg_type == type) {
				memcpy(p, CMSG_DATA(c), len);
				return 0;
			}
	}
}

static int map_for_peer(const struct end *owner, const struct end *user, void *p, size_t len, rds_rdma_cookie_t *cookie)
{
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)p, len },
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE,
	};
	int ret = send_with(owner, user, RDS_CMSG_RDMA_MAP, &map, sizeof(map));

	return ret ? ret : recv_with(user, RDS_CMSG_RDMA_DEST, cookie, sizeof(*cookie));
}

/* The peer writes to a mapping (@flags: RDS_RDMA_READWRITE) or reads it. */
static int use_mapping(const struct end *user, const struct end *owner, rds_rdma_cookie_t cookie, void *p, size_t len,
		       uint64_t flags)
{
	struct rds_iovec local = { (uintptr_t)p, len };
	struct rds_rdma_args args = {
		.cookie = cookie,
		.remote_vec = { 0, len },
		.local_vec_addr = (uintptr_t)&local,
		.nr_local = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME | RDS_RDMA_USE_ONCE,
		.user_token = 0x1234,
	};
	struct rds_rdma_notify done = {};
	int ret = send_with(user, owner, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));

	ret = ret ? ret : recv_with(user, RDS_CMSG_RDMA_STATUS, &done, sizeof(done));
	return ret ? ret : done.user_token == 0x1234 ? done.status : -EBADMSG;
}

TEST_F(rds, rdma)
{
	rds_rdma_cookie_t cookie;
	size_t len = 65536;
	int i;

	/* RDS registers a region for a connection, so make one. */
	ASSERT_EQ(1, send_to(&self->a, &self->b.addr, "x", 1));
	ASSERT_EQ(1, recv(self->b.fd, self->in, 1, 0));
	for (i = 0; i < 20; i++) {
		vt_fill(self->out, len, 2 * i + 1, 0);
		memset(self->in, 0, len);
		ASSERT_EQ(0, map_for_peer(&self->a, &self->b, self->in, len, &cookie));
		ASSERT_EQ(0, use_mapping(&self->b, &self->a, cookie, self->out, len, RDS_RDMA_READWRITE));
		EXPECT_TRUE(vt_check("written", self->in, len, 2 * i + 1, 0));
		ASSERT_EQ(1, recv(self->a.fd, self->in, 1, 0));

		vt_fill(self->out, len, 2 * i + 2, 0);
		ASSERT_EQ(0, map_for_peer(&self->a, &self->b, self->out, len, &cookie));
		ASSERT_EQ(0, use_mapping(&self->b, &self->a, cookie, self->in, len, 0));
		EXPECT_TRUE(vt_check("read", self->in, len, 2 * i + 2, 0));
		ASSERT_EQ(1, recv(self->a.fd, self->in, 1, 0));
	}
}

/* Packets go over lo, as both addresses are of this host. */
TEST_F_TIMEOUT(rds, packets_are_lost, 100)
{
	struct vt_dev dev;
	int64_t before;

	if (vt_on_path("host"))
		SKIP(return, "there are no packets");
	ASSERT_EQ(0, vt_dev_open(&dev, 0, AF_INET));
	before = vt_counter_now(dev.ctx, "retransmits");
	ASSERT_LE(0, before);
	run("modprobe -q %s", "sch_netem");
	ASSERT_TRUE(run("tc qdisc replace dev %s root netem limit 10000 loss 2%%", "lo"));
	stress(_metadata, self, LOSSY_ROUNDS);
	EXPECT_LT(before, vt_counter_now(dev.ctx, "retransmits"));
	vt_dev_close(&dev);
}

VT_HARNESS_MAIN
