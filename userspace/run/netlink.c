// SPDX-License-Identifier: GPL-2.0
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A request that is being built */
struct request {
	union {
		struct nlmsghdr head;
		uint8_t bytes[1024];
	};
};

static void request_init(struct request *r, int type, int flags)
{
	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = NLMSG_HDRLEN;
	r->head.nlmsg_type = type;
	r->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

/* Requests are short, so they always fit. */
static void *append(struct request *r, const void *data, size_t len)
{
	void *at = r->bytes + NLMSG_ALIGN(r->head.nlmsg_len);

	if (data)
		memcpy(at, data, len);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + len;
	return at;
}

static void attr(struct request *r, int type, const void *data, size_t len)
{
	struct nlattr a = { .nla_type = type, .nla_len = NLA_HDRLEN + len };

	append(r, &a, sizeof(a));
	append(r, data, len);
}

static void attr_string(struct request *r, int type, const char *s)
{
	attr(r, type, s, strlen(s) + 1);
}

static void attr_u32(struct request *r, int type, uint32_t v)
{
	attr(r, type, &v, sizeof(v));
}

static struct nlattr *nest_begin(struct request *r, int type)
{
	struct nlattr a = { .nla_type = type };

	return append(r, &a, sizeof(a));
}

static void nest_end(struct request *r, struct nlattr *a)
{
	/* the last attribute's padding belongs to the nest */
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len);
	a->nla_len = r->bytes + r->head.nlmsg_len - (uint8_t *)a;
}

/* Send the request, and wait for the kernel's answer */
static int talk(int protocol, struct request *r)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	union {
		struct nlmsghdr head;
		uint8_t bytes[4096];
	} answer;
	struct nlmsgerr *e;
	int fd, ret = 0;
	ssize_t n;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return -errno;
	if (sendto(fd, r, r->head.nlmsg_len, 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0) {
		ret = -errno;
		goto out;
	}
	do {
		n = recv(fd, &answer, sizeof(answer), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		ret = -errno;
	} else if (answer.head.nlmsg_type == NLMSG_ERROR) {
		e = NLMSG_DATA(&answer.head);
		ret = e->error;
	}
out:
	close(fd);
	return ret;
}

static void link_request(struct request *r, int flags, const char *name)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };

	request_init(r, RTM_NEWLINK, flags);
	append(r, &ifi, sizeof(ifi));
	attr_string(r, IFLA_IFNAME, name);
}

int net_add_bridge(const char *name)
{
	struct nlattr *info, *data;
	struct request r;
	uint8_t off = 0;

	link_request(&r, NLM_F_CREATE | NLM_F_EXCL, name);
	info = nest_begin(&r, IFLA_LINKINFO);
	attr_string(&r, IFLA_INFO_KIND, "bridge");
	data = nest_begin(&r, IFLA_INFO_DATA);
	attr_u32(&r, IFLA_BR_FORWARD_DELAY, 0);
	/*
	 * there is no multicast querier: with snooping, multicast would stop
	 * after five minutes
	 */
	attr(&r, IFLA_BR_MCAST_SNOOPING, &off, sizeof(off));
	nest_end(&r, data);
	nest_end(&r, info);
	return talk(NETLINK_ROUTE, &r);
}

int net_add_veth(const char *name, const char *peer, int netns_fd)
{
	struct nlattr *info, *data, *other;
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	struct request r;

	link_request(&r, NLM_F_CREATE | NLM_F_EXCL, name);
	info = nest_begin(&r, IFLA_LINKINFO);
	attr_string(&r, IFLA_INFO_KIND, "veth");
	data = nest_begin(&r, IFLA_INFO_DATA);
	other = nest_begin(&r, VETH_INFO_PEER);
	append(&r, &ifi, sizeof(ifi));
	attr_string(&r, IFLA_IFNAME, peer);
	if (netns_fd >= 0)
		attr_u32(&r, IFLA_NET_NS_FD, netns_fd);
	nest_end(&r, other);
	nest_end(&r, data);
	nest_end(&r, info);
	return talk(NETLINK_ROUTE, &r);
}

int net_set_master(const char *name, const char *master)
{
	struct request r;

	link_request(&r, 0, name);
	attr_u32(&r, IFLA_MASTER, if_nametoindex(master));
	return talk(NETLINK_ROUTE, &r);
}

int net_set_up(const char *name)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC,
				 .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct request r;

	request_init(&r, RTM_NEWLINK, 0);
	append(&r, &ifi, sizeof(ifi));
	attr_string(&r, IFLA_IFNAME, name);
	return talk(NETLINK_ROUTE, &r);
}

int net_add_address(const char *name, int family, const void *address, int prefix_len)
{
	struct ifaddrmsg ifa = {
		.ifa_family = family,
		.ifa_prefixlen = prefix_len,
		.ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0,
		.ifa_index = if_nametoindex(name),
	};
	size_t len = family == AF_INET6 ? 16 : 4;
	struct request r;

	request_init(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	append(&r, &ifa, sizeof(ifa));
	attr(&r, IFA_LOCAL, address, len);
	attr(&r, IFA_ADDRESS, address, len);
	return talk(NETLINK_ROUTE, &r);
}

int rdma_set_exclusive(void)
{
	struct request r;
	uint8_t mode = 0;

	request_init(&r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_SET), 0);
	attr(&r, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, &mode, sizeof(mode));
	return talk(NETLINK_RDMA, &r);
}

int rdma_add_link(const char *name, const char *netdev)
{
	struct request r;

	request_init(&r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK), 0);
	attr_string(&r, RDMA_NLDEV_ATTR_DEV_NAME, name);
	attr_string(&r, RDMA_NLDEV_ATTR_LINK_TYPE, "softmr");
	attr_string(&r, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return talk(NETLINK_RDMA, &r);
}
