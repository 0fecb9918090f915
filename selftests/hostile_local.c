// SPDX-License-Identifier: GPL-2.0
/*
 * An unprivileged user on the host of another user's connection: what it can learn about the
 * connection, and that it cannot send packets as either end. The connection is root's; the stranger
 * is a child process with another uid and no capabilities.
 *
 * timeout: 60
 * paths: wire veth
 */
#include "harness.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/udp.h>
#include <sys/prctl.h>

#include "roce.h"
#include "system.h"

#define STRANGER	65534
#define PSN_A		0x123456
#define PKEY		0xffff

FIXTURE(stranger)
{
	struct vt_conf conf;
	struct vt_pair pair;
};

FIXTURE_SETUP(stranger)
{
	self->conf = vt_defaults;
	self->conf.sq_psn = PSN_A;
	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
}

FIXTURE_TEARDOWN(stranger)
{
	vt_pair_close(&self->pair);
}

/*
 * Become the stranger. With @keep the process keeps CAP_NET_RAW, but no other capability.
 */
static int become_stranger(bool keep)
{
	int cap;

	if (keep && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	if (setgroups(0, NULL) || setresgid(STRANGER, STRANGER, STRANGER) ||
	    setresuid(STRANGER, STRANGER, STRANGER))
		return -errno;
	for (cap = 0; keep && cap < 32; cap++)
		if (vt_capability(cap, cap == CAP_NET_RAW))
			return -errno;
	return 0;
}

/*
 * Run @act in a child that is the stranger. Return: what @act returns, 0 or a negative errno
 */
static int as_stranger(int (*act)(const void *arg), const void *arg, bool keep)
{
	int status, ret;
	pid_t pid = fork();

	if (!pid) {
		ret = become_stranger(keep);
		_exit(ret ? 255 : -act(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static int psns_are_shown(const void *arg)
{
	const struct ibv_qp *qp = arg;
	static const char * const words[] = {
		" sq-psn ", " rq-psn ", "drv_sq_psn ", "drv_rq_psn ",
	};
	int i;

	if (vt_qp_shown(qp->qp_num, " type RC state RTS ") == -2)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (vt_qp_shown(qp->qp_num, words[i]) > 0)
			return -EEXIST;
	return 0;
}

/* A process that knows a connection's PSNs could send as its peer. */
TEST_F(stranger, sees_no_psns)
{
	struct ibv_qp *qp = self->pair.a.qp;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT_EQ(0, as_stranger(psns_are_shown, qp, false));
	EXPECT_EQ(PSN_A, vt_qp_shown(qp->qp_num, "drv_sq_psn "));
	EXPECT_EQ(PSN_A, vt_qp_shown(qp->qp_num, "drv_rq_psn "));

	/* The owner can query them by verbs. */
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init));
	EXPECT_EQ(PSN_A, attr.sq_psn);
	EXPECT_EQ(PSN_A, attr.rq_psn);
}

/* A WRITE to a key that does not exist, as the peer of @ep would send it. */
struct lie {
	struct vt_roce roce;
	struct vt_bth bth;
	uint8_t reth[16];
};

static struct lie lie_to(const struct vt_ep *ep, uint32_t psn, const struct vt_ep *from)
{
	struct lie lie = {
		.bth = {
			.opcode = VT_OP_WRITE_ONLY, .pkey = PKEY,
			.qpn = ep->qp->qp_num, .psn = psn, .ack_req = true,
		},
		.reth = { [15] = 4 },
	};

	memcpy(&lie.roce.saddr, from->dev.gid.raw + 12, 4);
	memcpy(&lie.roce.daddr, ep->dev.gid.raw + 12, 4);
	return lie;
}

static int tell(const void *arg)
{
	const struct lie *lie = arg;
	uint8_t data[20] = {};

	memcpy(data, lie->reth, sizeof(lie->reth));
	return vt_roce_datagram(&lie->roce, &lie->bth, data, sizeof(data));
}

/*
 * A datagram with everything that the victim expects. The peer is on this host; or the victim, to
 * which the packet goes, is on another host.
 */
TEST_F(stranger, sends_no_datagram_as_a_peer)
{
	struct vt_ep *a = &self->pair.a, *b = &self->pair.b;
	int64_t before = vt_counter_now(a->dev.ctx, "local_udp_refused");
	struct lie lie = lie_to(b, PSN_A, a);

	EXPECT_EQ(-EPERM, as_stranger(tell, &lie, false));
	EXPECT_TRUE(vt_pair_works(&self->pair));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(a->qp));
	EXPECT_EQ(IBV_QPS_RTS, vt_qp_state(b->qp));
	EXPECT_TRUE(vt_counter_wait(a->dev.ctx, "local_udp_refused", before + 1));

	/* This also holds for an ordinary socket of root. */
	EXPECT_EQ(-EPERM, tell(&lie));
}

static int to_port(int family, const char *addr, int port, size_t len, int segment)
{
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr *to = family == AF_INET ? (void *)&to4 : (void *)&to6;
	static const uint8_t data[16000];
	int fd = socket(family, SOCK_DGRAM, 0), ret = 0;

	inet_pton(family, addr, family == AF_INET ? (void *)&to4.sin_addr : (void *)&to6.sin6_addr);
	if (segment && setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		ret = -errno;
	if (!ret && sendto(fd, data, len, 0, to, family == AF_INET ? sizeof(to4) : sizeof(to6)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Each kind of datagram, to this host and to others. Return: 0, or -1 for the first wrong one */
static int no_kind_of_datagram(const void *arg)
{
	static const size_t kinds[][2] = { { 64, 0 }, { 16000, 0 }, { 4000, 1000 }, { 0, 0 } };
	static const char * const v4[] = { "10.1.0.1", "10.1.0.2", "127.0.0.1" };
	static const char * const v6[] = { "fd01::1", "fd01::2", "::1", "::ffff:10.1.0.1" };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (j = 0; j < ARRAY_SIZE(v4); j++)
			if (to_port(AF_INET, v4[j], VT_ROCE_PORT, kinds[i][0], kinds[i][1]) != -EPERM)
				return -1;
		for (j = 0; j < ARRAY_SIZE(v6); j++)
			if (to_port(AF_INET6, v6[j], VT_ROCE_PORT, kinds[i][0], kinds[i][1]) != -EPERM)
				return -1;
	}
	/* Other ports are not affected. */
	return to_port(AF_INET, "10.1.0.1", VT_ROCE_PORT + 1, 64, 0) ||
	       to_port(AF_INET6, "fd01::2", VT_ROCE_PORT - 1, 64, 0) ? -1 : 0;
}

TEST_F(stranger, sends_no_kind_of_datagram)
{
	EXPECT_EQ(0, as_stranger(no_kind_of_datagram, NULL, false));
}

/* A process with CAP_NET_RAW can send any packet on the network, and so it can here. */
TEST_F(stranger, raw_sockets_are_for_the_privileged)
{
	struct lie lie = lie_to(&self->pair.b, PSN_A, &self->pair.a);
	uint8_t data[20] = {};

	memcpy(data, lie.reth, sizeof(lie.reth));
	ASSERT_EQ(0, vt_roce_raw(&lie.roce, &lie.bth, data, sizeof(data)));
	ASSERT_EQ(0, vt_async_event(self->pair.b.dev.ctx, IBV_EVENT_QP_ACCESS_ERR, 5000));
	EXPECT_EQ(IBV_QPS_ERR, vt_qp_state(self->pair.b.qp));
}

/**
 * struct theft - a QP of the stranger, to be connected to another user's peer
 * @type: its type
 * @to: the peer
 */
struct theft {
	enum ibv_qp_type type;
	struct vt_addr to;
};

static int steal(const void *arg)
{
	const struct theft *theft = arg;
	struct vt_ep ep;
	int ret;

	ret = vt_ep_open(&ep, &VT_CONF(.qp_type = theft->type), 0);
	if (ret)
		return ret == -EPERM ? -EIO : ret;
	ret = vt_ep_connect(&ep, &theft->to);
	vt_ep_close(&ep);
	return ret;
}

/* The victim's peer accepts packets from the victim's host that have its QP number and PSN. */
TEST_F(stranger, has_no_qp_with_anothers_peer)
{
	struct theft theft = { IBV_QPT_RC, vt_ep_addr(&self->pair.b) };
	int64_t before = vt_counter_now(self->pair.a.dev.ctx, "qp_peer_refused");

	EXPECT_EQ(-EPERM, as_stranger(steal, &theft, false));
	EXPECT_TRUE(vt_counter_wait(self->pair.a.dev.ctx, "qp_peer_refused", before + 1));
	theft.type = IBV_QPT_UC;
	EXPECT_EQ(-EPERM, as_stranger(steal, &theft, false));

	/* Datagram QPs have no peer; and a process with CAP_NET_RAW may do this. */
	theft.type = IBV_QPT_UD;
	EXPECT_EQ(0, as_stranger(steal, &theft, false));
	theft.type = IBV_QPT_RC;
	EXPECT_EQ(0, as_stranger(steal, &theft, true));
	EXPECT_EQ(0, steal(&theft));
	EXPECT_TRUE(vt_pair_works(&self->pair));
	/* The QPs that were allowed to connect have left nothing behind. */
	EXPECT_EQ(-EPERM, as_stranger(steal, &theft, false));
}

/*
 * A process that opens the device and connects as root, and then changes its user. Return: 0 or a
 * negative errno
 */
static int connect_and_change(const struct vt_conf *conf)
{
	struct theft theft = { IBV_QPT_RC };
	struct vt_pair pair;
	struct vt_ep second;
	int ret;

	ret = vt_pair_open(&pair, conf);
	if (ret)
		return ret;
	ret = become_stranger(false);
	if (ret)
		return ret;
	second = pair.a;
	second.qp = vt_qp_create(&second);
	if (!second.qp)
		return -errno;
	theft.to = vt_ep_addr(&pair.b);
	ret = vt_ep_connect(&second, &theft.to);
	if (ret)
		return ret;
	/* For a newly opened context the peer belongs to root. */
	if (steal(&theft) != -EPERM)
		return -EEXIST;
	/* It keeps its peer after the QP that root connected is reset. */
	ret = vt_qp_reset(pair.a.qp);
	if (!ret)
		ret = vt_ep_connect(&pair.a, &theft.to);
	ibv_destroy_qp(second.qp);
	vt_pair_close(&pair);
	return ret;
}

/* QPs of one open context have one owner, so one of them may take over the peer of another. */
TEST_F(stranger, keeps_his_peers_when_he_changes_his_user)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(-connect_and_change(&self->conf));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("%s", strerror(WEXITSTATUS(status)));
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

/* Equal numbers at different addresses are different peers: both 10.1.0.1 and 10.1.0.2 exist. */
TEST_F(stranger, may_have_the_number_on_another_host)
{
	struct theft theft = { IBV_QPT_RC, vt_ep_addr(&self->pair.b) };

	theft.to.gid.raw[15] ^= 3;
	EXPECT_EQ(0, as_stranger(steal, &theft, false));
	theft.to.gid.raw[15] ^= 3;
	theft.to.qpn ^= 1;
	EXPECT_EQ(0, as_stranger(steal, &theft, false));
}

/* After the connection has ended, in each possible way, another user may have that peer. */
TEST_F(stranger, may_have_a_peer_that_is_free)
{
	struct theft theft = { IBV_QPT_RC, vt_ep_addr(&self->pair.b) };
	struct vt_addr b = theft.to;

	ASSERT_EQ(-EPERM, as_stranger(steal, &theft, false));
	ASSERT_EQ(0, vt_qp_reset(self->pair.a.qp));
	EXPECT_EQ(0, as_stranger(steal, &theft, false));

	ASSERT_EQ(0, vt_ep_connect(&self->pair.a, &b));
	ASSERT_EQ(-EPERM, as_stranger(steal, &theft, false));
	ASSERT_EQ(0, vt_qp_to(self->pair.a.qp, IBV_QPS_ERR));
	EXPECT_EQ(0, as_stranger(steal, &theft, false));

	ASSERT_EQ(0, vt_qp_reset(self->pair.a.qp));
	ASSERT_EQ(0, vt_ep_connect(&self->pair.a, &b));
	ASSERT_EQ(-EPERM, as_stranger(steal, &theft, false));
	ASSERT_EQ(0, ibv_destroy_qp(self->pair.a.qp));
	self->pair.a.qp = NULL;
	EXPECT_EQ(0, as_stranger(steal, &theft, false));
}

VT_HARNESS_MAIN
