// SPDX-License-Identifier: GPL-2.0
#include "roce.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* A socket that lives in another network namespace. */
static int raw_socket_in(const char *name)
{
	int own = open("/proc/self/ns/net", O_RDONLY), ns = netns_fd(name), fd;

	if (own < 0 || ns < 0 || setns(ns, CLONE_NEWNET))
		return -errno;
	fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
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
	roce->fd = raw_socket_in(ns);
	return roce->fd < 0 ? roce->fd : 0;
}

void vt_roce_close(struct vt_roce *roce)
{
	close(roce->fd);
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

/* IBTA A17.3: over everything that routers do not change; that counts as 1s. */
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
		.tot_len = htons(sizeof(p->ip) + sizeof(p->udp) + len),
		.id = htons(roce->id),
		.frag_off = htons(0x4000),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = roce->saddr,
		.daddr = roce->daddr,
	};
	p->udp = (struct udphdr){
		.source = htons(0xc000),
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
 * vt_roce_send_udp() - send a datagram to the RoCE port, as it is
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

/**
 * vt_roce_send() - send a packet with a BTH and the ICRC that belongs to it
 * @roce: how
 * @bth: base transport header
 * @data: what is behind it: further headers, payload and pad
 * @len: bytes of @data
 */
int vt_roce_send(struct vt_roce *roce, const struct vt_bth *bth,
		 const void *data, size_t len)
{
	uint32_t words[3] = {
		htonl(bth->opcode << 24 | bth->flags << 16 | bth->pkey),
		htonl(bth->qpn & 0xffffff),
		htonl((uint32_t)bth->ack_req << 31 | (bth->psn & 0xffffff)),
	};
	struct packet p;
	uint32_t crc;

	if (len > VT_MAX_PAYLOAD)
		return -EMSGSIZE;
	make_headers(roce, &p, VT_BTH_LEN + len + VT_ICRC_LEN);
	memcpy(p.data, words, sizeof(words));
	memcpy(p.data + VT_BTH_LEN, data, len);
	crc = icrc(&p, VT_BTH_LEN + len);
	if (roce->spoil_icrc)
		crc ^= 1;
	memcpy(p.data + VT_BTH_LEN + len, &crc, sizeof(crc));
	return send_packet(roce, &p, VT_BTH_LEN + len + VT_ICRC_LEN);
}
