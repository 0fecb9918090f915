// SPDX-License-Identifier: GPL-2.0
/*
 * Flow steering: how a QP sees the host's own packets; invalid rules; and the
 * maximum number of rules.
 *
 * timeout: 120
 * paths: veth
 */
#include "steer.h"

#include <netinet/udp.h>

/* -- the host's own packets */

/* Send @len bytes from a's host to b's, in datagrams of @size. */
static int host_sends(size_t len, int size)
{
	struct sockaddr_in to = inet_addr_of("SMR_PEER_ADDR", PORT);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret = 0;
	char buf[60000];

	vt_fill(buf, len, 3, 0);
	if (size && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)))
		ret = -errno;
	if (!ret && sendto(fd, buf, len, 0, (void *)&to, sizeof(to)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static bool is_datagram(const uint8_t *at, int len)
{
	return len >= 42 && at[12] == 8 && !at[13] && at[23] == 17 &&
	       (at[36] << 8 | at[37]) == PORT;
}

/* Get one datagram of the above, with checksums. Return: its length, or -1. */
static int datagram(struct vt_raw *raw, size_t off)
{
	uint8_t *at, *ip, *udp;
	uint32_t pseudo = 17;
	int len, ulen, i;

	for (;;) {
		len = vt_raw_get(raw, &at);
		if (len < 0)
			return -1;
		if (is_datagram(at, len))
			break;
		if (vt_raw_recv(raw, 1))
			return -1;
	}
	ip = at + 14;
	udp = ip + 20;
	ulen = udp[4] << 8 | udp[5];
	for (i = 12; i < 20; i += 2)
		pseudo += ip[i] << 8 | ip[i + 1];
	if (vt_checksum(ip, 20, 0) || (ip[2] << 8 | ip[3]) != len - 14 ||
	    ulen != len - 34 || !(udp[6] | udp[7]) ||
	    vt_checksum(udp, ulen, pseudo + ulen) ||
	    vt_match(udp + 8, ulen - 8, 3, off) != (size_t)ulen - 8)
		return -1;
	return ulen - 8;
}

/* They arrive as on a wire: segmented, and with checksums. */
TEST_F(steer, offloads)
{
	int i, len, got;

	self->flows[0] = rule_udp(&self->b, PORT, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->b, 1));
	ASSERT_EQ(0, host_sends(1000, 0));
	EXPECT_EQ(1000, datagram(&self->b, 0));
	ASSERT_EQ(0, vt_raw_recv(&self->b, 11));
	ASSERT_EQ(0, host_sends(10500, 1000));
	for (i = 0, got = 0; i < 11; i++, got += len) {
		len = datagram(&self->b, got);
		ASSERT_EQ(i < 10 ? 1000 : 500, len) TH_LOG("datagram %d", i);
	}
}

/* A sniffer also gets what the host sends. */
TEST_F(steer, sniffer_of_both_directions)
{
	self->flows[0] = rule_udp(&self->b, PORT, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	/* so that the peer's address is known before frames are counted */
	ASSERT_EQ(0, vt_raw_recv(&self->b, 2));
	ASSERT_EQ(0, host_sends(1000, 0));
	EXPECT_EQ(1000, datagram(&self->b, 0));
	self->flows[1] = rule_of_type(&self->a, IBV_FLOW_ATTR_SNIFFER);
	ASSERT_NE(NULL, self->flows[1]);
	self->flows[2] = rule_udp(&self->a, PORT, 0, 0);
	ASSERT_NE(NULL, self->flows[2]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 8));
	ASSERT_EQ(0, host_sends(1000, 0));
	EXPECT_EQ(1000, datagram(&self->a, 0));
	EXPECT_EQ(1000, datagram(&self->b, 0));
	/* and frames that a rule takes from the host */
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(got_ours(&self->a, &self->frame));
	EXPECT_TRUE(got_ours(&self->a, &self->frame));
	EXPECT_TRUE(host_got_nothing(self));
}

/* -- invalid rules */

static int refused(struct vt_raw *raw, struct vt_rule *rule)
{
	struct ibv_flow *flow;

	errno = 0;
	flow = vt_rule_apply(raw, rule);
	if (flow)
		ibv_destroy_flow(flow);
	return errno;
}

TEST_F(steer, types_and_flags)
{
	struct ibv_flow_spec_eth *eth;
	struct vt_rule rule;
	int type;

	for (type = IBV_FLOW_ATTR_ALL_DEFAULT; type <= IBV_FLOW_ATTR_SNIFFER;
	     type++) {
		vt_rule_init(&rule, type, 0);
		rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
		EXPECT_EQ(EINVAL, refused(&self->a, &rule));
		rule.attr.flags = 0;
		vt_rule_add(&rule, IBV_FLOW_SPEC_ETH, sizeof(*eth));
		EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	}
	vt_rule_init(&rule, IBV_FLOW_ATTR_SNIFFER + 1, 0);
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_EGRESS);
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	rule.attr.flags = 1 << 3;
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	rule.attr.flags = 0;
	rule.attr.port = 2;
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
}

TEST_F(steer, specs_that_are_none)
{
	struct ibv_flow_spec_tcp_udp *udp;
	struct ibv_flow_spec_ipv4_ext *ip;
	struct ibv_flow_spec_tunnel *vxlan;
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_UDP, sizeof(*udp));
	vt_rule_add(&rule, IBV_FLOW_SPEC_TCP, sizeof(*udp));
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof(*ip));
	vt_rule_add(&rule, IBV_FLOW_SPEC_IPV6,
		    sizeof(struct ibv_flow_spec_ipv6));
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	ip = vt_rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof(*ip));
	ip->mask.flags = 1;
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH,
		    sizeof(struct ibv_flow_spec_eth));
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(*vxlan));
	EXPECT_EQ(EOPNOTSUPP, refused(&self->a, &rule));
	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP,
		    sizeof(struct ibv_flow_spec_action_drop));
	EXPECT_EQ(EINVAL, refused(&self->a, &rule));
}

/* Each datagram has addresses of its own. */
TEST_F(steer, of_other_qps)
{
	struct ibv_qp_init_attr init = {
		.send_cq = self->a.ep.scq, .recv_cq = self->a.ep.rcq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct vt_raw other = self->a;
	struct vt_rule rule;

	other.ep.qp = ibv_create_qp(self->a.ep.pd, &init);
	ASSERT_NE(NULL, other.ep.qp);
	vt_rule_normal(&rule, 0, 0);
	EXPECT_EQ(EOPNOTSUPP, refused(&other, &rule));
	EXPECT_EQ(0, ibv_destroy_qp(other.ep.qp));
}

/*
 * The maximum number of rules, while frames arrive; the host works as before.
 */
TEST_F(steer, as_many_as_there_may_be)
{
	struct ibv_flow *flows[1025];
	int n, i;

	for (n = 0; n < 1025; n++) {
		flows[n] = rule_udp(&self->a, PORT + 1 + n, n, 0);
		if (!flows[n])
			break;
	}
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(1024, n);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
	self->frame.dport += 1024;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, ibv_destroy_flow(flows[i]));
	self->frame.dport -= 1024;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
}

VT_HARNESS_MAIN
