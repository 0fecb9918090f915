// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Two connected queue pairs of one process, and the output of a completion. */
#include "pair.h"

#include <stdlib.h>

/* With softmr's own header the reason of a completion is printed as well */
#if __has_include(<infiniband/softmrdv.h>)
#include <infiniband/softmrdv.h>

static void say_why(struct ibv_context *context, struct ibv_wc *wc)
{
	struct softmrdv_why why = {};
	char text[512];

	if (softmrdv_why_wc(context, wc, &why))
		return;
	softmrdv_why_text(&why, text, sizeof(text));
	printf("  %s\n", text);
}
#else
static void say_why(struct ibv_context *context, struct ibv_wc *wc) { (void)context, (void)wc; }
#endif

void pair_open(struct pair *pair, int argc, char **argv)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;

	if (argc < 3)
		errx(2, "usage: %s DEVICE GID_INDEX ...", argv[0]);
	*pair = (struct pair){};
	gid_index = atoi(argv[2]);
	for (int i = 0; list && list[i] && !pair->context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			pair->context = ibv_open_device(list[i]);
	if (!pair->context)
		errx(1, "there is no device %s", argv[1]);
	ibv_free_device_list(list);
	pair->pd = ibv_alloc_pd(pair->context);
	for (int end = 0; pair->pd && end < 2; end++) {
		pair->cq[end] = ibv_create_cq(pair->context, 64, NULL, NULL, 0);
		attr.send_cq = attr.recv_cq = pair->cq[end];
		pair->qp[end] = pair->cq[end] ? ibv_create_qp(pair->pd, &attr) : NULL;
	}
	if (!pair->qp[0] || !pair->qp[1] || ibv_query_port(pair->context, 1, &port) ||
	    ibv_query_gid(pair->context, 1, gid_index, &gid))
		err(1, "%s", argv[1]);

	pair->init = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	pair->rtr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = port.active_mtu, .max_dest_rd_atomic = 4, .min_rnr_timer = 1,
		.ah_attr = { .port_num = 1, .dlid = port.lid, .is_global = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 } },
	};
	pair->rts = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 2, .rnr_retry = 2, .max_rd_atomic = 4,
	};
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int error = ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);

	if (error)
		errx(1, "ibv_modify_qp to state %d: %s", attr->qp_state, strerror(error));
}

/* From any state */
void pair_connect(struct pair *pair)
{
	for (int end = 0; end < 2; end++) {
		modify(pair->qp[end], &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, 0);
		modify(pair->qp[end], &pair->init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
		pair->rtr.dest_qp_num = pair->qp[!end]->qp_num;
		modify(pair->qp[end], &pair->rtr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	}
	for (int end = 0; end < 2; end++)
		modify(pair->qp[end], &pair->rts, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void pair_close(struct pair *pair)
{
	for (int end = 0; end < 2; end++)
		if (ibv_destroy_qp(pair->qp[end]) || ibv_destroy_cq(pair->cq[end]))
			err(1, "a queue pair is still in use");
	if (ibv_dealloc_pd(pair->pd) || ibv_close_device(pair->context))
		err(1, "the protection domain is still in use");
}

enum ibv_wc_status pair_wait(struct pair *pair, int end, const char *what)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(pair->cq[end], 1, &wc))
		;
	if (wc.status)
		printf("%s: status %d, %s, vendor_err %#x\n", what, wc.status, ibv_wc_status_str(wc.status),
		       wc.vendor_err);
	else if (!pair->quiet)
		printf("%s: success\n", what);
	say_why(pair->context, &wc);
	return wc.status;
}

enum ibv_wc_status pair_do(struct pair *pair, int end, struct ibv_send_wr *wr, const char *what)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(pair->qp[end], wr, &bad);

	if (error)
		errx(1, "ibv_post_send, %s: %s", what, strerror(error));
	return pair_wait(pair, end, what);
}

enum ibv_wc_status pair_write(struct pair *pair, struct ibv_mr *from, uint64_t to, uint32_t rkey, uint32_t length,
			      const char *what)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
		.sg_list = &(struct ibv_sge){ .addr = (uintptr_t)from->addr, .length = length, .lkey = from->lkey },
		.wr.rdma = { .remote_addr = to, .rkey = rkey },
	};

	return pair_do(pair, REQUESTER, &wr, what);
}
