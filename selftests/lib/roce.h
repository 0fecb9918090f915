/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hand-made RoCEv2 packets, sent as frames at the end of the link that has no softmr device: single
 * ones, trains, and invalid ones, over IPv4 and IPv6. And the packets that arrive there.
 *
 *   SMR_PEER_NETNS		the namespace of that end (a name below /run/netns)
 *   SMR_NETDEV			the netdevs of both ends
 *   SMR_ADDR, SMR_ADDR6	the device's addresses
 *   SMR_PEER_ADDR, SMR_PEER_ADDR6	those of the other end
 *
 * A frame is transmitted in the context of the system call, so it has been received when the
 * function returns, unless the kernel is busy.
 */
#ifndef VT_ROCE_H
#define VT_ROCE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <linux/ip.h>
#include <linux/udp.h>

#define VT_ROCE_PORT	4791
#define VT_BTH_LEN	12
#define VT_ICRC_LEN	4
#define VT_MAX_PAYLOAD	8192
#define VT_MAX_TRAIN	8
#define VT_INJECT_MAX	9000

/* Opcodes of the reliable connection that are sent by hand */
enum vt_roce_op {
	VT_OP_SEND_FIRST = 0,
	VT_OP_SEND_MIDDLE = 1,
	VT_OP_SEND_LAST = 2,
	VT_OP_SEND_ONLY = 4,
	VT_OP_WRITE_FIRST = 6,
	VT_OP_WRITE_MIDDLE = 7,
	VT_OP_WRITE_LAST = 8,
	VT_OP_WRITE_ONLY = 10,
	VT_OP_READ_REQUEST = 12,
	VT_OP_READ_RESPONSE_FIRST = 13,
	VT_OP_READ_RESPONSE_MIDDLE = 14,
	VT_OP_READ_RESPONSE_LAST = 15,
	VT_OP_READ_RESPONSE_ONLY = 16,
	VT_OP_ACK = 17,
	VT_OP_ATOMIC_ACK = 18,
	VT_OP_CMP_SWAP = 19,
	VT_OP_FETCH_ADD = 20,
	/* of no connection in particular */
	VT_OP_CNP = 0x81,
};

/**
 * struct vt_bth - the fields of the base transport header
 */
struct vt_bth {
	uint8_t opcode;
	/* solicited, migreq, pad count, version: as on the wire */
	uint8_t flags;
	uint16_t pkey;
	uint32_t qpn;
	uint32_t psn;
	bool ack_req;
};

/**
 * struct vt_roce - parameters for sending packets
 * @fd: packet socket with PACKET_VNET_HDR
 * @ear: raw socket that receives packets at that end, or -1
 * @dst: the device's MAC address
 * @src: MAC address of this end
 * @saddr: of this end, network order; likewise @saddr6
 * @daddr: the device's, network order; likewise @daddr6
 * @id: of the next IPv4 header
 * @tos: of the next IPv4 header
 * @spoil_icrc: send a wrong ICRC
 * @spoil_part: of a train, only that of this packet, from 1; 0: of none
 */
struct vt_roce {
	int fd;
	int ear;
	uint8_t dst[6];
	uint8_t src[6];
	uint32_t saddr, daddr;
	struct in6_addr saddr6, daddr6;
	uint16_t id;
	uint8_t tos;
	bool spoil_icrc;
	int spoil_part;
};

/**
 * struct vt_heard - a packet that has arrived at the other end of the wire
 * @bth: its header
 * @sport: UDP source port
 * @tos: of its IPv4 header
 * @becn: BECN of its header
 * @len: bytes after the BTH, including the ICRC
 * @data: these
 */
struct vt_heard {
	struct vt_bth bth;
	uint16_t sport;
	uint8_t tos;
	bool becn;
	size_t len;
	uint8_t data[VT_MAX_PAYLOAD];
};

/**
 * struct vt_inject_frame - description of a frame; with all fields 0 except @bth it is valid
 * @bth: of the first packet; the others follow it
 * @n: packets, which are sent as one train; 0 and 1: one
 * @ipv6: over IPv6
 * @spoof: is added to the source address
 * @group: to an IP multicast address, 0: to the device
 * @cut: bytes that are missing at the end of the frame
 * @bad_icrc: flips bits of each ICRC
 * @bad_len: is added to the UDP length
 * @tos: of the IP header
 */
struct vt_inject_frame {
	struct vt_bth bth;
	unsigned int n;
	bool ipv6;
	uint32_t spoof;
	uint8_t group;
	uint16_t cut;
	uint32_t bad_icrc;
	int bad_len;
	uint8_t tos;
};

/**
 * struct vt_said - a packet that the device has sent, or the first one of a train
 * @n: number of packets
 * @aeth: the word after the BTH of an answer
 * @dma_len: of a READ request
 */
struct vt_said {
	struct vt_bth bth;
	unsigned int n;
	uint32_t aeth;
	uint32_t dma_len;
};

/* Write a number in network order. Returns the address after it. */
static inline uint8_t *vt_put32(uint8_t *p, uint32_t value)
{
	value = htonl(value);
	memcpy(p, &value, 4);
	return p + 4;
}

static inline uint8_t *vt_put64(uint8_t *p, uint64_t value)
{
	return vt_put32(vt_put32(p, value >> 32), value);
}

int vt_socket_in(const char *netns, int family, int type, int protocol);
int vt_roce_open(struct vt_roce *roce);
void vt_roce_close(struct vt_roce *roce);
union ibv_gid vt_roce_gid(const struct vt_roce *roce);
int vt_roce_listen(struct vt_roce *roce);
bool vt_roce_hear(const struct vt_roce *roce, struct vt_heard *heard, int timeout_ms);
int vt_roce_send(struct vt_roce *roce, const struct vt_bth *bth,
		 const void *data, size_t len);
int vt_roce_ack(struct vt_roce *roce, struct vt_bth *bth, uint32_t psn);
int vt_roce_cnp(struct vt_roce *roce, struct vt_bth *bth);
int vt_roce_train(const struct vt_roce *roce, const struct vt_bth *bths, int n,
		  const void *data, size_t len, size_t step);
int vt_roce_raw(const struct vt_roce *roce, const struct vt_bth *bth, const void *data,
		size_t len);
int vt_roce_datagram(const struct vt_roce *roce, const struct vt_bth *bth,
		     const void *data, size_t len);

int vt_inject_open(struct vt_roce *roce);
int vt_inject_send(const struct vt_roce *in, const struct vt_inject_frame *frame, const void *data,
		   size_t len);
int vt_inject_bytes(const struct vt_roce *in, bool ipv6, const void *data, size_t len);
bool vt_inject_said(const struct vt_roce *in, struct vt_said *said);

#endif /* VT_ROCE_H */
