/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two RAW_PACKET QPs at the two ends of a cable, a datagram from one end to the
 * other's host, and the host, which waits for it.
 */
#ifndef SMR_TEST_STEER_H
#define SMR_TEST_STEER_H

#include "harness.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "raw.h"

#define PORT	7471

FIXTURE(steer)
{
	struct vt_raw a, b;		/* the two ends of the cable */
	struct vt_frame frame;		/* from b, for a's host */
	struct ibv_flow *flows[4];
	int udp;			/* where a's host gets it */
};

static inline const char *name_of_netdev(void)
{
	const char *ndev = getenv("SMR_NETDEV");

	return ndev ? ndev : "veth0";
}

/* What sysfs says of a's netdev. */
static inline FILE *netdev_open(const char *what)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name_of_netdev(),
		 what);
	return fopen(path, "r");
}

static inline int mac_of_netdev(uint8_t *mac)
{
	FILE *f = netdev_open("address");
	int n;

	if (!f)
		return -errno;
	n = fscanf(f, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
		   &mac[2], &mac[3], &mac[4], &mac[5]);
	fclose(f);
	return n == 6 ? 0 : -EIO;
}

static inline struct sockaddr_in inet_addr_of(const char *var, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};

	inet_pton(AF_INET, getenv(var) ? getenv(var) : "127.0.0.1",
		  &sin.sin_addr);
	return sin;
}

static inline int udp_open(void)
{
	struct sockaddr_in sin = inet_addr_of("SMR_ADDR", PORT);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (fd >= 0 && bind(fd, (void *)&sin, sizeof(sin)))
		return -errno;
	return fd;
}

FIXTURE_SETUP(steer)
{
	VT_SETUP(vt_raw_open(&self->a, 0, 0));
	VT_SETUP(vt_raw_open(&self->b, 1, 0));
	self->udp = udp_open();
	ASSERT_LE(0, self->udp);
	self->frame = (struct vt_frame){
		.src = { 2, 1, 2, 3, 4, 5 }, .vlan = -1, .type = 0x0800,
		.ip4 = {
			.src = ntohl(inet_addr_of("SMR_PEER_ADDR", 0)
				     .sin_addr.s_addr),
			.dst = ntohl(inet_addr_of("SMR_ADDR", 0)
				     .sin_addr.s_addr),
			.tos = 0x20, .ttl = 64, .frag = 0x4000,
		},
		.ip6 = {
			.src = { 0xfd, 1, [15] = 2 },
			.dst = { 0xfd, 1, [15] = 1 },
			.label = 0x12345, .class = 0x20, .hops = 64,
		},
		.proto = 17, .sport = 4000, .dport = PORT, .payload = 100,
	};
	ASSERT_EQ(0, mac_of_netdev(self->frame.dst));
}

FIXTURE_TEARDOWN(steer)
{
	int i;

	for (i = 0; i < 4; i++)
		if (self->flows[i])
			ibv_destroy_flow(self->flows[i]);
	close(self->udp);
	vt_raw_close(&self->b);
	vt_raw_close(&self->a);
}

/* Did the host receive a datagram? */
static inline bool host_got(FIXTURE_DATA(steer) *self, int ms)
{
	uint64_t end = vt_now_ms() + ms;
	char buf[VT_RAW_ROOM];

	do {
		if (recv(self->udp, buf, sizeof(buf), 0) > 0)
			return true;
		usleep(500);
	} while (vt_now_ms() < end);
	return false;
}

static inline bool host_got_nothing(FIXTURE_DATA(steer) *self)
{
	return !host_got(self, 5);
}

static inline bool qp_got(struct vt_raw *raw, const struct vt_frame *frame)
{
	return vt_raw_got(raw, frame) && vt_no_completion(raw->ep.rcq, 0);
}

/*
 * A QP that gets all frames also gets frames that hosts send on their own: skip those, and get
 * the next frame that a test has sent.
 */
static inline bool got_ours(struct vt_raw *raw, const struct vt_frame *frame)
{
	uint8_t want[VT_RAW_ROOM], *at;
	size_t size = vt_frame_write(frame, want);
	int len;

	for (;;) {
		len = vt_raw_get(raw, &at);
		if (len < 14)
			return false;
		if (!memcmp(at + 6, frame->src, 6))
			return len == (int)size && !memcmp(at, want, size);
		if (vt_raw_recv(raw, 1))
			return false;
	}
}

static inline struct ibv_flow *rule_of_type(struct vt_raw *raw,
				     enum ibv_flow_attr_type type)
{
	struct vt_rule rule;

	vt_rule_init(&rule, type, 0);
	return vt_rule_apply(raw, &rule);
}

static inline void rule_add_udp(struct vt_rule *rule, uint16_t port)
{
	struct ibv_flow_spec_tcp_udp *udp =
		vt_rule_add(rule, IBV_FLOW_SPEC_UDP, sizeof(*udp));

	udp->val.dst_port = htons(port);
	udp->mask.dst_port = 0xffff;
}

static inline struct ibv_flow *rule_udp(struct vt_raw *raw, uint16_t port,
				 uint16_t priority, unsigned int flags)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, priority, flags);
	rule_add_udp(&rule, port);
	return vt_rule_apply(raw, &rule);
}

#endif /* SMR_TEST_STEER_H */
