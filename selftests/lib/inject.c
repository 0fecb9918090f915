// SPDX-License-Identifier: GPL-2.0
#include "inject.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/ipv6.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* headers of Debian 12 do not have it */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

#define SOURCE_PORT	0xc000
#define ETH_LEN		14
#define UDP_LEN		8

/* 224.0.0.0/4 and ff0e::/16 */
#define GROUP4(n)	htonl(0xef000000 | (n))

/* One frame as passed to the socket; the part on the wire begins at @bytes. */
struct frame {
	struct virtio_net_hdr vnet;
	uint8_t bytes[ETH_LEN + sizeof(struct ipv6hdr) + UDP_LEN +
		      VT_MAX_TRAIN * (VT_BTH_LEN + VT_MAX_PAYLOAD + VT_ICRC_LEN)];
} __attribute__((packed));

static uint32_t crc_byte[256];

static void crc_prepare(void)
{
	uint32_t crc, i;
	int bit;

	for (i = 0; i < 256; i++) {
		for (crc = i, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		crc_byte[i] = crc;
	}
}

static uint32_t crc32_le(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		crc = crc >> 8 ^ crc_byte[(crc ^ *p++) & 0xff];
	return crc;
}

static int link_mac(int fd, const char *netdev, uint8_t *mac)
{
	struct ifreq req = { 0 };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", netdev);
	if (ioctl(fd, SIOCGIFHWADDR, &req))
		return -errno;
	memcpy(mac, req.ifr_hwaddr.sa_data, 6);
	return 0;
}

static int own_mac(const char *netdev, uint8_t *mac)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	if (fd < 0)
		return -errno;
	ret = link_mac(fd, netdev, mac);
	close(fd);
	return ret;
}

static int socket_dress(int fd, const char *netdev)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
	};
	int on = 1, room = 4 << 20;
	struct ifreq req = { 0 };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", netdev);
	if (ioctl(fd, SIOCGIFINDEX, &req))
		return -errno;
	at.sll_ifindex = req.ifr_ifindex;
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (void *)&at, sizeof(at)))
		return -errno;
	return 0;
}

/**
 * vt_inject_open() - open the other end of the wire
 * @in: filled in; close it even after a failure
 *
 * Return: 0, a negative errno; -EOPNOTSUPP: there is no other end
 */
int vt_inject_open(struct vt_inject *in)
{
	const char *ns = getenv("SMR_PEER_NETNS"), *netdev = getenv("SMR_NETDEV");
	const char *addr = getenv("SMR_ADDR"), *peer = getenv("SMR_PEER_ADDR");
	const char *addr6 = getenv("SMR_ADDR6"), *peer6 = getenv("SMR_PEER_ADDR6");
	int ret;

	memset(in, 0, sizeof(*in));
	in->fd = -1;
	if (!ns || !netdev || !addr || !peer || !addr6 || !peer6)
		return -EOPNOTSUPP;
	crc_prepare();
	in->addr = inet_addr(addr);
	in->peer_addr = inet_addr(peer);
	if (inet_pton(AF_INET6, addr6, &in->addr6) != 1 ||
	    inet_pton(AF_INET6, peer6, &in->peer_addr6) != 1)
		return -EINVAL;
	in->fd = vt_socket_in(ns, AF_PACKET, SOCK_RAW, 0);
	if (in->fd < 0)
		return in->fd;
	ret = own_mac(netdev, in->dst);
	if (!ret)
		ret = link_mac(in->fd, netdev, in->src);
	return ret ? ret : socket_dress(in->fd, netdev);
}

void vt_inject_close(struct vt_inject *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
}

static size_t put_eth(const struct vt_inject *in, const struct vt_inject_frame *f, uint8_t *p)
{
	static const uint8_t group4[] = { 1, 0, 0x5e }, group6[] = { 0x33, 0x33, 0 };
	uint16_t type = htons(f->ipv6 ? ETH_P_IPV6 : ETH_P_IP);

	memcpy(p, in->dst, 6);
	if (f->group) {
		memcpy(p, f->ipv6 ? group6 : group4, 3);
		p[3] = p[4] = 0;
		p[5] = f->group;
	}
	memcpy(p + 6, in->src, 6);
	memcpy(p + 12, &type, 2);
	return ETH_LEN;
}

static uint16_t ip_sum(const void *header)
{
	const uint16_t *p = header;
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 10; i++)
		sum += p[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

/* The IP header of a packet with @len bytes after it; @id is its index in the train. */
static size_t put_ip(const struct vt_inject *in, const struct vt_inject_frame *f, uint8_t *p,
		     size_t len, unsigned int id)
{
	struct ipv6hdr ip6 = {
		.version = 6, .priority = f->tos >> 4, .flow_lbl = { (uint8_t)(f->tos << 4) },
		.payload_len = htons(len), .nexthdr = IPPROTO_UDP, .hop_limit = 64,
	};
	struct iphdr ip4 = {
		.version = 4, .ihl = 5, .tos = f->tos,
		.tot_len = htons(sizeof(ip4) + len), .id = htons(id),
		.frag_off = htons(0x4000), .ttl = 64, .protocol = IPPROTO_UDP,
		.saddr = htonl(ntohl(in->peer_addr) + f->spoof),
		.daddr = f->group ? GROUP4(f->group) : in->addr,
	};

	if (!f->ipv6) {
		ip4.check = ip_sum(&ip4);
		memcpy(p, &ip4, sizeof(ip4));
		return sizeof(ip4);
	}
	memcpy(&ip6.saddr, &in->peer_addr6, 16);
	memcpy(&ip6.daddr, &in->addr6, 16);
	ip6.saddr.s6_addr32[3] = htonl(ntohl(ip6.saddr.s6_addr32[3]) + f->spoof);
	if (f->group) {
		memset(&ip6.daddr, 0, 16);
		ip6.daddr.s6_addr[0] = 0xff;
		ip6.daddr.s6_addr[1] = 0x0e;
		ip6.daddr.s6_addr[15] = f->group;
	}
	memcpy(p, &ip6, sizeof(ip6));
	return sizeof(ip6);
}

static void put_udp(uint8_t *p, size_t len)
{
	struct udphdr udp = {
		.source = htons(SOURCE_PORT), .dest = htons(VT_ROCE_PORT), .len = htons(len),
	};

	memcpy(p, &udp, sizeof(udp));
}

/*
 * IBTA A17.3: the fields that routers change count as 1s. @p is a packet from its BTH on, with
 * @len bytes, without IP and UDP headers: in a train each packet gets its own.
 */
static uint32_t icrc(const struct vt_inject *in, const struct vt_inject_frame *f,
		     unsigned int id, const uint8_t *p, size_t len)
{
	uint8_t head[8 + sizeof(struct ipv6hdr) + UDP_LEN + 8];
	size_t udp_len = UDP_LEN + len + VT_ICRC_LEN, at;
	uint8_t *ip = head + 8;
	uint32_t crc;

	memset(head, 0xff, 8);
	at = put_ip(in, f, ip, udp_len, id);
	if (f->ipv6) {
		memset(ip, 0xff, 4);
		ip[0] = 0x6f;
		ip[7] = 0xff;
	} else {
		ip[1] = 0xff;
		ip[8] = 0xff;
		memset(ip + 10, 0xff, 2);
	}
	put_udp(ip + at, udp_len);
	memset(ip + at + 6, 0xff, 2);
	at += UDP_LEN;
	memcpy(ip + at, p, 8);
	ip[at + 4] = 0xff;
	crc = crc32_le(~0u, head, 8 + at + 8);
	return ~crc32_le(crc, p + 8, len - 8);
}

/* FIRST is followed by MIDDLE, and MIDDLE by itself. */
static uint8_t opcode_after(uint8_t opcode)
{
	switch (opcode & 0x1f) {
	case VT_OP_SEND_FIRST:
	case VT_OP_WRITE_FIRST:
	case VT_OP_READ_RESPONSE_FIRST:
		return opcode + 1;
	}
	return opcode;
}

static size_t put_packet(const struct vt_inject *in, const struct vt_inject_frame *f,
			 unsigned int i, const void *data, size_t len, uint8_t *p)
{
	uint8_t opcode = f->bth.opcode;
	uint32_t words[3], crc;

	if (i)
		opcode = opcode_after(opcode);
	words[0] = htonl((uint32_t)opcode << 24 | f->bth.flags << 16 | f->bth.pkey);
	words[1] = htonl(f->bth.qpn & 0xffffff);
	words[2] = htonl((uint32_t)f->bth.ack_req << 31 | ((f->bth.psn + i) & 0xffffff));
	memcpy(p, words, sizeof(words));
	memcpy(p + VT_BTH_LEN, data, len);
	crc = icrc(in, f, i, p, VT_BTH_LEN + len) ^ f->bad_icrc;
	memcpy(p + VT_BTH_LEN + len, &crc, sizeof(crc));
	return VT_BTH_LEN + len + VT_ICRC_LEN;
}

/* The kernel computes the UDP checksum of each packet; it trusts a local sender. */
static struct virtio_net_hdr train_header(size_t head, size_t size)
{
	return (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
		.hdr_len = head,
		.gso_size = size,
		.csum_start = head - UDP_LEN,
		.csum_offset = 6,
	};
}

static int frame_send(const struct vt_inject *in, const struct frame *frame, size_t len)
{
	return send(in->fd, frame, sizeof(frame->vnet) + len, 0) < 0 ? -errno : 0;
}

/**
 * vt_inject_send() - put a frame with RoCEv2 packets on the link
 * @in: open
 * @f: its description
 * @data: the bytes after each BTH
 * @len: bytes of that
 *
 * Return: 0; a negative errno: the packet socket or the link has refused it
 */
int vt_inject_send(const struct vt_inject *in, const struct vt_inject_frame *f,
		   const void *data, size_t len)
{
	unsigned int i, n = f->n > 1 ? f->n : 1;
	size_t size = VT_BTH_LEN + len + VT_ICRC_LEN, at, udp;
	static __thread struct frame frame;

	if (len > VT_MAX_PAYLOAD || n > VT_MAX_TRAIN || n * size > 60000)
		return -EMSGSIZE;
	memset(&frame.vnet, 0, sizeof(frame.vnet));
	at = put_eth(in, f, frame.bytes);
	at += put_ip(in, f, frame.bytes + at, UDP_LEN + n * size, 0);
	udp = at;
	at += UDP_LEN;
	put_udp(frame.bytes + udp, UDP_LEN + n * size + f->bad_len);
	if (n > 1)
		frame.vnet = train_header(at, size);
	for (i = 0; i < n; i++)
		at += put_packet(in, f, i, data, len, frame.bytes + at);
	at -= f->cut < at - udp ? f->cut : at - udp;
	return frame_send(in, &frame, at);
}

/**
 * vt_inject_bytes() - put a datagram for the RoCE port on the link
 * @in: open
 * @ipv6: over IPv6
 * @data: all that follows the UDP header
 * @len: bytes of that
 */
int vt_inject_bytes(const struct vt_inject *in, bool ipv6, const void *data, size_t len)
{
	struct vt_inject_frame f = { .ipv6 = ipv6 };
	static __thread struct frame frame;
	size_t at;

	if (len > VT_INJECT_MAX)
		return -EMSGSIZE;
	memset(&frame.vnet, 0, sizeof(frame.vnet));
	at = put_eth(in, &f, frame.bytes);
	at += put_ip(in, &f, frame.bytes + at, UDP_LEN + len, 0);
	put_udp(frame.bytes + at, UDP_LEN + len);
	memcpy(frame.bytes + at + UDP_LEN, data, len);
	return frame_send(in, &frame, at + UDP_LEN + len);
}

static bool take_apart(const struct frame *frame, ssize_t len, struct vt_said *said)
{
	const uint8_t *p = frame->bytes;
	bool ipv6 = p[12] == 0x86;
	ssize_t head = ETH_LEN + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	uint32_t words[8] = { 0 };
	ssize_t left;

	len -= sizeof(frame->vnet) + head + UDP_LEN;
	if (len < VT_BTH_LEN + VT_ICRC_LEN || p[head + 2] != VT_ROCE_PORT >> 8 ||
	    p[head + 3] != (VT_ROCE_PORT & 0xff))
		return false;
	left = len < (ssize_t)sizeof(words) ? len : (ssize_t)sizeof(words);
	memcpy(words, p + head + UDP_LEN, left);
	said->bth = (struct vt_bth){
		.opcode = ntohl(words[0]) >> 24,
		.qpn = ntohl(words[1]) & 0xffffff,
		.psn = ntohl(words[2]) & 0xffffff,
		.ack_req = ntohl(words[2]) >> 31,
	};
	said->n = 1;
	if (frame->vnet.gso_type && frame->vnet.gso_size)
		said->n = (len + frame->vnet.gso_size - 1) / frame->vnet.gso_size;
	said->aeth = ntohl(words[3]);
	said->dma_len = ntohl(words[6]);
	return true;
}

/**
 * vt_inject_said() - get the next packet or train that the device has sent
 * @in: open
 * @said: filled in
 *
 * Return: false if nothing more has arrived
 */
bool vt_inject_said(const struct vt_inject *in, struct vt_said *said)
{
	static __thread struct frame frame;
	ssize_t len;

	do {
		len = recv(in->fd, &frame, sizeof(frame), MSG_DONTWAIT);
		if (len >= (ssize_t)(sizeof(frame.vnet) + ETH_LEN) &&
		    take_apart(&frame, len, said))
			return true;
	} while (len > 0);
	return false;
}
