// SPDX-License-Identifier: GPL-2.0
#include "iwarp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#define RESOLVE_MS	2000
#define ADDR		"SMR_ADDR"

/**
 * struct vt_iwarp - a connection of two QPs
 * @chan: the events of all ids
 * @listener: the id on which end b listens
 * @a: the connection's active end
 * @b: its passive end
 */
struct vt_iwarp {
	struct rdma_event_channel *chan;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *a;
	struct rdma_cm_id *b;
};

/* Wait for an event. @new: set to its id if it is a request. Returns 0 or a negative errno. */
static int want(struct vt_iwarp *iw, enum rdma_cm_event_type type,
		struct rdma_cm_id **new)
{
	struct rdma_cm_event *event;
	int ret;

	if (rdma_get_cm_event(iw->chan, &event))
		return -errno;
	ret = event->event == type ? 0 : event->status ? event->status : -EPROTO;
	if (!ret && new)
		*new = event->id;
	rdma_ack_cm_event(event);
	return ret;
}

static int listen_at(struct vt_iwarp *iw, struct sockaddr *at)
{
	if (rdma_create_id(iw->chan, &iw->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(iw->listener, at) || rdma_listen(iw->listener, 1))
		return -errno;
	return 0;
}

static int resolve(struct vt_iwarp *iw, struct sockaddr *to)
{
	int ret;

	if (rdma_create_id(iw->chan, &iw->a, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(iw->a, NULL, to, RESOLVE_MS))
		return -errno;
	ret = want(iw, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (ret)
		return ret;
	if (rdma_resolve_route(iw->a, RESOLVE_MS))
		return -errno;
	return want(iw, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

static int connect_ends(struct vt_iwarp *iw, uint32_t a, uint32_t b,
			uint8_t rd_atomic)
{
	struct rdma_conn_param param = {
		.responder_resources = rd_atomic,
		.initiator_depth = rd_atomic,
		.qp_num = a,
	};
	int ret;

	if (rdma_connect(iw->a, &param))
		return -errno;
	ret = want(iw, RDMA_CM_EVENT_CONNECT_REQUEST, &iw->b);
	if (ret)
		return ret;
	param.qp_num = b;
	if (rdma_accept(iw->b, &param))
		return -errno;
	ret = want(iw, RDMA_CM_EVENT_ESTABLISHED, NULL);
	return ret ? ret : want(iw, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

/**
 * vt_iwarp_connect() - take two QPs from IDLE to RTS, at the address that the
 * environment's SMR_ADDR names
 * @iwarp: set to the connection
 * @a: the active end
 * @b: the passive end
 * @rd_atomic: maximum outstanding READs of each
 *
 * Return: 0 or a negative errno. vt_iwarp_close() is needed in any case.
 */
int vt_iwarp_connect(struct vt_iwarp **iwarp, const struct ibv_qp *a,
		     const struct ibv_qp *b, uint8_t rd_atomic)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const char *addr = getenv(ADDR);
	struct vt_iwarp *iw;
	int ret;

	if (!addr || inet_pton(AF_INET, addr, &at.sin_addr) != 1)
		return -EINVAL;
	iw = calloc(1, sizeof(*iw));
	if (!iw)
		return -ENOMEM;
	*iwarp = iw;
	iw->chan = rdma_create_event_channel();
	if (!iw->chan)
		return -errno;
	ret = listen_at(iw, (struct sockaddr *)&at);
	if (ret)
		return ret;
	at.sin_port = rdma_get_src_port(iw->listener);
	ret = resolve(iw, (struct sockaddr *)&at);
	return ret ? ret : connect_ends(iw, a->qp_num, b->qp_num, rd_atomic);
}

/**
 * vt_iwarp_close() - end a connection whose QPs are destroyed
 * @iwarp: the connection, or NULL; set to NULL
 */
void vt_iwarp_close(struct vt_iwarp **iwarp)
{
	struct vt_iwarp *iw = *iwarp;

	if (!iw)
		return;
	if (iw->b)
		rdma_destroy_id(iw->b);
	if (iw->a)
		rdma_destroy_id(iw->a);
	if (iw->listener)
		rdma_destroy_id(iw->listener);
	if (iw->chan)
		rdma_destroy_event_channel(iw->chan);
	free(iw);
	*iwarp = NULL;
}
