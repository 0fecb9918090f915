/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames injected at the end of the link without a softmr device: complete RoCEv2 frames over
 * IPv4 or IPv6, trains of them, and invalid ones. Also, frames that the device sends to that
 * end.
 *
 * The environment is that of roce.h, and SMR_ADDR6, SMR_PEER_ADDR6, SMR_NETDEV. A frame is
 * transmitted in the context of the system call, so it has been received when vt_inject_send()
 * returns, unless the kernel is busy.
 */
#ifndef VT_INJECT_H
#define VT_INJECT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roce.h"

#define VT_INJECT_MAX	9000

/**
 * struct vt_inject - one end of a link
 * @fd: packet socket with PACKET_VNET_HDR
 * @dst: the device's MAC address
 * @src: MAC address of this end
 * @addr: the device's addresses: IPv4 in network order, IPv6
 * @peer_addr: the addresses of this end
 */
struct vt_inject {
	int fd;
	uint8_t dst[6];
	uint8_t src[6];
	uint32_t addr, peer_addr;
	struct in6_addr addr6, peer_addr6;
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

int vt_inject_open(struct vt_inject *in);
void vt_inject_close(struct vt_inject *in);
int vt_inject_send(const struct vt_inject *in, const struct vt_inject_frame *frame,
		   const void *data, size_t len);
int vt_inject_bytes(const struct vt_inject *in, bool ipv6, const void *data, size_t len);
bool vt_inject_said(const struct vt_inject *in, struct vt_said *said);

#endif /* VT_INJECT_H */
