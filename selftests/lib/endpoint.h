/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices, endpoints (a QP and what it needs) and connected pairs of them.
 *
 * Which device is used comes from the environment:
 *   SMR_DEV, SMR_DEV2	devices of the two ends; the same one by default, and
 *			that is the first with a RoCE v2 address by default
 *   SMR_GID_INDEX	which GID, instead of the first of the family asked for
 *
 * Functions return 0 or a negative errno. vt_unsupported() distinguishes errors that mean "not
 * supported by this device, skip the test" from failures.
 */
#ifndef VT_ENDPOINT_H
#define VT_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "buf.h"

/**
 * struct vt_dev - an open device with one of its addresses
 */
struct vt_dev {
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/**
 * struct vt_conf - configuration of endpoints and their connection
 * @qp_type: RC, UC, UD or RAW_PACKET
 * @family: AF_INET or AF_INET6
 * @mtu: path MTU
 * @depth: WRs of each queue
 * @sges: of each WR
 * @inline_len: bytes
 * @srq_depth: WRs of the SRQ that the QP receives from; 0: it has none
 * @cqe: entries of each CQ; 0: enough for @depth
 * @sig_all: sq_sig_all
 * @events: CQs have a completion channel
 * @wr_api: post sends by ibv_wr_*()
 * @send_ops: with @wr_api: enum ibv_qp_create_send_ops_flags, besides those
 *	that all QPs are made for
 * @buf_len: bytes of the endpoint's buffer
 * @buf_access: its rights
 * @qp_access: rights of the peer on the QP
 * @traffic_class: of the packets it sends
 * @qkey: of a UD QP
 * @sq_psn: first PSN
 * @rd_atomic: READs and atomics outstanding, both ways
 * @timeout: as encoded by the standard
 * @retry_cnt: and so on
 * @rnr_retry: 7 is for ever
 * @min_rnr_timer: as encoded by the standard
 */
struct vt_conf {
	enum ibv_qp_type qp_type;
	int family;
	enum ibv_mtu mtu;
	uint32_t depth;
	uint32_t sges;
	uint32_t inline_len;
	uint32_t srq_depth;
	int cqe;
	bool sig_all;
	bool events;
	bool wr_api;
	uint64_t send_ops;
	size_t buf_len;
	int buf_access;
	int qp_access;
	uint8_t traffic_class;
	uint32_t qkey;
	uint32_t sq_psn;
	uint8_t rd_atomic;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
};

#define VT_DEFAULTS \
	.qp_type = IBV_QPT_RC, .family = AF_INET, .mtu = IBV_MTU_1024, .depth = 16, .sges = 4,		\
	.buf_len = 64 * 1024, .buf_access = VT_ACCESS_ALL, .qp_access = VT_ACCESS_ALL,			\
	.traffic_class = VT_TRAFFIC_CLASS, .qkey = 0x1b2c3d4e, .sq_psn = 0x123456, .rd_atomic = 4,	\
	.timeout = 17, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12

extern const struct vt_conf vt_defaults;

/* With what differs: &VT_CONF(.timeout = 14) */
#define VT_CONF(...) ((struct vt_conf){ VT_DEFAULTS, __VA_ARGS__ })

/**
 * struct vt_addr - the address that a peer needs to connect
 */
struct vt_addr {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
};

/**
 * struct vt_ep - a QP and all that it needs
 * @conf: its configuration
 * @srq: instead of a receive queue: see @conf, or the test made one
 * @qpx: @qp, if made for ibv_wr_*()
 * @guest: the device is open for another endpoint
 * @ah: UD: address handle of the peer
 * @peer: UD: its address
 */
struct vt_ep {
	struct vt_conf conf;
	struct vt_dev dev;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct ibv_ah *ah;
	struct vt_addr peer;
	struct vt_buf buf;
	bool guest;
};

struct vt_iwarp;

/**
 * struct vt_pair - two endpoints that are connected
 * @a: the active end, if there is one
 * @b: the other
 * @iwarp: what connects them if they are on an iWARP device
 */
struct vt_pair {
	struct vt_ep a;
	struct vt_ep b;
	struct vt_iwarp *iwarp;
};

/**
 * struct vt_conn - one more connection between two endpoints
 * @a: the one's QP
 * @b: the other's
 */
struct vt_conn {
	struct ibv_qp *a;
	struct ibv_qp *b;
};

static inline unsigned int vt_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

bool vt_unsupported(int err);

void vt_load_providers(void);
int vt_dev_open(struct vt_dev *dev, int end, int family);
void vt_dev_close(struct vt_dev *dev);

/* The address vector that endpoints use */
#define VT_TRAFFIC_CLASS	0x28
#define VT_FLOW_LABEL		0x12345
#define VT_HOP_LIMIT		64

struct ibv_ah_attr vt_ah_attr(int gid_index, const union ibv_gid *dgid);

struct ibv_qp *vt_qp_create(struct vt_ep *ep);
int vt_ep_use_cq_ex(struct vt_ep *ep, struct ibv_cq **cq, struct ibv_cq_init_attr_ex *init,
		    struct ibv_cq_ex **cqx);
int vt_qp_state(const struct ibv_qp *qp);
int vt_qp_to(struct ibv_qp *qp, enum ibv_qp_state state);
int vt_qp_reset(struct ibv_qp *qp);
int vt_qp_init(struct ibv_qp *qp, const struct vt_conf *conf);
int vt_qp_rtr(struct ibv_qp *qp, const struct vt_conf *conf, int gid_index,
	      const struct vt_addr *to);
int vt_qp_rts(struct ibv_qp *qp, const struct vt_conf *conf);
int vt_qp_drain(struct ibv_qp *qp);
int vt_qp_connect(struct ibv_qp *qp, const struct vt_conf *conf, int gid_index,
		  const struct vt_addr *to);

bool vt_is_ud(const struct vt_ep *ep);
int vt_ep_open(struct vt_ep *ep, const struct vt_conf *conf, int end);
int vt_ep_open_beside(struct vt_ep *ep, const struct vt_ep *host);
void vt_ep_close(struct vt_ep *ep);
struct vt_addr vt_ep_addr(const struct vt_ep *ep);
int vt_ep_connect(struct vt_ep *ep, const struct vt_addr *to);

int vt_conn_open(struct vt_conn *c, struct vt_ep *a, struct vt_ep *b);
void vt_conn_close(struct vt_conn *c);

int vt_pair_open(struct vt_pair *pair, const struct vt_conf *conf);
int vt_pair_connect(struct vt_pair *pair);
int vt_pair_reset(struct vt_pair *pair);
void vt_pair_close(struct vt_pair *pair);

int vt_async_event(struct ibv_context *ctx, enum ibv_event_type type,
		   int timeout_ms);

#endif /* VT_ENDPOINT_H */
