/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hand-made RoCEv2 packets, sent without a driver from a raw socket in the network namespace at
 * the other end of the device's wire.
 *
 *   SMR_PEER_NETNS	that namespace (a name below /run/netns)
 *   SMR_ADDR		the device's IPv4 address
 *   SMR_PEER_ADDR	the address at the other end
 */
#ifndef VT_ROCE_H
#define VT_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <linux/ip.h>
#include <linux/udp.h>

#define VT_ROCE_PORT	4791
#define VT_BTH_LEN	12
#define VT_ICRC_LEN	4
#define VT_MAX_PAYLOAD	8192
#define VT_MAX_TRAIN	8

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
 * @fd: raw socket
 * @ear: raw socket that receives packets at that end, or -1
 * @saddr: network order
 * @daddr: network order
 * @id: of the next IPv4 header
 * @tos: of the next IPv4 header
 * @spoil_icrc: send a wrong ICRC
 * @spoil_part: of a train, only that of this packet, from 1; 0: of none
 */
struct vt_roce {
	int fd;
	int ear;
	uint32_t saddr;
	uint32_t daddr;
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

int vt_socket_in(const char *netns, int family, int type, int protocol);
int vt_roce_open(struct vt_roce *roce);
void vt_roce_close(struct vt_roce *roce);
union ibv_gid vt_roce_gid(const struct vt_roce *roce);
int vt_roce_listen(struct vt_roce *roce);
bool vt_roce_hear(const struct vt_roce *roce, struct vt_heard *heard, int timeout_ms);
int vt_roce_send_udp(struct vt_roce *roce, const void *data, size_t len);
int vt_roce_send(struct vt_roce *roce, const struct vt_bth *bth,
		 const void *data, size_t len);
int vt_roce_ack(struct vt_roce *roce, struct vt_bth *bth, uint32_t psn);
int vt_roce_cnp(struct vt_roce *roce, struct vt_bth *bth);
int vt_roce_train(const struct vt_roce *roce, const struct vt_bth *bths, int n,
		  const void *data, size_t len, size_t step);
int vt_roce_datagram(const struct vt_roce *roce, const struct vt_bth *bth,
		     const void *data, size_t len);

#endif /* VT_ROCE_H */
