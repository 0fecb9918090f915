// SPDX-License-Identifier: GPL-2.0
#include "endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "iwarp.h"
#include "paths.h"

#define PORT	1

const struct vt_conf vt_defaults = { VT_DEFAULTS };

bool vt_unsupported(int err)
{
	return err == -ENODEV || err == -EAFNOSUPPORT || err == -EMSGSIZE ||
	       err == -EOPNOTSUPP;
}

static bool gid_is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static bool gid_is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* A RoCE v2 GID of the family; not a link-local one, which needs a scope. */
static bool gid_fits(const struct ibv_gid_entry *gid, int family)
{
	return gid->gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       gid_is_v4(&gid->gid) == (family == AF_INET) &&
	       !gid_is_link_local(&gid->gid);
}

static int find_gid(struct vt_dev *dev, int family)
{
	const char *env = getenv("SMR_GID_INDEX");
	struct ibv_gid_entry gid;
	int i, first = env ? atoi(env) : 0;

	for (i = first; i < dev->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(dev->ctx, PORT, i, &gid, 0))
			continue;
		if (!gid_fits(&gid, family))
			continue;
		dev->gid = gid.gid;
		dev->gid_index = i;
		return 0;
	}
	return -EAFNOSUPPORT;
}

static bool is_iwarp(const struct vt_dev *dev)
{
	return dev->ctx->device->transport_type == IBV_TRANSPORT_IWARP;
}

static int try_open(struct vt_dev *dev, struct ibv_device *ibdev, int family)
{
	int ret;

	dev->ctx = ibv_open_device(ibdev);
	if (!dev->ctx)
		return -errno;
	ret = -ibv_query_device(dev->ctx, &dev->attr);
	if (!ret)
		ret = -ibv_query_port(dev->ctx, PORT, &dev->port);
	if (!ret && !is_iwarp(dev))
		ret = find_gid(dev, family);
	if (ret)
		vt_dev_close(dev);
	return ret;
}

static const char *wanted_name(int end)
{
	const char *second = end ? getenv("SMR_DEV2") : NULL;

	return second ? second : getenv("SMR_DEV");
}

/**
 * vt_load_providers() - have libibverbs load its plug-ins
 *
 * Each test is a process of its own, which would load all of them again.
 */
void vt_load_providers(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list)
		ibv_free_device_list(list);
}

/**
 * vt_dev_open() - open the device of one end
 * @dev: filled in
 * @end: 0 or 1
 * @family: AF_INET or AF_INET6
 */
int vt_dev_open(struct vt_dev *dev, int end, int family)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const char *name = wanted_name(end);
	int i, ret = name ? -ENXIO : -ENODEV;

	for (i = 0; list && list[i]; i++) {
		if (name && strcmp(name, ibv_get_device_name(list[i])))
			continue;
		ret = try_open(dev, list[i], family);
		if (!ret || name)
			break;
	}
	if (list)
		ibv_free_device_list(list);
	return ret;
}

void vt_dev_close(struct vt_dev *dev)
{
	if (dev->ctx)
		ibv_close_device(dev->ctx);
	dev->ctx = NULL;
}

static uint64_t send_ops(enum ibv_qp_type type)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND;

	if (type == IBV_QPT_RAW_PACKET)
		return ops;
	ops |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (type != IBV_QPT_UD)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE |
		       IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (type == IBV_QPT_RC)
		ops |= IBV_QP_EX_WITH_RDMA_READ |
		       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	return ops;
}

static struct ibv_qp *create_qp_ex(struct vt_ep *ep,
				   const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = ep,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = ep->pd,
		.send_ops_flags = send_ops(init->qp_type) | ep->conf.send_ops,
	};

	return ibv_create_qp_ex(ep->dev.ctx, &ex);
}

/**
 * vt_qp_create() - create a QP with the endpoint's configuration
 *
 * Return: the QP, NULL with errno
 */
struct ibv_qp *vt_qp_create(struct vt_ep *ep)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ep->scq,
		.recv_cq = ep->rcq,
		.cap = {
			.max_send_wr = ep->conf.depth,
			.max_recv_wr = ep->conf.depth,
			.max_send_sge = ep->conf.sges,
			.max_recv_sge = ep->conf.sges,
			.max_inline_data = ep->conf.inline_len,
		},
		.srq = ep->srq,
		.qp_type = ep->conf.qp_type,
		.sq_sig_all = ep->conf.sig_all,
	};

	if (ep->conf.wr_api)
		return create_qp_ex(ep, &init);
	return ibv_create_qp(ep->pd, &init);
}

/**
 * vt_ep_use_cq_ex() - replace a CQ of an endpoint by an extended CQ
 * @ep: gets a new QP, in RESET
 * @cq: &ep->scq or &ep->rcq
 * @init: attributes of the CQ
 * @cqx: set to it
 *
 * Return: 0 or -errno
 */
int vt_ep_use_cq_ex(struct vt_ep *ep, struct ibv_cq **cq, struct ibv_cq_init_attr_ex *init,
		    struct ibv_cq_ex **cqx)
{
	*cqx = ibv_create_cq_ex(ep->dev.ctx, init);
	if (!*cqx)
		return -errno;
	ibv_destroy_qp(ep->qp);
	ibv_destroy_cq(*cq);
	*cq = ibv_cq_ex_to_cq(*cqx);
	ep->qp = vt_qp_create(ep);
	return ep->qp ? 0 : -errno;
}

/**
 * vt_qp_state() - the state query_qp reports, or a negative errno
 */
int vt_qp_state(const struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp((struct ibv_qp *)qp, &attr, IBV_QP_STATE, &init);

	return ret ? -ret : (int)attr.qp_state;
}

/**
 * vt_qp_to() - modify nothing but the state
 *
 * Return: 0 or an errno
 */
int vt_qp_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

int vt_qp_reset(struct ibv_qp *qp)
{
	return -vt_qp_to(qp, IBV_QPS_RESET);
}

int vt_qp_init(struct ibv_qp *qp, const struct vt_conf *conf)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = conf->qp_access,
		.qkey = conf->qkey,
	};
	int own = conf->qp_type == IBV_QPT_UD ? IBV_QP_QKEY :
						IBV_QP_ACCESS_FLAGS;

	return -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | own);
}

/**
 * vt_ah_attr() - the address of a peer, as endpoints use it
 */
struct ibv_ah_attr vt_ah_attr(int gid_index, const union ibv_gid *dgid)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = PORT,
		.grh = {
			.dgid = *dgid,
			.sgid_index = gid_index,
			.hop_limit = VT_HOP_LIMIT,
			.traffic_class = VT_TRAFFIC_CLASS,
			.flow_label = VT_FLOW_LABEL,
		},
	};
}

int vt_qp_rtr(struct ibv_qp *qp, const struct vt_conf *conf, int gid_index,
	      const struct vt_addr *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = conf->mtu,
		.dest_qp_num = to->qpn,
		.rq_psn = to->psn,
		.max_dest_rd_atomic = conf->rd_atomic,
		.min_rnr_timer = conf->min_rnr_timer,
		.ah_attr = vt_ah_attr(gid_index, &to->gid),
	};
	int mask = IBV_QP_STATE;

	attr.ah_attr.grh.traffic_class = conf->traffic_class;
	if (conf->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (conf->qp_type == IBV_QPT_RC && qp->qp_type != IBV_QPT_XRC_SEND)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return -ibv_modify_qp(qp, &attr, mask);
}

int vt_qp_rts(struct ibv_qp *qp, const struct vt_conf *conf)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = conf->sq_psn,
		.max_rd_atomic = conf->rd_atomic,
		.timeout = conf->timeout,
		.retry_cnt = conf->retry_cnt,
		.rnr_retry = conf->rnr_retry,
	};

	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (conf->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
			IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	return -ibv_modify_qp(qp, &attr, mask);
}

/**
 * vt_qp_drain() - take a QP from RTS to SQD, and wait until no request is outstanding
 */
int vt_qp_drain(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_qp_init_attr init;
	int ret = -ibv_modify_qp(qp, &attr, IBV_QP_STATE);

	do {
		ret = ret ? ret : -ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	} while (!ret && attr.sq_draining);
	return ret;
}

/**
 * vt_qp_connect() - take a QP from RESET to RTS
 */
int vt_qp_connect(struct ibv_qp *qp, const struct vt_conf *conf, int gid_index,
		  const struct vt_addr *to)
{
	int ret = vt_qp_init(qp, conf);

	if (!ret)
		ret = vt_qp_rtr(qp, conf, gid_index, to);
	if (!ret)
		ret = vt_qp_rts(qp, conf);
	return ret;
}

static int make_cqs(struct vt_ep *ep)
{
	int cqe = ep->conf.cqe ? ep->conf.cqe : (int)ep->conf.depth;

	if (ep->conf.events) {
		ep->chan = ibv_create_comp_channel(ep->dev.ctx);
		if (!ep->chan)
			return -errno;
	}
	ep->scq = ibv_create_cq(ep->dev.ctx, cqe, NULL, ep->chan, 0);
	if (!ep->scq)
		return -errno;
	ep->rcq = ibv_create_cq(ep->dev.ctx, cqe, NULL, ep->chan, 0);
	return ep->rcq ? 0 : -errno;
}

static int make_srq(struct vt_ep *ep)
{
	struct ibv_srq_init_attr init = {
		.attr.max_wr = ep->conf.srq_depth,
		.attr.max_sge = ep->conf.sges,
	};

	if (!ep->conf.srq_depth)
		return 0;
	ep->srq = ibv_create_srq(ep->pd, &init);
	return ep->srq ? 0 : -errno;
}

static int make_objects(struct vt_ep *ep)
{
	int ret;

	ep->pd = ibv_alloc_pd(ep->dev.ctx);
	if (!ep->pd)
		return -errno;
	ret = make_cqs(ep);
	if (!ret)
		ret = make_srq(ep);
	if (ret)
		return ret;
	ep->qp = vt_qp_create(ep);
	if (!ep->qp)
		return -errno;
	if (ep->conf.wr_api)
		ep->qpx = ibv_qp_to_qp_ex(ep->qp);
	return vt_buf_open(&ep->buf, ep->pd, ep->conf.buf_len,
			   ep->conf.buf_access);
}

/**
 * vt_ep_open() - open a device and create a QP in RESET with all that it needs
 * @ep: filled in; close it even after a failure
 * @conf: its configuration
 * @end: which device, see vt_dev_open()
 */
int vt_ep_open(struct vt_ep *ep, const struct vt_conf *conf, int end)
{
	int ret;

	memset(ep, 0, sizeof(*ep));
	ep->conf = *conf;
	ret = vt_dev_open(&ep->dev, end, conf->family);
	if (ret)
		return ret;
	if (conf->mtu > ep->dev.port.active_mtu)
		return -EMSGSIZE;
	if (ep->conf.sges > (uint32_t)ep->dev.attr.max_sge)
		ep->conf.sges = ep->dev.attr.max_sge;
	return make_objects(ep);
}

/**
 * vt_ep_open_beside() - open an endpoint with its own PD on the device of another
 * @ep: filled in; close it even after a failure, and before @host
 * @host: the endpoint whose device and configuration it uses
 */
int vt_ep_open_beside(struct vt_ep *ep, const struct vt_ep *host)
{
	memset(ep, 0, sizeof(*ep));
	ep->conf = host->conf;
	ep->dev = host->dev;
	ep->guest = true;
	return make_objects(ep);
}

void vt_ep_close(struct vt_ep *ep)
{
	if (ep->qp)
		ibv_destroy_qp(ep->qp);
	if (ep->srq)
		ibv_destroy_srq(ep->srq);
	if (ep->ah)
		ibv_destroy_ah(ep->ah);
	vt_buf_close(&ep->buf);
	if (ep->rcq)
		ibv_destroy_cq(ep->rcq);
	if (ep->scq)
		ibv_destroy_cq(ep->scq);
	if (ep->chan)
		ibv_destroy_comp_channel(ep->chan);
	if (ep->pd)
		ibv_dealloc_pd(ep->pd);
	if (!ep->guest)
		vt_dev_close(&ep->dev);
	memset(ep, 0, sizeof(*ep));
}

/**
 * vt_ep_addr() - the address of an endpoint for its peer
 */
struct vt_addr vt_ep_addr(const struct vt_ep *ep)
{
	return (struct vt_addr){
		.gid = ep->dev.gid,
		.qpn = ep->qp->qp_num,
		.psn = ep->conf.sq_psn,
	};
}

bool vt_is_ud(const struct vt_ep *ep)
{
	return ep->conf.qp_type == IBV_QPT_UD;
}

/**
 * vt_ep_connect() - take an endpoint from RESET to RTS
 *
 * A UD endpoint gets an address handle for its peer, once.
 */
int vt_ep_connect(struct vt_ep *ep, const struct vt_addr *to)
{
	struct ibv_ah_attr attr = vt_ah_attr(ep->dev.gid_index, &to->gid);

	attr.grh.traffic_class = ep->conf.traffic_class;
	if (vt_is_ud(ep) && !ep->ah) {
		ep->ah = ibv_create_ah(ep->pd, &attr);
		if (!ep->ah)
			return -errno;
		ep->peer = *to;
	}
	return vt_qp_connect(ep->qp, &ep->conf, ep->dev.gid_index, to);
}

/**
 * vt_pair_connect() - connect two endpoints whose QPs are in RESET
 */
int vt_pair_connect(struct vt_pair *pair)
{
	struct vt_addr a = vt_ep_addr(&pair->a), b = vt_ep_addr(&pair->b);
	int ret;

	if (is_iwarp(&pair->a.dev))
		return vt_iwarp_connect(&pair->iwarp, pair->a.qp, pair->b.qp,
					pair->a.conf.rd_atomic);
	ret = vt_ep_connect(&pair->a, &b);
	return ret ? ret : vt_ep_connect(&pair->b, &a);
}

/**
 * vt_conn_open() - connect another QP of each of two endpoints
 * @c: filled in; close it even after a failure, and before the endpoints
 * @a: the one
 * @b: the other; their queues and protection domains are used
 */
int vt_conn_open(struct vt_conn *c, struct vt_ep *a, struct vt_ep *b)
{
	struct vt_addr to_a = vt_ep_addr(a), to_b = vt_ep_addr(b);
	int ret;

	c->a = vt_qp_create(a);
	c->b = vt_qp_create(b);
	if (!c->a || !c->b)
		return -errno;
	to_a.qpn = c->a->qp_num;
	to_b.qpn = c->b->qp_num;
	ret = vt_qp_connect(c->a, &a->conf, a->dev.gid_index, &to_b);
	return ret ? ret : vt_qp_connect(c->b, &b->conf, b->dev.gid_index,
					 &to_a);
}

void vt_conn_close(struct vt_conn *c)
{
	if (c->a)
		ibv_destroy_qp(c->a);
	if (c->b)
		ibv_destroy_qp(c->b);
	*c = (struct vt_conn){ NULL };
}

/**
 * vt_pair_open() - open two endpoints and connect them, both in RTS
 * @pair: filled in; close it even after a failure
 * @conf: of both
 */
int vt_pair_open(struct vt_pair *pair, const struct vt_conf *conf)
{
	int ret;

	memset(pair, 0, sizeof(*pair));
	ret = vt_ep_open(&pair->a, conf, 0);
	if (!ret)
		ret = vt_ep_open(&pair->b, conf, 1);
	if (!ret)
		ret = vt_pair_connect(pair);
	return ret;
}

static int make_qp_again(struct vt_ep *ep)
{
	ibv_destroy_qp(ep->qp);
	ep->qp = vt_qp_create(ep);
	return ep->qp ? 0 : -errno;
}

/* iWARP's QPs cannot return to their initial state */
static int make_qps_again(struct vt_pair *pair)
{
	int ret = make_qp_again(&pair->a);

	if (!ret)
		ret = make_qp_again(&pair->b);
	vt_iwarp_close(&pair->iwarp);
	return ret ? ret : vt_pair_connect(pair);
}

static int reset_and_connect(struct vt_pair *pair)
{
	int ret;

	if (is_iwarp(&pair->a.dev))
		return make_qps_again(pair);
	ret = vt_qp_reset(pair->a.qp);
	if (!ret)
		ret = vt_qp_reset(pair->b.qp);
	return ret ? ret : vt_pair_connect(pair);
}

/**
 * vt_pair_reset() - take both QPs to RESET, and connect them again
 */
int vt_pair_reset(struct vt_pair *pair)
{
	int ret = reset_and_connect(pair);

	/*
	 * rdma_rxe reports the failure of a request and goes to the error state
	 * some time later, even if the QP was reset in between.
	 */
	if (ret == -EINVAL && vt_on_path("_rxe"))
		ret = reset_and_connect(pair);
	return ret;
}

void vt_pair_close(struct vt_pair *pair)
{
	vt_ep_close(&pair->a);
	vt_ep_close(&pair->b);
	vt_iwarp_close(&pair->iwarp);
}

/**
 * vt_async_event() - wait for an asynchronous event, dropping others
 *
 * Return: 0, or -ETIMEDOUT
 */
int vt_async_event(struct ibv_context *ctx, enum ibv_event_type type,
		   int timeout_ms)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	bool found = false;

	while (!found && poll(&fd, 1, timeout_ms) == 1) {
		if (ibv_get_async_event(ctx, &event))
			return -errno;
		found = event.event_type == type;
		if (!found)
			printf("# async event: %s\n",
			       ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
	return found ? 0 : -ETIMEDOUT;
}
