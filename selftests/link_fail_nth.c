// SPDX-License-Identifier: GPL-2.0
/*
 * An allocation that "rdma link add" makes fails: either the link is added, or the command returns an error,
 * leaves no link, and succeeds the next time. ib_core makes thousands of allocations, so one run fails only some.
 *
 *   SMR_TRIES=N ./link_fail_nth	how many, at equal distances
 *
 * beds: uml-checked
 * timeout: 300
 * boot: kmemleak
 * paths: host
 */
#include "harness.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "fail.h"
#include "netdev.h"
#include "random.h"

/* More than ib_core and softmr make */
#define SWEEP_MAX	20000
#define SHORT_TRIES	40
#define TRIES		400

FIXTURE(link)
{
	int fd;
	int nl;
};

FIXTURE_SETUP(link)
{
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (self->fd < 0 || !vt_fail_prepare())
		SKIP(return, "this kernel does not inject faults");
	ASSERT_EQ(0, vt_own_link_add());
	ASSERT_EQ(0, vt_own_link_del());
	self->nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	ASSERT_LE(0, self->nl);
}

FIXTURE_TEARDOWN(link)
{
	close(self->nl);
	close(self->fd);
	EXPECT_EQ(0, system("ip link del " VT_OWN_NETDEV));
}

static void put(struct nlmsghdr *hdr, uint16_t type, const char *text)
{
	struct nlattr *attr = (void *)((char *)hdr + NLMSG_ALIGN(hdr->nlmsg_len));

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + strlen(text) + 1;
	strcpy((char *)attr + NLA_HDRLEN, text);
	hdr->nlmsg_len = NLMSG_ALIGN(hdr->nlmsg_len) + NLA_ALIGN(attr->nla_len);
}

/* As "rdma link add" does it, but in this task. Return: 0 or a negative errno */
static int add(int nl)
{
	struct {
		struct nlmsghdr hdr;
		char attrs[200];
	} msg = {
		.hdr = {
			.nlmsg_len = NLMSG_HDRLEN, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
		},
	};
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
		char more[400];
	} answer;

	put(&msg.hdr, RDMA_NLDEV_ATTR_DEV_NAME, VT_OWN_LINK);
	put(&msg.hdr, RDMA_NLDEV_ATTR_NDEV_NAME, VT_OWN_NETDEV);
	put(&msg.hdr, RDMA_NLDEV_ATTR_LINK_TYPE, "softmr");
	if (send(nl, &msg, msg.hdr.nlmsg_len, 0) < 0 || recv(nl, &answer, sizeof(answer), 0) < 0)
		return -errno;
	return answer.hdr.nlmsg_type == NLMSG_ERROR ? answer.err.error : -EBADMSG;
}

/*
 * ENFILE: the kernel has no memory for a socket. ENOBUFS: there may be a link, and no memory for the
 * answer that says so.
 */
static bool no_memory(int ret)
{
	return ret == -ENOMEM || ret == -ENFILE || ret == -ENOBUFS;
}

static bool exists(void)
{
	return !access("/sys/class/infiniband/" VT_OWN_LINK, F_OK);
}

TEST_F_TIMEOUT(link, add, 280)
{
	uint64_t random = vt_random_begin(vt_seed(), 0);
	const char *given = getenv("SMR_TRIES");
	int tries = given ? atoi(given) : getenv("SMR_SHORT") ? SHORT_TRIES : TRIES;
	int n, ret, injected = 1, worked = 0, failed = 0, step;
	struct vt_pair pair;

	/* how many there are */
	ASSERT_EQ(0, vt_fail_nth(self->fd, SWEEP_MAX));
	ASSERT_EQ(0, add(self->nl));
	n = SWEEP_MAX - vt_fail_left(self->fd);
	ASSERT_LT(0, n);
	ASSERT_GT(SWEEP_MAX, n);
	ASSERT_EQ(0, vt_own_link_del());
	step = n / tries + 1;
	for (n = 1 + vt_random_below(&random, step); injected && n < SWEEP_MAX; n += step) {
		ASSERT_EQ(0, vt_fail_nth(self->fd, n));
		ret = add(self->nl);
		injected = vt_fail_happened(self->fd);
		ASSERT_LE(0, injected);
		ASSERT_TRUE(!ret || (injected && no_memory(ret)))
			TH_LOG("allocation %d: %d", n, ret);
		worked += injected && !ret;
		failed += !!ret;
		ASSERT_TRUE(exists() == !ret || ret == -ENOBUFS) TH_LOG("allocation %d: %d", n, ret);
		if (exists())
			ASSERT_EQ(0, vt_own_link_del());
	}
	TH_LOG("up to allocation %d: there was a link %d times, and an error %d times", n - step,
	       worked, failed);
	EXPECT_GT(SWEEP_MAX, n);
	EXPECT_LT(0, failed);
	ASSERT_EQ(0, add(self->nl));
	ASSERT_EQ(0, vt_pair_open(&pair, &vt_defaults));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
	EXPECT_EQ(0, vt_own_link_del());
}

VT_HARNESS_MAIN
