// SPDX-License-Identifier: GPL-2.0
/*
 * The speed of a port in 100 Mb/s: as ethtool reports it; of a bond, which changes with its
 * members; of a netdev without a speed.
 *
 * timeout: 60
 * paths: host
 */
#include "harness.h"
#include "netdev.h"
#include "uverbs.h"

#define VETH_SPEED	100	/* 10 Gb/s */
#define NO_SPEED	25	/* 1X SDR */

/* Return: 0 or a negative errno */
static int query(struct ibv_context *ctx, uint64_t port, uint64_t *speed)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE, VT_METHOD_QUERY_PORT_SPEED);

	vt_ucmd_value(&cmd, VT_PORT_SPEED_NUM, port, 8);
	vt_ucmd_out(&cmd, VT_PORT_SPEED_RESP, speed, 8);
	return vt_ucmd_run(&cmd, ctx);
}

static uint64_t speed(struct ibv_context *ctx)
{
	uint64_t n = 0;

	return query(ctx, 1, &n) ? ~0ull : n;
}

static bool becomes(struct ibv_context *ctx, uint64_t want)
{
	return VT_UNTIL(speed(ctx) == want);
}

FIXTURE(speed)
{
	struct vt_dev dev;
};

static void close_own(FIXTURE_DATA(speed) *self)
{
	vt_dev_close(&self->dev);
	system("ip link del " VT_OWN_NETDEV " 2>/dev/null;"
	       "ip link del smrspeed0 2>/dev/null;"
	       "ip link del smrspeed1 2>/dev/null");
}

static int open_own(FIXTURE_DATA(speed) *self)
{
	uint64_t n;
	int ret = vt_own_link_add();

	if (!ret)
		ret = vt_dev_open(&self->dev, 0, AF_INET);
	if (!ret)
		ret = query(self->dev.ctx, 1, &n);
	/* After a skip the teardown does not run. */
	if (ret)
		close_own(self);
	return ret;
}

FIXTURE_SETUP(speed)
{
	VT_SETUP(open_own(self));
}

FIXTURE_TEARDOWN(speed)
{
	close_own(self);
}

/* The same as ibv_query_port() reports */
TEST_F(speed, none)
{
	uint64_t n;

	EXPECT_EQ(NO_SPEED, speed(self->dev.ctx));
	EXPECT_EQ(1, self->dev.port.active_speed);
	EXPECT_EQ(1, self->dev.port.active_width);
	EXPECT_EQ(-EINVAL, query(self->dev.ctx, 0, &n));
	EXPECT_EQ(-EINVAL, query(self->dev.ctx, 2, &n));
}

/* Replace the dummy netdev by a bond with two veths as members. */
static int make_bond(FIXTURE_DATA(speed) *self)
{
	vt_dev_close(&self->dev);
	self->dev.ctx = NULL;
	if (system("ip link del " VT_OWN_NETDEV " && "
		   "ip link add " VT_OWN_NETDEV " type bond mode balance-xor miimon 20 && "
		   "for i in 0 1; do "
		   "ip link add smrspeed$i type veth peer name smrfar$i && "
		   "ip link set smrfar$i up && "
		   "ip link set smrspeed$i master " VT_OWN_NETDEV " || exit; "
		   "done; "
		   "ip link set " VT_OWN_NETDEV " up && "
		   "ip addr add 10.98.0.1/24 dev " VT_OWN_NETDEV " && "
		   "rdma link add " VT_OWN_LINK " type softmr netdev " VT_OWN_NETDEV))
		return -EIO;
	return vt_dev_open(&self->dev, 0, AF_INET);
}

static int far_end(const char *what)
{
	char line[64];

	snprintf(line, sizeof(line), "ip link set smrfar1 %s", what);
	return system(line);
}

TEST_F(speed, bond)
{
	struct ibv_context *ctx;

	ASSERT_EQ(0, make_bond(self));
	ctx = self->dev.ctx;
	ASSERT_TRUE(becomes(ctx, 2 * VETH_SPEED));
	ASSERT_EQ(0, far_end("down"));
	EXPECT_TRUE(becomes(ctx, VETH_SPEED));
	ASSERT_EQ(0, far_end("up"));
	EXPECT_TRUE(becomes(ctx, 2 * VETH_SPEED));
	/* a member leaves */
	ASSERT_EQ(0, system("ip link set smrspeed0 nomaster"));
	EXPECT_TRUE(becomes(ctx, VETH_SPEED));
}

/* The query also works while there is no speed: the last member has no carrier. */
TEST_F(speed, down)
{
	ASSERT_EQ(0, make_bond(self));
	ASSERT_TRUE(becomes(self->dev.ctx, 2 * VETH_SPEED));
	ASSERT_EQ(0, system("ip link set smrfar0 down"));
	ASSERT_EQ(0, far_end("down"));
	EXPECT_EQ(0, vt_async_event(self->dev.ctx, IBV_EVENT_PORT_ERR,
				    VT_TIMEOUT_MS));
	EXPECT_TRUE(becomes(self->dev.ctx, NO_SPEED));
}

VT_HARNESS_MAIN
