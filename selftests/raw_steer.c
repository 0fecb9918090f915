// SPDX-License-Identifier: GPL-2.0
/*
 * Flow steering: each field of each spec matches its own value only;
 * priorities; which rules steal frames from the host and which only copy them.
 *
 * beds: qemu-newest uml-checked qemu-stable qemu-oldest qemu-rt qemu-race uml
 * break: qemu-newest
 * timeout: 120
 * paths: veth
 */
#include "steer.h"

#include <net/if.h>
#include <net/if_arp.h>
#include <stddef.h>
#include <sys/ioctl.h>

/* -- each field of each spec */

enum header { ETH, IP4, IP6, UDP, TCP };

struct field {
	const char *name;
	enum header header;
	size_t off;		/* in the filter */
	size_t len;
	size_t frame_off;	/* offset in struct vt_frame */
	size_t frame_len;
};

#define FIELD(h, filter, f, g) { \
	#h " " #f, h, offsetof(struct filter, f), \
	sizeof(((struct filter *)0)->f), offsetof(struct vt_frame, g), \
	sizeof(((struct vt_frame *)0)->g) }

static const struct field fields[] = {
	FIELD(ETH, ibv_flow_eth_filter, dst_mac, dst),
	FIELD(ETH, ibv_flow_eth_filter, src_mac, src),
	FIELD(ETH, ibv_flow_eth_filter, ether_type, type),
	FIELD(ETH, ibv_flow_eth_filter, vlan_tag, vlan),
	FIELD(IP4, ibv_flow_ipv4_ext_filter, src_ip, ip4.src),
	FIELD(IP4, ibv_flow_ipv4_ext_filter, dst_ip, ip4.dst),
	FIELD(IP4, ibv_flow_ipv4_ext_filter, proto, proto),
	FIELD(IP4, ibv_flow_ipv4_ext_filter, tos, ip4.tos),
	FIELD(IP4, ibv_flow_ipv4_ext_filter, ttl, ip4.ttl),
	FIELD(IP6, ibv_flow_ipv6_filter, src_ip, ip6.src),
	FIELD(IP6, ibv_flow_ipv6_filter, dst_ip, ip6.dst),
	FIELD(IP6, ibv_flow_ipv6_filter, flow_label, ip6.label),
	FIELD(IP6, ibv_flow_ipv6_filter, next_hdr, proto),
	FIELD(IP6, ibv_flow_ipv6_filter, traffic_class, ip6.class),
	FIELD(IP6, ibv_flow_ipv6_filter, hop_limit, ip6.hops),
	FIELD(UDP, ibv_flow_tcp_udp_filter, dst_port, dport),
	FIELD(UDP, ibv_flow_tcp_udp_filter, src_port, sport),
	FIELD(TCP, ibv_flow_tcp_udp_filter, dst_port, dport),
	FIELD(TCP, ibv_flow_tcp_udp_filter, src_port, sport),
};

static const struct {
	int type;
	size_t size;
	size_t val;
	size_t mask;
} specs[] = {
#define SPEC(t, s) { t, sizeof(struct s), offsetof(struct s, val), \
		     offsetof(struct s, mask) }
	[ETH] = SPEC(IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth),
	[IP4] = SPEC(IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext),
	[IP6] = SPEC(IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6),
	[UDP] = SPEC(IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp),
	[TCP] = SPEC(IBV_FLOW_SPEC_TCP, ibv_flow_spec_tcp_udp),
};

/* Write the field of a frame, in network order, to the end of @to. */
static void field_value(const struct field *f, const struct vt_frame *frame,
			uint8_t *to)
{
	const uint8_t *from = (const uint8_t *)frame + f->frame_off;
	size_t i;

	for (i = 0; i < f->len; i++)
		to[i] = f->frame_len > 4 ? from[i] : from[f->len - 1 - i];
}

/* A frame that differs in this field only, and is of the same kind. */
static void field_change(const struct field *f, struct vt_frame *frame)
{
	uint8_t *at = (uint8_t *)frame + f->frame_off;

	if (f->frame_off == offsetof(struct vt_frame, type))
		frame->type = 0x88b5;
	else if (f->frame_off == offsetof(struct vt_frame, proto))
		frame->proto ^= 17 ^ 6;
	else
		at[f->frame_len > 4 ? f->frame_len - 1 : 0] ^= 1;
}

static struct ibv_flow *rule_field(struct vt_raw *raw, const struct field *f,
				   const struct vt_frame *frame)
{
	struct vt_rule rule;
	uint8_t *spec;

	vt_rule_normal(&rule, 0, 0);
	spec = vt_rule_add(&rule, specs[f->header].type, specs[f->header].size);
	field_value(f, frame, spec + specs[f->header].val + f->off);
	memset(spec + specs[f->header].mask + f->off, 0xff, f->len);
	if (!strcmp(f->name, "IP6 flow_label"))
		memcpy(spec + specs[IP6].mask + f->off, "\0\x0f\xff\xff", 4);
	return vt_rule_apply(raw, &rule);
}

static struct vt_frame frame_with(FIXTURE_DATA(steer) *self,
				  const struct field *f)
{
	struct vt_frame frame = self->frame;

	if (f->header == IP6)
		frame.type = 0x86dd;
	if (f->header == TCP)
		frame.proto = 6;
	if (f->off == offsetof(struct ibv_flow_eth_filter, vlan_tag) &&
	    f->header == ETH)
		frame.vlan = 0x2064;
	return frame;
}

TEST_F(steer, fields)
{
	struct vt_frame frame, other;
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		frame = frame_with(self, &fields[i]);
		other = frame;
		field_change(&fields[i], &other);
		self->flows[0] = rule_field(&self->a, &fields[i], &frame);
		ASSERT_NE(NULL, self->flows[0]) TH_LOG("%s", fields[i].name);
		ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &other));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &frame));
		/* the other frame would have arrived first */
		EXPECT_TRUE(qp_got(&self->a, &frame))
			TH_LOG("%s", fields[i].name);
		EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
		self->flows[0] = NULL;
	}
}

/* A field with a mask; a spec without any field. */
TEST_F(steer, masks)
{
	struct vt_frame other = self->frame;
	struct ibv_flow_spec_tcp_udp *udp;
	struct ibv_flow_spec_ipv4 *ip;
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	ip = vt_rule_add(&rule, IBV_FLOW_SPEC_IPV4, sizeof(*ip));
	/* bits outside of the mask may have any value */
	ip->val.dst_ip = htonl(self->frame.ip4.dst ^ 0xff);
	ip->mask.dst_ip = htonl(0xffffff00);
	udp = vt_rule_add(&rule, IBV_FLOW_SPEC_UDP, sizeof(*udp));
	udp->val.src_port = 0xffff;
	self->flows[0] = vt_rule_apply(&self->a, &rule);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 3));
	other.ip4.dst ^= 0x100;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &other));
	other.ip4.dst ^= 0x100;
	other.proto = 6;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &other));
	other.proto = 17;
	/*
	 * a fragment other than the first has no ports, whatever its bytes are
	 */
	other.ip4.frag = 5;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &other));
	other.ip4.frag = 0x2000;
	other.ip4.dst ^= 7;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &other));
	EXPECT_TRUE(qp_got(&self->a, &other));
	/* the same with a VLAN tag */
	other.vlan = 12;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &other));
	EXPECT_TRUE(qp_got(&self->a, &other));
}

/* -- which receivers get a frame */

TEST_F(steer, stolen_from_the_host)
{
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
	self->flows[0] = rule_udp(&self->a, PORT, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	EXPECT_TRUE(host_got_nothing(self));
	/* also when the QP has no receive for it */
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got_nothing(self));
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
	self->flows[0] = NULL;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
}

/* Rules that copy: default rules, rules that do not trap. */
TEST_F(steer, copied)
{
	int i;

	ASSERT_EQ(0, vt_raw_recv(&self->a, 10));
	for (i = 0; i < 2; i++) {
		self->flows[0] = i == 0 ?
			rule_of_type(&self->a, IBV_FLOW_ATTR_ALL_DEFAULT) :
			rule_udp(&self->a, PORT, 0,
				 IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
		ASSERT_NE(NULL, self->flows[0]);
		self->frame.seed = i;
		EXPECT_EQ(IBV_WC_SUCCESS,
			  vt_raw_send(&self->b, &self->frame));
		EXPECT_TRUE(got_ours(&self->a, &self->frame)) TH_LOG("%d", i);
		EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
		EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
		self->flows[0] = NULL;
	}
}

TEST_F(steer, priorities)
{
	struct vt_raw c;
	int i;

	ASSERT_EQ(0, vt_raw_open(&c, 0, 0));
	self->flows[0] = rule_udp(&self->a, PORT, 10, 0);
	self->flows[1] = rule_udp(&c, PORT, 9, 0);
	for (i = 0; i < 2; i++) {
		ASSERT_NE(NULL, self->flows[i]);
		ASSERT_EQ(0, vt_raw_recv(i ? &c : &self->a, 6));
	}
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&c, &self->frame));
	EXPECT_TRUE(vt_no_completion(self->a.ep.rcq, 0));
	/* the same priority: both QPs, each once */
	self->flows[2] = rule_udp(&self->a, PORT, 9, 0);
	self->flows[3] = vt_rule_mac(&self->a, self->frame.dst, 9, 0);
	ASSERT_NE(NULL, self->flows[2]);
	ASSERT_NE(NULL, self->flows[3]);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&c, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	EXPECT_TRUE(host_got_nothing(self));
	for (i = 1; i < 4; i++) {
		EXPECT_EQ(0, ibv_destroy_flow(self->flows[i]));
		self->flows[i] = NULL;
	}
	/* rules after one that does not trap get the frame, too */
	self->flows[1] = rule_udp(&c, PORT, 9, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	ASSERT_NE(NULL, self->flows[1]);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(qp_got(&c, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	EXPECT_TRUE(host_got_nothing(self));
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[1]));
	self->flows[1] = NULL;
	vt_raw_close(&c);
}

TEST_F(steer, dropped)
{
	struct ibv_flow_spec_action_drop *drop;
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	rule_add_udp(&rule, PORT);
	drop = vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP, sizeof(*drop));
	self->flows[0] = vt_rule_apply(&self->a, &rule);
	ASSERT_NE(NULL, self->flows[0]);
	self->flows[1] = rule_udp(&self->a, PORT, 1, 0);
	ASSERT_NE(NULL, self->flows[1]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
	EXPECT_TRUE(host_got_nothing(self));
	EXPECT_TRUE(vt_no_completion(self->a.ep.rcq, 0));
}

/*
 * Default rules get frames that no normal rule takes; the multicast rule gets
 * multicasts only.
 */
TEST_F(steer, default_of_multicast)
{
	static const uint8_t group[6] = { 1, 0, 0x5e, 1, 2, 3 };
	struct vt_frame frame = self->frame;

	self->flows[0] = rule_of_type(&self->a, IBV_FLOW_ATTR_MC_DEFAULT);
	ASSERT_NE(NULL, self->flows[0]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 10));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &frame));
	EXPECT_TRUE(host_got(self, VT_TIMEOUT_MS));
	frame.type = 0x88b5;
	memcpy(frame.dst, group, 6);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &frame));
	EXPECT_TRUE(got_ours(&self->a, &frame));
	memset(frame.dst, 0xff, 6);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &frame));
	EXPECT_TRUE(got_ours(&self->a, &frame));
	/* once, although two rules match it */
	self->flows[1] = vt_rule_mac(&self->a, group, 0xffff, 0);
	ASSERT_NE(NULL, self->flows[1]);
	memcpy(frame.dst, group, 6);
	for (frame.seed = 7; frame.seed < 9; frame.seed++) {
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &frame));
		EXPECT_TRUE(got_ours(&self->a, &frame));
	}
}

/* QPs of one link receive each other's frames, but not their own. */
TEST_F(steer, same_link)
{
	static const uint8_t mac[6] = { 2, 9, 9, 9, 9, 9 };
	struct vt_raw c;

	ASSERT_EQ(0, vt_raw_open(&c, 0, 0));
	memcpy(self->frame.dst, mac, 6);
	self->flows[0] = vt_rule_mac(&self->a, mac, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	self->flows[1] = rule_of_type(&self->b, IBV_FLOW_ATTR_ALL_DEFAULT);
	ASSERT_NE(NULL, self->flows[1]);
	ASSERT_EQ(0, vt_raw_recv(&self->a, 2));
	ASSERT_EQ(0, vt_raw_recv(&self->b, 8));
	/* the address is on this link, so the frame is not sent */
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&c, &self->frame));
	EXPECT_TRUE(qp_got(&self->a, &self->frame));
	/* a frame to its own address is sent */
	self->frame.seed++;
	EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->a, &self->frame));
	EXPECT_TRUE(got_ours(&self->b, &self->frame));
	EXPECT_TRUE(vt_no_completion(self->a.ep.rcq, 0));
	vt_raw_close(&c);
}

/* -- which addresses the netdev accepts */

static bool is_promiscuous(void)
{
	FILE *f = netdev_open("flags");
	unsigned int flags = 0;

	if (!f)
		return false;
	if (fscanf(f, "%x", &flags) != 1)
		flags = 0;
	fclose(f);
	return flags & IFF_PROMISC;
}

/* Rules are updated a moment after the netdev gets a new address. */
static bool promiscuous_soon(bool want)
{
	return VT_UNTIL(is_promiscuous() == want);
}

static int set_mac(const uint8_t *mac)
{
	struct ifreq req = { .ifr_hwaddr.sa_family = ARPHRD_ETHER };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	strncpy(req.ifr_name, name_of_netdev(), IFNAMSIZ - 1);
	memcpy(req.ifr_hwaddr.sa_data, mac, 6);
	ret = ioctl(fd, SIOCSIFHWADDR, &req) ? errno : 0;
	close(fd);
	return ret;
}

/*
 * The netdev accepts frames to its own address without a filter. But that
 * address may change, in both directions, and back.
 */
TEST_F(steer, new_address)
{
	static const uint8_t other[6] = { 2, 9, 9, 9, 9, 1 };
	const uint8_t *own = self->frame.dst;
	int i;

	self->flows[0] = vt_rule_mac(&self->a, own, 0, 0);
	ASSERT_NE(NULL, self->flows[0]);
	EXPECT_FALSE(is_promiscuous());
	ASSERT_EQ(0, vt_raw_recv(&self->a, 2));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, set_mac(other));
		EXPECT_TRUE(promiscuous_soon(true));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_raw_send(&self->b, &self->frame));
		EXPECT_TRUE(qp_got(&self->a, &self->frame));
		EXPECT_EQ(0, set_mac(own));
		EXPECT_TRUE(promiscuous_soon(false));
	}
	self->flows[1] = vt_rule_mac(&self->a, other, 0, 0);
	ASSERT_NE(NULL, self->flows[1]);
	EXPECT_TRUE(is_promiscuous());
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[0]));
	self->flows[0] = NULL;
	EXPECT_EQ(0, set_mac(other));
	EXPECT_TRUE(promiscuous_soon(false));
	EXPECT_EQ(0, ibv_destroy_flow(self->flows[1]));
	self->flows[1] = NULL;
	/*
	 * the netdev left promiscuous mode already, and must not leave it twice
	 */
	EXPECT_EQ(0, set_mac(own));
	self->flows[0] = rule_of_type(&self->a, IBV_FLOW_ATTR_ALL_DEFAULT);
	ASSERT_NE(NULL, self->flows[0]);
	EXPECT_TRUE(is_promiscuous());
}

VT_HARNESS_MAIN
