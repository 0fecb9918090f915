// SPDX-License-Identifier: GPL-2.0
#include "roce.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOURCE_PORT	0xc000

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	uint8_t data[VT_BTH_LEN + VT_MAX_PAYLOAD + VT_ICRC_LEN];
} __attribute__((packed));

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

/**
 * vt_roce_open() - open a raw socket at the other end of the wire
 *
 * Return: 0, a negative errno; -EOPNOTSUPP: there is no other end
 */
int vt_roce_open(struct vt_roce *roce)
{
	const char *ns = getenv("SMR_PEER_NETNS"), *to = getenv("SMR_ADDR");
	const char *from = getenv("SMR_PEER_ADDR");

	memset(roce, 0, sizeof(*roce));
	if (!ns || !to || !from)
		return -EOPNOTSUPP;
	roce->saddr = inet_addr(from);
	roce->daddr = inet_addr(to);
	roce->id = 1;
	roce->ear = -1;
	roce->fd = vt_socket_in(ns, AF_INET, SOCK_RAW, IPPROTO_RAW);
	return roce->fd < 0 ? roce->fd : 0;
}

void vt_roce_close(struct vt_roce *roce)
{
	close(roce->fd);
	if (roce->ear >= 0)
		close(roce->ear);
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
static bool take_apart(const struct packet *p, ssize_t len, struct vt_heard *heard)
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
		if (len > 0 && take_apart(&p, len, heard))
			return true;
	}
	return false;
}

static uint32_t crc32_le(uint32_t crc, const uint8_t *p, size_t len)
{
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/*
 * IBTA A17.3: in the ICRC, fields that routers may change count as 1s.
 */
static uint32_t icrc(const struct packet *packet, size_t data_len)
{
	static const uint8_t ones[8] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	struct packet p = *packet;
	uint32_t crc;

	p.ip.tos = 0xff;
	p.ip.ttl = 0xff;
	p.ip.check = 0xffff;
	p.udp.check = 0xffff;
	p.data[4] = 0xff;
	crc = crc32_le(~0u, ones, sizeof(ones));
	return ~crc32_le(crc, (uint8_t *)&p,
			 sizeof(p.ip) + sizeof(p.udp) + data_len);
}

static void make_headers(struct vt_roce *roce, struct packet *p, size_t len)
{
	p->ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tos = roce->tos,
		.tot_len = htons(sizeof(p->ip) + sizeof(p->udp) + len),
		.id = htons(roce->id),
		.frag_off = htons(0x4000),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = roce->saddr,
		.daddr = roce->daddr,
	};
	p->udp = (struct udphdr){
		.source = htons(SOURCE_PORT),
		.dest = htons(VT_ROCE_PORT),
		.len = htons(sizeof(p->udp) + len),
	};
	if (!++roce->id)
		roce->id = 1;
}

static int send_packet(struct vt_roce *roce, struct packet *p, size_t len)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = roce->daddr,
	};

	len += sizeof(p->ip) + sizeof(p->udp);
	if (sendto(roce->fd, p, len, 0, (void *)&to, sizeof(to)) < 0)
		return -errno;
	return 0;
}

/**
 * vt_roce_send_udp() - send a datagram to the RoCE port without changes
 */
int vt_roce_send_udp(struct vt_roce *roce, const void *data, size_t len)
{
	struct packet p;

	if (len > sizeof(p.data))
		return -EMSGSIZE;
	make_headers(roce, &p, len);
	memcpy(p.data, data, len);
	return send_packet(roce, &p, len);
}

/*
 * Build a whole packet with its ICRC. Return: its bytes behind the UDP header.
 */
static size_t make_packet(struct vt_roce *roce, const struct vt_bth *bth,
			  const void *data, size_t len, struct packet *p)
{
	uint32_t words[3] = {
		htonl(bth->opcode << 24 | bth->flags << 16 | bth->pkey),
		htonl(bth->qpn & 0xffffff),
		htonl((uint32_t)bth->ack_req << 31 | (bth->psn & 0xffffff)),
	};
	uint32_t crc;

	make_headers(roce, p, VT_BTH_LEN + len + VT_ICRC_LEN);
	memcpy(p->data, words, sizeof(words));
	memcpy(p->data + VT_BTH_LEN, data, len);
	crc = icrc(p, VT_BTH_LEN + len);
	if (roce->spoil_icrc)
		crc ^= 1;
	memcpy(p->data + VT_BTH_LEN + len, &crc, sizeof(crc));
	return VT_BTH_LEN + len + VT_ICRC_LEN;
}

/**
 * vt_roce_send() - send a packet with a BTH and the right ICRC
 * @roce: how
 * @bth: base transport header
 * @data: what follows it: further headers, payload and pad
 * @len: bytes of @data
 */
int vt_roce_send(struct vt_roce *roce, const struct vt_bth *bth,
		 const void *data, size_t len)
{
	struct packet p;

	if (len > VT_MAX_PAYLOAD)
		return -EMSGSIZE;
	len = make_packet(roce, bth, data, len, &p);
	return send_packet(roce, &p, len);
}

/*
 * Configure an ordinary UDP socket to send like hand-made packets: from their address and port,
 * with DF, so that the stack counts the IPv4 identifications up from 0.
 */
static int socket_dress(const struct vt_roce *roce, int fd)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_port = htons(SOURCE_PORT),
		.sin_addr.s_addr = roce->saddr,
	};
	int never = IP_PMTUDISC_DO;

	if (bind(fd, (void *)&from, sizeof(from)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &never, sizeof(never)))
		return -errno;
	return 0;
}

/* At the other end of the wire; cuts the data into parts of @size (UDP GSO) */
static int train_socket(const struct vt_roce *roce, int size)
{
	int fd = vt_socket_in(getenv("SMR_PEER_NETNS"), AF_INET, SOCK_DGRAM, 0), ret;

	if (fd < 0)
		return fd;
	ret = socket_dress(roce, fd);
	if (!ret && setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
		ret = -errno;
	if (!ret)
		return fd;
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
 * The socket is in this process's network namespace.
 *
 * Return: 0 or a negative errno
 */
int vt_roce_datagram(const struct vt_roce *roce, const struct vt_bth *bth,
		     const void *data, size_t len)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(VT_ROCE_PORT),
		.sin_addr.s_addr = roce->daddr,
	};
	struct vt_roce first = { .saddr = roce->saddr, .daddr = roce->daddr };
	int fd, ret;
	struct packet p;

	if (len > VT_MAX_PAYLOAD)
		return -EMSGSIZE;
	len = make_packet(&first, bth, data, len, &p);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		return -errno;
	ret = socket_dress(roce, fd);
	if (!ret && sendto(fd, p.data, len, 0, (void *)&to, sizeof(to)) < 0)
		ret = -errno;
	close(fd);
	return ret;
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
int vt_roce_train(const struct vt_roce *roce, const struct vt_bth *bths, int n,
		  const void *data, size_t len, size_t step)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(VT_ROCE_PORT),
		.sin_addr.s_addr = roce->daddr,
	};
	size_t size = VT_BTH_LEN + len + VT_ICRC_LEN;
	uint8_t train[VT_MAX_TRAIN * size];
	struct vt_roce part = *roce;
	int fd, i, ret = 0;
	struct packet p;

	if (len > VT_MAX_PAYLOAD || n > VT_MAX_TRAIN)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		part.id = i;
		part.spoil_icrc = roce->spoil_icrc || roce->spoil_part == i + 1;
		make_packet(&part, &bths[i], data + i * step, len, &p);
		memcpy(train + i * size, p.data, size);
	}
	fd = train_socket(roce, size);
	if (fd < 0)
		return fd;
	if (sendto(fd, train, n * size, 0, (void *)&to, sizeof(to)) < 0)
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
