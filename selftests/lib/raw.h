/* SPDX-License-Identifier: GPL-2.0 */
/* RAW_PACKET QPs: Ethernet frames made by hand, and rules that steer them. */
#ifndef VT_RAW_H
#define VT_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoint.h"

/* Room for one frame, and how many there are in an endpoint's buffer */
#define VT_RAW_ROOM	10240
#define VT_RAW_SLOTS	16

/**
 * struct vt_raw - a RAW_PACKET QP and what it needs
 * @ep: these
 * @posted: receives so far, each in its slot; the first slot is for sending
 */
struct vt_raw {
	struct vt_ep ep;
	unsigned int posted;
};

/**
 * struct vt_frame - the headers of a frame
 * @vlan: the tag, or -1
 * @type: EtherType. 0x0800 and 0x86dd: @ip4 or @ip6 follows; any other: the
 *	payload
 * @proto: 17 or 6: the ports follow
 * @payload: bytes, of the pattern @seed
 */
struct vt_frame {
	uint8_t dst[6];
	uint8_t src[6];
	int vlan;
	uint16_t type;
	struct {
		uint32_t src, dst;
		uint8_t tos, ttl;
		uint16_t frag;
	} ip4;
	struct {
		uint8_t src[16], dst[16];
		uint32_t label;
		uint8_t class, hops;
	} ip6;
	uint8_t proto;
	uint16_t sport;
	uint16_t dport;
	size_t payload;
	uint32_t seed;
};

/**
 * struct vt_rule - a steering rule that is being built
 */
struct vt_rule {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
};

enum vt_raw_opt {
	VT_RAW_SRQ = 1 << 0,
	VT_RAW_ODP = 1 << 1,
	VT_RAW_WR_API = 1 << 2,
};

int vt_raw_open(struct vt_raw *raw, int end, unsigned int opts);
void vt_raw_close(struct vt_raw *raw);
int vt_raw_state(struct vt_raw *raw, enum ibv_qp_state state);
int vt_raw_ready(struct vt_raw *raw);
uint8_t *vt_raw_slot(struct vt_raw *raw, unsigned int n);

int vt_raw_post(struct vt_raw *raw, size_t len, int sges, unsigned int flags);
int vt_raw_send(struct vt_raw *raw, const struct vt_frame *frame);
int vt_raw_recv(struct vt_raw *raw, int n);
int vt_raw_recv_len(struct vt_raw *raw, size_t len);
int vt_raw_get(struct vt_raw *raw, uint8_t **at);
bool vt_raw_got(struct vt_raw *raw, const struct vt_frame *frame);

size_t vt_frame_write(const struct vt_frame *frame, uint8_t *to);
uint16_t vt_checksum(const void *data, size_t len, uint32_t sum);

void vt_rule_init(struct vt_rule *rule, enum ibv_flow_attr_type type,
		  uint16_t priority);
void vt_rule_normal(struct vt_rule *rule, uint16_t priority,
		    unsigned int flags);
void *vt_rule_add(struct vt_rule *rule, int type, size_t size);
struct ibv_flow *vt_rule_apply(struct vt_raw *raw, struct vt_rule *rule);
struct ibv_flow *vt_rule_mac(struct vt_raw *raw, const uint8_t *mac,
			     uint16_t priority, unsigned int flags);

#endif /* VT_RAW_H */
