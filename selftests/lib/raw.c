// SPDX-License-Identifier: GPL-2.0
#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "pattern.h"
#include "work.h"

#define DEPTH		64
#define SGES		4
#define INLINE		128

/*
 * vt_raw_open - open a QP at one of the ends, in RTS; close it even after a
 * failure
 */
int vt_raw_open(struct vt_raw *raw, int end, unsigned int opts)
{
	struct vt_conf conf = vt_defaults;
	struct vt_dev *dev = &raw->ep.dev;
	int ret;

	conf.qp_type = IBV_QPT_RAW_PACKET;
	conf.depth = DEPTH;
	conf.cqe = 2 * DEPTH;
	conf.sges = SGES;
	conf.inline_len = INLINE;
	conf.srq_depth = opts & VT_RAW_SRQ ? DEPTH : 0;
	conf.wr_api = opts & VT_RAW_WR_API;
	conf.buf_len = VT_RAW_SLOTS * VT_RAW_ROOM;
	conf.buf_access = IBV_ACCESS_LOCAL_WRITE |
			  (opts & VT_RAW_ODP ? IBV_ACCESS_ON_DEMAND : 0);
	raw->posted = 0;
	ret = vt_ep_open(&raw->ep, &conf, end);
	if (dev->ctx && !(dev->attr.device_cap_flags &
			  IBV_DEVICE_MANAGED_FLOW_STEERING))
		ret = -EOPNOTSUPP;
	return ret ? ret : vt_raw_ready(raw);
}

void vt_raw_close(struct vt_raw *raw)
{
	vt_ep_close(&raw->ep);
}

int vt_raw_state(struct vt_raw *raw, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PORT;
	return -ibv_modify_qp(raw->ep.qp, &attr, mask);
}

/* vt_raw_ready - from RESET to RTS */
int vt_raw_ready(struct vt_raw *raw)
{
	int ret = vt_raw_state(raw, IBV_QPS_INIT);

	if (!ret)
		ret = vt_raw_state(raw, IBV_QPS_RTR);
	return ret ? ret : vt_raw_state(raw, IBV_QPS_RTS);
}

uint8_t *vt_raw_slot(struct vt_raw *raw, unsigned int n)
{
	return raw->ep.buf.p + n * VT_RAW_ROOM;
}

static int post_wr_api(struct vt_raw *raw, struct ibv_sge *sge, int n,
		       unsigned int flags)
{
	ibv_wr_start(raw->ep.qpx);
	raw->ep.qpx->wr_id = 1;
	raw->ep.qpx->wr_flags = flags & ~IBV_SEND_INLINE;
	ibv_wr_send(raw->ep.qpx);
	if (flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(raw->ep.qpx, (void *)(uintptr_t)sge->addr,
				       sge->length);
	else
		ibv_wr_set_sge_list(raw->ep.qpx, n, sge);
	return -ibv_wr_complete(raw->ep.qpx);
}

/* vt_raw_post - send what is in the first slot, in @sges parts */
int vt_raw_post(struct vt_raw *raw, size_t len, int sges, unsigned int flags)
{
	struct ibv_sge sge[SGES];
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = sge,
		.num_sge = sges, .send_flags = flags,
	}, *bad;
	size_t off = 0, part = len / sges;
	int i;

	for (i = 0; i < sges; i++, off += part)
		sge[i] = vt_sge(&raw->ep.buf, off,
				i == sges - 1 ? len - off : part);
	if (raw->ep.qpx)
		return post_wr_api(raw, sge, sges, flags);
	return -ibv_post_send(raw->ep.qp, &wr, &bad);
}

/* vt_raw_send - Return: the completion's status, or a negative errno */
int vt_raw_send(struct vt_raw *raw, const struct vt_frame *frame)
{
	size_t len = vt_frame_write(frame, vt_raw_slot(raw, 0));
	int ret = vt_raw_post(raw, len, 1, IBV_SEND_SIGNALED);

	return ret ? ret : vt_status(raw->ep.scq, 1);
}

static int recv_one(struct vt_raw *raw, size_t len)
{
	unsigned int slot = 1 + raw->posted++ % (VT_RAW_SLOTS - 1);
	struct ibv_sge sge = vt_sge(&raw->ep.buf, slot * VT_RAW_ROOM, len);
	struct ibv_recv_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	return raw->ep.srq ? -ibv_post_srq_recv(raw->ep.srq, &wr, &bad) :
			  -ibv_post_recv(raw->ep.qp, &wr, &bad);
}

int vt_raw_recv(struct vt_raw *raw, int n)
{
	int ret = 0;

	while (n-- && !ret)
		ret = recv_one(raw, VT_RAW_ROOM);
	return ret;
}

int vt_raw_recv_len(struct vt_raw *raw, size_t len)
{
	return recv_one(raw, len);
}

/* vt_raw_get - get the next frame. Return: its length, or a negative errno */
int vt_raw_get(struct vt_raw *raw, uint8_t **at)
{
	struct ibv_wc wc;

	if (vt_wait(raw->ep.rcq, &wc))
		return -ETIMEDOUT;
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV ||
	    wc.qp_num != raw->ep.qp->qp_num || wc.wc_flags)
		return -EPROTO;
	*at = vt_raw_slot(raw, wc.wr_id);
	return wc.byte_len;
}

/* vt_raw_got - is the next frame equal to this one, byte for byte? */
bool vt_raw_got(struct vt_raw *raw, const struct vt_frame *frame)
{
	uint8_t want[VT_RAW_ROOM], *at;
	int len = vt_raw_get(raw, &at);

	return len > 0 && len == (int)vt_frame_write(frame, want) &&
	       !memcmp(at, want, len);
}

uint16_t vt_checksum(const void *data, size_t len, uint32_t sum)
{
	const uint8_t *p = data;
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static uint8_t *put16(uint8_t *to, uint16_t v)
{
	*to++ = v >> 8;
	*to++ = v;
	return to;
}

static uint8_t *put32(uint8_t *to, uint32_t v)
{
	return put16(put16(to, v >> 16), v);
}

static size_t l4_len(const struct vt_frame *f)
{
	return f->proto == 17 ? 8 : f->proto == 6 ? 20 : 0;
}

static uint8_t *write_ip4(const struct vt_frame *f, uint8_t *to)
{
	uint8_t *p = to;

	p = put16(p, 0x4500 | f->ip4.tos);
	p = put16(p, 20 + l4_len(f) + f->payload);
	p = put16(p, 0x1234);
	p = put16(p, f->ip4.frag);
	*p++ = f->ip4.ttl;
	*p++ = f->proto;
	p = put16(p, 0);
	p = put32(p, f->ip4.src);
	p = put32(p, f->ip4.dst);
	put16(to + 10, vt_checksum(to, 20, 0));
	return p;
}

static uint8_t *write_ip6(const struct vt_frame *f, uint8_t *p)
{
	p = put32(p, 6u << 28 | f->ip6.class << 20 | f->ip6.label);
	p = put16(p, l4_len(f) + f->payload);
	*p++ = f->proto;
	*p++ = f->ip6.hops;
	memcpy(p, f->ip6.src, 16);
	memcpy(p + 16, f->ip6.dst, 16);
	return p + 32;
}

static uint8_t *write_l4(const struct vt_frame *f, uint8_t *p)
{
	if (!l4_len(f))
		return p;
	memset(p, 0, l4_len(f));
	put16(p, f->sport);
	put16(p + 2, f->dport);
	if (f->proto == 17)
		put16(p + 4, 8 + f->payload);
	else
		p[12] = 5 << 4;
	return p + l4_len(f);
}

/* vt_frame_write - Return: its length */
size_t vt_frame_write(const struct vt_frame *f, uint8_t *to)
{
	uint8_t *p = to;

	memcpy(p, f->dst, 6);
	memcpy(p + 6, f->src, 6);
	p += 12;
	if (f->vlan >= 0)
		p = put16(put16(p, 0x8100), f->vlan);
	p = put16(p, f->type);
	if (f->type == 0x0800)
		p = write_l4(f, write_ip4(f, p));
	else if (f->type == 0x86dd)
		p = write_l4(f, write_ip6(f, p));
	vt_fill(p, f->payload, f->seed, 0);
	return p + f->payload - to;
}

void vt_rule_init(struct vt_rule *rule, enum ibv_flow_attr_type type,
		  uint16_t priority)
{
	memset(rule, 0, sizeof(*rule));
	rule->attr.type = type;
	rule->attr.priority = priority;
	rule->attr.port = 1;
	rule->attr.size = sizeof(rule->attr);
}

/* vt_rule_normal - begin a normal rule; @flags: enum ibv_flow_flags */
void vt_rule_normal(struct vt_rule *rule, uint16_t priority,
		    unsigned int flags)
{
	vt_rule_init(rule, IBV_FLOW_ATTR_NORMAL, priority);
	rule->attr.flags = flags;
}

/* vt_rule_add - add one more spec, which the caller fills in */
void *vt_rule_add(struct vt_rule *rule, int type, size_t size)
{
	uint8_t *end = (uint8_t *)rule + rule->attr.size;
	struct ibv_flow_spec_eth *spec = (void *)end;

	spec->type = type;
	spec->size = size;
	rule->attr.size += size;
	rule->attr.num_of_specs++;
	return spec;
}

struct ibv_flow *vt_rule_apply(struct vt_raw *raw, struct vt_rule *rule)
{
	return ibv_create_flow(raw->ep.qp, &rule->attr);
}

/* vt_rule_mac - a normal rule for all frames to a MAC address */
struct ibv_flow *vt_rule_mac(struct vt_raw *raw, const uint8_t *mac,
			     uint16_t priority, unsigned int flags)
{
	struct ibv_flow_spec_eth *eth;
	struct vt_rule rule;

	vt_rule_normal(&rule, priority, flags);
	eth = vt_rule_add(&rule, IBV_FLOW_SPEC_ETH, sizeof(*eth));
	memcpy(eth->val.dst_mac, mac, 6);
	memset(eth->mask.dst_mac, 0xff, 6);
	return vt_rule_apply(raw, &rule);
}
