// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast: each QP that is attached to a group receives each message to the
 * group once; no other QP does.
 *
 * race: yes
 * break: qemu-newest
 * timeout: 120
 * paths: host veth
 */
#include "harness.h"
#include "netdev.h"
#include "softirq.h"
#include "ud.h"
#include "why.h"

#define MULTICAST_QPN	0xffffff
#define LEN		100

FIXTURE(mcast)
{
	struct vt_pair pair;
	struct vt_ep *a, *b;
	union ibv_gid group;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_send_wr wr;
};

FIXTURE_VARIANT(mcast)
{
	int family;
	const char *group;
};

FIXTURE_VARIANT_ADD(mcast, v4) { AF_INET, "::ffff:239.1.2.3" };
FIXTURE_VARIANT_ADD(mcast, v6) { AF_INET6, "ff15::1234:5678" };

static struct ibv_ah *address(struct vt_ep *ep, const union ibv_gid *group)
{
	struct ibv_ah_attr attr = vt_ah_attr(ep->dev.gid_index, group);

	return ibv_create_ah(ep->pd, &attr);
}

FIXTURE_SETUP(mcast)
{
	VT_SETUP(vt_pair_open(&self->pair, &VT_CONF(.qp_type = IBV_QPT_UD,
			.family = variant->family)));
	self->a = &self->pair.a;
	self->b = &self->pair.b;
	ASSERT_EQ(1, inet_pton(AF_INET6, variant->group, self->group.raw));
	self->ah = address(self->a, &self->group);
	ASSERT_NE(NULL, self->ah);
	self->sge = vt_sge(&self->a->buf, 2 * VT_GUARD, LEN);
	vt_fill_sges(&self->sge, 1, LEN, 6);
	self->wr = vt_ud_wr(self->a, &self->sge);
	self->wr.wr.ud.ah = self->ah;
	self->wr.wr.ud.remote_qpn = MULTICAST_QPN;
}

FIXTURE_TEARDOWN(mcast)
{
	if (self->ah)
		ibv_destroy_ah(self->ah);
	vt_pair_close(&self->pair);
}

static bool received(struct vt_ep *ep, const struct vt_ep *from,
		     const union ibv_gid *group)
{
	struct ibv_sge all = vt_sge(&ep->buf, VT_GUARD, VT_GRH_LEN + LEN), data;
	uint8_t *grh = ep->buf.p + VT_GUARD;
	bool v4 = ep->conf.family == AF_INET;
	struct ibv_wc wc;

	if (vt_wait(ep->rcq, &wc))
		return false;
	vt_sges_skip(&data, &all, 1, VT_GRH_LEN);
	return wc.status == IBV_WC_SUCCESS && wc.src_qp == from->qp->qp_num &&
	       wc.byte_len == VT_GRH_LEN + LEN && wc.wc_flags == IBV_WC_GRH &&
	       vt_check_sges(&data, 1, LEN, 6) &&
	       !memcmp(grh + (v4 ? 36 : 24), group->raw + (v4 ? 12 : 0),
		       v4 ? 4 : 16) &&
	       !memcmp(grh + (v4 ? 32 : 8), from->dev.gid.raw + (v4 ? 12 : 0),
		       v4 ? 4 : 16);
}

/* The next message of @ep is one that is shorter than all others. */
static bool next_is_short(struct vt_ep *ep)
{
	struct ibv_wc wc;

	return !vt_wait(ep->rcq, &wc) && wc.status == IBV_WC_SUCCESS &&
	       wc.byte_len == VT_GRH_LEN + LEN - 1;
}

/*
 * b receives nothing that a has sent: the next message that arrives is one to b's own group, which was sent later by
 * the same path.
 */
static bool nothing_came(FIXTURE_DATA(mcast) *self)
{
	struct ibv_sge sge = self->sge;
	struct ibv_send_wr wr = self->wr;
	union ibv_gid group = self->group;
	bool ok;

	group.raw[15] += 5;
	sge.length = LEN - 1;
	wr.sg_list = &sge;
	wr.wr.ud.remote_qpn = MULTICAST_QPN;
	wr.wr.ud.remote_qkey = self->b->conf.qkey;
	wr.wr.ud.ah = address(self->a, &group);
	ok = wr.wr.ud.ah && !ibv_attach_mcast(self->b->qp, &group, 0) &&
	     vt_outcome(self->a, &wr) == IBV_WC_SUCCESS && next_is_short(self->b);
	return !ibv_detach_mcast(self->b->qp, &group, 0) && !ibv_destroy_ah(wr.wr.ud.ah) && ok;
}

TEST_F(mcast, all_that_are_attached)
{
	int i;

	ASSERT_EQ(0, ibv_attach_mcast(self->a->qp, &self->group, 0));
	ASSERT_EQ(0, ibv_attach_mcast(self->b->qp, &self->group, 0));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, vt_ud_recv(self->a, 1, LEN));
		ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
		EXPECT_TRUE(received(self->a, self->a, &self->group));
		EXPECT_TRUE(received(self->b, self->a, &self->group));
	}
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	EXPECT_TRUE(nothing_came(self));
	EXPECT_EQ(0, ibv_detach_mcast(self->a->qp, &self->group, 0));
	EXPECT_EQ(0, ibv_detach_mcast(self->b->qp, &self->group, 0));
}

TEST_F(mcast, peer_alone)
{
	int i;

	ASSERT_EQ(0, ibv_attach_mcast(self->b->qp, &self->group, 0));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
		ASSERT_TRUE(received(self->b, self->a, &self->group));
	}
	EXPECT_EQ(0, ibv_detach_mcast(self->b->qp, &self->group, 0));
}

/* A detached QP receives nothing more; nor does a QP of another group. */
TEST_F(mcast, nobody_else)
{
	union ibv_gid other = self->group;
	struct ibv_ah *ah;

	other.raw[15]++;
	ah = address(self->a, &other);
	ASSERT_NE(NULL, ah);
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(nothing_came(self));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	ASSERT_EQ(0, ibv_attach_mcast(self->b->qp, &other, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(nothing_came(self));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	self->wr.wr.ud.ah = ah;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(received(self->b, self->a, &other));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	ASSERT_EQ(0, ibv_detach_mcast(self->b->qp, &other, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(nothing_came(self));
	EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* A QP gets only messages of its own groups, even if other groups share a bucket of a hash table with them. */
#define MEMBER_OF	16
#define OTHERS		100

TEST_F(mcast, none_of_many_others)
{
	struct ibv_qp *member = vt_qp_create(self->b);
	union ibv_gid group = self->group;
	struct ibv_ah *ah;
	int i;

	/* Without a member the host would not take the messages. This one cannot receive. */
	ASSERT_NE(NULL, member);
	group.raw[14]++;
	for (i = 0; i < MEMBER_OF; i++) {
		group.raw[15] = i;
		ASSERT_EQ(0, ibv_attach_mcast(self->b->qp, &group, 0));
	}
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	group.raw[14]++;
	for (i = 0; i < OTHERS; i++) {
		group.raw[15] = i;
		ASSERT_EQ(0, ibv_attach_mcast(member, &group, 0));
		ah = address(self->a, &group);
		ASSERT_NE(NULL, ah);
		self->wr.wr.ud.ah = ah;
		EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
		EXPECT_EQ(0, ibv_destroy_ah(ah));
	}
	EXPECT_TRUE(nothing_came(self));
	for (i = 0; i < OTHERS; i++) {
		group.raw[15] = i;
		EXPECT_EQ(0, ibv_detach_mcast(member, &group, 0));
	}
	EXPECT_EQ(0, ibv_destroy_qp(member));
}

/*
 * The Q_Key is checked here, too; a unicast message is not sent to the group.
 */
TEST_F(mcast, not_for_the_group)
{
	ASSERT_EQ(0, ibv_attach_mcast(self->b->qp, &self->group, 0));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	self->wr.wr.ud.remote_qkey ^= 1;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(nothing_came(self));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	self->wr.wr.ud.remote_qkey ^= 1;
	self->wr.wr.ud.remote_qpn = self->b->qp->qp_num;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(nothing_came(self));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	self->wr.wr.ud.remote_qpn = MULTICAST_QPN;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(received(self->b, self->a, &self->group));
}

/* A QP that blocks its own multicasts, and a QP that gets them */
TEST_F(mcast, own_messages_blocked)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = self->a->scq, .recv_cq = self->a->rcq,
		.cap = {
			.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_UD, .pd = self->a->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	struct ibv_sge sge = vt_sge(&self->b->buf, 2 * VT_GUARD, LEN);
	struct ibv_send_wr wr = vt_ud_wr(self->b, &sge);
	struct vt_addr to = vt_ep_addr(self->b);

	ASSERT_EQ(0, ibv_destroy_qp(self->a->qp));
	self->a->qp = ibv_create_qp_ex(self->a->dev.ctx, &init);
	ASSERT_NE(NULL, self->a->qp);
	ASSERT_EQ(0, vt_ep_connect(self->a, &to));
	ASSERT_EQ(0, ibv_attach_mcast(self->a->qp, &self->group, 0));
	ASSERT_EQ(0, ibv_attach_mcast(self->b->qp, &self->group, 0));
	ASSERT_EQ(0, vt_ud_recv(self->a, 1, LEN));
	ASSERT_EQ(0, vt_ud_recv(self->b, 1, LEN));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(received(self->b, self->a, &self->group));
	/* Both copies are made at the same time. So a's copy would arrive before the message that b sends now. */
	sge.length = LEN - 1;
	wr.wr.ud.remote_qpn = self->a->qp->qp_num;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_outcome(self->b, &wr));
	EXPECT_TRUE(next_is_short(self->a));
}

TEST_F(mcast, what_cannot_be)
{
	union ibv_gid unicast = self->a->dev.gid;
	struct vt_ep rc;

	EXPECT_EQ(EINVAL, ibv_attach_mcast(self->a->qp, &unicast, 0));
	EXPECT_EQ(EINVAL, ibv_detach_mcast(self->a->qp, &self->group, 0));
	ASSERT_EQ(0, vt_ep_open(&rc, &vt_defaults, 0));
	EXPECT_EQ(EINVAL, ibv_attach_mcast(rc.qp, &self->group, 0));
	vt_ep_close(&rc);
	/* attaching twice is like attaching once */
	EXPECT_EQ(0, ibv_attach_mcast(self->a->qp, &self->group, 0));
	EXPECT_EQ(0, ibv_attach_mcast(self->a->qp, &self->group, 0));
	EXPECT_EQ(0, ibv_detach_mcast(self->a->qp, &self->group, 0));
	EXPECT_EQ(EINVAL, ibv_detach_mcast(self->a->qp, &self->group, 0));
}

/* Does the netdev accept frames for the group? */
static bool listens(const char *netdev, const union ibv_gid *group, int family)
{
	char line[256], want[16];
	const uint8_t *g = group->raw + 12;
	bool found = false;
	FILE *f = fopen("/proc/net/dev_mcast", "r");

	if (family == AF_INET)
		snprintf(want, sizeof(want), "01005e%02x%02x%02x", g[1] & 0x7f,
			 g[2], g[3]);
	else
		snprintf(want, sizeof(want), "3333%02x%02x%02x%02x", g[0], g[1],
			 g[2], g[3]);
	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, netdev) && strstr(line, want);
	if (f)
		fclose(f);
	return found;
}

static bool netdev_listens(const union ibv_gid *group, int family)
{
	return listens(getenv("SMR_NETDEV"), group, family);
}

/* As long as a QP is attached, and no longer. */
TEST_F(mcast, netdev_listens)
{
	struct vt_ep other;

	ASSERT_EQ(0, vt_ep_open(&other, &self->a->conf, 0));
	EXPECT_FALSE(netdev_listens(&self->group, variant->family));
	ASSERT_EQ(0, ibv_attach_mcast(self->a->qp, &self->group, 0));
	EXPECT_TRUE(netdev_listens(&self->group, variant->family));
	ASSERT_EQ(0, ibv_attach_mcast(other.qp, &self->group, 0));
	ASSERT_EQ(0, ibv_detach_mcast(self->a->qp, &self->group, 0));
	EXPECT_TRUE(netdev_listens(&self->group, variant->family));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(other.qp));
	ASSERT_EQ(0, ibv_detach_mcast(other.qp, &self->group, 0));
	EXPECT_FALSE(netdev_listens(&self->group, variant->family));
	vt_ep_close(&other);
}

TEST_F(mcast, process_dies_attached)
{
	struct vt_ep other;

	EXPECT_EQ(0, VT_IN_CHILD(vt_ep_open(&other, &self->a->conf, 0) ||
				 ibv_attach_mcast(other.qp, &self->group, 0) ||
				 !netdev_listens(&self->group, variant->family)));
	EXPECT_FALSE(netdev_listens(&self->group, variant->family));
}

static bool listens_again(const union ibv_gid *group, int family)
{
	return VT_UNTIL(listens(VT_OWN_NETDEV, group, family));
}

/*
 * With an MTU that is too small for IP, a netdev forgets its groups. When the
 * MTU is large again, attached QPs still receive. A QP that leaves the
 * all-hosts group does not remove the host from it.
 */
TEST_F(mcast, netdev_forgets)
{
	union ibv_gid all = self->group, other = self->group;
	struct smr_abi_why why;
	struct ibv_qp *qp;
	struct vt_ep ep;

	if (strcmp(getenv("SMR_PATH"), "host"))
		SKIP(return, "tried once only");
	ASSERT_EQ(1, inet_pton(AF_INET6, variant->family == AF_INET ?
			       "::ffff:224.0.0.1" : "ff02::1", all.raw));
	other.raw[15]++;
	ASSERT_EQ(0, vt_own_link_add());
	ASSERT_EQ(0, vt_ep_open(&ep, &self->a->conf, 0));
	qp = vt_qp_create(&ep);
	ASSERT_NE(NULL, qp);

	EXPECT_EQ(0, ibv_attach_mcast(ep.qp, &self->group, 0));
	EXPECT_EQ(0, ibv_attach_mcast(ep.qp, &all, 0));
	EXPECT_EQ(0, ibv_attach_mcast(qp, &all, 0));
	EXPECT_TRUE(listens(VT_OWN_NETDEV, &self->group, variant->family));
	EXPECT_EQ(0, system("ip link set " VT_OWN_NETDEV " mtu 60"));
	EXPECT_FALSE(listens(VT_OWN_NETDEV, &self->group, variant->family));
	EXPECT_FALSE(listens(VT_OWN_NETDEV, &all, variant->family));
	EXPECT_EQ(0, ibv_detach_mcast(qp, &all, 0));
	EXPECT_EQ(ENODEV, ibv_attach_mcast(qp, &other, 0));
	ASSERT_EQ(0, vt_why_last(ep.dev.ctx, &why));
	EXPECT_EQ((uint32_t)SMR_WHY_MCAST_NETDEV, why.id);
	EXPECT_EQ(qp->qp_num, why.qpn);
	EXPECT_EQ(variant->family == AF_INET, why.num[0]);
	EXPECT_EQ(0, ibv_attach_mcast(qp, &self->group, 0));
	EXPECT_EQ(0, system("ip link set " VT_OWN_NETDEV " mtu 1500"));
	EXPECT_TRUE(listens_again(&self->group, variant->family));

	EXPECT_EQ(0, ibv_detach_mcast(ep.qp, &all, 0));
	EXPECT_EQ(0, ibv_detach_mcast(ep.qp, &self->group, 0));
	EXPECT_TRUE(listens(VT_OWN_NETDEV, &all, variant->family));
	EXPECT_EQ(0, ibv_detach_mcast(qp, &self->group, 0));
	EXPECT_FALSE(listens(VT_OWN_NETDEV, &self->group, variant->family));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	vt_ep_close(&ep);
	EXPECT_EQ(0, vt_own_link_del());
	EXPECT_EQ(0, system("ip link del " VT_OWN_NETDEV));
}

/* As many as the device says; the next one fails. */
TEST_F(mcast, limits)
{
	struct ibv_device_attr *dev = &self->a->dev.attr;
	union ibv_gid group = self->group;
	struct vt_conf conf = self->a->conf;
	struct ibv_qp **qps;
	int i, max = dev->max_mcast_qp_attach;
	struct smr_abi_why rec;

	/* The limits do not depend on the path, and the test takes long. */
	if (variant->family != AF_INET || strcmp(getenv("SMR_PATH"), "host"))
		SKIP(return, "tried once only");
	EXPECT_LE(dev->max_mcast_grp * max, dev->max_total_mcast_qp_attach);
	ASSERT_LE(max, 4096);
	self->a->conf.depth = 1;
	qps = calloc(max + 1, sizeof(*qps));
	for (i = 0; i <= max; i++) {
		qps[i] = vt_qp_create(self->a);
		ASSERT_NE(NULL, qps[i]);
		ASSERT_EQ(i < max ? 0 : ENOMEM,
			  ibv_attach_mcast(qps[i], &group, 0));
	}
	ASSERT_EQ(0, vt_why_last(self->a->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_MCAST_QPS, rec.id);
	EXPECT_EQ(qps[max]->qp_num, rec.qpn);
	EXPECT_EQ((uint64_t)max, rec.num[0]);
	for (i = 0; i <= max; i++) {
		if (i < max)
			ASSERT_EQ(0, ibv_detach_mcast(qps[i], &group, 0));
		ASSERT_EQ(0, ibv_destroy_qp(qps[i]));
	}
	free(qps);
	self->a->conf = conf;

	ASSERT_LE(dev->max_mcast_grp, 60000);
	for (i = 0; i <= dev->max_mcast_grp; i++) {
		group.raw[14] = i >> 8;
		group.raw[15] = i;
		ASSERT_EQ(i < dev->max_mcast_grp ? 0 : ENOMEM,
			  ibv_attach_mcast(self->a->qp, &group, 0));
	}
	ASSERT_EQ(0, vt_why_last(self->a->dev.ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_MCAST_GROUPS, rec.id);
	EXPECT_EQ((uint64_t)dev->max_mcast_grp, rec.num[0]);
}

#define BURST	512

static int members_open(struct vt_ep *ep, struct ibv_qp **qps, int n,
			const union ibv_gid *group)
{
	struct vt_addr nobody = { .gid = ep->dev.gid };
	int i, ret = 0;

	ep->conf.depth = 1;
	for (i = 0; i < n && !ret; i++) {
		qps[i] = vt_qp_create(ep);
		if (!qps[i])
			return -errno;
		ret = vt_qp_connect(qps[i], &ep->conf, ep->dev.gid_index,
				    &nobody);
		if (!ret)
			ret = -ibv_attach_mcast(qps[i], group, 0);
	}
	return ret;
}

/*
 * Messages arrive in a burst, and the maximum number of QPs gets each of them. None is lost, and no softirq makes more
 * copies than its budget: the next one makes the rest.
 */
TEST_F(mcast, burst_for_many)
{
	int i, max = self->b->dev.attr.max_mcast_qp_attach;
	struct vt_conf conf = self->b->conf;
	int64_t before, copies, want;
	struct ibv_qp **qps;
	long count;

	if (variant->family != AF_INET || strcmp(getenv("SMR_PATH"), "veth"))
		SKIP(return, "tried once only");
	ASSERT_LE(max, 4096);
	qps = calloc(max, sizeof(*qps));
	ASSERT_EQ(0, members_open(self->b, qps, max, &self->group));
	ASSERT_EQ(0, system("tc qdisc add dev $SMR_NETDEV root netem limit 1000 "
			    "slot 1s 1s"));
	before = vt_counter_now(self->b->dev.ctx, "rx_packets");
	want = (int64_t)max * BURST;
	count = vt_softirqs("NET_RX:") + vt_softirqs("TASKLET:");
	for (i = 0; i < BURST; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(self->a, &self->wr));
	EXPECT_TRUE(vt_counter_wait(self->b->dev.ctx, "rx_packets", before + want));
	count = vt_softirqs("NET_RX:") + vt_softirqs("TASKLET:") - count;
	copies = vt_counter_now(self->b->dev.ctx, "rx_packets") - before;
	TH_LOG("%lld copies in %ld softirqs", (long long)copies, count);
	EXPECT_LE(copies, count * VT_COPIES_MAX);
	EXPECT_EQ(0, system("tc qdisc del dev $SMR_NETDEV root"));
	for (i = 0; i < max; i++) {
		EXPECT_EQ(0, ibv_detach_mcast(qps[i], &self->group, 0));
		EXPECT_EQ(0, ibv_destroy_qp(qps[i]));
	}
	free(qps);
	self->b->conf = conf;
}

VT_HARNESS_MAIN
