// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device, its memory and its QPs.
 */
#include "demo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_S	10
#define PORT		1

void demo_say(const struct demo *demo, const char *format, ...)
{
	va_list args;

	if (demo->json)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

/* Print what went wrong, and the errno, if there is one. */
int demo_fail(const char *what, int err)
{
	fflush(stdout);
	if (err)
		fprintf(stderr, ME ": %s: %s\n", what, strerror(err));
	else
		fprintf(stderr, ME ": %s\n", what);
	return -1;
}

int demo_want(int ok, const char *what)
{
	return ok ? 0 : demo_fail(what, 0);
}

/* -- the device */

static struct ibv_context *open_named(struct ibv_device **list,
				      const char *name)
{
	struct ibv_context *ctx;

	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), name))
			break;
	if (!*list) {
		demo_fail("there is no such device", 0);
		return NULL;
	}
	if (!softmrdv_is_supported(*list)) {
		demo_fail("this is not a softmr device", 0);
		return NULL;
	}
	ctx = ibv_open_device(*list);
	if (!ctx)
		demo_fail("cannot open the device", errno);
	return ctx;
}

static int device_has_windows(struct demo *demo)
{
	const unsigned int need = IBV_DEVICE_MEM_WINDOW |
				  IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	struct ibv_device_attr attr;
	int ret = ibv_query_device(demo->ctx, &attr);

	if (ret)
		return demo_fail("cannot query the device", ret);
	return demo_want((attr.device_cap_flags & need) == need,
			 "the device lacks windows of type 1 or 2B");
}

int demo_open(struct demo *demo, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list)
		return demo_fail("cannot list the devices", errno);
	demo->ctx = open_named(list, name);
	ibv_free_device_list(list);
	return demo->ctx ? device_has_windows(demo) : -1;
}

/* The first RoCE v2 GID suffices, since nothing leaves the machine. */
static int device_gid(struct demo *demo, struct ibv_gid_entry *gid)
{
	uint32_t i;

	for (i = 0; i < 256; i++)
		if (!ibv_query_gid_ex(demo->ctx, PORT, i, gid, 0) &&
		    gid->gid_type == IBV_GID_TYPE_ROCE_V2)
			return 0;
	return demo_fail("the device has no address: is its netdev up?", 0);
}

/* -- two QPs */

static struct ibv_qp *qp_make(struct demo *demo)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = demo->cq,
		.recv_cq = demo->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	return ibv_create_qp(demo->pd, &attr);
}

static int qp_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | DEMO_ACCESS,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int qp_to_rtr(struct ibv_qp *qp, const struct ibv_qp *peer,
		     const struct ibv_gid_entry *gid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = {
				.dgid = gid->gid,
				.sgid_index = (uint8_t)gid->gid_index,
				.hop_limit = 1,
			},
		},
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int qp_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int qps_connect(struct demo *demo)
{
	struct ibv_gid_entry gid;
	int i, ret = 0;

	if (device_gid(demo, &gid))
		return -1;
	for (i = 0; i < 2 && !ret; i++)
		ret = qp_to_init(demo->qp[i]);
	for (i = 0; i < 2 && !ret; i++)
		ret = qp_to_rtr(demo->qp[i], demo->qp[!i], &gid);
	for (i = 0; i < 2 && !ret; i++)
		ret = qp_to_rts(demo->qp[i]);
	return ret ? demo_fail("cannot connect two QPs", ret) : 0;
}

int demo_make_qps(struct demo *demo)
{
	int i;

	demo->cq = ibv_create_cq(demo->ctx, 16, NULL, NULL, 0);
	if (!demo->cq)
		return demo_fail("cannot create a CQ", errno);
	for (i = 0; i < 2; i++) {
		demo->qp[i] = qp_make(demo);
		if (!demo->qp[i])
			return demo_fail("cannot create a QP", errno);
	}
	return qps_connect(demo);
}

/* -- work requests */

/* Only one work request is outstanding at any time. */
int demo_wait(struct demo *demo, const char *what)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	time_t end = time(NULL) + TIMEOUT_S;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(demo->cq, 1, &wc))) {
		if (time(NULL) > end)
			return demo_fail(what, ETIMEDOUT);
		nanosleep(&nap, NULL);
	}
	if (n < 0)
		return demo_fail("cannot poll", 0);
	if (wc.status == IBV_WC_SUCCESS)
		return 0;
	fprintf(stderr, ME ": %s: %s\n", what, ibv_wc_status_str(wc.status));
	return -1;
}

int demo_post(struct demo *demo, struct ibv_qp *qp, struct ibv_send_wr *wr,
	      const char *what)
{
	struct ibv_send_wr *bad;
	int ret;

	wr->send_flags |= IBV_SEND_SIGNALED;
	ret = ibv_post_send(qp, wr, &bad);
	return ret ? demo_fail(what, ret) : demo_wait(demo, what);
}

/* -- the memory */

int demo_register(struct demo *demo, size_t size)
{
	demo->size = size;
	demo->buf = calloc(1, size);
	if (!demo->buf)
		return demo_fail("no memory", 0);
	demo->pd = ibv_alloc_pd(demo->ctx);
	if (!demo->pd)
		return demo_fail("cannot allocate a PD", errno);
	demo->mr = ibv_reg_mr(demo->pd, demo->buf, size,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	if (!demo->mr)
		return demo_fail("cannot register the memory", errno);
	demo->out_mr = ibv_reg_mr(demo->pd, &demo->out, sizeof(demo->out), 0);
	if (!demo->out_mr)
		return demo_fail("cannot register the source of writes", errno);
	return 0;
}

/*
 * Also called after a failure: destroy everything that was made. The PD can be
 * destroyed only if everything else was.
 */
int demo_clean_up(struct demo *demo)
{
	int ret = 0;
	uint32_t i;

	for (i = 0; demo->windows && i < demo->nr_windows; i++)
		if (demo->windows[i].mw)
			ibv_dealloc_mw(demo->windows[i].mw);
	free(demo->windows);
	for (i = 0; i < 2; i++)
		if (demo->qp[i])
			ibv_destroy_qp(demo->qp[i]);
	if (demo->cq)
		ibv_destroy_cq(demo->cq);
	if (demo->out_mr)
		ibv_dereg_mr(demo->out_mr);
	if (demo->mr)
		ibv_dereg_mr(demo->mr);
	if (demo->pd)
		ret = ibv_dealloc_pd(demo->pd);
	if (demo->ctx)
		ibv_close_device(demo->ctx);
	free(demo->buf);
	return ret ? demo_fail("cannot take down what was made", ret) : 0;
}
