// SPDX-License-Identifier: GPL-2.0
#include "roce.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/ipv6.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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
#define FRAME_MAX	60000

/* 224.0.0.0/4 and ff0e::/16 */
#define GROUP4(n)	htonl(0xef000000 | (n))

/* One frame as passed to the socket; the part on the wire begins at @bytes. */
struct frame {
	struct virtio_net_hdr vnet;
	uint8_t bytes[ETH_LEN + sizeof(struct ipv6hdr) + UDP_LEN +
		      VT_MAX_TRAIN * (VT_BTH_LEN + VT_MAX_PAYLOAD + VT_ICRC_LEN)];
} __attribute__((packed));

/* A packet of which IP has taken the link's header off */
struct packet {
	struct iphdr ip;
	struct udphdr udp;
	uint8_t data[VT_BTH_LEN + VT_MAX_PAYLOAD + VT_ICRC_LEN];
} __attribute__((packed));

static uint32_t crc32_le(uint32_t crc, const void *data, size_t len)
{
	static uint32_t crc_byte[256];
	const uint8_t *p = data;
	uint32_t i, c;
	int bit;

	for (i = 0; !crc_byte[255] && i < 256; i++) {
		for (c = i, bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		crc_byte[i] = c;
	}
	while (len--)
		crc = crc >> 8 ^ crc_byte[(crc ^ *p++) & 0xff];
	return crc;
}

static int netns_fd(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	return open(path, O_RDONLY);
}

/**
 * vt_socket_in() - a socket that lives in another network namespace
 * @netns: its name below /run/netns
 * @family: AF_INET, AF_PACKET
 * @type: SOCK_DGRAM, SOCK_RAW
 * @protocol: as for socket()
 *
 * Return: the socket, or a negative errno
 */
int vt_socket_in(const char *netns, int family, int type, int protocol)
{
	int own = open("/proc/self/ns/net", O_RDONLY), ns = netns_fd(netns), fd;

	if (own < 0 || ns < 0 || setns(ns, CLONE_NEWNET))
		return -errno;
	fd = socket(family, type, protocol);
	if (fd < 0)
		fd = -errno;
	if (setns(own, CLONE_NEWNET))
		fd = -errno;
	close(ns);
	close(own);
	return fd;
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

/* @protocol: of the frames that the socket receives, too; 0: none */
static int bind_link(int fd, const char *netdev, uint16_t protocol)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol) };
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

static int open_link(struct vt_roce *roce, uint16_t protocol)
{
	const char *ns = getenv("SMR_PEER_NETNS"), *netdev = getenv("SMR_NETDEV");
	const char *addr = getenv("SMR_ADDR"), *peer = getenv("SMR_PEER_ADDR");
	const char *addr6 = getenv("SMR_ADDR6"), *peer6 = getenv("SMR_PEER_ADDR6");
	int ret;

	memset(roce, 0, sizeof(*roce));
	roce->fd = roce->ear = -1;
	if (!ns || !netdev || !addr || !peer || !addr6 || !peer6)
		return -EOPNOTSUPP;
	roce->saddr = inet_addr(peer);
	roce->daddr = inet_addr(addr);
	if (inet_pton(AF_INET6, peer6, &roce->saddr6) != 1 ||
	    inet_pton(AF_INET6, addr6, &roce->daddr6) != 1)
		return -EINVAL;
	roce->id = 1;
	roce->fd = vt_socket_in(ns, AF_PACKET, SOCK_RAW, 0);
	if (roce->fd < 0)
		return roce->fd;
	ret = own_mac(netdev, roce->dst);
	if (!ret)
		ret = link_mac(roce->fd, netdev, roce->src);
	return ret ? ret : bind_link(roce->fd, netdev, protocol);
}

/**
 * vt_roce_open() - open the other end of the wire, to send
 * @roce: filled in; close it even after a failure
 *
 * Return: 0, a negative errno; -EOPNOTSUPP: there is no other end
 */
int vt_roce_open(struct vt_roce *roce)
{
	return open_link(roce, 0);
}

/**
 * vt_inject_open() - the same, to receive frames, too: vt_inject_said()
 */
int vt_inject_open(struct vt_roce *roce)
{
	return open_link(roce, ETH_P_ALL);
}

void vt_roce_close(struct vt_roce *roce)
{
	if (roce->fd >= 0)
		close(roce->fd);
	if (roce->ear >= 0)
		close(roce->ear);
	roce->fd = roce->ear = -1;
}

/* The GID of the peer that the packets come from */
union ibv_gid vt_roce_gid(const struct vt_roce *roce)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	memcpy(gid.raw + 12, &roce->saddr, sizeof(roce->saddr));
	return gid;
}

/**
 * vt_roce_listen() - start to receive packets at the other end of the wire
 * @roce: open
 *
 * Trains are split before they arrive there.
 *
 * Return: 0 or a negative errno
 */
int vt_roce_listen(struct vt_roce *roce)
{
	const char *netdev = getenv("SMR_NETDEV");
	int room = 32 << 20;
	char command[256];

	snprintf(command, sizeof(command),
		 "ethtool -K %s tx-udp-segmentation off >/dev/null", netdev ? netdev : "");
	if (!netdev || system(command))
		return -EOPNOTSUPP;
	roce->ear = vt_socket_in(getenv("SMR_PEER_NETNS"), AF_INET, SOCK_RAW, IPPROTO_UDP);
	if (roce->ear < 0)
		return roce->ear;
	if (setsockopt(roce->ear, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		return -errno;
	return 0;
}

/* Is it a RoCEv2 packet? Then @heard is filled in. */
static bool packet_heard(const struct packet *p, ssize_t len, struct vt_heard *heard)
{
	ssize_t data_len = len - (ssize_t)(sizeof(p->ip) + sizeof(p->udp) + VT_BTH_LEN);
	uint32_t words[3];

	if (data_len < VT_ICRC_LEN || p->ip.ihl != 5 || ntohs(p->udp.dest) != VT_ROCE_PORT ||
	    data_len > (ssize_t)sizeof(heard->data))
		return false;
	memcpy(words, p->data, sizeof(words));
	heard->bth = (struct vt_bth){
		.opcode = ntohl(words[0]) >> 24,
		.flags = ntohl(words[0]) >> 16,
		.pkey = ntohl(words[0]),
		.qpn = ntohl(words[1]) & 0xffffff,
		.psn = ntohl(words[2]) & 0xffffff,
		.ack_req = ntohl(words[2]) >> 31,
	};
	heard->becn = ntohl(words[1]) >> 30 & 1;
	heard->sport = ntohs(p->udp.source);
	heard->tos = p->ip.tos;
	heard->len = data_len;
	memcpy(heard->data, p->data + VT_BTH_LEN, data_len);
	return true;
}

/**
 * vt_roce_hear() - get the next packet that arrives at the other end of the wire
 * @roce: with vt_roce_listen()
 * @heard: the packet
 * @timeout_ms: how long to wait for it
 *
 * Return: false if none has arrived
 */
bool vt_roce_hear(const struct vt_roce *roce, struct vt_heard *heard, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = roce->ear, .events = POLLIN };
	struct packet p;
	ssize_t len;

	while (poll(&poll_fd, 1, timeout_ms) == 1) {
		len = recv(roce->ear, &p, sizeof(p), MSG_DONTWAIT);
		if (len > 0 && packet_heard(&p, len, heard))
			return true;
	}
	return false;
}

static size_t put_eth(const struct vt_roce *in, const struct vt_inject_frame *f, uint8_t *p)
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
static size_t put_ip(const struct vt_roce *in, const struct vt_inject_frame *f, uint8_t *p,
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
		.saddr = htonl(ntohl(in->saddr) + f->spoof),
		.daddr = f->group ? GROUP4(f->group) : in->daddr,
	};

	if (!f->ipv6) {
		ip4.check = ip_sum(&ip4);
		memcpy(p, &ip4, sizeof(ip4));
		return sizeof(ip4);
	}
	memcpy(&ip6.saddr, &in->saddr6, 16);
	memcpy(&ip6.daddr, &in->daddr6, 16);
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
static uint32_t icrc(const struct vt_roce *in, const struct vt_inject_frame *f,
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

/* From the BTH on; @id is the packet's index in the train, or its IPv4 identification. */
static size_t put_packet(const struct vt_roce *in, const struct vt_inject_frame *f, unsigned int id,
			 const struct vt_bth *bth, const void *data, size_t len, uint32_t bad_icrc,
			 uint8_t *p)
{
	uint32_t words[3] = {
		htonl((uint32_t)bth->opcode << 24 | bth->flags << 16 | bth->pkey),
		htonl(bth->qpn & 0xffffff),
		htonl((uint32_t)bth->ack_req << 31 | (bth->psn & 0xffffff)),
	};
	uint32_t crc;

	memcpy(p, words, sizeof(words));
	memcpy(p + VT_BTH_LEN, data, len);
	crc = icrc(in, f, id, p, VT_BTH_LEN + len) ^ bad_icrc;
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

static int frame_send(const struct vt_roce *in, const struct frame *frame, size_t len)
{
	return send(in->fd, frame, sizeof(frame->vnet) + len, 0) < 0 ? -errno : 0;
}

/* Packets with @len bytes each after their BTHs; @step: between these; @bad: flips bits of their ICRCs */
static int send_frame(const struct vt_roce *in, const struct vt_inject_frame *f, unsigned int id,
		      const struct vt_bth *bths, unsigned int n, const void *data, size_t len,
		      size_t step, const uint32_t *bad)
{
	size_t size = VT_BTH_LEN + len + VT_ICRC_LEN, at, udp;
	static __thread struct frame frame;
	unsigned int i;

	if (len > VT_MAX_PAYLOAD || n > VT_MAX_TRAIN || n * size > FRAME_MAX)
		return -EMSGSIZE;
	memset(&frame.vnet, 0, sizeof(frame.vnet));
	at = put_eth(in, f, frame.bytes);
	at += put_ip(in, f, frame.bytes + at, UDP_LEN + n * size, id);
	udp = at;
	at += UDP_LEN;
	put_udp(frame.bytes + udp, UDP_LEN + n * size + f->bad_len);
	if (n > 1)
		frame.vnet = train_header(at, size);
	for (i = 0; i < n; i++)
		at += put_packet(in, f, id + i, &bths[i], data + i * step, len, bad[i],
				 frame.bytes + at);
	at -= f->cut < at - udp ? f->cut : at - udp;
	return frame_send(in, &frame, at);
}

/* FIRST is followed by MIDDLE, and MIDDLE by itself. */
static struct vt_bth bth_after(struct vt_bth bth, unsigned int i)
{
	uint8_t kind = bth.opcode & 0x1f;

	if (i && (kind == VT_OP_SEND_FIRST || kind == VT_OP_WRITE_FIRST ||
		  kind == VT_OP_READ_RESPONSE_FIRST))
		bth.opcode++;
	bth.psn += i;
	return bth;
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
int vt_inject_send(const struct vt_roce *in, const struct vt_inject_frame *f, const void *data,
		   size_t len)
{
	unsigned int i, n = f->n > 1 ? f->n : 1;
	struct vt_bth bths[VT_MAX_TRAIN];
	uint32_t bad[VT_MAX_TRAIN];

	for (i = 0; i < n && i < VT_MAX_TRAIN; i++) {
		bths[i] = bth_after(f->bth, i);
		bad[i] = f->bad_icrc;
	}
	return send_frame(in, f, 0, bths, n, data, len, 0, bad);
}

/**
 * vt_inject_bytes() - put a datagram for the RoCE port on the link
 * @in: open
 * @ipv6: over IPv6
 * @data: all that follows the UDP header
 * @len: bytes of that
 */
int vt_inject_bytes(const struct vt_roce *in, bool ipv6, const void *data, size_t len)
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

static bool frame_said(const struct frame *frame, ssize_t len, struct vt_said *said)
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
bool vt_inject_said(const struct vt_roce *in, struct vt_said *said)
{
	static __thread struct frame frame;
	ssize_t len;

	do {
		len = recv(in->fd, &frame, sizeof(frame), MSG_DONTWAIT);
		if (len >= (ssize_t)(sizeof(frame.vnet) + ETH_LEN) &&
		    frame_said(&frame, len, said))
			return true;
	} while (len > 0);
	return false;
}

/**
 * vt_roce_send() - send a packet with a BTH and the right ICRC
 * @roce: how
 * @bth: base transport header
 * @data: what follows it: further headers, payload and pad
 * @len: bytes of @data
 */
int vt_roce_send(struct vt_roce *roce, const struct vt_bth *bth, const void *data, size_t len)
{
	struct vt_inject_frame f = { .tos = roce->tos };
	uint32_t bad = roce->spoil_icrc;

	roce->id = roce->id == 0xffff ? 1 : roce->id + 1;
	return send_frame(roce, &f, roce->id, bth, 1, data, len, 0, &bad);
}

/**
 * vt_roce_train() - send packets as one train
 * @roce: how
 * @bths: their base transport headers
 * @n: number of packets, at most VT_MAX_TRAIN
 * @data: the bytes after each header
 * @len: bytes of @data for each
 * @step: distance between the data of consecutive packets; 0: all have the same
 *
 * They arrive as one skb, unless something on the way segments them.
 *
 * Return: 0 or a negative errno
 */
int vt_roce_train(const struct vt_roce *roce, const struct vt_bth *bths, int n, const void *data,
		  size_t len, size_t step)
{
	struct vt_inject_frame f = { .tos = roce->tos };
	uint32_t bad[VT_MAX_TRAIN];
	int i;

	for (i = 0; i < VT_MAX_TRAIN; i++)
		bad[i] = roce->spoil_icrc || roce->spoil_part == i + 1;
	return send_frame(roce, &f, 0, bths, n, data, len, step, bad);
}

/**
 * vt_roce_raw() - send a whole packet from a raw IP socket of this process's network namespace
 *
 * Parameters and result: as of vt_roce_datagram()
 */
int vt_roce_raw(const struct vt_roce *roce, const struct vt_bth *bth, const void *data, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = roce->daddr };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW), ret = 0;
	struct vt_inject_frame f = {};
	uint8_t p[sizeof(struct packet)];
	size_t at;

	if (fd < 0)
		return -errno;
	at = put_ip(roce, &f, p, UDP_LEN + VT_BTH_LEN + len + VT_ICRC_LEN, 1);
	put_udp(p + at, UDP_LEN + VT_BTH_LEN + len + VT_ICRC_LEN);
	at += UDP_LEN;
	at += put_packet(roce, &f, 1, bth, data, len, 0, p + at);
	if (sendto(fd, p, at, 0, (void *)&to, sizeof(to)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/**
 * vt_roce_datagram() - send a whole packet as any process can: from an ordinary UDP socket
 * @roce: the addresses; the other fields are not used
 * @bth: base transport header
 * @data: what follows it
 * @len: bytes of @data
 *
 * The socket is in this process's network namespace. It has DF, so the stack counts the IPv4
 * identifications up from 0.
 *
 * Return: 0 or a negative errno
 */
int vt_roce_datagram(const struct vt_roce *roce, const struct vt_bth *bth, const void *data,
		     size_t len)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_port = htons(SOURCE_PORT), .sin_addr.s_addr = roce->saddr,
	};
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(VT_ROCE_PORT), .sin_addr.s_addr = roce->daddr,
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), never = IP_PMTUDISC_DO, ret = 0;
	uint8_t p[VT_BTH_LEN + VT_MAX_PAYLOAD + VT_ICRC_LEN];
	struct vt_inject_frame f = {};

	if (fd < 0)
		return -errno;
	len = put_packet(roce, &f, 0, bth, data, len, 0, p);
	if (bind(fd, (void *)&from, sizeof(from)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &never, sizeof(never)) ||
	    sendto(fd, p, len, 0, (void *)&to, sizeof(to)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/**
 * vt_roce_ack() - acknowledge all packets up to one
 * @roce: the peer
 * @bth: of the peer's packets; its opcode and PSN are set
 * @psn: PSN of that packet
 *
 * Return: as vt_roce_send()
 */
int vt_roce_ack(struct vt_roce *roce, struct vt_bth *bth, uint32_t psn)
{
	static const uint8_t aeth[4] = { 0x1f };

	bth->opcode = VT_OP_ACK;
	bth->psn = psn;
	return vt_roce_send(roce, bth, aeth, sizeof(aeth));
}

/**
 * vt_roce_cnp() - send a congestion notification packet
 * @roce: the peer
 * @bth: as for vt_roce_ack()
 *
 * Return: as vt_roce_send()
 */
int vt_roce_cnp(struct vt_roce *roce, struct vt_bth *bth)
{
	static const uint8_t reserved[16];

	bth->opcode = VT_OP_CNP;
	bth->psn = 0;
	return vt_roce_send(roce, bth, reserved, sizeof(reserved));
}
